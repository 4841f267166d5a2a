"""The mouse may press on what has just gone."""

from __future__ import annotations

import pytest
from textual import events
from textual.geometry import Offset
from textual.widget import Widget

from tests.ui.conftest import STILL, chat, chat_app, settled
from tests.ui.fake_session import FakeSession, says


async def test_a_press_on_a_widget_that_stands_nowhere_marks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = chat_app(FakeSession([says("Rivers bend.")], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        gone = Widget()
        monkeypatch.setattr(chat(app)._compositor, "get_widget_and_offset_at", lambda x, y: (gone, Offset()))
        chat(app)._forward_event(events.MouseDown(None, 9, 9, 0, 0, 1, False, False, False))
        assert chat(app).get_widget_and_offset_at(9, 9) == (None, None)
        await pilot.press("x")
        assert chat(app).prompt.text == "x"
