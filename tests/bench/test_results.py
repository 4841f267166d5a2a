"""Ratios compare like with like, and what loops or is too short counts for nobody."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.bench.chart import ratios_chart
from mtpchat.bench.measure import Measured, Trial, measure, trials_planned
from mtpchat.bench.prompts import Prompt
from mtpchat.bench.report import Report, as_csv, as_json, as_markdown
from mtpchat.bench.results import SHORTEST, compare, standings
from mtpchat.bench.tune import CountRace, candidates, chunk_sizes, long_text, reading, thread_counts, winner
from mtpchat.bench.verify import samplings_for
from mtpchat.config import ModelConfig, SamplingConfig

SAMPLINGS = samplings_for(SamplingConfig(), (0.0, 0.8), 40)


def trial(
    contender: str,
    rate: float,
    *,
    prompt: str = "p",
    group: str = "g",
    round_: int = 0,
    loops: bool = False,
    tokens: int = 40,
) -> Trial:
    seconds = tokens / rate
    figures = Measured(tokens, tokens, seconds, ttft_s=0.1, steps=tokens, loops=loops, digest="d")
    return Trial(contender, prompt, group, "en", 0.0, round_, 0, figures)


class FakeContender:
    """Takes a note of when it was asked."""

    def __init__(self, label: str, asked: list[tuple[str, str, int]]) -> None:
        self.label = label
        self._asked = asked

    def run(self, prompt: Prompt, sampling: SamplingConfig) -> Measured:
        self._asked.append((self.label, prompt.name, sampling.max_tokens))
        return Measured(40, 40, 1.0)


@given(st.lists(st.floats(1, 1000), min_size=1, max_size=6), st.floats(0.1, 10))
def test_a_machine_that_changes_its_speed_between_rounds_does_not_change_the_ratio(
    rates: list[float], gain: float
) -> None:
    trials = [trial("off", rate, round_=number) for number, rate in enumerate(rates)]
    trials += [trial("mtp 1", rate * gain, round_=number) for number, rate in enumerate(rates)]
    assert compare(trials, "mtp 1", "off").value == pytest.approx(gain)


def test_classes_weigh_the_same_however_many_prompts_they_have() -> None:
    trials = [
        trial(label, rate, prompt=f"a{n}", group="a") for n in range(5) for label, rate in (("off", 10), ("x", 20))
    ]
    trials += [trial(label, rate, prompt="b", group="b") for label, rate in (("off", 10), ("x", 5))]
    found = compare(trials, "x", "off")
    assert found.value == pytest.approx(1.0)
    assert found.prompts == 6


@pytest.mark.parametrize("side", ["off", "x"])
def test_a_prompt_that_loops_on_either_side_is_left_out_on_both(side: str) -> None:
    trials = [trial("off", 10), trial("x", 20)]
    trials += [trial("off", 10, prompt="loop", loops=side == "off"), trial("x", 900, prompt="loop", loops=side == "x")]
    found = compare(trials, "x", "off")
    assert found.value == pytest.approx(2)
    assert found.prompts == 1


def test_a_loop_in_one_round_spoils_the_prompt_in_all() -> None:
    trials = [trial(label, 10, round_=round_, loops=round_ == 1) for round_ in range(3) for label in ("off", "x")]
    assert compare(trials, "x", "off").value is None


def test_an_answer_too_short_to_time_is_left_out() -> None:
    trials = [trial("off", 10, tokens=SHORTEST - 1), trial("x", 90, tokens=SHORTEST - 1)]
    assert compare(trials, "x", "off").value is None
    assert standings(trials, "off")[1].short == 1


def test_standings_begin_with_plain_decoding_and_end_with_the_other_program() -> None:
    trials = [trial(label, 10) for label in ("llama-server", "ngram auto", "ngram 10", "ngram 2", "off")]
    rows = standings(trials, "off", ("llama-server",))
    assert [one.contender for one in rows] == ["off", "ngram 2", "ngram 10", "ngram auto", "llama-server"]
    assert rows[1].against_peers["llama-server"].value == pytest.approx(1)
    assert rows[-1].against_peers == {}


def test_answers_that_differ_from_plain_decoding_are_counted() -> None:
    other = trial("x", 10)
    trials = [trial("off", 10), replace(other, measured=replace(other.measured, digest="e"))]
    assert standings(trials, "off")[1].differing == 1


def test_acceptance_per_position_is_of_the_guesses_that_were_tested() -> None:
    first, second = trial("x", 10), trial("x", 10, round_=1)
    trials = [
        replace(first, measured=replace(first.measured, drafted=12, accepted=6, reached_at=(8, 4), accepted_at=(4, 2))),
        replace(second, measured=replace(second.measured, drafted=2, accepted=2, reached_at=(2,), accepted_at=(2,))),
    ]
    (row,) = standings(trials, "off")
    assert row.accepted_at == (0.6, 0.5)
    assert row.acceptance == pytest.approx(8 / 14)
    assert row.mean_accepted_length == pytest.approx(1 + 8 / 80)


def test_everyone_is_warmed_up_and_then_asked_everything_in_alternation() -> None:
    asked: list[tuple[str, str, int]] = []
    contenders = [FakeContender(label, asked) for label in ("a", "b")]
    prompts = (Prompt("p", "P"), Prompt("q", "Q"))
    told: list[str] = []
    trials = list(measure(contenders, prompts, SAMPLINGS, 2, told.append))
    assert [name for name, _, tokens in asked if tokens < 40] == ["a", "b"]
    assert [one.contender for one in trials if one.prompt == "p" and one.temperature == 0] == ["a", "b", "b", "a"]
    assert len(asked) == len(told) == trials_planned(2, 2, 2, 2)
    assert len({(one.contender, one.prompt, one.temperature, one.round) for one in trials}) == len(trials) == 16


def report_of(*trials: Trial) -> Report:
    setting: dict[str, object] = {"model": "M | <x>", "choice": "c"}
    return Report(setting, standings(trials, "off"), trials, "off")


def test_reports_hold_the_same_figures_in_every_form() -> None:
    report = report_of(trial("off", 10), trial("x", 20), trial("off", 10, prompt="q"), trial("x", 20, prompt="q"))
    document = json.loads(json.dumps(as_json(report)))
    assert document["standings"][1]["against"] == {"value": pytest.approx(2), "spread": 0.0, "prompts": 2}
    rows = list(csv.DictReader(io.StringIO(as_csv(report))))
    assert [row["contender"] for row in rows] == ["off", "x", "off", "x"]
    assert float(rows[1]["tokens_per_second"]) == pytest.approx(20)
    page = as_markdown(report)
    assert "| x | 20.0 | 2.00 | 0.00 |" in page
    assert "M \\| <x>" in page


def test_a_loop_is_told_in_the_report() -> None:
    page = as_markdown(report_of(trial("off", 10, loops=True), trial("x", 20, loops=True)))
    assert "2 of 2 answers repeat themselves" in page
    assert "| x | – | – | – |" in page


def test_the_chart_is_wellformed_and_shows_every_contender() -> None:
    rows = standings([trial("off", 10), trial("x <&>", 20), trial("y", 5)], "off")
    root = ElementTree.fromstring(ratios_chart(rows, "T & <b>\x1b", "sub", "off"))
    texts = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert "T & <b>" in texts
    assert {"x <&>", "y"} <= set(texts)
    assert "off" not in texts


def test_contenders_of_a_usual_bench_differ_in_colour() -> None:
    rows = standings([trial("off", 10), *(trial(f"mtp {depth}", 10 + depth) for depth in range(1, 13))], "off")
    root = ElementTree.fromstring(ratios_chart(rows, "t", "s", "off"))
    bars = [node.get("fill") for node in root.iter() if node.tag.endswith("rect") and list(node)]
    assert len(bars) == 24, "one for all classes and one for the only one, each"
    assert len(set(bars)) == 12


def test_the_chart_of_nothing_measurable_is_still_a_chart() -> None:
    assert (
        ElementTree.fromstring(ratios_chart(standings([trial("off", 1, loops=True)], "off"), "t", "s", "off"))
        is not None
    )


@given(st.integers(1, 256), st.integers(1, 512))
def test_the_cores_are_tried_first_and_never_more_threads_than_there_are(cores: int, logical: int) -> None:
    counts = thread_counts(cores, logical)
    assert counts[0] == cores
    assert len(set(counts)) == len(counts)
    assert all(1 <= count <= max(cores, logical) for count in counts)


def test_threads_keep_to_the_default_unless_another_count_is_worth_it() -> None:
    same = CountRace((4, 2)).run({4: 100.0, 2: 101.0}.get, lambda: True)
    better = CountRace((4, 2)).run({4: 100.0, 2: 150.0}.get, lambda: True)
    assert (same, better) == (4, 2)


def test_without_time_the_first_thread_count_is_all_that_is_measured() -> None:
    asked: list[int] = []

    def rate(count: int) -> float:
        asked.append(count)
        return 1.0

    assert CountRace((4, 3, 2)).run(rate, lambda: False) == 4
    assert asked == [4]


@pytest.mark.parametrize("gpu", [False, True])
def test_the_default_way_to_read_a_prompt_stays_unless_another_is_worth_it(gpu: bool) -> None:
    sizes = chunk_sizes(gpu=gpu)
    for size in sizes:
        race = CountRace(sizes)
        chosen = race.run(lambda count, best=size: 100.0 + (count == best), lambda: True)
        assert chosen == sizes[0]
        chosen = CountRace(sizes).run(lambda count, best=size: 150.0 if count == best else 100.0, lambda: True)
        assert chosen == size
        settings = reading(ModelConfig(), chosen, gpu=gpu)
        made = msgspec.structs.replace(ModelConfig(), **settings)
        assert (settings == {}) is (size == sizes[0])
        assert made.batch >= max(size if settings else 0, ModelConfig().batch if not gpu else 0)
        assert made.prompt_chunk == (size if settings and not gpu else 0)


@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=5), st.integers(1, 400))
def test_the_long_prompt_is_about_as_long_as_asked_for(texts: list[str], tokens: int) -> None:
    prompts = [Prompt(str(number), text) for number, text in enumerate(texts)]
    made = long_text(prompts, tokens, len)
    assert made.startswith(texts[0])
    assert len(made.replace("\n\n", "")) <= max(tokens, len(texts[0]))
    assert len(made) > tokens - max(map(len, texts)) - 1


def test_the_smaller_bound_wins_unless_the_larger_is_worth_it() -> None:
    def best(*gains: float) -> str:
        trials = [trial("off", 100), *(trial(f"ngram 0-{2 << n}", 100 * gain) for n, gain in enumerate(gains))]
        return winner(standings(trials, "off")).contender

    assert best(1.30, 1.31) == "ngram 0-2"
    assert best(1.30, 1.50) == "ngram 0-4"
    assert best(0.9, 1.01) == "off"


def test_candidates_keep_to_the_limit_of_each_kind() -> None:
    made = candidates(("mtp", "ngram"), {"mtp": 3, "ngram": 16}.__getitem__)
    assert [one.label for one in made] == ["off", "mtp 0-2", "mtp 0-3", "ngram 0-2", "ngram 0-4", "ngram 0-8"]


def test_a_fixed_seed_holds_for_both_sides() -> None:
    assert {one.seed for one in SAMPLINGS} == {42}
    chosen = samplings_for(msgspec.structs.replace(SamplingConfig(), seed=7), (0.5,), 10)
    assert chosen[0].seed == 7
