"""Each cause is found from its own evidence, named first, and never without evidence."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config import Config, ModelConfig, SamplingConfig, SpeculativeConfig
from mtpchat.engine.diagnosis import CAUSES, diagnose
from mtpchat.engine.evidence import ENOUGH_GUESSES, Evidence, ModelFile
from mtpchat.events import ModelFacts, SpeculationControl
from mtpchat.report import Decision, Reason, SourceReport, SpeculationReport
from mtpchat.stats import TurnStats

FACTS = ModelFacts(
    name="Tiny",
    path="/models/tiny.gguf",
    architecture="qwen35",
    kind="mtp",
    choice="MTP: the heads in tiny.gguf itself",
    available=("none", "ngram", "mtp"),
    context_size=4096,
    depth_limit=8,
)
GREEDY = Config(model=ModelConfig(path=FACTS.path), sampling=SamplingConfig(temperature=0.0))


def counted(rate: float, speedup: float, drafted: int = 400, **more: float) -> TurnStats:
    """Counters of an answer whose guesses are right at `rate`."""
    seconds = 10.0
    return TurnStats(
        output_tokens=400,
        steps=250,
        drafted=drafted,
        accepted=round(drafted * rate),
        reached_at=(drafted,),
        accepted_at=(round(drafted * rate),),
        prefill_s=more.get("prefill_s", 0.5),
        decode_s=seconds,
        plain_s=speedup * seconds,
        kind="mtp",
        mode="auto",
    )


def reported(rate: float, staircase: tuple[float, ...] = (0.020, 0.021, 0.022), **more: object) -> SpeculationReport:
    """A report on guesses that are right at `rate`, and on what widths cost in seconds."""
    source = SourceReport("mtp", (rate,) * 4, 400, round(400 * rate), 0.001, 0.001)
    report = SpeculationReport("cost", verify_s=tuple(enumerate(staircase, 1)), sources=(source,))
    return replace(report, **more)  # type: ignore[arg-type]


HEALTHY = Evidence(
    facts=FACTS,
    config=GREEDY,
    stats=counted(0.8, 1.6),
    totals=counted(0.8, 1.6),
    report=reported(0.8),
    file=ModelFile(layers=32, heads=1, heads_there=1),
    cores=16,
)


def set_to(section: str, **values: object) -> Config:
    return msgspec.structs.replace(GREEDY, **{section: msgspec.structs.replace(getattr(GREEDY, section), **values)})


def losing(evidence: Evidence, rate: float = 0.5, speedup: float = 0.97, **more: object) -> Evidence:
    """The same, with guesses that are mostly wrong and do not pay."""
    stats = counted(rate, speedup)
    usual = {"stats": stats, "totals": stats, "report": reported(rate)}
    return replace(evidence, **{**usual, **more})  # type: ignore[arg-type]


def plain_facts(reason: str = "") -> ModelFacts:
    return replace(FACTS, kind="ngram", available=("none", "ngram"), fallback_reason=reason)


def beside_copies(tested: int, right: int = 0, **more: object) -> SpeculationReport:
    """A report on a head of which so many guesses were tested, and on many copies."""
    head = SourceReport("mtp", (0.3,), tested, right, 0.001, 0.001)
    return reported(0.3, sources=(head, SourceReport("ngram", (0.9,), 1000, 900)), **more)


CASES: dict[str, tuple[Evidence, str, str]] = {
    "switched off": (replace(HEALTHY, control=SpeculationControl(mode="off")), "switched off", "/mtp auto"),
    "no depth": (replace(HEALTHY, control=SpeculationControl(draft_max=0)), "no token", "/draft auto"),
    "kind none": (replace(HEALTHY, control=SpeculationControl(kind="none")), "set to none", "/spec auto"),
    "drafter failed": (
        replace(HEALTHY, stats=replace(counted(0.8, 1.6), fallback_reason="the mtp drafter failed: decode 3")),
        "the mtp drafter failed: decode 3",
        "/spec ngram",
    ),
    "no snapshots": (
        replace(
            HEALTHY,
            facts=replace(FACTS, kind="none", depth_limit=0, depth_reason="its recurrent state has no snapshots"),
            file=ModelFile(can_roll_back=False),
        ),
        "its recurrent state has no snapshots",
        "checkpoint_rollback",
    ),
    "other vocabulary": (
        replace(
            HEALTHY,
            facts=plain_facts("small.gguf has an SPM vocabulary, the model's is BPE"),
            config=set_to("speculative", drafter="small.gguf"),
        ),
        "SPM vocabulary",
        "/drafter",
    ),
    "heads left out": (
        replace(HEALTHY, facts=plain_facts(), file=ModelFile(heads=1, heads_there=0)),
        "left out",
        "/drafter",
    ),
    "heads wanted that are not there": (
        replace(HEALTHY, facts=plain_facts("no heads"), file=ModelFile(), config=set_to("speculative", kind="mtp")),
        "no prediction heads",
        "/drafter",
    ),
    "heads that cannot run": (
        replace(HEALTHY, facts=plain_facts(), file=ModelFile(heads=1, heads_there=1, trouble="an odd projection")),
        "an odd projection",
        "/drafter",
    ),
    "not primed": (replace(HEALTHY, report=reported(0.8, waiting=1830)), "1,830 tokens", "by itself"),
    "goes in circles": (
        replace(HEALTHY, stats=replace(counted(0.9, 1.6), looping=True, looped_tokens=300, looped_s=6.0)),
        "The answer repeats itself: guesses are right because the text is degenerate (300 tokens",
        "/set repeat_penalty 1.1, a higher temperature (/set temperature 0.7) or another model",
    ),
    "thin": (
        replace(HEALTHY, stats=counted(0.8, 1.6, 12), totals=counted(0.8, 1.6, 12), report=None),
        "12 guesses by the MTP head",
        "longer answer",
    ),
    "temperature": (losing(HEALTHY, config=set_to("sampling", temperature=1.0)), "temperature 1", "/set temperature"),
    "penalties": (losing(HEALTHY, config=set_to("sampling", repeat_penalty=1.3)), "repeat_penalty 1.3", "/set repeat"),
    "quantised cache": (losing(HEALTHY, config=set_to("model", cache_type_k="q4_0")), "q4_0", "f16"),
    "few cores": (
        losing(HEALTHY, report=reported(0.5, (0.020, 0.034)), cores=2),
        "1.70 times as long (20.0 ms → 34.0 ms)",
        "In auto, as now",
    ),
    "few cores, hopeless": (
        losing(HEALTHY, 0.9, 0.9, report=reported(0.9, (0.020, 0.041)), cores=2),
        "not even guesses that are always right",
        "In auto, as now",
    ),
    "few cores, long drafts pay least badly": (
        losing(HEALTHY, 0.5, 0.9, report=replace(reported(0.5), verify_s=((1, 0.02), (2, 0.05), (5, 0.06))), cores=2),
        "makes a step 3.00 times as long (20.0 ms → 60.0 ms), and making them takes 4.0 ms; 55% must be right",
        "In auto, as now",
    ),
    "partial offload": (
        losing(
            HEALTHY,
            facts=replace(FACTS, gpu=True),
            config=set_to("model", gpu_layers=8),
            report=reported(0.5, (0.020, 0.034)),
        ),
        "8 of 32 layers",
        "-ngl",
    ),
    "experts": (
        losing(
            HEALTHY, file=ModelFile(layers=32, heads=1, heads_there=1, experts=64), report=reported(0.5, (0.02, 0.034))
        ),
        "mixture of 64",
        "/draft 1",
    ),
    "long prompts": (
        losing(HEALTHY, 0.8, 1.02, stats=counted(0.8, 1.02, prefill_s=40.0), totals=counted(0.8, 1.02, prefill_s=40.0)),
        "80% of the time",
        "-ngl",
    ),
    "capped": (
        losing(
            HEALTHY,
            0.9,
            1.04,
            facts=replace(FACTS, depth_limit=2, depth_reason="this model keeps 2 snapshots to roll back to"),
            report=reported(0.9),
        ),
        "2 snapshots",
        "--draft-max 4",
    ),
    "a head of another model": (losing(HEALTHY, 0.01), "not made for this model, or never trained", "--pairs"),
    "hard text": (losing(HEALTHY, 0.2), "hard to guess: 20% of 400", "easier"),
    "nothing wrong": (HEALTHY, "×1.60", ""),
    "copies help": (
        replace(HEALTHY, report=beside_copies(tested=5)),
        "Copies of earlier text are right in 90% of theirs, and answers come ×1.60",
        "",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_planted_cause_is_named_first_with_its_own_remedy(case: str) -> None:
    evidence, words, remedy = CASES[case]
    first = diagnose(evidence)[0]
    assert words in first.sentence, diagnose(evidence)
    assert remedy in first.remedy
    assert first.sentence.endswith((".", "!"))


def test_the_cases_cover_every_cause() -> None:
    found = {cause.__name__ for evidence, _, _ in CASES.values() for cause in CAUSES if cause(evidence) is not None}
    assert found == {cause.__name__ for cause in CAUSES}


def test_without_evidence_the_only_finding_is_that_there_is_none() -> None:
    assert [one.sentence for one in diagnose(Evidence())] == ["No model is loaded."]
    fresh = diagnose(Evidence(facts=FACTS, config=GREEDY, file=HEALTHY.file))
    assert [one.sentence for one in fresh] == ["Too little has been drafted to tell: no guess by the MTP head yet."]


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: str(cause.__name__).strip("_"))
def test_no_cause_speaks_on_a_model_that_was_only_loaded(cause: object) -> None:
    evidence = Evidence(facts=FACTS, config=GREEDY)
    if getattr(cause, "__name__", "") != "_too_little":
        assert callable(cause)
        assert cause(evidence) is None


@given(
    st.floats(0, 1),
    st.floats(0.3, 3),
    st.integers(0, 39),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from(["f16", "q4_0"]),
)
def test_guesses_are_never_blamed_on_thin_evidence(
    rate: float, speedup: float, drafted: int, temperature: float, cache: str
) -> None:
    config = msgspec.structs.replace(set_to("sampling", temperature=temperature), model=ModelConfig(cache_type_k=cache))  # type: ignore[arg-type]
    stats = counted(rate, speedup, drafted)
    findings = diagnose(Evidence(facts=FACTS, config=config, stats=stats, totals=stats))
    assert len(findings) == 1
    assert "Too little has been drafted" in findings[0].sentence


@pytest.mark.parametrize(("steps", "first"), [(40, "Too little has been drafted"), (400, "On 2 cores")])
def test_a_staircase_measured_once_or_twice_is_not_the_first_thing_said(steps: int, first: str) -> None:
    few = replace(counted(0.5, 0.99, 6), steps=steps)
    report = replace(reported(0.5, (0.02, 0.05)), sources=())
    found = diagnose(losing(HEALTHY, stats=few, totals=few, report=report, cores=2))
    assert found[0].sentence.startswith(first)
    assert len(found) >= 2


def test_what_helps_is_never_said_to_harm() -> None:
    for config in (set_to("sampling", temperature=1.0), set_to("model", cache_type_k="q4_0"), set_to("speculative")):
        assert "Nothing is wrong" in diagnose(replace(HEALTHY, config=config))[0].sentence


def test_middling_figures_are_told_as_they_are() -> None:
    only = diagnose(losing(HEALTHY, 0.7, 1.01))
    assert "Nothing stands out" in only[0].sentence
    assert "70%" in only[0].sentence
    assert "×1.01" in only[0].sentence


def test_settings_that_are_named_exist() -> None:
    assert SpeculativeConfig().checkpoint_rollback == "auto"
    assert SpeculativeConfig().draft_sampling == "auto"


def test_guesses_in_a_loop_are_never_said_to_help() -> None:
    stats = replace(counted(0.99, 2.0), looping=True, looped_tokens=200, looped_s=2.0)
    said = " ".join(one.sentence for one in diagnose(replace(HEALTHY, stats=stats, totals=stats)))
    assert "Nothing is wrong" not in said


def test_a_remedy_for_loops_that_is_taken_already_is_not_named() -> None:
    looping = replace(HEALTHY, stats=replace(counted(0.9, 1.6), looping=True))
    found = diagnose(replace(looping, config=set_to("sampling", repeat_penalty=1.2, temperature=0.9)))
    remedy = next(one.remedy for one in found if "repeats itself" in one.sentence)
    assert remedy == "a higher temperature or another model, then /retry."


def test_a_loop_that_nobody_guessed_in_says_nothing_about_speculation() -> None:
    for drafted in (0, 400):
        alone = replace(HEALTHY, stats=replace(counted(0.0, 1.0, drafted), looping=True))
        assert not any("repeats itself" in one.sentence for one in diagnose(alone)), "no guess in it was right"


@given(st.integers(0, ENOUGH_GUESSES - 1), st.floats(0.3, 3))
def test_copies_are_never_put_down_to_the_head_beside_them(tested: int, speedup: float) -> None:
    stats = counted(0.9, speedup)
    seen = replace(HEALTHY, stats=stats, totals=stats, report=beside_copies(tested))
    assert seen.guesses == (tested, 0)
    assert not any("MTP head is" in one.sentence or "be right" in one.sentence for one in diagnose(seen))


def test_both_are_told_where_head_and_copies_are_known() -> None:
    said = diagnose(replace(HEALTHY, report=beside_copies(100, 80)))[0].sentence
    assert "The MTP head is right in 80% of its guesses and copies of earlier text are right in 90%" in said


def test_a_drafter_that_waits_because_copies_are_better_is_not_the_cause() -> None:
    copy = Decision(Reason.COPY, 8, 8, 9, "ngram", 8.0, 4.0)
    report = beside_copies(100, 80, waiting=1830, decisions=(copy,))
    assert not any("not ready" in one.sentence for one in diagnose(replace(HEALTHY, report=report)))


@pytest.mark.parametrize(
    ("control", "policy", "remedy"),
    [
        (SpeculationControl(), "cost", "In auto, as now"),
        (SpeculationControl(mode="on"), "cost", "/mtp auto: guesses only"),
        (SpeculationControl(draft_max=3, pinned=True), "cost", "/draft auto: guesses only"),
        (SpeculationControl(mode="on", draft_max=3, pinned=True), "cost", "/mtp auto, then /draft auto: guesses only"),
        (SpeculationControl(), "fixed", "--spec-policy cost in place of fixed: guesses only"),
    ],
)
def test_what_is_the_case_already_is_no_remedy(control: SpeculationControl, policy: str, remedy: str) -> None:
    config = set_to("speculative", policy=policy)
    dear = losing(HEALTHY, control=control, config=config, report=reported(0.5, (0.020, 0.034)), cores=2)
    assert diagnose(dear)[0].remedy.startswith(remedy)
