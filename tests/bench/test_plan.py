"""A bench says how long it takes, and leaves out what nobody asked for so that it ends in time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.bench.duels import duels
from mtpchat.bench.plan import Extent, Free, Pace, announcement, fitted, pace, seconds
from mtpchat.bench.prompts import Prompt, builtin
from mtpchat.bench.report import Report, as_markdown, conclusion
from mtpchat.bench.results import standings
from mtpchat.config import SamplingConfig
from tests.bench.fake_subject import FakeSubject
from tests.bench.test_results import trial

GROUPS = ("code", "chat", "edit")
PROMPTS = tuple(Prompt(f"{group}-{at}", "text", group) for group in GROUPS for at in range(3))


def size(_prompt: Prompt) -> int:
    return 50


extents = st.builds(
    Extent,
    ways=st.integers(1, 15),
    prompts=st.sampled_from([PROMPTS, PROMPTS[:1], PROMPTS[:4]]),
    temperatures=st.integers(1, 3),
    rounds=st.integers(1, 5),
    tokens=st.integers(1, 200),
    oracle=st.booleans(),
)
frees = st.builds(Free, rounds=st.booleans(), prompts=st.booleans(), tokens=st.booleans())
paces = st.builds(Pace, read_s=st.floats(1e-5, 0.1), token_s=st.floats(1e-4, 1.0))


@given(extents, frees, paces, st.floats(1, 10_000))
def test_what_is_reduced_was_free_and_no_more_is_than_must_be(
    wanted: Extent, free: Free, at: Pace, budget_s: float
) -> None:
    made = fitted(wanted, free, at, size, budget_s)
    took_s = seconds(made, at, size)
    assert took_s <= seconds(wanted, at, size)
    assert made.rounds == wanted.rounds or (free.rounds and 1 <= made.rounds < wanted.rounds)
    assert made.prompts == wanted.prompts or (
        free.prompts and {one.group for one in made.prompts} == {one.group for one in wanted.prompts}
    )
    assert made.tokens == wanted.tokens or (free.tokens and 32 <= made.tokens < wanted.tokens)
    assert (made.ways, made.temperatures) == (wanted.ways, wanted.temperatures)
    if seconds(wanted, at, size) <= budget_s:
        assert made == wanted
    if free == Free() and took_s > budget_s:
        assert made.rounds == 1
        assert made.tokens <= 32
        assert len(made.prompts) == len({one.group for one in made.prompts})


@given(extents, paces, st.floats(1, 10_000))
def test_more_time_never_measures_less(wanted: Extent, at: Pace, budget_s: float) -> None:
    less, more = (fitted(wanted, Free(), at, size, one) for one in (budget_s, 2 * budget_s))
    assert seconds(less, at, size) <= seconds(more, at, size)


def test_an_hour_on_a_slow_machine_becomes_ten_minutes_and_that_is_said() -> None:
    wanted, slow = Extent(11, builtin()), Pace(read_s=0.02, token_s=0.2)
    assert seconds(wanted, slow, size) > 3600
    made = fitted(wanted, Free(), slow, size, 600)
    took_s = seconds(made, slow, size)
    said = announcement(made, wanted, took_s, 600)
    assert said.startswith(f"About {took_s / 60:.0f} minutes: ")
    assert "one prompt of each class" in said
    assert "1 of 3 rounds" in said
    assert "--budget" in said
    assert "Ctrl+C" in said


@pytest.mark.parametrize(
    ("token_s", "said"), [(0.0005, "Less than a minute: 189 answers of 96 tokens"), (0.03, "About 12 minutes: 189")]
)
def test_what_was_asked_for_is_measured_however_long_it_takes(token_s: float, said: str) -> None:
    wanted = Extent(3, builtin())
    free = Free(rounds=False, prompts=False, tokens=False)
    made = fitted(wanted, free, Pace(0.0, token_s), size, 300)
    told = announcement(made, wanted, seconds(made, Pace(0.0, token_s), size), 300)
    assert made == wanted
    assert told.startswith(said)
    assert ("make it shorter" in told) == (token_s > 0.01)
    assert "3 ways to decode, 21 prompts, 3 rounds" in told


def test_the_pace_is_that_of_a_short_plain_answer() -> None:
    subject = FakeSubject()
    asked = SamplingConfig(temperature=0, max_tokens=96)
    found = pace(subject, PROMPTS[0], asked)
    assert found.token_s >= 0
    assert found.read_s >= 0


def report(**rates: dict[str, float]) -> Report:
    trials = tuple(
        trial(label.replace("_", " "), rate, prompt=f"{group}-1", group=group)
        for label, own in rates.items()
        for group, rate in own.items()
    )
    return Report({}, standings(trials, "off"), trials, "off", duels=duels(trials, "off"))


def test_the_tables_come_down_to_a_sentence() -> None:
    found = report(
        off={"code": 10.0, "edit": 10.0},
        mtp_2={"code": 11.0, "edit": 16.0},
        mtp_auto={"code": 12.0, "edit": 20.0},
    )
    (said,) = conclusion(found)
    assert said == (
        "mtp auto: 1.55 times as fast as plain decoding, from 1.20 (code) to 2.00 (edit); "
        "1.17 times as fast as the best that could have been fixed (mtp 2)."
    )
    assert said in as_markdown(found)


def test_noise_is_not_called_a_gain() -> None:
    (said,) = conclusion(report(off={"code": 10.0}, ngram_auto={"code": 10.2}))
    assert said == "ngram auto: as fast as plain decoding; no fixed depth was faster than that."
    assert conclusion(replace(report(off={"code": 10.0}), duels=())) == []
