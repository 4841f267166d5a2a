"""Which drafter a model gets: decided from headers alone, before weights are loaded, and explained in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mtpchat.errors import MtpChatError
from mtpchat.gguf.facts import FileFacts, facts_of, read_model, why_no_heads
from mtpchat.gguf.header import Header
from mtpchat.gguf.pairing import classify_drafter, same_file

_WHAT = {
    "mtp": "prediction heads",
    "eagle3": "an EAGLE-3 head",
    "draft": "a draft model",
}
_SENTENCE = {"mtp": "MTP: the heads in", "eagle3": "EAGLE-3: the head in", "draft": "draft model:"}
_MISSING = {"draft": "no draft model was given (-md)", "eagle3": "no EAGLE-3 head was given (-md)"}


@dataclass(frozen=True, slots=True)
class DrafterChoice:
    """What will guess.

    Attributes:
        kind: "none", "ngram", "draft", "mtp" or "eagle3".
        path: the drafter's file; None for heads of the main file and for kinds without a file.
        facts: of that file.
        sentence: what was picked and why, for the user.
        reason: why it is not what was asked for, or "".
    """

    kind: str
    path: Path | None = None
    facts: FileFacts | None = None
    sentence: str = ""
    reason: str = ""


def choose_drafter(main: Header, kind: str, drafter: str) -> DrafterChoice:
    """Pick a drafter for a model.

    `auto` takes, in this order: heads in the main file, the drafter given, n-gram. A drafter that cannot be used never
    keeps the model from loading: n-gram takes its place and `reason` says why.

    Args:
        kind: "auto", "none", "ngram", "draft", "mtp" or "eagle3".
        drafter: path of a drafter, "" for none; the main file itself means its own heads.
    """
    if kind == "none":
        return DrafterChoice("none", sentence="speculation is off: plain decoding")
    if kind == "ngram":
        return DrafterChoice("ngram", sentence="n-gram: repeats of the chat's own text are guessed")
    no_heads = why_no_heads(facts_of(main))
    given = Path(drafter).expanduser() if drafter else None
    own = given is not None and same_file(main.path, given)
    if own or kind == "auto" or (kind == "mtp" and given is None):
        if not no_heads:
            return DrafterChoice("mtp", sentence=f"MTP: the heads in {main.path.name} itself")
        if own or kind == "mtp":
            return _fallback(no_heads)
    if given is None:
        return _fallback(_MISSING.get(kind, ""), no_heads)
    return _given(main, kind, given)


def _given(main: Header, kind: str, path: Path) -> DrafterChoice:
    """The drafter the user named, if it fits the model and the kind asked for."""
    try:
        header = read_model(path)
        found = classify_drafter(main, header)
    except MtpChatError as error:
        return _fallback(error.message)
    if kind not in ("auto", found):
        return _fallback(f"{path.name} is {_WHAT[found]}, not {_WHAT[kind]}: use --spec {found}")
    facts = facts_of(header)
    if found == "draft" and facts.memory != "attention":
        return _fallback(f"{path.name} is a recurrent model, whose guesses cannot be taken back")
    what = _SENTENCE[found] if facts.role != "gemma4_assistant" else "MTP: the assistant"
    return DrafterChoice(found, path, facts, f"{what} {path.name}")


def _fallback(reason: str, remark: str = "") -> DrafterChoice:
    """N-gram in place of what could not be had; it costs nothing when it does not help."""
    because = reason or remark
    sentence = f"n-gram, because {because.rstrip('.')}" if because else "n-gram"
    return DrafterChoice("ngram", sentence=sentence, reason=reason.rstrip("."))
