"""Verification finds what speculation changes, names the token, and tells a near tie from a fault."""

from __future__ import annotations

import msgspec
import pytest

from mtpchat.bench.prompts import Prompt
from mtpchat.bench.variants import variants
from mtpchat.bench.verdict import conclusion, explained, faultless, sampler_sentence
from mtpchat.bench.verify import LEAST_THRESHOLD, Check, check_sampler, samplings_for, verify
from mtpchat.config import SamplingConfig
from mtpchat.errors import ConfigError
from mtpchat.events import SpeculationControl
from tests.bench.fake_subject import FakeSubject

PROMPTS = (Prompt("one", "1"),)
WANTED = SpeculationControl(draft_min=1, draft_max=3)
VARIANTS = variants(("mtp",), lambda _kind: 8, WANTED, always=True)
SAMPLINGS = samplings_for(SamplingConfig(top_k=0, top_p=1.0, min_p=0.0), (0.0, 0.9), 20)


def checks_of(subject: FakeSubject) -> list[Check]:
    return list(verify(subject, PROMPTS, VARIANTS, SAMPLINGS))


def test_an_honest_subject_is_identical_at_every_depth_and_temperature() -> None:
    checks = checks_of(FakeSubject())
    assert [one.variant for one in checks[:5]] == ["mtp 1", "mtp 2", "mtp 3", "mtp auto", "mtp on"]
    assert len(checks) == 10
    assert all(one.difference is None for one in checks)
    assert faultless(checks, [])


@pytest.mark.parametrize("place", [0, 7, 19])
def test_a_changed_token_is_a_mismatch_and_is_named(place: int) -> None:
    checks = checks_of(FakeSubject(lie_at=place))
    assert not faultless(checks, [])
    plain = FakeSubject().ask(PROMPTS[0], SpeculationControl(mode="off"), SAMPLINGS[0])
    found = checks[0].difference
    assert found is not None
    assert (found.at, found.plain, found.verdict) == (place, plain.tokens[place], "mismatch")
    assert found.gap is not None
    assert found.gap > found.threshold == LEAST_THRESHOLD
    assert found.noise == 0.0
    sentence = explained(checks[0], found)
    assert f"token {place + 1}" in sentence
    assert f"<{found.plain}>" in sentence
    assert f"<{found.other}>" in sentence
    assert "MISMATCH" in sentence


@pytest.mark.parametrize("gap", [1e-4, 0.02])
def test_candidates_that_the_width_of_a_decode_turns_round_are_a_near_tie(gap: float) -> None:
    checks = [one for one in checks_of(FakeSubject(tie_at=5, tie_gap=gap)) if one.temperature == 0]
    assert faultless(checks, [])
    for check in checks:
        found = check.difference
        assert found is not None
        assert (found.at, found.verdict, found.flips) == (5, "near tie", True)
        assert found.gap == pytest.approx(gap, rel=0.01)
        assert found.noise == pytest.approx(2 * gap, rel=0.01)
        assert found.threshold == pytest.approx(max(LEAST_THRESHOLD, 8 * gap), rel=0.01)
    assert "near tie" in conclusion(checks, [])


def test_what_moves_logits_further_than_rounding_can_is_no_near_tie() -> None:
    checks = [one for one in checks_of(FakeSubject(tie_at=5, tie_gap=2.0)) if one.temperature == 0]
    assert all(one.difference is not None and one.difference.verdict == "mismatch" for one in checks)


def test_an_answer_that_ends_early_is_a_mismatch() -> None:
    checks = checks_of(FakeSubject(cut=6))
    found = checks[0].difference
    assert found is not None
    assert (found.at, found.other, found.gap, found.verdict) == (6, None, None, "mismatch")
    assert "ends here" in explained(checks[0], found)


def test_penalties_do_not_disturb_the_comparison() -> None:
    penalised = msgspec.structs.replace(SAMPLINGS[0], repeat_penalty=1.3, penalty_last_n=8)
    for lie, expected in ((None, True), (4, False)):
        checks = list(verify(FakeSubject(lie_at=lie), PROMPTS, VARIANTS, (penalised,)))
        assert faultless(checks, []) is expected


def test_a_wrong_sampler_is_found_out() -> None:
    (right,) = check_sampler(FakeSubject(), PROMPTS, SAMPLINGS[1], 4000)
    (wrong,) = check_sampler(FakeSubject(wrong_sampler=True), PROMPTS, SAMPLINGS[1], 4000)
    assert faultless([], [right])
    assert not faultless([], [wrong])
    assert "come as often as the settings promise (chi-square" in sampler_sentence(right)
    assert "DO NOT come" in sampler_sentence(wrong)
    assert sampler_sentence(wrong).endswith("once in 10,000 times: WRONG).")


def test_without_a_draft_nothing_is_claimed() -> None:
    check = Check("one", "mtp auto", 0.0, tokens=20, drafted=0, accepted=0)
    assert "proves nothing" in conclusion([check], [])


def test_depths_beyond_the_limit_of_a_kind_are_left_out() -> None:
    made = variants(("mtp", "ngram"), {"mtp": 2, "ngram": 9}.__getitem__, WANTED, depths=(1, 2, 5))
    labels = [one.label for one in made]
    assert labels == ["off", "mtp 1", "mtp 2", "mtp auto", "ngram 1", "ngram 2", "ngram 5", "ngram auto"]
    assert made[3].control == SpeculationControl(mode="auto", draft_min=1, draft_max=2, kind="mtp")


def test_a_kind_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigError) as caught:
        variants(("ngram",), lambda _kind: 8, WANTED, kinds=("mtp",))
    assert "ngram" in caught.value.hint
