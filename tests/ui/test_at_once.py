"""An answer is painted, marked and ended by different tasks, whose steps may come between one another."""

from __future__ import annotations

import asyncio

import pytest

from mtpchat.ui.widgets.answer import Answer
from mtpchat.ui.widgets.open_end import OpenCode
from tests.ui.conftest import STILL, chat, chat_app, settled
from tests.ui.fake_session import STATS, FakeSession

TEXT = "Prose.\n\n```py\nx = 1\n```\n\nMore.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\nls\n```\nEnd"


@pytest.mark.parametrize("step", [3, 7, 11, 19])
async def test_marks_may_change_while_it_is_painted_and_when_it_ends(step: int) -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        answer = Answer()
        await chat(app).transcript.mount(answer)
        for at in range(0, len(TEXT), step):
            await answer.write(TEXT[at : at + step], "answer", "ngram" if at % 2 else "")
            await asyncio.gather(answer.show_origin(bool(at % 2)), answer._paint(), answer.show_origin(not at % 2))
        await answer.write("!", "answer")
        text = TEXT + "!"
        await asyncio.gather(
            answer._paint(), answer.show_origin(True), answer.finish(text, STATS, "stop"), answer._paint()
        )
        assert answer.document.source == text
        assert not answer.query(OpenCode)
        assert not answer.blocks_above_end
