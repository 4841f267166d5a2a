"""What goes to stdout and what to stderr when one question is answered without the app."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.events import (
    Failed,
    Finished,
    LeftOut,
    LoadFinished,
    Loading,
    ModelFacts,
    Prefilling,
    StatsTick,
    TextDelta,
)
from mtpchat.headless_output import JsonOutput, TextOutput, summary
from mtpchat.messages import Message
from mtpchat.stats import TurnStats

STATS = TurnStats(
    prompt_tokens=9,
    cached_tokens=2,
    output_tokens=40,
    steps=16,
    drafted=32,
    accepted=24,
    reached_at=(16, 14),
    accepted_at=(14, 10),
    prefill_s=0.5,
    decode_s=2.0,
    draft_s=0.2,
    ttft_s=0.6,
    plain_s=4.0,
    plain_tokens_per_second=10.0,
    depth=2,
    kind="mtp",
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def finished(text: str, stats: TurnStats = STATS, notice: str = "") -> Finished:
    return Finished(Message("assistant", text, "hm"), stats, "stop", notice)


def test_a_pipe_gets_the_text_unchanged_and_a_line_end() -> None:
    out, err = io.StringIO(), io.StringIO()
    output = TextOutput(out, err)
    for event in (TextDelta("a\x1b[2J"), TextDelta("hm", "thinking"), TextDelta("[b]\x07"), finished("")):
        output.show(event)
    assert out.getvalue() == "a\x1b[2J[b]\x07\n"
    assert err.getvalue() == ""


def test_an_answer_that_ends_its_line_gets_no_second_line_end() -> None:
    out = io.StringIO()
    output = TextOutput(out, io.StringIO())
    output.show(TextDelta("a\n"))
    output.show(finished("a\n"))
    assert out.getvalue() == "a\n"


@given(pieces=st.lists(st.text(), max_size=5), thoughts=st.text())
def test_no_control_byte_of_a_model_reaches_a_terminal(pieces: list[str], thoughts: str) -> None:
    out, err = Terminal(), Terminal()
    output = TextOutput(out, err, plain=True)
    output.show(TextDelta(thoughts, "thinking"))
    for piece in pieces:
        output.show(TextDelta(piece))
    output.show(Failed(thoughts))
    output.fail("generation", thoughts, thoughts)
    for stream in (out, err):
        assert all(char.isprintable() or char in "\n\t" or not char.isascii() for char in stream.getvalue())
        assert "\x9b" not in stream.getvalue()


def test_thinking_is_dimmed_on_a_terminal_and_ends_before_the_answer() -> None:
    out, err = io.StringIO(), Terminal()
    output = TextOutput(out, err)
    output.show(TextDelta("why", "thinking"))
    output.show(TextDelta("so"))
    assert err.getvalue() == "\x1b[2mwhy\x1b[0m\n\n"
    assert out.getvalue() == "so"


def test_hidden_thinking_is_nowhere() -> None:
    err = Terminal()
    TextOutput(io.StringIO(), err, thinking=False).show(TextDelta("why", "thinking"))
    assert err.getvalue() == ""


def test_progress_is_for_people_only_and_leaves_nothing_behind() -> None:
    for err, expected in ((io.StringIO(), ""), (Terminal(), None)):
        output = TextOutput(io.StringIO(), err)
        output.show(Loading("model", 0.5))
        output.show(Prefilling(10, 2000))
        output.show(StatsTick(STATS))
        output.show(TextDelta("x"))
        if expected is None:
            assert "loading model 50%" in err.getvalue()
            assert "reading 10/2,000 tokens" in err.getvalue()
            assert err.getvalue().endswith("\r\x1b[2K")
        else:
            assert err.getvalue() == expected


def test_warnings_and_the_reason_without_speculation_are_told() -> None:
    err = io.StringIO()
    facts = ModelFacts("m", "m.gguf", "llama", "none", "", fallback_reason="no heads", warnings=("old\x1b file",))
    TextOutput(io.StringIO(), err).show(LoadFinished(facts))
    assert err.getvalue() == "mtpchat: old␛ file\nmtpchat: no heads\n"


def test_a_notice_is_told_and_the_summary_only_on_a_terminal() -> None:
    err = io.StringIO()
    TextOutput(io.StringIO(), err).show(finished("x", notice="The context is full."))
    assert err.getvalue() == "mtpchat: The context is full.\n"
    terminal = Terminal()
    TextOutput(io.StringIO(), terminal, plain=True).show(finished("x"))
    assert terminal.getvalue() == summary(STATS) + "\n"


def test_the_summary_says_what_is_known_and_dashes_the_rest() -> None:
    assert summary(STATS) == "20.0 t/s ×2.00 · acc 75% · len 2.5 · 40 tokens · 2.5 s"
    assert summary(TurnStats()) == "– t/s ×– · acc – · len – · 0 tokens · 0.0 s"


def test_json_is_one_object_with_exactly_the_documented_fields() -> None:
    out = io.StringIO()
    output = JsonOutput(out, io.StringIO())
    for event in (Loading("m", 1.0), TextDelta("é\x1b"), StatsTick(STATS), finished("é\x1b")):
        output.show(event)
    assert out.getvalue().count("\n") == 1
    assert json.loads(out.getvalue()) == {
        "text": "é\x1b",
        "thinking": "hm",
        "finish_reason": "stop",
        "usage": {"prompt_tokens": 9, "cached_tokens": 2, "completion_tokens": 40},
        "left_out": None,
        "timings": {
            "prefill_s": 0.5,
            "decode_s": 2.0,
            "ttft_s": 0.6,
            "tokens_per_second": 20.0,
            "draft_s": 0.2,
            "plain_s": 4.0,
        },
        "speculation": {
            "kind": "mtp",
            "depth": 2,
            "drafted": 32,
            "accepted": 24,
            "reached_at": [16, 14],
            "accepted_at": [14, 10],
            "forced": 0,
            "steps": 16,
            "mean_accepted_length": 2.5,
            "plain_tokens_per_second": 10.0,
            "speedup": 2.0,
            "looping": False,
            "looped_tokens": 0,
            "looped_s": 0.0,
            "fallback_reason": None,
        },
    }


def test_json_says_null_for_what_is_not_known() -> None:
    out = io.StringIO()
    JsonOutput(out, io.StringIO()).show(finished("", TurnStats(fallback_reason="no heads")))
    value = json.loads(out.getvalue())
    assert value["timings"]["ttft_s"] is None
    assert value["timings"]["tokens_per_second"] is None
    assert value["speculation"]["mean_accepted_length"] is None
    assert value["speculation"]["plain_tokens_per_second"] is value["speculation"]["speedup"] is None
    assert value["speculation"]["fallback_reason"] == "no heads"


@pytest.mark.parametrize(("partial", "extra"), [("", {}), ("so far", {"text": "so far"})])
def test_a_failure_in_json_is_an_object_too(partial: str, extra: dict[str, str]) -> None:
    out = io.StringIO()
    JsonOutput(out, io.StringIO()).fail("generation", "it broke", "", partial)
    assert json.loads(out.getvalue()) == {"error": {"type": "generation", "message": "it broke", "hint": None, **extra}}


def test_an_answer_that_goes_round_in_circles_is_called_so() -> None:
    stats = replace(STATS, looping=True, looped_tokens=20, looped_s=0.5, plain_s=2.0)
    out = io.StringIO()
    JsonOutput(out, io.StringIO()).show(finished("", stats))
    said = json.loads(out.getvalue())["speculation"]
    assert (said["looping"], said["looped_tokens"]) == (True, 20)
    assert "×1.33 · repeats · " in summary(stats)
    assert "repeats" not in summary(STATS)


def test_a_drafter_that_is_left_out_is_told_with_what_there_is_instead() -> None:
    err = io.StringIO()
    facts = ModelFacts("m", "m.gguf", "llama", "none", "n-gram, because no heads", fallback_reason="no heads")
    TextOutput(io.StringIO(), err).show(LoadFinished(facts))
    assert err.getvalue() == "mtpchat: n-gram, because no heads\n"


def test_what_the_model_does_not_read_is_told_and_part_of_the_json() -> None:
    out, err = io.StringIO(), io.StringIO()
    output = JsonOutput(out, err)
    for event in (LeftOut(2, 6, True, 3120, 9004, 8192), finished("Fine.")):
        output.show(event)
    assert json.loads(out.getvalue())["left_out"] == {"first": 2, "messages": 6, "whole_tokens": 9004}
    assert "6 messages are not read by the model any more" in err.getvalue()
