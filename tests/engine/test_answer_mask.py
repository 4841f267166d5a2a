"""Where in an answer a grammar holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from mtpchat.backend.protocol import Floats
from mtpchat.engine.answer_mask import AnswerMask, mask_of
from mtpchat.engine.prompt import RenderedPrompt
from mtpchat.errors import GrammarError
from mtpchat.messages import Message
from tests.fakes import FakeTokenizer

WANTED = b'{"a": 1}'
ROW = np.zeros(400, np.float32)


@dataclass
class Exactly:
    """A Grammar that is one text of bytes, over the vocabulary of bytes."""

    tokenizer: FakeTokenizer
    said: bytearray = field(default_factory=bytearray)
    closed: bool = False

    @property
    def complete(self) -> bool:
        return bytes(self.said) == WANTED

    @property
    def blank(self) -> NDArray[np.int64]:
        return np.array([9, 10, 32])

    def forced(self) -> int | None:
        return next(iter(self.likeliest(ROW, 0)), None)

    def run(self, most: int) -> tuple[int, ...]:
        return tuple(WANTED[len(self.said) :][:most])

    def likeliest(self, row: Floats, count: int) -> NDArray[np.int64]:
        return np.array([WANTED[len(self.said)]] if not self.complete else sorted(self.tokenizer.eog))

    def holds(self, tokens: Sequence[int]) -> int:
        rest = WANTED[len(self.said) :]
        return next((at for at, token in enumerate(tokens) if rest[at : at + 1] != bytes([token])), len(tokens))

    def accept(self, token: int) -> None:
        if token in self.tokenizer.eog:
            assert self.complete
            return
        self.feed(chr(token))

    def feed(self, text: str) -> None:
        for byte in text.encode():
            if self.complete or WANTED[len(self.said)] != byte:
                raise GrammarError("does not fit")
            self.said.append(byte)

    def unbound(self, row: Floats, count: int) -> NDArray[np.int64]:
        return np.array([token for token in range(self.tokenizer.n_vocab) if token not in self.tokenizer.eog])

    def beginning_with(self, text: bytes) -> list[tuple[int, bytes]]:
        return [(text[0], b"")] if len(text) == 1 else []

    def close(self) -> None:
        self.closed = True


def prompt(text: str = "...", *, opened: bool = False) -> RenderedPrompt:
    return RenderedPrompt((1, 2), text, 1, opened_thinking=opened)


def made(*, opened: bool = False, begun: Message | None = None, text: str = "...") -> tuple[AnswerMask, Exactly]:
    tokenizer = FakeTokenizer(user_defined=("<think>", "</think>"))
    grammar = Exactly(tokenizer)
    mask = mask_of(grammar, tokenizer, prompt(text, opened=opened), begun)
    return mask, grammar  # type: ignore[return-value]


def say(mask: AnswerMask, grammar: Exactly, text: str) -> None:
    """Say a text, every token of which has to be allowed, and every forced one has to be the forced one."""
    for token in grammar.tokenizer.encode(text):
        forced = mask.forced()
        assert forced is None or forced == token
        assert token in mask.likeliest(ROW, 0)
        assert mask.holds([token]) == 1
        mask.accept(token)


HARMONY = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>"
ANNOUNCED = "<|channel|>final<|message|>"


@pytest.mark.parametrize("thoughts", ["<think>hm, a < b</think>", "<think>\n{1}\n</think>\n", "", HARMONY, ANNOUNCED])
def test_thoughts_are_free_and_the_answer_is_in_form(thoughts: str) -> None:
    mask, grammar = made()
    say(mask, grammar, thoughts)
    assert not mask.complete
    assert not grammar.said
    say(mask, grammar, WANTED.decode())
    assert mask.complete
    assert mask.forced() in grammar.tokenizer.eog
    mask.close()
    assert grammar.closed


def test_an_answer_may_not_end_within_thoughts() -> None:
    mask, grammar = made(opened=True)
    assert not set(mask.likeliest(ROW, 0)) & grammar.tokenizer.eog
    say(mask, grammar, "well</think>" + WANTED.decode())
    assert mask.complete


def test_what_is_neither_a_thought_nor_in_form_is_forbidden_from_the_first_token_on() -> None:
    mask, grammar = made()
    opener = grammar.tokenizer.token("<think>")
    allowed = set(mask.likeliest(ROW, 0))
    assert {WANTED[0], opener} <= allowed
    assert not allowed & set(range(256)) - {WANTED[0]}
    assert mask.holds([ord("x")]) == 0
    assert mask.holds([opener, ord("x")]) == 2


def test_where_the_prompt_says_that_nothing_is_thought_nothing_may_be() -> None:
    mask, _ = made(text="<|im_start|>assistant\n<think>\n\n</think>\n\n")
    assert set(mask.likeliest(ROW, 0)) == {WANTED[0]}


def test_only_one_token_of_white_space_stands_between_thoughts_and_answer() -> None:
    mask, grammar = made()
    say(mask, grammar, "<think>x</think>")
    assert {token for token in mask.likeliest(ROW, 0) if token < 256} == {9, 10, 32, WANTED[0]}
    assert mask.holds([10, WANTED[0], WANTED[1]]) == 3
    say(mask, grammar, "\n")
    assert {token for token in mask.likeliest(ROW, 0) if token < 256} == {WANTED[0]}
    say(mask, grammar, "{")
    assert mask.run(3) == tuple(WANTED[1:4])


def test_an_answer_that_is_carried_on_goes_on_in_the_grammar() -> None:
    mask, grammar = made(begun=Message("assistant", '{"a"', thinking="so"))
    assert bytes(grammar.said) == b'{"a"'
    say(mask, grammar, ": 1}")
    with pytest.raises(GrammarError):
        made(begun=Message("assistant", "Once upon"))


def test_thoughts_that_are_carried_on_are_still_free() -> None:
    mask, grammar = made(opened=True, begun=Message("assistant", "", thinking="so"))
    say(mask, grammar, " much</think>" + WANTED.decode())
    assert mask.complete
