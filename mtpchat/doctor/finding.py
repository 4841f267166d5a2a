"""What a check says: a fact for the table, something to mend, or a piece of advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["fault", "advice", "fact"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check.

    Attributes:
        level: "fault" is to be mended, "advice" could be better, "fact" is only told.
        about: what it is about: "processor", "memory", a file's name.
        text: what was found.
        remedy: what to do about it; "" for facts.
    """

    level: Level
    about: str
    text: str
    remedy: str = ""


def fact(about: str, text: str) -> Finding:
    """Only told."""
    return Finding("fact", about, text)


def advice(about: str, text: str, remedy: str) -> Finding:
    """Could be better."""
    return Finding("advice", about, text, remedy)


def fault(about: str, text: str, remedy: str) -> Finding:
    """To be mended."""
    return Finding("fault", about, text, remedy)


def verdict(findings: list[Finding]) -> str:
    """The first line: "Ready." or "2 things to mend:"."""
    faults = sum(one.level == "fault" for one in findings)
    if not faults:
        return "Ready."
    return f"{faults} thing{'s' if faults > 1 else ''} to mend:"
