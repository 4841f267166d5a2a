"""A drafter that fails in the middle of an answer: the answer goes on from the same token, and says why it is plain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from mtpchat.backend.llama.draft import LlamaDraft
from mtpchat.backend.protocol import Floats, WantedRows
from mtpchat.events import Finished
from tests.models import TinyModel
from tests.native.talk import OFF, Talk, pinned, talk

Fault = Callable[[LlamaDraft], None]


def no_slot(draft: LlamaDraft) -> None:
    """Its memory is full, and nobody noticed: llama.cpp finds no slot."""
    decode = draft._decode

    def overfull(tokens: Sequence[int], start: int, hidden: Floats | None, wanted: WantedRows) -> None:
        for at in range(start, draft._context, draft.batch):
            count = min(draft.batch, draft._context - at)
            rows = None if hidden is None else np.zeros((count, hidden.shape[1]), np.float32)
            decode([1] * count, at, rows, "none")
        decode(tokens, draft._context, hidden, wanted)

    draft._decode = overfull  # type: ignore[method-assign]


def decode_error(draft: LlamaDraft) -> None:
    """It is out of step with its memory: llama.cpp refuses positions that are there already."""
    draft._check = lambda *_arguments: None  # type: ignore[method-assign]
    decode = draft._decode
    draft._decode = lambda tokens, start, *rest: decode(tokens, max(0, start - 2), *rest)  # type: ignore[method-assign]


def bad_row(draft: LlamaDraft) -> None:
    """A row is read that was not asked for."""
    decode = draft._decode
    draft._decode = lambda tokens, start, hidden, _wanted: decode(tokens, start, hidden, "none")  # type: ignore[method-assign]


FAULTS = {"no slot": (no_slot, "code 1"), "decode error": (decode_error, "code -1"), "bad row": (bad_row, "no logits")}


def ended(chat: Talk, kind: str, at: Callable[[int], None] = lambda _tokens: None) -> Finished:
    """One answer with three guesses a round; `at` is called with the number of pieces that came before each round."""
    rounds = 0

    def control() -> Any:
        nonlocal rounds
        rounds += 1
        at(rounds)
        return pinned(3, kind)

    last = chat.events("hello", control)[-1]
    assert isinstance(last, Finished), last
    return last


@contextmanager
def loaded(request: pytest.FixtureRequest, kind: str) -> Iterator[tuple[Talk, LlamaDraft]]:
    """A model with a drafter of that kind."""
    mtp = kind == "mtp"
    model: TinyModel = request.getfixturevalue("hybrid_random" if mtp else "dense_random")
    drafter = "" if mtp else request.getfixturevalue("draft_model").path
    with talk(model.path, drafter, kind, batch=64) as chat:
        draft = chat.engine.probe().loaded.draft
        assert isinstance(draft, LlamaDraft)
        yield chat, draft


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("kind", ["mtp", "draft"])
def test_the_answer_goes_on_from_the_same_token(request: pytest.FixtureRequest, name: str, kind: str) -> None:
    break_it, words = FAULTS[name]
    with loaded(request, kind) as (chat, draft):
        plain, _ = chat.say("hello", OFF)
        broken = []

        def fail_late(rounds: int) -> None:
            if rounds > 6 and not broken:
                broken.append(rounds)
                break_it(draft)

        last = ended(chat, kind, fail_late)
        assert broken
        assert last.message.thinking + "|" + last.message.content == plain
        assert last.stats.fallback_reason.startswith(f"the {kind} drafter failed: ")
        assert words in last.stats.fallback_reason
        assert 0 < last.stats.drafted < 3 * last.stats.steps


@pytest.mark.parametrize("kind", ["mtp", "draft"])
def test_the_next_turn_gives_it_another_chance(request: pytest.FixtureRequest, kind: str) -> None:
    with loaded(request, kind) as (chat, draft):
        plain, _ = chat.say("hello", OFF)
        bad_row(draft)
        assert ended(chat, kind).stats.fallback_reason
        del draft._decode  # type: ignore[method-assign]
        again = ended(chat, kind)
        assert again.message.thinking + "|" + again.message.content == plain
        assert again.stats.fallback_reason == ""
        assert again.stats.drafted
