"""/mtp, /draft, /spec and /stats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import gguf
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.commands.base import Reload, Reply, ShowPage, TogglePanel
from mtpchat.commands.insight import evidence
from mtpchat.commands.registry import complete
from mtpchat.commands.speculation import DEEPEST, MODES, kinds
from mtpchat.commands.statistics import bar, statistics_page
from mtpchat.events import SpeculationControl, SpeculationMode
from mtpchat.stats import TurnStats
from tests.command_fakes import FACTS, ArrangedSession, FakeContext, refuse, say


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeContext:
    monkeypatch.chdir(tmp_path)
    return FakeContext()


def test_modes_and_kinds_are_all_that_exist() -> None:
    assert set(MODES) == set(get_args(SpeculationMode))
    assert {"auto", "none", "ngram", "draft", "mtp"} <= set(kinds())


@pytest.mark.parametrize("mode", list(MODES))
def test_mtp_replaces_only_the_mode_even_during_an_answer(context: FakeContext, mode: SpeculationMode) -> None:
    context.session.arrange(busy=True)
    before = context.session.control
    assert MODES[mode] in say(context, f"/mtp {mode}").text
    assert context.session.control == replace(before, mode=mode)


def test_mtp_on_after_spec_none_drafts_again(context: FakeContext) -> None:
    say(context, "/spec none")
    assert context.session.control.kind == "none"
    say(context, "/mtp on")
    assert context.session.control.kind == ""


def test_mtp_on_without_a_drafter_says_why_it_does_nothing(context: FakeContext) -> None:
    context.session.arrange(facts=replace(FACTS, kind="none", fallback_reason="this file has no heads"))
    text = say(context, "/mtp on").text
    assert "this file has no heads" in text
    assert "/spec ngram" in text


def test_draft_pins_a_depth_during_an_answer(context: FakeContext) -> None:
    context.session.arrange(busy=True)
    say(context, "/draft 3")
    assert context.session.control == SpeculationControl(draft_max=3, pinned=True)


@given(least=st.integers(0, 200), width=st.integers(0, 200), limit=st.none() | st.integers(1, 40))
def test_any_range_is_kept_in_order_and_below_the_limit_and_clamping_is_told(
    least: int, width: int, limit: int | None
) -> None:
    most = max(least + width, 1)
    context = FakeContext(ArrangedSession(facts=replace(FACTS, depth_limit=limit)))
    text = say(context, f"/draft {least}-{most}").text
    ceiling = limit or DEEPEST
    control = context.session.control
    assert (control.draft_min, control.draft_max) == (min(least, ceiling), min(most, ceiling))
    assert not control.pinned
    assert ("clamped" in text) == (most > ceiling)


def test_clamped_depth_names_the_flag_when_snapshots_are_the_limit(context: FakeContext) -> None:
    text = say(context, "/draft 8").text
    assert "clamped to 4: this model keeps 4 snapshots to roll back to; start with --draft-max 8 for more" in text


def test_clamped_depth_names_no_flag_when_the_model_is_the_limit(context: FakeContext) -> None:
    context.session.arrange(facts=replace(FACTS, depth_limit=3, depth_reason="there are 3 heads, one per guess"))
    text = say(context, "/draft 8").text
    assert "clamped to 3: there are 3 heads" in text
    assert "--draft-max" not in text


def test_draft_auto_adapts_again_after_a_pinned_depth(context: FakeContext) -> None:
    say(context, "/draft 1")
    say(context, "/draft auto")
    assert context.session.control == SpeculationControl(draft_min=0, draft_max=4, pinned=False, free_max=16)


@given(st.none() | st.integers(1, 100), st.integers(1, 64))
def test_draft_auto_stays_within_the_limit_and_never_needs_clamping(limit: int | None, earlier: int) -> None:
    context = FakeContext(ArrangedSession(facts=replace(FACTS, depth_limit=limit)))
    say(context, f"/draft {earlier}")
    assert "clamped" not in say(context, "/draft auto").text
    assert 1 <= context.session.control.draft_max <= (limit or DEEPEST)


@pytest.mark.parametrize("argument", ["0", "-1", "many", "5-2", "0-0", "1-", "٣", "1.5", "3 4", "9999999999"])
def test_depth_that_makes_no_sense_is_refused(context: FakeContext, argument: str) -> None:
    refuse(context, f"/draft {argument}")


def test_draft_is_refused_where_nothing_can_be_taken_back(context: FakeContext) -> None:
    context.session.arrange(facts=replace(FACTS, depth_limit=0))
    assert "take tokens back" in refuse(context, "/draft 2")
    assert complete(context, "/draft ") == []


def test_spec_switches_live_between_what_is_loaded(context: FakeContext) -> None:
    context.session.arrange(busy=True)
    reply = say(context, "/spec ngram")
    assert reply.effect is None
    assert context.session.control.kind == "ngram"
    say(context, "/spec auto")
    assert context.session.control.kind == ""


def test_spec_of_a_kind_that_is_not_loaded_asks_for_a_reload(context: FakeContext) -> None:
    context.session.arrange(facts=replace(FACTS, kind="ngram", available=("none", "ngram")))
    assert say(context, "/spec mtp").effect == Reload()
    assert context.session.config.speculative.kind == "mtp"


def test_spec_that_needs_a_reload_waits_for_the_answer(context: FakeContext) -> None:
    context.session.arrange(facts=replace(FACTS, kind="ngram", available=("none", "ngram")))
    context.session.arrange(busy=True)
    assert "wait" in refuse(context, "/spec mtp")


def test_spec_draft_without_a_draft_model_says_how_to_name_one(context: FakeContext) -> None:
    assert "/drafter" in refuse(context, "/spec draft")


@pytest.mark.parametrize("line", ["/spec", "/spec panel", "/spec Panel"])
def test_spec_alone_opens_or_closes_the_panel_even_during_an_answer(context: FakeContext, line: str) -> None:
    context.session.arrange(busy=True)
    assert say(context, line) == Reply(effect=TogglePanel())


@pytest.mark.parametrize(("argument", "shows"), [("on", True), ("off", False), ("", True), ("ON", True)])
def test_provenance_is_switched_during_an_answer(context: FakeContext, argument: str, shows: bool) -> None:
    context.session.arrange(busy=True)
    before = context.session.control
    say(context, f"/provenance {argument}")
    assert context.session.control == replace(before, provenance=shows)


def test_provenance_without_argument_switches_back_and_forth(context: FakeContext) -> None:
    assert "underlined" in say(context, "/provenance").text
    assert "like all other text" in say(context, "/provenance").text
    assert not context.session.control.provenance
    assert "perhaps" in refuse(context, "/provenance perhaps")


def test_provenance_and_panel_survive_other_changes_of_speculation(context: FakeContext) -> None:
    context.session.set_control(replace(context.session.control, observe=True))
    say(context, "/provenance on")
    for line in ("/mtp on", "/draft 2", "/spec ngram", "/mtp auto"):
        say(context, line)
    assert context.session.control.provenance
    assert context.session.control.observe


def test_why_answers_during_an_answer_with_at_most_three_findings(context: FakeContext) -> None:
    context.session.arrange(busy=True)
    text = say(context, "/why").text
    assert text.startswith("Too little has been drafted to tell: no guess by the MTP head yet.")
    assert text.count("→") <= 3


def test_why_reads_what_the_header_of_the_model_says(context: FakeContext, tmp_path: Path) -> None:
    path = tmp_path / "bare.gguf"
    writer = gguf.GGUFWriter(path, "qwen35")
    writer.add_block_count(4)
    writer.add_uint32("qwen35.nextn_predict_layers", 1)
    writer.add_uint32("qwen35.expert_count", 8)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    context.session.arrange(facts=replace(FACTS, path=str(path), kind="ngram", available=("none", "ngram")))
    found = evidence(context)
    assert found.file is not None
    assert (found.file.heads, found.file.heads_there, found.file.experts) == (1, 0, 8)
    assert "left out" in say(context, "/why").text


def test_why_does_without_a_file_that_has_gone(context: FakeContext) -> None:
    assert evidence(context).file is None
    context.session.arrange(facts=None)
    assert "No model is loaded" in say(context, "/why").text


def test_spec_page_tells_what_is_used_why_and_what_else_there_is(context: FakeContext) -> None:
    context.session.arrange(facts=replace(FACTS, fallback_reason="the draft_model differs | in vocabulary"))
    page = say(context, "/spec page").effect
    assert isinstance(page, ShowPage)
    assert "MTP head in the main file" in page.markdown
    assert "the draft\\_model differs \\| in vocabulary" in page.markdown
    assert "| `/spec ngram` | " in page.markdown
    assert "after loading again" in page.markdown


COUNTED = TurnStats(
    prompt_tokens=100,
    cached_tokens=60,
    output_tokens=90,
    steps=40,
    drafted=100,
    accepted=50,
    reached_at=(40, 30, 20),
    accepted_at=(30, 15, 5),
    prefill_s=2.0,
    decode_s=2.0,
    draft_s=0.2,
    ttft_s=0.31,
    plain_tokens_per_second=30.0,
    plain_age_s=125.0,
)


def test_stats_show_every_figure_that_was_measured(context: FakeContext) -> None:
    context.session.arrange(stats=COUNTED)
    effect = say(context, "/stats").effect
    assert isinstance(effect, ShowPage)
    for figure in (
        "45.0 tokens/s",
        "×1.50",
        "30.0 tokens/s, 2 min ago",
        "0.31 s",
        "50%",
        "2.25",
        "20.0 tokens/s, 40 tokens",
    ):
        assert figure in effect.markdown
    assert "| 1 | ███████████████ | 75% | 30 of 40 |" in effect.markdown
    assert "| 3 | █████ | 25% | 5 of 20 |" in effect.markdown


def test_stats_show_a_dash_and_never_a_zero_for_what_is_unknown() -> None:
    page = statistics_page(TurnStats(output_tokens=0), TurnStats())
    for name in (
        "Decode",
        "Against plain",
        "Plain, for the same tokens",
        "Plain decode, last measured",
        "Time to first token",
        "Acceptance",
        "Mean accepted length",
    ):
        assert f"| {name} | – | – |" in page


def test_what_is_held_against_plain_can_be_checked_by_hand() -> None:
    slower_now = replace(COUNTED, plain_s=3.0)  # the machine has slowed down since: 30 tokens/s are of the last step
    assert slower_now.speedup == pytest.approx(45.0 / 30.0)
    page = statistics_page(replace(slower_now, plain_tokens_per_second=20.0), COUNTED)
    assert "| Decode | 45.0 tokens/s | 45.0 tokens/s |" in page
    assert "| Plain, for the same tokens | 30.0 tokens/s | 30.0 tokens/s |" in page
    assert "| Against plain | ×1.50 | ×1.50 |" in page
    assert "20.0 tokens/s, 2 min ago" in page


def test_why_while_a_model_is_loaded_says_so(context: FakeContext) -> None:
    context.session.arrange(busy=True, facts=None)
    assert say(context, "/why").text.startswith("The model is being loaded")


def test_stats_before_the_first_answer_say_so(context: FakeContext) -> None:
    assert "first answer" in say(context, "/stats").text


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 60))
def test_longer_bars_mean_larger_shares(one: float, other: float, width: int) -> None:
    def length(text: str) -> float:
        return sum(" ▏▎▍▌▋▊▉█".index(cell) for cell in text)

    low, high = sorted((one, other))
    assert length(bar(low, width)) <= length(bar(high, width))
    assert len(bar(high, width)) <= width
    assert bar(1, width) == "█" * width


def test_stats_tell_how_much_of_the_answer_was_a_loop() -> None:
    looping = replace(COUNTED, looping=True, looped_tokens=60, looped_s=1.0)
    page = statistics_page(looping, COUNTED)
    assert "| In loops, not compared | 60 tokens | – |" in page
    assert "| Against plain | ×1.00 | ×1.50 |" in page
    assert "goes round in circles" in page
    assert "goes round in circles" not in statistics_page(COUNTED, looping)


def test_a_fixed_depth_is_not_said_to_draft_only_while_it_pays() -> None:
    context = FakeContext()
    assert "whether it pays or not" in say(context, "/draft 2").text
    told = say(context, "/mtp auto").text
    assert "whether it pays or not" in told
    assert "/draft auto" in told
    say(context, "/draft auto")
    assert say(context, "/mtp auto").text.startswith("Speculation auto: draft while it pays")


def test_a_depth_can_be_set_while_nothing_is_loaded_that_drafts(context: FakeContext) -> None:
    facts = replace(FACTS, kind="none", depth_limit=0, depth_reason="", available=("none", "ngram"))
    context.session.arrange(facts=facts)
    text = say(context, "/draft 3").text
    assert context.session.control == SpeculationControl(draft_max=3, pinned=True)
    assert "nothing is loaded that drafts" in text
    say(context, "/spec ngram")
    assert "nothing is loaded" not in say(context, "/draft 2").text
    page = say(context, "/spec page").effect
    assert isinstance(page, ShowPage)
    assert "no limit" in page.markdown


@pytest.mark.parametrize(
    ("limit", "reason", "copies"),
    [
        (None, "", ", copies of earlier text up to 16"),
        (8, "this context was made for drafts of up to 8", ", copies of earlier text up to 8"),
        (4, "this model keeps 4 snapshots to roll back to", ""),
        (4, "there are 4 heads, one per guess", ", copies of earlier text up to 16"),
    ],
)
def test_longer_copies_are_told_beside_the_depth(limit: int | None, reason: str, copies: str) -> None:
    context = FakeContext(ArrangedSession(facts=replace(FACTS, depth_limit=limit, depth_reason=reason)))
    assert say(context, "/draft auto").text == f"0 to 4 drafted each step{copies}, adapting"
    assert "copies" not in say(context, "/draft 1-3").text


@pytest.mark.parametrize(
    ("policy", "mode", "depth"),
    [
        ("cost", "draft while it pays", "adapting"),
        ("threshold", "draft while enough of the guesses are right", "adapting to how many are right"),
        ("fixed", "always draft", "4 drafted each step, as --spec-policy fixed wants it"),
    ],
)
def test_auto_is_said_to_be_what_the_policy_makes_of_it(policy: str, mode: str, depth: str) -> None:
    context = FakeContext()
    settings = msgspec.structs.replace(context.session.config.speculative, policy=policy)
    context.session.config = msgspec.structs.replace(context.session.config, speculative=settings)
    assert say(context, "/mtp auto").text == f"Speculation auto: {mode}"
    assert say(context, "/draft").text.endswith(depth)
    assert say(context, "/mtp").text.startswith("Speculation is auto, ")
    assert say(context, "/mtp on").text == "Speculation on: always draft"


def test_a_plain_rate_of_an_earlier_run_is_said_to_be_one() -> None:
    page = statistics_page(replace(COUNTED, plain_age_s=None), COUNTED)
    assert "| 30.0 tokens/s, in an earlier run | 30.0 tokens/s, 2 min ago |" in page
