"""A grammar over the vocabulary of a model: which tokens it allows now, and which it leaves no choice about.

llama.cpp's grammar sampler does the work. It ends the process when it is made to accept what it does not allow: an end
of generation before the grammar is complete aborts, any other token throws through C. So nothing is accepted here that
was not found to be allowed just before, and everything else is an error.

A grammar forbids tokens *before* truncation: those that it forbids never were candidates. Trying the whole vocabulary
takes llama.cpp milliseconds, so that is avoided where the outcome is the same without:

- The first byte decides for most: where a literal has to come, only tokens that begin like it are tried.
- Where nearly everything is allowed, as inside a string, the most likely tokens are tried until enough are allowed.

A text that the grammar dictates has many spellings in tokens. It is said as the tokenizer would write it, except for
its last token where another would spell it together with what may come next. Those tokens are *forced*: known before
the model is asked, the same whatever it says. Where the grammar is complete and nothing may follow, the end is forced.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtpchat.backend.llama.candidates import Candidates
from mtpchat.backend.llama.grammar_check import require_grammar
from mtpchat.backend.llama.model import LlamaVocabulary
from mtpchat.backend.llama.token_table import Ids, TokenTable, is_text, unfinished
from mtpchat.backend.llama.truncate import most_likely
from mtpchat.backend.protocol import Floats
from mtpchat.errors import GrammarError, MisuseRefused

_MOST_TRIED = 4096
"""So many tokens are tried at once without looking for a shorter way."""
_MOST_DICTATED = 512
"""Bytes that are looked ahead for what the grammar dictates."""
_END = b""
_SLOWEST_S = 0.25
"""Processor time of a step that usually takes 20 microseconds: the grammar is so ambiguous that the next may take for
ever, and no call of llama.cpp can be interrupted."""
_TANGLED = "Let fewer things that may be empty follow or repeat one another in the grammar."


class LlamaGrammar:
    """The Mask of the backend protocol over llama.cpp's grammar.

    Args:
        vocabulary: of the model; must live as long as this.
        table: made of it.
        text: GBNF with a rule "root".

    Raises:
        GrammarError: the text is no grammar, or too much of one.
    """

    def __init__(self, vocabulary: LlamaVocabulary, table: TokenTable, text: str) -> None:
        require_grammar(text)
        self._lib: Any = vocabulary.lib
        self._vocabulary = vocabulary
        self._table = table
        self._state: Any = self._lib.llama_sampler_init_grammar(
            vocabulary.handle, text.encode("utf-8", "replace"), b"root"
        )
        if not self._state:
            raise GrammarError("The grammar cannot be used with this model's vocabulary.")
        self._candidates = Candidates(vocabulary.n_vocab)
        self._begun = b""
        """Bytes of a character that was begun and is not whole yet."""
        self._forget()

    def _forget(self) -> None:
        """Nothing is known of the state any more."""
        self._first_bytes: NDArray[np.bool_] | None = None
        self._forced: list[int] | None = None

    @property
    def complete(self) -> bool:
        """Whether the answer may end here."""
        return not self._begun and self._may_end(self._state)

    def forced(self) -> int | None:
        """See Mask.forced."""
        return next(iter(self._dictated()), None)

    def run(self, most: int) -> tuple[int, ...]:
        """See Mask.run."""
        return tuple(self._dictated()[:most])

    def allowed(self, ids: Ids) -> NDArray[np.bool_]:
        """For each token whether it may come next."""
        return self._allows(self._state, ids, self._begun)

    def likeliest(self, row: Floats, count: int) -> Ids:
        """See Mask.likeliest."""
        firsts = self._possible_firsts()
        groups = [group for group, possible in zip(self._table.groups, firsts, strict=True) if possible and len(group)]
        total = sum(map(len, groups))
        for size in (count + 32, 16 * count + 512) if count and total > _MOST_TRIED else ():
            pool = most_likely(row, min(size, len(row)))
            found = pool[self.allowed(pool)]
            if len(found) >= count:
                return found
        found = np.sort(np.concatenate([*groups, self._table.eog]))
        found = found[self.allowed(found)]
        if not len(found):
            raise GrammarError("The grammar leads to where no token of this model fits.", hint=_TANGLED)
        return found

    def holds(self, tokens: Sequence[int]) -> int:
        """See Mask.holds."""
        state: Any = None
        begun = self._begun
        try:
            for at, token in enumerate(tokens):
                if not self._allows(state or self._state, np.array([token]), begun)[0]:
                    return at
                begun = unfinished(begun + self._table.pieces[token])
                if at + 1 == len(tokens) or token in self._vocabulary.eog:
                    return at + 1
                state = state or self._lib.llama_sampler_clone(self._state)
                self._lib.llama_sampler_accept(state, token)
        finally:
            if state:
                self._lib.llama_sampler_free(state)
        return 0

    def accept(self, token: int) -> None:
        """See Mask.accept."""
        began = time.thread_time()
        if not self.allowed(np.array([token]))[0]:
            raise MisuseRefused(f"Token {token} was chosen, which the grammar forbids.")
        self._lib.llama_sampler_accept(self._state, token)
        self._begun = unfinished(self._begun + self._table.pieces[token])
        self._first_bytes = None
        if self._forced and self._forced[0] == token:
            del self._forced[0]
        else:
            self._forced = None
        if not self._forced:
            self._forced = None
        _require_haste(began)

    def feed(self, text: str) -> None:
        """Go on behind a text that was said already. Raises GrammarError where the grammar does not allow it."""
        for byte in text.encode("utf-8", "replace"):
            token = self._table.single[byte]
            if token < 0 or not self.allowed(np.array([token]))[0]:
                raise GrammarError(
                    "What was said of the answer so far does not fit the grammar.",
                    hint="/retry begins it anew; without the grammar it can be continued.",
                )
            self._lib.llama_sampler_accept(self._state, token)
        self._forget()

    def unbound(self, row: Floats, count: int) -> Ids:
        """As `likeliest`, for a place where the grammar does not hold yet: all tokens but those that end the answer."""
        eog = self._table.eog
        pool = most_likely(row, min(count + len(eog), len(row))) if count else np.arange(len(row))
        return pool[~np.isin(pool, eog)]

    def beginning_with(self, text: bytes) -> list[tuple[int, bytes]]:
        """Tokens that begin with a text, and what they say behind it."""
        pieces = self._table.pieces
        return [(token, pieces[token][len(text) :]) for token in self._table.beginning_with(text)]

    @property
    def blank(self) -> Ids:
        """Tokens of nothing but white space."""
        return self._table.blank

    def close(self) -> None:
        """Free what is native."""
        state, self._state = self._state, None
        if state:
            self._lib.llama_sampler_free(state)

    def _allows(self, state: Any, ids: Ids, begun: bytes = b"") -> NDArray[np.bool_]:
        answer = self._table.usable[ids]
        if begun:  # llama.cpp takes a character for what it says in bits, however it is written, and ends within one
            pieces = self._table.pieces
            answer &= np.fromiter((is_text(begun + pieces[token]) for token in ids), bool, len(ids))
            answer &= ~np.isin(ids, self._table.eog)
        usable = ids[answer]
        if len(usable):
            _, logits = self._candidates.apply(state, usable, np.zeros(len(usable), np.float32))
            answer[answer] = logits == 0
        return answer

    def _may_end(self, state: Any) -> bool:
        eog = self._table.eog
        return bool(len(eog)) and bool(self._allows(state, eog[:1])[0])

    def _possible_firsts(self) -> NDArray[np.bool_]:
        if self._first_bytes is None:
            self._first_bytes = self._firsts(self._state)
        return self._first_bytes

    def _firsts(self, state: Any) -> NDArray[np.bool_]:
        """Shape (256,): bytes that a token may begin with."""
        possible, began = np.zeros(256, bool), time.thread_time()
        possible[self._table.of_byte[self._allows(state, self._table.stand_ins)]] = True
        _require_haste(began)
        return possible

    def _dictated(self) -> list[int]:
        """The tokens that are forced from here on."""
        if self._forced is None:
            text, follows = self._dictated_text()
            spelled = self._spell(text) if text else []
            if follows == _END and (spelled or not text):
                self._forced = [*spelled, self._vocabulary.end]
            else:
                self._forced = spelled if spelled and self._is_apart(spelled, follows) else spelled[:-1]
        return self._forced

    def _is_apart(self, spelled: list[int], follows: bytes | None) -> bool:
        """Whether no token spells the last of these together with what may follow."""
        last = self._table.pieces[spelled[-1]]
        longer = [self._table.beginning_with(last + bytes([byte])) for byte in follows or b""]
        if follows is None or sum(map(len, longer)) > _MOST_TRIED:
            return False
        found = np.array([token for ids in longer for token in ids], np.int64)
        if not len(found):
            return True
        state: Any = self._lib.llama_sampler_clone(self._state)
        try:
            for token in spelled[:-1]:
                self._lib.llama_sampler_accept(state, token)
            return not self._allows(state, found).any()
        finally:
            self._lib.llama_sampler_free(state)

    def _dictated_text(self) -> tuple[bytes, bytes | None]:
        """What the grammar leaves no choice about, and with which bytes what follows may begin.

        None for the latter where that is not known, and nothing where the answer must end.
        """
        said = bytearray()
        state: Any = None
        firsts = self._possible_firsts()
        try:
            while len(said) < _MOST_DICTATED:
                if np.count_nonzero(firsts) > 1:
                    return bytes(said), bytes(np.flatnonzero(firsts).tolist())
                may_end = self._may_end(state or self._state)
                byte = int(firsts.argmax())
                token = self._table.single[byte]
                if not firsts[byte]:
                    return bytes(said), _END if may_end else None
                if may_end or token < 0:
                    return bytes(said), bytes([byte]) if may_end else None
                state = state or self._lib.llama_sampler_clone(self._state)
                self._lib.llama_sampler_accept(state, token)
                said.append(byte)
                firsts = self._firsts(state)
        finally:
            if state:
                self._lib.llama_sampler_free(state)
        return bytes(said), None

    def _spell(self, said: bytes) -> list[int]:
        """A text in tokens as the tokenizer writes it; longest tokens first where that adds something; [] for none."""
        try:
            text = said.decode()
        except UnicodeDecodeError:
            return []  # part of a character: the model finds its own way through it
        pieces, usable = self._table.pieces, self._table.usable
        tokens = self._vocabulary.encode(text, special=False)
        if b"".join(pieces[token] for token in tokens) == said and all(usable[token] for token in tokens):
            return tokens
        spelled: list[int] = []
        while said:
            size = next(
                (n for n in range(min(self._table.longest, len(said)), 0, -1) if said[:n] in self._table.longest_first),
                0,
            )
            if not size:
                return []
            spelled.append(self._table.longest_first[said[:size]])
            said = said[size:]
        return spelled


def _require_haste(began: float) -> None:
    if time.thread_time() - began > _SLOWEST_S:
        raise GrammarError("The grammar can be read in so many ways that a token takes too long.", hint=_TANGLED)


class GrammarMaker:
    """Makes grammars over one vocabulary, of which the table is made with the first of them."""

    def __init__(self, vocabulary: LlamaVocabulary) -> None:
        self._vocabulary = vocabulary
        self._table: TokenTable | None = None

    def __call__(self, text: str) -> LlamaGrammar:
        """A grammar at its beginning. Raises GrammarError."""
        self._table = self._table or TokenTable(self._vocabulary)
        return LlamaGrammar(self._vocabulary, self._table, text)
