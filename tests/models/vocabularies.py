"""Tiny vocabularies of every kind that llama.cpp knows, in files without any weights.

Each has all bytes, or can say what it has no token for as something else, and the words of a short text as single
tokens, with all their beginnings, so that every way of merging finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gguf import GGUFWriter, TokenType

from tests.models.vocabulary import STANDARD

SPACE = "\u2581"
WORDS = ("the", "river", "is", "deep", "{", '"', "123", "水", "été", ", ", ": ", "true", "name")


@dataclass(frozen=True)
class Token:
    """A token as a file has it."""

    text: str | bytes
    kind: TokenType = TokenType.NORMAL
    score: float = 0.0


def _bytes() -> list[Token]:
    return [Token(f"<0x{byte:02X}>", TokenType.BYTE) for byte in range(256)]


def _beginnings(words: Sequence[str]) -> list[Token]:
    """Words and all their beginnings, longer ones first in rank."""
    found = dict.fromkeys(word[:end] for word in words for end in range(1, len(word) + 1))
    return [Token(text, score=-10.0 + len(text)) for text in found]


def _pieces() -> list[Token]:
    """Words with a space before them or not, as SentencePiece writes them, and the letters that they are made of."""
    words = [word.replace(" ", SPACE) for word in WORDS]
    return _beginnings([*words, *(SPACE + word for word in words), SPACE * 4])


def sentence_pieces() -> list[Token]:
    """The vocabulary of Llama 2 and Gemma."""
    special = [Token("<unk>", TokenType.UNKNOWN), Token("<s>", TokenType.CONTROL), Token("</s>", TokenType.CONTROL)]
    return [
        *special,
        *_bytes(),
        *_pieces(),
        Token("<|im_end|>", TokenType.CONTROL),
        Token("<tool>", TokenType.USER_DEFINED),
    ]


def unigrams() -> list[Token]:
    """The vocabulary of T5: no bytes, so that it says "unknown" for what it has no letter for."""
    special = [Token("<pad>", TokenType.CONTROL), Token("</s>", TokenType.CONTROL), Token("<unk>", TokenType.UNKNOWN)]
    letters = [Token(chr(code), score=-12.0) for code in range(0x21, 0x7F)]
    have = {token.text for token in _pieces()}
    return [*special, *_pieces(), *(letter for letter in letters if letter.text not in have)]


def escaped_bytes() -> list[Token]:
    """The vocabulary of RWKV: texts as Python writes bytes."""
    words = [word.encode() for word in WORDS if len(word.encode()) > 1]
    found = dict.fromkeys([bytes([byte]) for byte in range(256)] + words + [b" " + word for word in words])
    return [Token("<s>", TokenType.CONTROL), *(Token("".join(f"\\x{byte:02x}" for byte in text)) for text in found)]


def plamo_pieces() -> list[Token]:
    """The vocabulary of PLaMo-2."""
    names = ("unk", "bos", "eos", "pad")
    special = [Token(f"<|plamo:{name}|>", TokenType.CONTROL) for name in names]
    words = _beginnings([*WORDS, *(" " + word for word in WORDS)])
    return [*special, *_bytes(), *(Token(one.text, score=-5.0) for one in words)]


def word_pieces() -> list[Token]:
    """The vocabulary of BERT, whose model says nothing: it must be survived."""
    special = [Token(f"[{name}]", TokenType.CONTROL) for name in ("PAD", "UNK", "CLS", "SEP", "MASK")]
    return [*special, *_beginnings([SPACE + word.strip() for word in WORDS]), *_beginnings(["river", "ing"])]


KINDS = {
    "llama": sentence_pieces,
    "t5": unigrams,
    "bert": word_pieces,
    "rwkv": escaped_bytes,
    "plamo2": plamo_pieces,
}
"""The name of a tokenizer in a file -> its tokens; that of byte pairs is in vocabulary.py."""


def write_vocabulary(path: Path, kind: str, tokens: Sequence[Token], *, end: int | None = 0) -> Path:
    """A file with a vocabulary and nothing else.

    Args:
        end: the token that ends an answer, where a kind has none of its own; None leaves special tokens unnamed.
    """
    writer = GGUFWriter(path, "llama")
    writer.add_tokenizer_model(kind)
    writer.add_token_list([token.text for token in tokens])
    writer.add_token_scores([token.score for token in tokens])
    writer.add_token_types([int(token.kind) for token in tokens])
    if kind == "rwkv" and end is not None:
        writer.add_eos_token_id(end)
    if kind == "bert" and end is not None:
        writer.add_unk_token_id(1)
        writer.add_bos_token_id(2)
        writer.add_sep_token_id(3)
    return _written(writer, path)


def write_byte_pairs(path: Path, splitter: str, extra: Sequence[Token] = ()) -> Path:
    """A file with a vocabulary of byte pairs and nothing else.

    Args:
        splitter: how texts are split, by its name in llama.cpp.
        extra: tokens behind the usual ones.
    """
    writer = GGUFWriter(path, "llama")
    known = [Token(text) for text in STANDARD.tokens]
    special = {"<think>": TokenType.USER_DEFINED, "</think>": TokenType.USER_DEFINED}
    tokens = [
        Token(one.text, special.get(str(one.text), TokenType.CONTROL if "<|" in str(one.text) else one.kind))
        for one in known
    ]
    tokens += extra
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(splitter)
    writer.add_token_list([token.text for token in tokens])
    writer.add_token_types([int(token.kind) for token in tokens])
    writer.add_token_merges(list(STANDARD.merges))
    writer.add_eos_token_id(STANDARD.eos)
    writer.add_add_bos_token(False)
    return _written(writer, path)


def _written(writer: GGUFWriter, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path
