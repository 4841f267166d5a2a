"""A chat in which speculation brings nothing says so once, quietly; and nothing offers to stop what has ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mtpchat.events import Finished, TextDelta
from mtpchat.messages import Message
from mtpchat.stats import TurnStats
from mtpchat.ui.presenter import does_not_pay
from mtpchat.ui.widgets.answer import Answer
from tests.ui.conftest import STILL, chat, chat_app, seen, settled
from tests.ui.fake_session import STATS, FakeSession, Step, says

PARKED = replace(STATS, drafted=2, accepted=1, depth=0, plain_tokens_per_second=46.2)
SLOWER = replace(STATS, plain_tokens_per_second=60.0)
HINT = "speculation does not pay here: /why"


@pytest.mark.parametrize("stats", [PARKED, SLOWER, replace(SLOWER, mode="on")])
def test_parked_or_slower_for_a_whole_answer_does_not_pay(stats: TurnStats) -> None:
    assert does_not_pay(stats)


@pytest.mark.parametrize(
    "stats",
    [
        STATS,
        replace(PARKED, mode="off"),
        replace(PARKED, kind="none"),
        replace(SLOWER, output_tokens=20),
        replace(STATS, plain_tokens_per_second=46.8),
        replace(STATS, plain_tokens_per_second=None),
    ],
)
def test_what_pays_or_is_not_known_is_not_complained_about(stats: TurnStats) -> None:
    assert not does_not_pay(stats)


async def test_the_hint_comes_once_per_chat() -> None:
    app = chat_app(FakeSession([says("one"), *(says("two", stats=PARKED) for _ in range(4))], config=STILL))
    async with app.run_test(size=(100, 60)) as pilot:
        await settled(pilot)
        hints = []
        for line in ("a", "b", "c", "/clear", "d"):
            await pilot.press(*line, "enter")
            await settled(pilot)
            hints.append(seen(app).count(HINT))
        assert hints == [0, 1, 1, 0, 1]


async def test_the_offer_to_stop_goes_before_the_last_rendering(monkeypatch: pytest.MonkeyPatch) -> None:
    hints: list[str] = []

    async def look(self: Answer, *_: object) -> None:
        bar = chat(self.app).status
        hints.append(bar._hints(60).plain)
        hints.append("busy" if bar._busy else "rests")

    monkeypatch.setattr(Answer, "finish", look)
    turn: list[Step] = [TextDelta("one"), Finished(Message("assistant", "one"), STATS, "stop")]
    app = chat_app(FakeSession([turn], config=STILL))
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.press("a", "enter")
        await settled(pilot)
    assert len(hints) == 2
    assert "stop" not in hints[0]
    assert hints[1] == "rests"
