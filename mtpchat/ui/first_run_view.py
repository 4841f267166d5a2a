"""What the first screen says and offers to somebody who has no model, made from plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from textual.content import Content

from mtpchat.gguf.cursor import human_size
from mtpchat.gguf.memory_plan import Machine
from mtpchat.hub.starters import Starter, on_gpu, suitable, trial
from mtpchat.ui.cells import key_words
from mtpchat.ui.widgets.choice_list import ChoiceRow

INTRODUCTION = "A chat with a language model that runs on this machine alone. It needs a model: a GGUF file."
WAY_BACK = "No model is loaded. /model comes back to the choice, /pull fetches any other one"


@dataclass(frozen=True, slots=True)
class Offered:
    """One choice.

    Attributes:
        kind: to fetch a model, to name a folder, or to load the demo.
        starter: what is fetched.
        path: the demo.
    """

    kind: Literal["fetch", "folder", "demo"]
    starter: Starter | None = None
    path: Path | None = None


def offers(machine: Machine, demo: Path | None, among: Sequence[Starter] = ()) -> list[Offered]:
    """What there is to choose from, the easiest first."""
    fetched = [trial(among), *suitable(machine, among)]
    here = [Offered("demo", path=demo)] if demo is not None else []
    return [*here, *(Offered("fetch", one) for one in fetched), Offered("folder")]


def row_of(offer: Offered, machine: Machine) -> ChoiceRow:
    """How a choice is shown."""
    match offer.kind:
        case "demo":
            return ChoiceRow(
                "Try the demo: SmolLM2 135M", "is here", "Says little that is true; good for a look around."
            )
        case "folder":
            return ChoiceRow("I have GGUF files", "", "Name their folder; it is remembered.")
        case "fetch":
            assert offer.starter is not None
            return _fetch_row(offer.starter, machine)
        case _:
            assert_never(offer.kind)


def _fetch_row(one: Starter, machine: Machine) -> ChoiceRow:
    verb = "Fetch a small one to try" if one.trial else "Fetch"
    size = f"about {_rounded(one.size)}"
    if one.trial:
        return ChoiceRow(f"{verb}: {one.name}", size, f"Runs anywhere; {one.about}.")
    return ChoiceRow(f"{verb} {one.name}", size, f"{_why(one, machine)}; {one.about}. {_guessing(one)}".rstrip())


def _why(one: Starter, machine: Machine) -> str:
    if on_gpu(one, machine):
        return "Goes into the memory of the GPU"
    return "Suits this machine" if machine.ram is not None else "For machines of any size"


def _guessing(one: Starter) -> str:
    match one.guesses:
        case "heads":
            return "With an MTP head."
        case "drafter":
            return "With a drafter."
        case "nothing":
            return ""
        case _:
            assert_never(one.guesses)


def _rounded(size: int) -> str:
    return f"{round(size / 1e7) * 10} MB" if size < 1e9 else human_size(size)


def remark(machine: Machine, place: str, source: str, offered: Sequence[Offered] = ()) -> str:
    """The small print: what is free, where files come from and go to, what the words beside them mean."""
    own = sum(device.free for device in machine.devices if not device.shared)
    free = [
        *([f"{human_size(machine.ram)} of memory"] if machine.ram is not None else []),
        *([f"{human_size(own)} on the GPU"] if own else []),
    ]
    said = f"Free here: {' and '.join(free)}. " if free else ""
    words = any(one.starter is not None and one.starter.guesses != "nothing" for one in offered)
    meaning = " MTP heads and drafters guess words ahead, which makes many answers quicker." if words else ""
    return f"{said}Nothing is fetched before you choose; it comes from {source} and goes to {place}.{meaning}"


def keys(state: Literal["choosing", "asking", "fetching"]) -> Content:
    """The keys of the moment."""
    rows = {
        "choosing": (("↑↓ ⏎", "or its number"), ("esc", "to the chat, without a model")),
        "asking": (("⇥", "complete"), ("⏎", "use this folder"), ("esc", "back")),
        "fetching": (("esc", "stop; what has come is kept"),),
    }[state]
    return key_words(rows, gap="   ")
