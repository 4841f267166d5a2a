"""Does this drafter fit that model? Decided from two headers, with the reason, before anything is loaded.

A wrong pair is not a slow pair: ids would mean other words, or llama.cpp would abort the process.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mtpchat.errors import DrafterMismatch, DrafterUnsupported
from mtpchat.gguf.facts import FileFacts, facts_of, why_no_heads
from mtpchat.gguf.head_pairing import check_assistant_pair, check_eagle3_pair, compare_tokens
from mtpchat.gguf.header import Header
from mtpchat.gguf.pair_doubts import advice_about, doubts_about
from mtpchat.gguf.traps import traps_of

DrafterKind = Literal["own_heads", "mtp", "eagle3", "draft"]

MAX_SIZE_DIFFERENCE = 128
FIRST_COMPARED_TOKEN = 5
"""Both as in llama.cpp (common/speculative.cpp): padding and the first, special tokens may differ."""

_TYPES = {
    "gpt2": "BPE",
    "hybriddna": "BPE",
    "whitespace": "BPE",
    "gemma4": "BPE",
    "llama": "SPM",
    "bert": "WPM",
    "t5": "UGM",
}
_DEFAULT_IDS: dict[str, tuple[int | None, int | None]] = {
    "llama": (1, 2),
    "bert": (101, None),
    "gpt2": (11, 11),
    "hybriddna": (11, 11),
    "whitespace": (11, 11),
    "t5": (None, 1),
    "plamo2": (1, 2),
}
_BOS_BY_SPLITTER = frozenset(
    {
        "chameleon",
        "falcon-h1",
        "falcon3",
        "jina-v5-nano",
        "lfm2",
        "llama-bpe",
        "llama-v3",
        "llama3",
        "midm-2.0",
        "pixtral",
        "tekken",
    }
)
_NO_BOS_BY_SPLITTER = frozenset({"chatglm-bpe", "glm4", "glm5"})
_UNSUPPORTED = {
    "dflash": "a DFlash drafter",
    "dspark": "a DSpark drafter",
    "draft_head": "a draft head of the architecture",
}


@dataclass(frozen=True, slots=True)
class _Special:
    """The settings of a tokenizer that llama.cpp compares, with its defaults filled in."""

    type: str
    adds_bos: bool
    bos: int | None
    adds_eos: bool
    eos: int | None


def same_file(first: str | Path, second: str | Path) -> bool:
    """Do two paths lead to one file? Links are followed; files that do not exist are the same when their paths are."""
    one, other = Path(first), Path(second)
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return one.absolute() == other.absolute()


@dataclass(frozen=True, slots=True)
class PairReport:
    """A pair that can be loaded.

    Attributes:
        doubts: what hints at another family; acceptance will tell.
        advice: what would guess better.
    """

    kind: DrafterKind
    doubts: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


def examine_pair(main: Header, drafter: Header) -> PairReport:
    """All that two headers tell about a pair.

    Raises:
        DrafterMismatch, DrafterUnsupported: as `classify_drafter`; also for a draft model whose guesses cannot be taken
            back, and for settings on which llama.cpp ends the process.
    """
    kind = classify_drafter(main, drafter)
    if kind == "own_heads":
        return PairReport(kind)
    trap = next(traps_of(drafter, facts_of(drafter)), "")
    if trap:
        raise DrafterUnsupported(
            f"{drafter.path.name} {trap}; llama.cpp would end the whole program on it, or hang.",
            hint="The file is damaged or was badly made: get another conversion.",
        )
    if kind == "draft" and facts_of(drafter).memory != "attention":
        raise DrafterUnsupported(
            f"{drafter.path.name} is a recurrent model, whose guesses cannot be taken back.",
            hint="Choose a draft model of another architecture.",
        )
    return PairReport(kind, doubts_about(main, drafter, kind), advice_about(main, drafter))


def classify_drafter(main: Header, drafter: Header) -> DrafterKind:
    """How `drafter` can draft for `main`.

    Returns:
        "own_heads": it is the same file, whose own heads are meant; "mtp": prediction heads in another file, or an
        assistant; "eagle3": an EAGLE-3 head; "draft": a small model with the same vocabulary.

    Raises:
        DrafterMismatch: it does not belong to this model, or is no drafter.
        DrafterUnsupported: such drafters cannot be run.
    """
    if same_file(main.path, drafter.path):
        reason = why_no_heads(facts_of(main))
        if reason:
            raise DrafterMismatch(
                f"The drafter named is the model itself, and {reason}",
                hint="Name a drafter that belongs to it, or none.",
            )
        return "own_heads"
    facts = facts_of(drafter)
    if facts.role == "mtp_only" or (facts.role == "chat" and _is_twin_with_heads(facts_of(main), facts)):
        check_head_pair(main, drafter)
        return "mtp"
    if facts.role == "gemma4_assistant":
        check_assistant_pair(main, drafter)
        return "mtp"
    if facts.role == "eagle3":
        check_eagle3_pair(main, drafter)
        return "eagle3"
    check_draft_pair(main, drafter)
    return "draft"


def check_draft_pair(main: Header, draft: Header) -> None:
    """Compare vocabularies as llama.cpp does, and refuse files that are no model.

    Raises:
        DrafterMismatch, DrafterUnsupported: with the first difference.
    """
    facts = facts_of(draft)
    file = facts.path.name
    if facts.role in _UNSUPPORTED:
        what = _UNSUPPORTED[facts.role] + (f" {facts.architecture}" if facts.role == "draft_head" else "")
        raise DrafterUnsupported(
            f"{file} is {what}, which is not yet supported by this version of mtpchat.",
            hint="Use a draft model, prediction heads, or --spec ngram.",
        )
    if facts.role == "mtp_only":
        raise DrafterMismatch(
            f"{file} holds prediction heads alone; it cannot draft as a model of its own.",
            hint="Use it with --spec mtp.",
        )
    if facts.role != "chat":
        kind = {"vocab_only": "a vocabulary without weights", "other": "something else"}.get(
            facts.role, f"of the kind {facts.role}"
        )
        raise DrafterMismatch(f"{file} is no draft model: it is {kind}.", hint="Name a small model of the same family.")
    _compare_vocabularies(main, draft)


def check_head_pair(main: Header, head: Header) -> None:
    """Do these prediction heads belong to that trunk?

    Raises:
        DrafterMismatch: architecture, width, vocabulary or depth differ.
        DrafterUnsupported: llama.cpp cannot run these heads.
    """
    trunk, heads = facts_of(main), facts_of(head)
    pair = f"{heads.path.name} does not belong to {trunk.path.name}"
    hint = "Use the heads that were made from this very model."
    if trunk.architecture != heads.architecture:
        raise DrafterMismatch(
            f"{pair}: its architecture is {heads.architecture or 'unknown'}, the model's is {trunk.architecture}.",
            hint=hint,
        )
    reason = why_no_heads(heads)
    if reason:
        raise DrafterUnsupported(reason, hint="Look for another conversion of the heads.")
    for what, own, wanted in (
        ("embeddings are {} wide", heads.width, trunk.width),
        ("vocabulary has {} tokens", heads.vocabulary, trunk.vocabulary),
        ("model has {} blocks", heads.trunk, trunk.trunk),
    ):
        if own != wanted:
            raise DrafterMismatch(f"{pair}: its {what.format(own)}, the model's {wanted}.", hint=hint)
    if head.arrays.get("tokenizer.ggml.tokens"):
        compare_tokens(main, head, first=0)


def _is_twin_with_heads(main: FileFacts, other: FileFacts) -> bool:
    """Is `other` the same model once more, with heads? As a draft model it would be as slow as the model itself."""
    same = (main.architecture, main.width, main.trunk) == (other.architecture, other.width, other.trunk)
    return same and not why_no_heads(other)


def _compare_vocabularies(main: Header, draft: Header) -> None:
    file = draft.path.name
    hint = "A draft model must share the model's vocabulary: choose a smaller model of the same family."
    own, wanted = _special(draft), _special(main)
    if own.type != wanted.type:
        raise DrafterMismatch(f"{file} has a {own.type} vocabulary, the model's is {wanted.type}.", hint=hint)
    for mark, adds, adds_wanted, token, token_wanted in (
        ("begin-of-text", own.adds_bos, wanted.adds_bos, own.bos, wanted.bos),
        ("end-of-text", own.adds_eos, wanted.adds_eos, own.eos, wanted.eos),
    ):
        if adds != adds_wanted:
            verbs = ("adds", "does not") if adds else ("does not add", "does")
            raise DrafterMismatch(f"{file} {verbs[0]} a {mark} token, the model {verbs[1]}.", hint=hint)
        if adds and token != token_wanted:
            raise DrafterMismatch(f"The {mark} token of {file} is {token}, the model's is {token_wanted}.", hint=hint)
    sizes = facts_of(draft).vocabulary or 0, facts_of(main).vocabulary or 0
    if abs(sizes[0] - sizes[1]) > MAX_SIZE_DIFFERENCE:
        raise DrafterMismatch(f"{file} has a vocabulary of {sizes[0]} tokens, the model's has {sizes[1]}.", hint=hint)
    compare_tokens(main, draft, first=FIRST_COMPARED_TOKEN)


def _special(header: Header) -> _Special:
    model, splitter = header.text("tokenizer.ggml.model"), header.text("tokenizer.ggml.pre")
    kind = _TYPES.get(model, model or "missing")
    bos, eos = _DEFAULT_IDS.get(model, (None, None))
    if splitter in _NO_BOS_BY_SPLITTER:
        bos = None
    size = facts_of(header).vocabulary or 0
    told_bos, told_eos = header.integer("tokenizer.ggml.bos_token_id"), header.integer("tokenizer.ggml.eos_token_id")
    by_default = kind in ("SPM", "WPM") or (kind == "BPE" and splitter in _BOS_BY_SPLITTER)
    return _Special(
        type=kind,
        adds_bos=model == "gemma4" or header.flag("tokenizer.ggml.add_bos_token", by_default),
        bos=told_bos if told_bos is not None and told_bos < size else bos,
        adds_eos=header.flag("tokenizer.ggml.add_eos_token", kind == "UGM"),
        eos=told_eos if told_eos is not None and told_eos < size else eos,
    )
