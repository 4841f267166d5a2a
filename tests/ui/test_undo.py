"""What was typed is taken back and done again, whatever that does to the height of the prompt."""

from __future__ import annotations

import pytest

from tests.ui.conftest import STILL, chat, chat_app, settled
from tests.ui.fake_session import FakeSession


@pytest.mark.parametrize("height", [10, 24])
@pytest.mark.parametrize("lines", [2, 9, 18])
async def test_many_lines_can_be_taken_back_at_once(lines: int, height: int) -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(80, height)) as pilot:
        await settled(pilot)
        prompt = chat(app).prompt
        for text in ("first", "\n" * lines):
            prompt.insert(text)
            prompt.history.checkpoint()
            await pilot.pause()
        await pilot.press("ctrl+underscore")
        assert (prompt.text, prompt.cursor_location) == ("first", (0, 5))
        await pilot.press("ctrl+y")
        assert (prompt.text, prompt.cursor_location) == ("first" + "\n" * lines, (lines, 0))
        await pilot.press("ctrl+underscore", "x")
        assert prompt.text == "firstx"
