"""What the tests of the screen share: an app on a fake session, with a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from mtpchat.config import Config, ModelConfig, UiConfig
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.chat_screen import ChatScreen
from tests.ui import idle
from tests.ui.fake_session import FakeSession

MODEL = ModelConfig(path="/models/Qwen3.8-27B-Q4_K_M.gguf")
STILL = Config(model=MODEL, ui=UiConfig(reduced_motion=True))


def chat_app(session: FakeSession, **options: Any) -> MtpChatApp:
    """The app on a fake session; its clock stands still."""
    options.setdefault("clock", lambda: 100.0)
    return MtpChatApp(session, **options)  # type: ignore[arg-type]


def chat(app: App[Any]) -> ChatScreen:
    """The app's chat screen."""
    screen = app.screen_stack[0]
    assert isinstance(screen, ChatScreen)
    return screen


async def until(pilot: Pilot[Any], condition: Callable[[], bool]) -> None:
    """Wait for a state; the test's timeout is the limit."""
    while not condition():
        await pilot.pause()
        await asyncio.sleep(0.005)
    await pilot.pause()


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until no load and no turn is in progress."""
    app = pilot.app
    assert isinstance(app, MtpChatApp)
    await pilot.pause()
    await until(pilot, lambda: not chat(app).turns.busy)


def seen(app: MtpChatApp) -> str:
    """The text on the screen, line by line."""
    width, height = app.size
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join(strip.crop(0, width).text.rstrip() for strip in strips[:height])


@pytest.fixture
def config_folder(tmp_path: Path) -> Path:
    """A folder for a config file and themes."""
    (tmp_path / "themes").mkdir()
    return tmp_path


@pytest.fixture(autouse=True)
def pilots_ask_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """See `idle`."""
    idle.use(monkeypatch)


@pytest.fixture(autouse=True)
def no_local_clipboard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests keeps what is on their clipboard."""
    monkeypatch.setattr("pyperclip.copy", lambda _text: None)
