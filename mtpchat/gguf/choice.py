"""Which drafter a model gets: decided from headers alone, before weights are loaded, and explained in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mtpchat.errors import MtpChatError
from mtpchat.gguf.facts import FileFacts, facts_of, read_model, why_no_heads
from mtpchat.gguf.header import Header
from mtpchat.gguf.pairing import examine_pair, same_file

_WHAT = {
    "mtp": "prediction heads",
    "eagle3": "an EAGLE-3 head",
    "draft": "a draft model",
}
_SENTENCE = {"mtp": "MTP: the heads in", "eagle3": "EAGLE-3: the head in", "draft": "draft model:"}
_MISSING = {"draft": "no draft model was given (-md)", "eagle3": "no EAGLE-3 head was given (-md)"}
"""What is said when nothing was given and nothing was found; of heads the model's own file has more to say."""


@dataclass(frozen=True, slots=True)
class Companion:
    """A drafter that was found for a model, checked against it.

    Attributes:
        kind: how it would draft: "mtp", "eagle3" or "draft"; "" when it is refused.
        where: "beside the model", "in its repository", ...
        strong: evidence and checks are good enough to use it without being asked.
        suggestion: a line that offers it, or "".
        refusal: why one that is named for this very model cannot be used, or "".
    """

    path: Path
    kind: str
    where: str
    strong: bool
    suggestion: str = ""
    refusal: str = ""


Find = Callable[[Header], Sequence[Companion]]
"""Looks for drafters of a model, best first."""


@dataclass(frozen=True, slots=True)
class DrafterChoice:
    """What will guess.

    Attributes:
        kind: "none", "ngram", "draft", "mtp" or "eagle3".
        path: the drafter's file; None for heads of the main file and for kinds without a file.
        facts: of that file.
        sentence: what was picked and why, for the user.
        reason: why it is not what was asked for, or "".
        warnings: what is doubtful about the pair, and what would guess better.
        suggestion: a line about a drafter that was found and not taken, or "".
    """

    kind: str
    path: Path | None = None
    facts: FileFacts | None = None
    sentence: str = ""
    reason: str = ""
    warnings: tuple[str, ...] = ()
    suggestion: str = ""


def choose_drafter(main: Header, kind: str, drafter: str, find: Find | None = None) -> DrafterChoice:
    """Pick a drafter for a model.

    `auto` takes, in this order: heads in the main file (a drafter that was given as well is left aside, which is said),
    the drafter given, the best one found if the evidence is strong, n-gram. A drafter that cannot be used never keeps
    the model from loading: n-gram takes its place and `reason` says why.

    Args:
        kind: "auto", "none", "ngram", "draft", "mtp" or "eagle3".
        drafter: path of a drafter, "" for none; the main file itself means its own heads.
        find: looks for drafters where none is given; asked only if the model has no heads of its own that can be used.
    """
    if kind == "none":
        return DrafterChoice("none", sentence="speculation is off: plain decoding")
    if kind == "ngram":
        return DrafterChoice("ngram", sentence="n-gram: repeats of the chat's own text are guessed")
    no_heads = why_no_heads(facts_of(main))
    given = Path(drafter).expanduser() if drafter else None
    own = given is not None and same_file(main.path, given)
    if own and no_heads:
        return _fallback(no_heads)
    if given is None or own:
        if not no_heads and (own or kind in ("auto", "mtp")):
            return _own(main)
        return _found(main, kind, find(main) if find is not None else (), no_heads)
    choice = _given(main, kind, given)
    if not no_heads and (kind == "auto" or (kind == "mtp" and choice.path is None)):
        return _own(main, _left_aside(choice if kind == "auto" else _given(main, "auto", given), given))
    return choice


def _own(main: Header, *warnings: str) -> DrafterChoice:
    """The heads in the main file."""
    return DrafterChoice("mtp", sentence=f"MTP: the heads in {main.path.name} itself", warnings=warnings)


def _found(main: Header, kind: str, companions: Sequence[Companion], no_heads: str) -> DrafterChoice:
    """The best drafter that was found; else n-gram, and a line about a weaker one."""
    for one in companions:
        if not one.strong or kind not in ("auto", one.kind):
            continue
        choice = _given(main, kind, one.path)
        if choice.path is not None:
            return replace(choice, sentence=f"{choice.sentence}, found {one.where}")
    offered = next((one.suggestion for one in companions if one.suggestion), "")
    refused = next((one.refusal for one in companions if one.refusal), "")
    wanted = no_heads if kind == "mtp" else _MISSING.get(kind, "")
    return replace(_fallback(refused or wanted, no_heads), suggestion=offered)


def _given(main: Header, kind: str, path: Path) -> DrafterChoice:
    """The drafter the user named, if it fits the model and the kind asked for."""
    try:
        header = read_model(path)
        report = examine_pair(main, header)
    except MtpChatError as error:
        return _fallback(error.message)
    found = report.kind
    if kind not in ("auto", found):
        return _fallback(f"{path.name} is {_WHAT[found]}, not {_WHAT[kind]}: use --spec {found}")
    facts = facts_of(header)
    what = _SENTENCE[found] if facts.role != "gemma4_assistant" else "MTP: the assistant"
    doubts = tuple(f"{one} It is used all the same; acceptance will tell." for one in report.doubts)
    return DrafterChoice(found, path, facts, f"{what} {path.name}", warnings=(*doubts, *report.advice))


def _left_aside(other: DrafterChoice, path: Path) -> str:
    """What is said of a drafter that was named and is not taken, because the model has heads of its own.

    Args:
        other: what would guess if it had none.
    """
    if other.path is None:
        return f"The heads in the model's own file guess; {path.name} could not: {other.reason}."
    how = f"--spec {other.kind}, or /spec {other.kind} in the chat, takes that file"
    return f"The heads in the model's own file guess, not {path.name}: {how}."


def _fallback(reason: str, remark: str = "") -> DrafterChoice:
    """N-gram in place of what could not be had; it costs nothing when it does not help."""
    because = reason or remark
    sentence = f"n-gram guesses from earlier text, because {because.rstrip('.')}" if because else "n-gram"
    return DrafterChoice("ngram", sentence=sentence, reason=reason.rstrip("."))
