"""`mtpchat stats`: tables for people, one object for programs, and days and models to choose."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from mtpchat import paths
from mtpchat.chats import Circumstances
from mtpchat.cli import main
from mtpchat.store.chat_store import ChatStore
from tests.store.talk import Talk
from tests.store.test_figures import FAST, say

Run = Callable[..., str]
OCTOBER, NOVEMBER = (time.mktime((2026, month, 10, 12, 0, 0, 0, 0, -1)) for month in (10, 11))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def stats(*argv: str, code: int = 0) -> str:
        assert main(["stats", *argv]) == code
        out, err = capsys.readouterr()
        return err if code else out

    return stats


@pytest.fixture
def kept() -> None:
    """One answer in October whose machine is not known, two in November; one lost time, one did not speculate."""
    store = ChatStore(paths.chats_file())
    say(Talk(store, "one000000000"), "A river bends because it can. " * 9, FAST, at=OCTOBER)
    talk = Talk(store, "two000000000")
    say(
        talk,
        "```\nx = 1\ny = 2\n```",
        replace(FAST, plain_s=1.0, kind="ngram"),
        at=NOVEMBER,
        machine="Fast CPU · 8 threads",
    )
    say(talk, "Yes.", replace(FAST, kind="none", drafted=0, accepted=0), at=NOVEMBER, machine="Fast CPU · 8 threads")
    assert store.close() == ""


def test_before_the_first_answer_there_is_a_sentence_and_nothing_is_made(run: Run) -> None:
    assert "Nothing has been counted yet" in run()
    assert json.loads(run("--json"))["total"]["turns"] == 0
    assert not paths.chats_file().exists()


@pytest.mark.usefixtures("kept")
def test_tables_say_what_was_saved_and_what_it_cost(run: Run) -> None:
    page = run()
    assert "300 tokens in 3 answers, 50.0 t/s" in page
    assert "Speculation saved 2.0 s in 2 answers, ×1.50 against plain decoding" in page
    assert "(3.0 s gained, 1.0 s lost)" in page
    assert "unknown (before it was kept)" in page
    assert "Fast CPU · 8 threads" in page
    for title in ("Speed", "Acceptance by kind", "Acceptance by content", "By week"):
        assert title in page
    assert all(len(line) <= 80 for line in page.splitlines())


@pytest.mark.usefixtures("kept")
def test_one_object_has_the_same_figures(run: Run) -> None:
    found = json.loads(run("--json"))
    assert (found["first_day"], found["last_day"]) == ("2026-10-10", "2026-11-10")
    assert (found["total"]["saved_s"], found["total"]["gained_s"], found["total"]["lost_s"]) == (2.0, 3.0, 1.0)
    assert found["kinds"]["ngram"]["saved_s"] == -1.0
    assert found["contents"]["code"]["acceptance"] == 0.75
    assert {month: sums["turns"] for month, sums in found["months"].items()} == {"2026-10": 1, "2026-11": 2}
    assert {(one["model"], one["machine"]) for one in found["speeds"]} == {
        ("Tiny", ""),
        ("Tiny", "Fast CPU · 8 threads"),
    }


@pytest.mark.usefixtures("kept")
def test_days_and_models_can_be_chosen(run: Run) -> None:
    assert json.loads(run("--json", "--since", "2026-11-01"))["total"]["turns"] == 2
    assert json.loads(run("--json", "--since", "2026-11-11"))["total"]["turns"] == 0
    assert json.loads(run("--json", "--model", "tIn"))["total"]["turns"] == 3
    assert "Models: Tiny" in run("--model", "qwen")
    assert "2026-11-01" in run("--since", "yesterday", code=2)


def test_a_flag_of_stats_elsewhere_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chats", "list", "--since", "2026-11-01"]) == 2
    assert "mtpchat stats" in capsys.readouterr().err


def test_names_of_models_are_text(run: Run) -> None:
    store = ChatStore(paths.chats_file())
    ended = say(Talk(store), "x", FAST)
    how = Circumstances(model_name="Big \x1b[31m[red]x", kind="mtp")
    begun = msgspec.structs.replace(ended.begun, turn="another", how=how)
    store.put(msgspec.structs.replace(ended, begun=begun))
    assert store.close() == ""
    page = run()
    assert "[red]x" in page
    assert all(line.isprintable() for line in page.splitlines())
