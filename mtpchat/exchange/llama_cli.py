"""Conversations of llama-cli: what it writes into a file (`-o`), and what a terminal showed and somebody kept.

The file has "User:" and "Assistant:" on lines of their own. On the terminal, each prompt stands behind "> "; an answer
may have such lines, too, as quotations. Newer versions print a line with the speeds below each answer, and where there
is one, only what follows it is a prompt. Source: tools/cli/cli-context.cpp and tools/cli/cli-ui.h of llama.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mtpchat.exchange.findings import Found, NoChat
from mtpchat.exchange.planting import Foreign, Origin, plant
from mtpchat.exchange.share_gpt import apart
from mtpchat.exchange.values import digest

FORM = "llama-cli"
_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]")
_HEAD = re.compile(r"(User|Assistant|System):[ \t]*(.*)")
_SPEEDS = re.compile(r"\[ Prompt: [^|\s]{1,20} t/s \| Generation: [^|\s]{1,20} t/s \]\s*")
_PERF = re.compile(
    r"(llama_perf_|llama_print_timings|common_perf_print|llama_memory_breakdown|Exiting\.\.\.|EOF by user)"
)
_THOUGHT = re.compile(r"\s*\[Start thinking\](.*?)(?:\[End thinking\]|\Z)\s*", re.DOTALL)
_MODEL = re.compile(r"^model +: (.+)$", re.MULTILINE)
_BANNER = "available commands:"
_COMMAND = re.compile(r"> (?:/(?:exit|regen|clear|read|glob|image|audio|video)\b|\s*$)")
_END = "EOF by user"
_OLD_BANNER = re.compile(r"^== Running in interactive mode\. ==|Press Ctrl\+C to interject at any time", re.MULTILINE)
_ADDED = re.compile(r"(Added (media|text file): |Loaded (text|media) from ')")
_WHO = {"User": "user", "Assistant": "assistant", "System": "system"}


@dataclass(frozen=True, slots=True)
class _Said:
    """`again` marks an answer that came instead of the one before."""

    role: str
    text: str
    again: bool = False


def chats_of(log: str, at: float) -> list[Found]:
    """The conversations of a log: /clear begins another one. Raises NoChat."""
    text = _without_control(log)
    found = _MODEL.search(text)
    model = re.split(r"[/\\]", found[1].strip())[-1] if found else ""
    said = _of_file(text) if _is_file(text) else _of_terminal(text)
    talks: list[list[_Said]] = [[]]
    for one in said:
        if one.role == "clear":
            talks.append([])
        else:
            talks[-1].append(one)
    chats = [_chat(talk, model, at) for talk in talks if any(one.role == "user" for one in talk)]
    if not chats:
        raise NoChat("there is neither a chat in JSON nor a conversation of llama-cli in it")
    return chats


def _without_control(log: str) -> str:
    lines = _COLOURS.sub("", log).split("\n")
    return "\n".join(_as_seen(line) if "\b" in line else line for line in lines)


def _as_seen(line: str) -> str:
    """A line in which a spinner was painted over."""
    kept: list[str] = []
    for sign in line:
        if sign != "\b":
            kept.append(sign)
        elif kept:
            kept.pop()
    return "".join(kept)


def _is_file(text: str) -> bool:
    first = next((line for line in text.split("\n", 20)[:20] if line.strip()), "")
    return _BANNER not in text and _HEAD.match(first) is not None


def _of_file(text: str) -> list[_Said]:
    lines = text.split("\n")
    # Where heads stand alone on their lines, a line that only begins like one is text.
    alone = any(line.rstrip() == "User:" for line in lines)
    said: list[_Said] = []
    role, body = "", list[str]()
    for line in lines:
        head = _HEAD.match(line)
        if head and head[1] == "User" and _ADDED.match(head[2]):
            continue
        if head and (not alone or not head[2]):
            said.append(_Said(role, "\n".join(body)))
            role, body = _WHO[head[1]], [head[2]] if head[2] else []
        else:
            body.append(line)
    return [one for one in [*said, _Said(role, "\n".join(body))] if one.role]


def _of_terminal(text: str) -> list[_Said]:
    newer = _BANNER in text or any(_SPEEDS.fullmatch(line) for line in text.split("\n"))
    if not newer and not _OLD_BANNER.search(text) and not text.lstrip().startswith("> "):
        return []
    lines = text.split("\n")
    timed = any(_SPEEDS.fullmatch(line) for line in lines)
    said: list[_Said] = []
    body: list[str] = []
    opens, fenced, at = True, False, 0
    while at < len(lines):
        line = lines[at]
        if opens and line.startswith("> ") and not fenced:
            said.append(_Said("assistant", "\n".join(body)))
            taken = _prompt(lines, at, newer=newer)
            said.append(_Said("user", "\n".join(taken)[2:].rstrip()))
            asks = not _COMMAND.match(line) or line.startswith("> /regen")
            body, at, opens = [], at + len(taken), not timed or not asks
            continue
        if _SPEEDS.fullmatch(line):
            opens, fenced = True, False
        elif not _PERF.match(line):
            body.append(line)
            fenced ^= line.lstrip().startswith("```")
        if not timed:
            after = lines[at + 1] if at + 1 < len(lines) else ""
            opens = not line.strip() and not _quotes_on(lines, at + 2, after)
        at += 1
    said.append(_Said("assistant", "\n".join(body)))
    said = [one for one in said if one.role != "user" or one.text.strip() not in ("", _END)]
    return _without_commands(said[1:])  # what stands before the first prompt is the banner


def _quotes_on(lines: Sequence[str], at: int, line: str) -> bool:
    """Whether a line that begins with "> " is one of several: a quotation."""
    return line.startswith("> ") and at < len(lines) and lines[at].startswith(">")


def _prompt(lines: Sequence[str], at: int, *, newer: bool) -> list[str]:
    """The lines of a prompt: newer versions leave one free behind it, older ones go on where a line ends in \\."""
    taken = [lines[at]]
    for place in range(at + 1, len(lines)):
        if newer and lines[place].strip():
            taken.append(lines[place])
        elif not newer and taken[-1].endswith("\\"):
            taken[-1] = taken[-1][:-1]
            taken.append(lines[place])
        else:
            break
    return taken


def _without_commands(said: Sequence[_Said]) -> list[_Said]:
    kept: list[_Said] = []
    again = skipping = False
    for one in said:
        word = one.text.split(None, 1)[0] if one.role == "user" and one.text.startswith("/") else ""
        if one.role == "user":
            again, skipping = word == "/regen", word in ("/read", "/glob", "/image", "/audio", "/video", "/exit")
        if word == "/clear":
            kept.append(_Said("clear", ""))
            skipping = True
        elif not word and not (skipping and one.role == "assistant"):
            kept.append(_Said(one.role, one.text, again and one.role == "assistant"))
    return kept


def _chat(talk: Sequence[_Said], model: str, at: float) -> Found:
    messages: list[Foreign] = []
    for place, one in enumerate(talk):
        text = one.text.strip("\n").removesuffix(" [end of text]").rstrip()
        thought = _THOUGHT.match(text) if one.role == "assistant" else None
        thinking, text = (thought[1].strip("\n"), text[thought.end() :]) if thought else apart(text)
        before = messages[-1] if messages else None
        parent = "" if before is None else before.parent if one.again and before.role == "assistant" else before.id
        name = digest(parent, one.role, text, str(place))
        messages.append(Foreign(name, parent, one.role, text, thinking, model=model if one.role == "assistant" else ""))
    key = digest(*(one.id for one in messages))
    return plant(Origin(FORM, key), messages, at)
