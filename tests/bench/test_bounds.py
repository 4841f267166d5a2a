"""Duels and bounds: who is held against whom, and what that makes of made-up results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from mtpchat.bench.bounds import Costs, Known, Oracle, bounds_of, costs_of, look_ahead, reach
from mtpchat.bench.duels import duels
from mtpchat.bench.oracle import CostTable
from mtpchat.bench.prompts import Prompt
from mtpchat.bench.report import Report, as_json, as_markdown, notes
from mtpchat.bench.results import standings
from mtpchat.bench.variants import variants
from mtpchat.bench.verify import samplings_for
from mtpchat.config import SamplingConfig
from mtpchat.engine.foresight import Foresight
from mtpchat.events import SpeculationControl
from mtpchat.report import SourceReport, SpeculationReport
from tests.bench.fake_subject import FakeSubject
from tests.bench.test_results import trial

# t/s per contender, in two classes where different settings are best
CODE = {"off": 10, "mtp 1": 14, "mtp 2": 16, "mtp auto": 15, "ngram 2": 9, "ngram auto": 10, "llama-server 1": 99}
CHAT = {"off": 10, "mtp 1": 9, "mtp 2": 7, "mtp auto": 9.9, "ngram 2": 12, "ngram auto": 12, "llama-server 1": 99}
TRIALS = [
    trial(label, rate, prompt=group, group=group)
    for group, rates in (("code", CODE), ("chat", CHAT))
    for label, rate in rates.items()
]
PEERS = ("llama-server 1",)


def test_the_best_static_setting_is_chosen_per_class_and_once_for_all() -> None:
    mtp, ngram = duels(TRIALS, "off", PEERS)
    assert (mtp.contender, ngram.contender) == ("mtp auto", "ngram auto")
    assert mtp.by_group["code"].rival == "mtp 2"
    assert mtp.by_group["code"].ratio.value == pytest.approx(15 / 16)
    assert mtp.by_group["chat"].rival == "ngram 2"
    assert mtp.by_group["chat"].ratio.value == pytest.approx(9.9 / 12)
    assert mtp.overall.rival == "mtp 1"  # 1.4 and 0.9 are more, as a geometric mean, than 1.6 and 0.7
    assert mtp.overall.ratio.value == pytest.approx((15 / 14 * 9.9 / 9) ** 0.5)


def test_copies_alone_are_not_held_against_a_drafter_they_did_not_have() -> None:
    ngram = duels(TRIALS, "off", PEERS)[1]
    assert ngram.by_group["code"].rival == "off"
    assert ngram.by_group["code"].ratio.value == pytest.approx(1)


def test_where_nothing_counts_there_is_no_rival() -> None:
    (duel,) = duels([trial("off", 10, loops=True), trial("mtp auto", 90)], "off")
    assert (duel.overall.rival, duel.overall.ratio.value) == ("", None)


COSTS = Costs(CostTable(((1, 1.0), (2, 1.0), (4, 1.2))), {"mtp": (0.2, 0.1)})
HITS = Foresight((3,) * 40, tuple(min(3, 39 - at) for at in range(40)))
MISSES = Foresight((3,) * 40, (0,) * 40)


def test_the_share_of_the_bound_is_the_ratio_to_plain_by_the_ratio_of_the_oracle() -> None:
    known = [Known(group, 0.0, {"mtp": HITS if group == "code" else MISSES}) for group in ("code", "chat")]
    (bound,) = bounds_of(TRIALS, known, COSTS, "off")
    assert bound.contender == "mtp auto"
    best = 40 / (10 * (0.4 + 1.2))
    assert bound.by_group["code"].bound == pytest.approx(best)
    assert bound.by_group["code"].share == pytest.approx(1.5 / best)
    assert bound.by_group["chat"].bound == pytest.approx(1)
    assert bound.by_group["chat"].share == pytest.approx(0.99)
    assert bound.overall.bound == pytest.approx(best**0.5)


def test_copies_count_beside_a_drafter_only_where_they_may_be_used() -> None:
    known = [Known(group, 0.0, {"mtp": MISSES, "ngram": HITS}) for group in ("code", "chat")]
    both = {one.contender: one.overall.bound for one in bounds_of(TRIALS, known, COSTS, "off")}
    assert both["mtp auto"] == both["ngram auto"] == pytest.approx(40 / 12)
    alone = {one.contender: one.overall.bound for one in bounds_of(TRIALS, known, COSTS, "off", combine=False)}
    assert alone["mtp auto"] == pytest.approx(1)


def test_a_prompt_left_out_of_the_ratio_is_left_out_of_the_bound() -> None:
    trials = [*TRIALS, trial("off", 10, prompt="loop", group="code", loops=True), trial("mtp auto", 9, prompt="loop")]
    known = [Known(prompt, 0.0, {"mtp": MISSES if prompt != "loop" else HITS}) for prompt in ("code", "chat", "loop")]
    (bound,) = bounds_of(trials, known, COSTS, "off")
    assert bound.overall.bound == pytest.approx(1)


def test_costs_come_from_all_contenders_and_need_a_plain_step() -> None:
    def report(widths: dict[int, float], *sources: SourceReport) -> SpeculationReport:
        return SpeculationReport("cost", verify_s=tuple(widths.items()), sources=sources)

    made = costs_of(
        [
            report({1: 1.0}),
            report({2: 1.3}, SourceReport("mtp", first_s=0.2, later_s=0.1)),
            report({1: 1.2, 2: 1.5}, SourceReport("mtp", first_s=0.4, later_s=0.1), SourceReport("agreed")),
        ]
    )
    assert made is not None
    assert made.verify.verify_s == ((1, 1.1), (2, 1.4))
    assert made.guess_s == {"mtp": (pytest.approx(0.3), 0.1)}
    assert costs_of([report({2: 1.0})]) is None


def test_only_adaptive_variants_are_looked_ahead_for_and_copies_as_far_as_they_go() -> None:
    wanted = SpeculationControl(draft_max=3, free_max=16)
    made = variants(("mtp", "ngram"), {"mtp": 2, "ngram": 16}.__getitem__, wanted, always=True)
    assert reach(made, copies=True) == reach(made, copies=False) == {"mtp": 2, "ngram": 16}
    alone = variants(("mtp",), lambda _kind: 2, wanted)
    assert reach(alone, copies=True) == {"mtp": 2, "ngram": 16}
    assert reach(alone, copies=False) == {"mtp": 2}
    assert reach(variants((), lambda _kind: 0, wanted), copies=True) == {}


class Seer(FakeSubject):
    """Foresees that nothing is right."""

    def foresee(
        self, prompt: Prompt, said: Sequence[int], sampling: SamplingConfig, most: Mapping[str, int]
    ) -> dict[str, Foresight]:
        return {kind: Foresight((limit,) * len(said), (0,) * len(said)) for kind, limit in most.items()}


def test_every_prompt_is_looked_at_once_per_temperature() -> None:
    told: list[str] = []
    samplings = samplings_for(SamplingConfig(), (0.0, 0.8), 12)
    known = list(look_ahead(Seer(), (Prompt("p", "P"), Prompt("q", "Q")), samplings, {"mtp": 2}, told.append))
    assert [(one.prompt, one.temperature) for one in known] == [("p", 0), ("q", 0), ("p", 0.8), ("q", 0.8)]
    assert all(len(one.kinds["mtp"].right) == 12 for one in known)
    assert len(told) == 4


def test_the_report_shows_duels_and_bounds_in_every_form() -> None:
    known = [Known(group, 0.0, {"mtp": HITS}) for group in ("code", "chat")]
    oracle = Oracle(COSTS, bounds_of(TRIALS, known, COSTS, "off"))
    rows = standings(TRIALS, "off", PEERS)
    held = duels(TRIALS, "off", PEERS)
    report = Report({"model": "m"}, rows, tuple(TRIALS), "off", PEERS, duels=held, oracle=oracle)
    page = as_markdown(report)
    assert "| auto / best static | all | code | chat |" in page
    assert "| mtp auto | 1.09 (mtp 1) | 0.94 (mtp 2) | 0.82 (ngram 2) |" in page
    assert "| auto / oracle | all | code | chat |" in page
    assert "| mtp auto | 0.49 of ×2.50 | 0.60 of ×2.50 | 0.40 of ×2.50 |" in page
    document = json.loads(json.dumps(as_json(report)))
    assert document["duels"][0]["by_group"]["chat"]["rival"] == "ngram 2"
    assert document["oracle"]["costs"]["verify"]["verify_s"] == [[1, 1.0], [2, 1.0], [4, 1.2]]
    assert document["oracle"]["bounds"][0]["overall"]["bound"] == pytest.approx(2.5)
    assert any("for widths 1, 2, 4" in note for note in notes(report))


def test_without_adaptive_contenders_or_an_oracle_no_empty_table_is_shown() -> None:
    trials = (trial("off", 10), trial("mtp 1", 12))
    page = as_markdown(Report({"model": "m"}, standings(trials, "off"), trials, "off"))
    assert "best static" not in page
    assert "oracle" not in page
