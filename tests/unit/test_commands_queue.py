"""/queue: what waits, in words."""

from __future__ import annotations

from mtpchat.commands.base import DropWaiting, EditWaiting
from mtpchat.commands.registry import complete
from tests.command_fakes import FakeContext, refuse, say

TWO = ("why do rivers\nmeander", "x" * 200)


def test_waiting_prompts_are_shown_by_their_first_words() -> None:
    assert say(FakeContext(), "/queue").text == "No prompt waits"
    lines = say(FakeContext(waiting=TWO), "/queue").text.splitlines()
    assert lines[0] == "1 · why do rivers meander"
    assert lines[1].startswith("2 · xxx")
    assert len(lines[1]) < 80


def test_one_is_edited_or_cancelled_by_its_number() -> None:
    context = FakeContext(waiting=TWO)
    assert say(context, "/queue edit 2").effect == EditWaiting(2)
    assert say(context, "/queue drop 1").effect == DropWaiting(1)
    assert say(context, "/queue drop all").effect == DropWaiting(None)


def test_a_wrong_number_or_word_is_refused_with_what_there_is() -> None:
    context = FakeContext(waiting=TWO)
    for wrong in ("0", "3", "x", "", "²"):
        assert "1 to 2" in refuse(context, f"/queue drop {wrong}")
    assert "did you mean" in refuse(context, "/queue dorp 1").lower()
    assert "No prompt waits" in refuse(FakeContext(), "/queue drop 1")


def test_it_may_be_said_during_an_answer() -> None:
    context = FakeContext(waiting=TWO)
    context.session.arrange(busy=True)
    assert say(context, "/queue edit 1").effect == EditWaiting(1)


def test_numbers_are_completed_with_their_first_words() -> None:
    context = FakeContext(waiting=TWO)
    assert [row.insert for row in complete(context, "/queue ")] == ["/queue edit ", "/queue drop "]
    rows = complete(context, "/queue drop ")
    assert [row.insert for row in rows] == ["/queue drop 1", "/queue drop 2", "/queue drop all"]
    assert rows[0].summary == "why do rivers meander"
