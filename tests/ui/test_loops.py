"""An answer that goes round in circles looks like one on the screen, while it comes and afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mtpchat.events import Finished, StatsTick, TextDelta
from mtpchat.messages import Message
from mtpchat.ui.presenter import does_not_pay
from tests.ui.conftest import STILL, chat, chat_app, seen, settled
from tests.ui.fake_session import STATS, FakeSession, Pause, Step, says

LOOPING = replace(STATS, looping=True, looped_tokens=200, looped_s=3.0)


def bar_of(app: object) -> str:
    return chat(app).status.render().plain  # type: ignore[arg-type]


@pytest.mark.parametrize("columns", [60, 80, 160])
async def test_the_mark_comes_with_the_loop_and_goes_when_the_text_leaves_it(columns: int) -> None:
    looped, left = Pause(), Pause()
    after = replace(LOOPING, looping=False, output_tokens=900)
    turn: list[Step] = [TextDelta("so on "), StatsTick(LOOPING), looped, StatsTick(after), left]
    turn.append(Finished(Message("assistant", "so on "), after, "stop"))
    app = chat_app(FakeSession([turn], config=STILL))
    async with app.run_test(size=(columns, 30)) as pilot:
        await settled(pilot)
        await pilot.press("a", "enter")
        await looped.reached.wait()
        await pilot.pause()
        assert "repeats" in bar_of(app)
        looped.gate.set()
        await left.reached.wait()
        await pilot.pause()
        assert "repeats" not in bar_of(app)
        left.gate.set()
        await settled(pilot)
        assert "repeats" not in seen(app)


@pytest.mark.parametrize("columns", [60, 80, 160])
async def test_an_answer_that_ended_in_a_loop_keeps_the_mark(columns: int) -> None:
    app = chat_app(FakeSession([says("so on", stats=LOOPING)], config=STILL))
    async with app.run_test(size=(columns, 30)) as pilot:
        await settled(pilot)
        await pilot.press("a", "enter")
        await settled(pilot)
        assert "repeats" in bar_of(app)
        assert "×1.13 · repeats" in seen(app)


def test_a_loop_says_nothing_about_whether_speculation_pays() -> None:
    slower = replace(STATS, plain_tokens_per_second=60.0)
    assert does_not_pay(slower)
    assert not does_not_pay(replace(slower, looping=True, looped_tokens=300, looped_s=6.5))
