"""What the tokens of a vocabulary spell, arranged for a grammar: which can be text at all, and which begin alike."""

from __future__ import annotations

import codecs
from bisect import bisect_left
from functools import cached_property
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from mtpchat.backend.llama.model import LlamaVocabulary

Ids = NDArray[np.int64]
_CONTINUATION, _FIRST_LEAD, _LEAD_OF_3, _LEAD_OF_4 = 0x80, 0xC0, 0xE0, 0xF0
_MOST_CONTINUATIONS = 3


class TokenTable:
    """Made once per vocabulary, when the first grammar needs it: a quarter of a million tokens take half a second.

    Attributes:
        pieces: bytes of each token; b"" for control tokens.
        usable: shape (n_vocab,): tokens that are text, or end an answer. A token that is not, such as a control token,
            llama.cpp's grammar would take for the text of its name.
        groups: for each first byte the ids of the usable tokens that begin with it, ascending.
    """

    def __init__(self, vocabulary: LlamaVocabulary) -> None:
        self.pieces = [vocabulary.piece(token) for token in range(vocabulary.n_vocab)]
        self.eog: Ids = np.array(sorted(vocabulary.eog), np.int64)
        text = np.fromiter((is_text(piece) for piece in self.pieces), bool, vocabulary.n_vocab)
        text[self.eog] = False
        self.usable = text.copy()
        self.usable[self.eog] = True
        ids = np.flatnonzero(text)
        firsts = np.fromiter((self.pieces[token][0] for token in ids), np.int64, len(ids))
        self.groups: list[Ids] = [ids[firsts == byte] for byte in range(256)]
        self._find_single_bytes()

    def _find_single_bytes(self) -> None:
        """For each first byte one token that stands for all that begin with it; all of them where none is the byte."""
        self.single = [-1] * 256
        stand_ins, of_byte = [], []
        for byte, group in enumerate(self.groups):
            alone = next((int(token) for token in group if len(self.pieces[token]) == 1), -1)
            self.single[byte] = alone
            chosen = [alone] if alone >= 0 else [int(token) for token in group]
            stand_ins += chosen
            of_byte += [byte] * len(chosen)
        self.stand_ins: Ids = np.array(stand_ins, np.int64)
        self.of_byte: Ids = np.array(of_byte, np.int64)

    @cached_property
    def longest_first(self) -> dict[bytes, int]:
        """Text tokens by what they spell."""
        return {self.pieces[token]: int(token) for group in self.groups for token in reversed(group)}

    @cached_property
    def _sorted(self) -> list[tuple[bytes, int]]:
        return sorted((self.pieces[token], int(token)) for group in self.groups for token in group)

    def beginning_with(self, text: bytes) -> list[int]:
        """Text tokens that begin with a text, or are it."""
        begin = bisect_left(self._sorted, text, key=itemgetter(0))
        end = bisect_left(self._sorted, text[:-1] + bytes([text[-1] + 1]), lo=begin, key=itemgetter(0))
        return [token for _piece, token in self._sorted[begin:end]]

    @cached_property
    def longest(self) -> int:
        """Bytes of the longest text token."""
        return max((len(piece) for piece in self.longest_first), default=0)

    @cached_property
    def blank(self) -> Ids:
        """Tokens of nothing but white space."""
        return np.array([at for at, piece in enumerate(self.pieces) if piece and not piece.strip()], np.int64)


def unfinished(text: bytes) -> bytes:
    """The bytes at the end of a UTF-8 text that only begin a character."""
    for size in range(1, min(_MOST_CONTINUATIONS, len(text)) + 1):
        byte = text[-size]
        if byte >= _FIRST_LEAD:
            whole = 2 + (byte >= _LEAD_OF_3) + (byte >= _LEAD_OF_4)
            return text[-size:] if size < whole else b""
        if byte < _CONTINUATION:
            return b""
    return b""


def is_text(piece: bytes) -> bool:
    """Whether bytes can stand in a UTF-8 text, perhaps beginning or ending within a character."""
    if not piece or 0 in piece:
        return False
    start = 0
    while start < len(piece) and _CONTINUATION <= piece[start] < _FIRST_LEAD:
        start += 1
    if start > _MOST_CONTINUATIONS:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(piece[start:], final=False)
    except UnicodeDecodeError:
        return False
    return True
