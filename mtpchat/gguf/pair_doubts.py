"""What is odd about a pair that can be loaded: facts that hint at another family, and what would guess better.

A wrong pair is refused in pairing.py. What stands here does not spoil the text; it may cost acceptance, which the chat
measures.
"""

from __future__ import annotations

import re

from mtpchat.gguf.facts import FileFacts, facts_of
from mtpchat.gguf.header import Header
from mtpchat.gguf.vocabulary import MERGES, TOKENS

_COARSER_BITS = 0.5
"""Bits per parameter that make a quantisation coarser than another one; less is a matter of which tensors are kept."""
_FINE_BITS = 8.0
"""From here on nothing is lost that shows."""
_HEAVY_SHARE = 0.5
_SPECIALS = {"eos": "end-of-text", "eot": "end-of-turn", "bos": "begin-of-text"}
_NOT_A_NAME = re.compile(r"[^a-z0-9.]+")


def doubts_about(main: Header, drafter: Header, kind: str) -> tuple[str, ...]:
    """Sentences about what does not look like one family.

    Args:
        kind: "mtp", "eagle3" or "draft".

    Raises:
        ModelUnreadable: a file has changed meanwhile.
    """
    found = (
        [_other_base(main, drafter)] if kind != "draft" else [_first_tokens(main, drafter), _too_large(main, drafter)]
    )
    return tuple(one for one in (*found, _other_specials(main, drafter), _other_merges(main, drafter)) if one)


def advice_about(main: Header, drafter: Header) -> tuple[str, ...]:
    """A drafter that is quantised harder than its model, and what to get instead."""
    own, model = facts_of(drafter), facts_of(main)
    here, there = own.mix.bits, model.mix.bits
    if here is None or there is None or here >= min(there - _COARSER_BITS, _FINE_BITS):
        return ()
    return (
        f"{own.path.name} is quantised harder than its model ({_bits(own, here)} against {_bits(model, there)}), which "
        f"costs right guesses: a Q8_0 of it is small and guesses better.",
    )


def _bits(facts: FileFacts, bits: float) -> str:
    return f"{facts.quantization}, {bits:.1f} bits" if facts.quantization else f"{bits:.1f} bits"


def _first_tokens(main: Header, draft: Header) -> str:
    """The first tokens may differ (llama.cpp leaves them out), but within a family they do not."""
    own, wanted = draft.strings(TOKENS)[:5], main.strings(TOKENS)[:5]
    for token, (here, there) in enumerate(zip(own, wanted, strict=False)):
        if here != there:
            return f"Token {token} is {quote(here)} in {draft.path.name} and {quote(there)} in the model."
    return ""


def _too_large(main: Header, draft: Header) -> str:
    if draft.size <= main.size * _HEAVY_SHARE:
        return ""
    share = f"{draft.size / main.size:.0%} of the size of" if draft.size < main.size else "no smaller than"
    return f"{draft.path.name} is {share} the model: a guess costs nearly as much as the answer."


def _other_specials(main: Header, drafter: Header) -> str:
    for key, name in _SPECIALS.items():
        here = drafter.integer(f"tokenizer.ggml.{key}_token_id")
        there = main.integer(f"tokenizer.ggml.{key}_token_id")
        if here is not None and there is not None and here != there:
            return f"The {name} token of {drafter.path.name} is {here}, the model's is {there}."
    return ""


def _other_merges(main: Header, drafter: Header) -> str:
    file = drafter.path.name
    here, there = drafter.text("tokenizer.ggml.pre"), main.text("tokenizer.ggml.pre")
    if here and there and here != there:
        return f"{file} cuts text as {here!r}, the model as {there!r}."
    if MERGES not in drafter.arrays or MERGES not in main.arrays or drafter.digest(MERGES) == main.digest(MERGES):
        return ""
    own, wanted = drafter.strings(MERGES), main.strings(MERGES)
    for rank, (one, other) in enumerate(zip(own, wanted, strict=False)):
        if one != other:
            return f"Merge {rank} is {quote(one)} in {file} and {quote(other)} in the model."
    return f"{file} has {len(own)} merges, the model has {len(wanted)}." if len(own) != len(wanted) else ""


def _other_base(main: Header, head: Header) -> str:
    """Heads are made from one model; both files may name it."""
    made_for = facts_of(head).base_models
    model = facts_of(main)
    known = {_plain(name) for name in (*model.base_models, model.name, main.text("general.basename"))} - {""}
    if not made_for or any(_alike(_plain(name), one) for name in made_for for one in known):
        return ""
    own = model.base_models[0] if model.base_models else model.name
    return f"{head.path.name} was made for {made_for[0]}, and the model is {own}."


def _plain(name: str) -> str:
    return _NOT_A_NAME.sub(" ", name.casefold()).strip()


def _alike(one: str, other: str) -> bool:
    """Owners are named by some files and not by others: "qwen qwen3.5 27b" is "qwen3.5 27b"."""
    return f" {one} ".endswith(f" {other} ") or f" {other} ".endswith(f" {one} ")


def quote(token: bytes) -> str:
    """The text of a token as it may stand in a message."""
    text = token.decode("utf-8", errors="replace")
    return repr(text if len(text) <= 40 else text[:40] + "…")
