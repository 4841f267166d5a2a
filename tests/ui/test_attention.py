"""Who went to another window is called back when a long answer has come, and nobody else is."""

from __future__ import annotations

import msgspec
import pytest

from mtpchat.events import FinishReason
from mtpchat.stats import TurnStats
from mtpchat.ui.attention import call_back
from tests.ui.conftest import STILL, chat, chat_app, settled
from tests.ui.fake_session import FakeSession


@pytest.mark.parametrize(
    ("focus", "seconds", "after_s", "reason", "called"),
    [
        (False, 25.0, 20.0, "stop", True),
        (False, 25.0, 20.0, "length", True),
        (False, 15.0, 20.0, "stop", False),
        (False, 25.0, 20.0, "cancelled", False),
        (False, 25.0, 0.0, "stop", False),
        (True, 25.0, 20.0, "stop", False),
    ],
)
async def test_a_long_answer_calls_only_who_is_away(
    monkeypatch: pytest.MonkeyPatch, *, focus: bool, seconds: float, after_s: float, reason: FinishReason, called: bool
) -> None:
    config = msgspec.structs.replace(STILL, ui=msgspec.structs.replace(STILL.ui, call_after_s=after_s))
    app = chat_app(FakeSession(config=config))
    async with app.run_test() as pilot:
        await settled(pilot)
        app.app_focus = focus
        written: list[str] = []
        app._driver.write = written.append  # type: ignore[union-attr, method-assign]
        stats = TurnStats(output_tokens=10, prefill_s=5.0, decode_s=seconds - 5)
        with monkeypatch.context() as patch:
            patch.setattr(type(app), "is_headless", False)
            assert call_back(chat(app), stats, reason) is called
        told = "".join(written)
        assert ("\x1b]9;mtpchat: answered in " in told and told.endswith("\x07")) is called
