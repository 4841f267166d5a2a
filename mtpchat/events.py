"""What the engine says: a small closed vocabulary of frozen values, and what it can be asked.

Events of one load:  Loading*, then LoadFinished or Failed.
Events of one turn:  LeftOut?, Prefilling*, (TextDelta | StatsTick)*, then exactly one of Finished or Failed.
Events of one job:   Working*, then Worked or Failed.
Of a measuring:      Measured or Failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mtpchat.fitting import FitChoice
from mtpchat.messages import Message
from mtpchat.report import SpeculationReport
from mtpchat.stats import TurnStats

Channel = Literal["answer", "thinking"]
FinishReason = Literal["stop", "length", "context", "cancelled"]
SpeculationMode = Literal["on", "off", "auto"]


@dataclass(frozen=True, slots=True)
class Loading:
    """A model is being loaded. `fraction` is 0..1; `total_bytes` is 0 when unknown."""

    what: str
    fraction: float
    total_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is loaded, for people to read.

    Attributes:
        name: the file's name without its ending; the model's own where that says nothing.
        path: the main file.
        architecture: general.architecture of the file.
        kind: strategy in use after the load.
        choice: one sentence that says which drafter was picked and why.
        available: strategies that can be switched to without a reload.
        drafter: file name of the drafter, or "".
        context_size: tokens.
        depth_limit: most tokens that may be drafted per step (snapshots, heads, ...); None without a limit.
        depth_reason: where that limit comes from.
        fallback_reason: why the wanted speculation is not there, or "".
        warnings: sentences worth showing once.
        gpu: this build can run layers on a GPU.
        gpu_layers: how many are there, the output counted as one; -1 is all.
        suggestion: a line that offers a drafter which was found and not taken, or "".
        thinking: what the chat template can be told about thinking; () when nothing.
    """

    name: str
    path: str
    architecture: str
    kind: str
    choice: str
    available: tuple[str, ...] = ("none", "ngram")
    drafter: str = ""
    context_size: int = 0
    depth_limit: int | None = None
    depth_reason: str = ""
    fallback_reason: str = ""
    warnings: tuple[str, ...] = ()
    gpu: bool = False
    gpu_layers: int = -1
    suggestion: str = ""
    thinking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadFinished:
    """The model is ready."""

    facts: ModelFacts


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The chat has outgrown the context: the model does not read these messages. Comes before anything is read.

    Attributes:
        first / count: place of the first one, the system message not counted, and how many they are.
        fresh: more of them than at the turn before.
        prompt_tokens / whole_tokens: what is sent, and what all of the chat would take.
        context: tokens that the model's memory holds.
    """

    first: int
    count: int
    fresh: bool
    prompt_tokens: int
    whole_tokens: int
    context: int


@dataclass(frozen=True, slots=True)
class Prefilling:
    """The prompt is being read. `done` of `total` tokens, those already cached counted as done.

    `remembered`: so many of them were brought back from an earlier run.
    """

    done: int
    total: int
    eta_s: float | None = None
    remembered: int = 0


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text, never an incomplete UTF-8 sequence.

    `drafted` is the kind of drafter that had guessed it; "" for the model's own, and always while the control does not
    ask for provenance.
    """

    text: str
    channel: Channel = "answer"
    drafted: str = ""


@dataclass(frozen=True, slots=True)
class StatsTick:
    """Counters so far; at most eight per second. `report` is there while SpeculationControl.observe is set."""

    stats: TurnStats
    report: SpeculationReport | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn is over and its message is part of the conversation.

    `notice` is a sentence to show, e.g. why the answer ends here; "" when there is nothing to say. `report` is what the
    controller of speculation did and knows.
    """

    message: Message
    stats: TurnStats
    reason: FinishReason
    notice: str = ""
    report: SpeculationReport | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn or load failed; the engine lives on. `partial` is what had been said, or None.

    `choices` are settings with which the load would fit into memory, for the user to choose from.
    """

    message: str
    hint: str = ""
    partial: Message | None = None
    stats: TurnStats | None = None
    choices: tuple[FitChoice, ...] = ()


@dataclass(frozen=True, slots=True)
class Working:
    """A job over the loaded model goes on: `done` of `total` parts, the last of them `what`, "" before the first."""

    what: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Worked:
    """The job has ended.

    Attributes:
        line: what came of it, in a sentence or two.
        title / page: of a page of Markdown that tells all; "" for none.
        warning: it found something wrong.
    """

    line: str
    title: str = ""
    page: str = ""
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """How much of the context a request would take; nothing is decoded for it.

    Attributes:
        prompt_tokens: the whole prompt, what the chat template writes included.
        context: tokens that the model's memory holds; 0 when that is not known.
        per_message: tokens of each message's own words, in the order of the request; what the template adds is in none
            of them, so that their sum is less.
        attached: so many of those are of attachments, in the same order.
    """

    prompt_tokens: int
    context: int = 0
    per_message: tuple[int, ...] = ()
    attached: tuple[int, ...] = ()


LoadEvent = Loading | LoadFinished | Failed
TurnEvent = LeftOut | Prefilling | TextDelta | StatsTick | Finished | Failed
JobEvent = Working | Worked | Failed
Event = LoadEvent | TurnEvent
EngineEvent = Event | JobEvent | Measured


@dataclass(frozen=True, slots=True)
class SpeculationControl:
    """What the user wants of speculation; replaced as a whole, read by the engine before every step.

    Attributes:
        mode: "off" = exactly plain decoding; "on" = always draft; "auto" = draft while it pays.
        draft_min / draft_max: bounds of the depth in tokens.
        pinned: draft exactly draft_max each step instead of adapting between the bounds.
        kind: strategy to use among those loaded, or "" for the one the load chose.
        provenance: tell with each text which drafter had guessed it.
        free_max: most tokens of a guess that costs nothing to make (n-gram), where it is larger than draft_max.
        observe: send a report with the counters; costs nothing while it is False.
    """

    mode: SpeculationMode = "auto"
    draft_min: int = 0
    draft_max: int = 4
    pinned: bool = False
    kind: str = ""
    provenance: bool = False
    observe: bool = False
    free_max: int = 0
