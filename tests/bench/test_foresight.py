"""What is foreseen is what drafting meets: the guesses of a step, and none of the text changed by asking."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from mtpchat.bench.prompts import Prompt
from mtpchat.bench.subject import EngineSubject
from mtpchat.config import SamplingConfig
from mtpchat.errors import EngineError
from mtpchat.events import SpeculationControl
from tests.models import TinyModel
from tests.native.talk import GREEDY, OFF, pinned, talk
from tests.native.test_lossless import CASES, Case

PROMPT = Prompt("p", "Why do rivers meander? Because because because.")
ARMED = SpeculationControl(mode="auto", draft_max=0)
WARM = msgspec.structs.replace(SamplingConfig(), temperature=0.9, seed=5, max_tokens=32)


def played(right: tuple[int, ...], made: tuple[int, ...], depth: int) -> list[int]:
    """How many guesses each round of a fixed depth would verify and accept, by what was foreseen."""
    at, accepted = 0, []
    while at < len(right):
        count = min(depth, made[at], len(right) - at - 1)
        accepted.append(min(right[at], count))
        at += accepted[-1] + 1
    return accepted


@pytest.mark.parametrize("case", CASES.values(), ids=[name.replace(" ", "-") for name in CASES])
def test_a_fixed_depth_accepts_what_was_foreseen(
    request: pytest.FixtureRequest, case: Callable[[pytest.FixtureRequest], Case]
) -> None:
    """Also behind rounds with accepted guesses: a drafter knows as much there as after as many plain steps."""
    path, drafter, kind = case(request)
    with talk(path, drafter, kind, copies="on") as talking:
        subject = EngineSubject(talking.engine)
        for sampling in (GREEDY, WARM):
            said = subject.ask(PROMPT, ARMED, sampling).tokens
            seen = subject.foresee(PROMPT, said, sampling, {kind: 3})[kind]
            assert len(seen.made) == len(seen.right) == len(said)
            assert all(right <= made <= 3 for right, made in zip(seen.right, seen.made, strict=True))
            for at, draft in enumerate(seen.drafts):
                assert (len(draft.tokens), len(draft.confidences)) == (seen.made[at], seen.made[at])
                assert draft.tokens[: seen.right[at]] == said[at : at + seen.right[at]]
            for depth in range(1, min(3, subject.depth_limit(kind)) + 1):
                subject.apart("")
                answer = subject.ask(PROMPT, pinned(depth, kind), sampling)
                rounds = played(seen.right, seen.made, depth)
                assert answer.tokens == said
                assert (answer.stats.steps, answer.stats.accepted) == (len(rounds), sum(rounds))


def test_a_drafter_that_is_not_there_is_refused_in_words(dense_random: TinyModel) -> None:
    with talk(dense_random.path) as talking:
        subject = EngineSubject(talking.engine)
        with pytest.raises(EngineError, match="no drafter of kind mtp"):
            subject.foresee(PROMPT, (1, 2), GREEDY, {"mtp": 2})


def test_copies_are_foreseen_beside_the_head_and_each_within_its_limit(repeating: TinyModel) -> None:
    with talk(repeating.path) as talking:
        subject = EngineSubject(talking.engine)
        said = subject.ask(PROMPT, OFF, GREEDY).tokens
        seen = subject.foresee(PROMPT, said, GREEDY, {"ngram": 5})["ngram"]
        assert max(seen.right) == 5
        fixed = SpeculationControl(mode="on", draft_max=5, pinned=True, kind="ngram")
        assert subject.ask(PROMPT, fixed, GREEDY).stats.steps == len(played(seen.right, seen.made, 5))


def test_looking_ahead_leaves_an_empty_memory_and_later_answers_as_they_were(dense_random: TinyModel) -> None:
    with talk(dense_random.path) as talking:
        subject = EngineSubject(talking.engine)
        said = subject.ask(PROMPT, OFF, GREEDY).tokens
        subject.foresee(PROMPT, said, GREEDY, {"ngram": 4})
        answer = subject.ask(PROMPT, pinned(2, "ngram"), GREEDY)
        assert (answer.tokens, answer.stats.cached_tokens) == (said, 0)
