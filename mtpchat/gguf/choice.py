"""Which drafter a model gets: decided from headers alone, before weights are loaded, and explained in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mtpchat.errors import MtpChatError
from mtpchat.gguf.facts import FileFacts, facts_of, read_model, why_no_heads
from mtpchat.gguf.header import Header
from mtpchat.gguf.pairing import classify_drafter, same_file


@dataclass(frozen=True, slots=True)
class DrafterChoice:
    """What will guess.

    Attributes:
        kind: "none", "ngram", "draft" or "mtp".
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
        kind: "auto", "none", "ngram", "draft" or "mtp".
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
        missing = "no draft model was given (-md)" if kind == "draft" else ""
        return _fallback(missing, no_heads)
    return _given(main, kind, given)


def _given(main: Header, kind: str, path: Path) -> DrafterChoice:
    """The drafter the user named, if it fits the model and the kind asked for."""
    try:
        header = read_model(path)
        found = classify_drafter(main, header)
    except MtpChatError as error:
        return _fallback(error.message)
    if kind in ("draft", "mtp") and found != kind:
        is_a = "prediction heads, not a draft model" if found == "mtp" else "a draft model, not prediction heads"
        return _fallback(f"{path.name} is {is_a}: use --spec {found}")
    facts = facts_of(header)
    if found == "draft" and facts.memory != "attention":
        return _fallback(f"{path.name} is a recurrent model, whose guesses cannot be taken back")
    what = "MTP: the heads in" if found == "mtp" else "draft model:"
    return DrafterChoice(found, path, facts, f"{what} {path.name}")


def _fallback(reason: str, remark: str = "") -> DrafterChoice:
    """N-gram in place of what could not be had; it costs nothing when it does not help."""
    because = reason or remark
    sentence = f"n-gram, because {because.rstrip('.')}" if because else "n-gram"
    return DrafterChoice("ngram", sentence=sentence, reason=reason.rstrip("."))
