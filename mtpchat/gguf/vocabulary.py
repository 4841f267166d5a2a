"""What a file says about its vocabulary: kind, size, special tokens, and a digest that tells two of them apart.

Reading every token's text takes a while, so this is asked for where it is shown or compared, never on the way to a list
of files. Token names that end a generation are those of llama.cpp (src/llama-vocab.cpp).
"""

from __future__ import annotations

from dataclasses import dataclass

from mtpchat.gguf.header import Header

TOKENS, MERGES = "tokenizer.ggml.tokens", "tokenizer.ggml.merges"
KINDS = {
    "gpt2": "BPE",
    "hybriddna": "BPE",
    "whitespace": "BPE",
    "gemma4": "BPE",
    "llama": "SPM",
    "bert": "WPM",
    "t5": "UGM",
    "rwkv": "RWKV",
    "plamo2": "PLaMo-2",
    "none": "none",
}
"""tokenizer.ggml.model -> what llama.cpp calls it."""

_ENDS = frozenset(
    text.encode()
    for text in (
        "<|eot_id|>",
        "<|im_end|>",
        "<|end|>",
        "<|return|>",
        "<|call|>",
        "<|flush|>",
        "<|calls|>",
        "<end_of_turn>",
        "<|endoftext|>",
        "</s>",
        "<|eom_id|>",
        "<EOT>",
        "_<EOT>",
        "[EOT]",
        "[EOS]",
        "<|end_of_text|>",
        "<end_of_utterance>",
        "<eos>",
        "<turn|>",
        "<|tool_response>",
        "<｜end▁of▁sentence｜>",
        "[e~[",
    )
)
_END_KEYS = ("eos", "eot", "eom")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens of a model.

    Attributes:
        kind: "BPE", "SPM", ...; "" when the file does not say.
        splitter: tokenizer.ggml.pre: how text is cut before merging.
        size: number of tokens; 0 when the file has none.
        digest: SHA-256 over the texts of all tokens and over the merges, in hexadecimal; "" without tokens.
        merges: how many there are.
        bos / eos: ids, None when the file does not say or they are out of range.
        ends: ids of all tokens that end an answer.
    """

    kind: str
    splitter: str
    size: int
    digest: str
    merges: int
    bos: int | None
    eos: int | None
    ends: tuple[int, ...]


def vocabulary_kind(header: Header) -> str:
    """What llama.cpp calls this kind of vocabulary; the file's own word for one that is not known here."""
    model = header.text("tokenizer.ggml.model")
    return KINDS.get(model, model)


def special_id(header: Header, name: str) -> int | None:
    """The id of a special token such as "bos", None when the file does not say or says nonsense."""
    told = header.integer(f"tokenizer.ggml.{name}_token_id")
    tokens = header.arrays.get(TOKENS)
    return told if told is not None and 0 <= told < (tokens.count if tokens else 1 << 31) else None


def vocabulary_of(header: Header) -> Vocabulary:
    """Read the texts of all tokens. Raises ModelUnreadable if the file has changed meanwhile."""
    texts = header.strings(TOKENS)
    merges = header.arrays.get(MERGES)
    named = {special_id(header, key) for key in _END_KEYS} - {None}
    ends = {token for token, text in enumerate(texts) if text in _ENDS} | {one for one in named if one is not None}
    return Vocabulary(
        kind=vocabulary_kind(header),
        splitter=header.text("tokenizer.ggml.pre"),
        size=len(texts),
        digest=header.digest(TOKENS, MERGES) if texts else "",
        merges=merges.count if merges is not None else 0,
        bos=special_id(header, "bos"),
        eos=special_id(header, "eos"),
        ends=tuple(sorted(ends)),
    )


def repeated_text(texts: list[bytes]) -> bytes | None:
    """The first text that two tokens share; empty ones are given names of their own by llama.cpp."""
    if len(set(texts)) == len(texts):
        return None
    seen: set[bytes] = set()
    for text in texts:
        if text and text in seen:
            return text
        seen.add(text)
    return None
