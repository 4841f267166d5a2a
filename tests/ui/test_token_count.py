"""How many tokens would be sent: told while one types, never while an answer runs."""

from __future__ import annotations

import pytest
from textual import events

from mtpchat.ui import token_count
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, Pause, says


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_count, "_AFTER_S", 0.01)


def status(app: object) -> str:
    return seen(app).splitlines()[-2]  # type: ignore[arg-type]


async def test_the_tokens_of_the_prompt_are_shown_while_typing_and_go_when_it_is_sent() -> None:
    session = FakeSession(config=STILL)
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"abcde")
        await until(pilot, lambda: "+5 tok" in status(app))
        assert "ctx 8/8k" in status(app)
        await pilot.press("enter")
        await settled(pilot)
        assert "tok " not in status(app)


async def test_nothing_is_counted_during_an_answer_but_right_after_it() -> None:
    pause = Pause()
    session = FakeSession([[pause, *says("ok")]], config=STILL)
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("a", "enter")
        await until(pilot, pause.reached.is_set)
        session.terms.measured.clear()
        await pilot.press(*"next")
        await pilot.pause()
        assert chat(app).area._tokens._timer is None
        assert session.terms.measured == []
        pause.gate.set()
        await until(pilot, lambda: "+4 tok" in status(app))


async def test_a_command_is_not_counted() -> None:
    session = FakeSession(config=STILL)
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"/undo")
        await pilot.pause()
        assert chat(app).area._tokens._timer is None


async def test_a_folded_paste_counts_whole_and_one_beyond_all_measure_is_not_even_counted() -> None:
    session = FakeSession(config=STILL)
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        chat(app).prompt.post_message(events.Paste("x\n" * 30))
        await until(pilot, lambda: "+60 tok" in status(app))
        chat(app).prompt.post_message(events.Paste("y" * 1_000_000))
        await until(pilot, lambda: "more than the context holds" in status(app) or "+∞" in status(app))
        assert all(len(text) < 1000 for text in session.terms.measured)
