"""Where in an answer a grammar holds: behind the thoughts, if there are any, and to the end.

A grammar is about the answer. A model that thinks may do so first, as it pleases; what it may not do is end there.
Whether it thinks is seen by the tags of thinking.py:

- The prompt ends inside thoughts, or the first token opens them: everything is allowed until the closing tag.
- Behind the closing tag the answer begins, announced by a tag of its own where the model has one. One token of white
  space may come first, which is not shown.
- The first token opens no thoughts: it is the answer's, and has to fit the grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mtpchat.backend.mask import Grammar, Mask
from mtpchat.backend.protocol import Floats, LoadedModel, Sampler, Tokenizer
from mtpchat.engine.prompt import RenderedPrompt
from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.thinking import TAGS, ThinkingTags, piece_with_markers
from mtpchat.errors import GrammarError
from mtpchat.messages import Message
from mtpchat.speculate.controller import Controller

Ids = NDArray[np.int64]
_CLOSERS = tuple(tags.close.encode() for tags in TAGS if tags.close)
_LONGEST = max(map(len, _CLOSERS))


def sampler_for(request: TurnRequest, prompt: RenderedPrompt, loaded: LoadedModel, controller: Controller) -> Sampler:
    """The sampler of a turn, held to the request's grammar if there is one; the controller gets to know of that, too.

    Raises:
        GrammarError: the grammar cannot be used, or the answer that is carried on does not fit it.
    """
    sampling, seed = request.sampling, max(0, request.sampling.seed)
    if not request.grammar:
        return loaded.make_sampler(sampling, seed)
    if loaded.make_grammar is None or loaded.make_masked is None:
        raise GrammarError("Answers of this model cannot be held to a grammar.")
    grammar = loaded.make_grammar(request.grammar)
    try:
        begun = request.messages[-1] if request.continue_last else None
        controller.mask = mask_of(grammar, loaded.tokenizer, prompt, begun)
        return loaded.make_masked(sampling, seed, controller.mask)
    except BaseException:
        controller.mask = None
        grammar.close()
        raise


def release(controller: Controller) -> None:
    """The turn is over: nothing holds any more."""
    mask, controller.mask = controller.mask, None
    if mask is not None:
        mask.close()


def mask_of(grammar: Grammar, tokenizer: Tokenizer, prompt: RenderedPrompt, begun: Message | None) -> Mask:
    """What a turn is held to.

    Args:
        begun: the answer that is carried on, or None.

    Raises:
        GrammarError: the beginning does not fit the grammar.
    """
    if begun is not None and begun.content:
        grammar.feed(begun.content)
        return grammar
    opens = {} if _settled(prompt) else _openers(tokenizer)
    if not opens and not prompt.opened_thinking:
        return grammar
    return AnswerMask(grammar, tokenizer, opens, thinking=prompt.opened_thinking)


def _settled(prompt: RenderedPrompt) -> bool:
    """Whether the prompt says already that nothing is thought."""
    said = prompt.text.rstrip()
    return any(said.endswith(tags.close.strip()) for tags in TAGS if tags.close)


def _openers(tokenizer: Tokenizer) -> dict[int, bytes]:
    """Control tokens that thoughts can begin with, and their text."""
    found: dict[int, bytes] = {}
    for tags in TAGS:
        marks = [tokenizer.encode(marker, special=True) for marker in tags.markers]
        if marks and all(len(mark) == 1 for mark in marks) and marks[0][0] not in tokenizer.eog:
            found.update(
                {
                    mark[0]: text.encode()
                    for mark, text in zip(marks, tags.markers, strict=True)
                    if tags.open.startswith(text)
                }
            )
    return found


def _announcing(opens: dict[int, bytes]) -> dict[int, bytes]:
    """Those of the tokens that an answer can be announced with."""
    heads = [tags.open.encode() for tags in TAGS if not tags.close]
    return {token: text for token, text in opens.items() if any(head.startswith(text) for head in heads)}


class AnswerMask:
    """The Mask of one answer that may begin with thoughts; takes the grammar over.

    Args:
        opens: tokens that may open thoughts, and their text.
        thinking: the prompt ends inside thoughts.
    """

    def __init__(
        self, grammar: Grammar, tokenizer: Tokenizer, opens: dict[int, bytes], *, thinking: bool = False
    ) -> None:
        self._grammar = grammar
        self._tokenizer = tokenizer
        self._opens = _announcing(opens) if thinking else opens
        self._piece: Callable[[int], bytes] = piece_with_markers(tokenizer)
        self._state: Literal["start", "opening", "thinking", "gap", "answer"] = "thinking" if thinking else "start"
        self._closers: tuple[bytes, ...] = _CLOSERS
        self._said = b""
        """What was said of the opening tag, or last of the thoughts."""

    @property
    def complete(self) -> bool:
        """See Mask.complete."""
        return self._state == "answer" and self._grammar.complete

    def forced(self) -> int | None:
        """See Mask.forced."""
        return self._grammar.forced() if self._state == "answer" else None

    def run(self, most: int) -> tuple[int, ...]:
        """See Mask.run."""
        return self._grammar.run(most) if self._state == "answer" else ()

    def likeliest(self, row: Floats, count: int) -> Ids:
        """See Mask.likeliest."""
        match self._state:
            case "answer":
                return self._grammar.likeliest(row, count)
            case "thinking":
                found = self._grammar.unbound(row, count + len(self._spilling()))
                return found[~np.isin(found, self._spilling())]
            case "opening":
                return np.unique(np.array(self._next_of_tag(), np.int64))
            case _:
                return np.union1d(self._grammar.likeliest(row, count), self._before_answer())

    def _before_answer(self) -> Ids:
        """What may come although the grammar does not say so."""
        opens = np.array(sorted(self._opens), np.int64)
        return np.union1d(opens, self._grammar.blank) if self._state == "gap" else opens

    def holds(self, tokens: Sequence[int]) -> int:
        """See Mask.holds."""
        if self._state in {"thinking", "opening"} or not tokens:
            return len(tokens)
        if self._state == "answer" or tokens[0] not in self._before_answer():
            return self._grammar.holds(tokens)
        return len(tokens) if tokens[0] in self._opens else 1 + self._grammar.holds(tokens[1:])

    def accept(self, token: int) -> None:
        """See Mask.accept."""
        match self._state:
            case "thinking":
                self._think(self._piece(token))
            case "opening":
                self._open(self._said + self._piece(token))
            case "start" | "gap" if token in self._opens:
                self._open(self._opens[token])
            case "gap" if token in self._grammar.blank:
                self._state = "start"
            case _:
                self._state = "answer"
                self._grammar.accept(token)

    def _open(self, said: bytes) -> None:
        """So much was said of the tag that opens thoughts, or of one that announces the answer."""
        self._said = said
        whole = next((tags for tags in self._tags() if said.startswith(tags.open.encode().rstrip())), None)
        if whole is None:
            self._state = "opening"
        elif whole.close:
            self._state, self._closers, self._said = "thinking", (whole.close.encode(),), b""
            self._opens = _announcing(self._opens)  # who has thought says so only once
        else:
            self._state = "gap"

    def _tags(self) -> list[ThinkingTags]:
        return [
            tags
            for tags in TAGS
            if tags.open.encode().startswith(self._said) or self._said.startswith(tags.open.encode().rstrip())
        ]

    def _next_of_tag(self) -> list[int]:
        """The token behind what was said of a tag, for each tag that it may become."""
        rests = (tags.open.encode()[len(self._said) :].decode() for tags in self._tags())
        return [self._tokenizer.encode(rest, special=True)[0] for rest in rests if rest]

    def _think(self, said: bytes) -> None:
        text = self._said + said
        ends = [(at, close) for close in self._closers if (at := text.find(close)) >= 0]
        if not ends:
            self._said = text[-_LONGEST:]
            return
        at, close = min(ends)
        behind = text[at + len(close) :]
        self._state, self._said = "start" if behind else "gap", b""

    def _spilling(self) -> Ids:
        """Tokens that would end the thoughts and begin the answer at once: they cannot be held to the grammar."""
        found: list[int] = []
        for close in self._closers:
            for known in range(1, len(close)):
                if self._said.endswith(close[:known]):
                    rest = self._grammar.beginning_with(close[known:])
                    found += [token for token, behind in rest if behind.strip()]
        return np.array(found, np.int64)

    def close(self) -> None:
        """See Mask.close."""
        self._grammar.close()
