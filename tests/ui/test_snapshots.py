"""Pictures of the screen. Clock, cursor, spinner and sparkline stand still; each docstring says what must be seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from mtpchat.commands.base import MenuRow
from mtpchat.events import Failed, LoadFinished, Loading, Prefilling, StatsTick, TextDelta
from mtpchat.messages import Message
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.chips import Written
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until
from tests.ui.demo_app import ANSWER, THOUGHTS
from tests.ui.fake_session import FACTS, STATS, FakeSession, LoadStep, Pause, Step, says

Compare = Callable[..., bool]
NAMES = ("clear", "continue", "copy", "draft", "drafter", "export", "help", "model", "mtp", "quit")
QUESTION = "Why do rivers meander? Give me the physics in five lines, then code that draws one."


def app_with(
    *turns: Sequence[Step], theme: str = "harbour-night", load: Sequence[LoadStep] = (LoadFinished(FACTS),)
) -> MtpChatApp:
    """An app without motion on scripted turns."""
    config = msgspec.structs.replace(STILL, ui=msgspec.structs.replace(STILL.ui, theme=theme))
    return chat_app(FakeSession(turns, load=load, config=config))


def asked(
    *texts: str, keys: Sequence[str] = (), pause: Pause | None = None, shows: str = ""
) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Ask, wait for the answer, or for `pause` and what it `shows`, then press keys."""

    async def run(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, MtpChatApp)
        await until(pilot, lambda: not chat(app).turns.busy or (pause is not None and pause.reached.is_set()))
        for text in texts:
            await chat(app).turns.submit(Written(text))
        if pause is None:
            await settled(pilot)
        else:
            await until(pilot, pause.reached.is_set)
            await until(pilot, lambda: shows in seen(app))
        await pilot.press(*keys)
        await pilot.pause()
        app.screen.set_focus(app.focused)

    return run


@pytest.mark.parametrize("theme", ["harbour-night", "paper", "high-contrast", "phosphor", "ember"])
def test_an_answer_at_80x24(snap_compare: Compare, theme: str) -> None:
    """The end of an answer: code, a table without boxes, the summary at the right, numbers, keys."""
    assert snap_compare(
        app_with(says(ANSWER, thinking=THOUGHTS), theme=theme), terminal_size=(80, 24), run_before=asked(QUESTION)
    )


def test_an_answer_at_160x48(snap_compare: Compare) -> None:
    """A centred column, the thinking folded, highlighted code with its language and `copy`, keys in the status line."""
    assert snap_compare(app_with(says(ANSWER, thinking=THOUGHTS)), terminal_size=(160, 48), run_before=asked(QUESTION))


def test_an_answer_at_60x20(snap_compare: Compare) -> None:
    """No line of keys, the short forms of the numbers."""
    assert snap_compare(
        app_with(says("Water **cuts** the outer bank.")), terminal_size=(60, 20), run_before=asked("Why?")
    )


def test_loading_with_a_queued_prompt(snap_compare: Compare) -> None:
    """One bar with per cent and gigabytes; the prompt stands in the line of those that wait."""
    pause = Pause()
    load = [Loading("model", 0.61, 6_700_000_000), pause, LoadFinished(FACTS)]
    assert snap_compare(app_with(load=load), terminal_size=(80, 24), run_before=asked("Why?", pause=pause))


def test_reading_a_long_prompt(snap_compare: Compare) -> None:
    """One bar with tokens and seconds left."""
    pause = Pause()
    app = app_with([Prefilling(1830, 2944, 3.2), pause])
    assert snap_compare(app, terminal_size=(100, 30), run_before=asked("Why?", pause=pause))


def test_a_growing_answer_with_open_code(snap_compare: Compare) -> None:
    """Prose looks as it will at the end; the open code stands on its ground already, without colours."""
    pause = Pause()
    turn: list[Step] = [
        TextDelta("Secondary flow …", "thinking"),
        StatsTick(replace(STATS, output_tokens=20)),
        TextDelta("Here is **code**:\n\n```python\ndef bend(x):\n    return x\n"),
        StatsTick(STATS),
        pause,
    ]
    assert snap_compare(app_with(turn), terminal_size=(80, 24), run_before=asked("Why?", pause=pause, shows="return x"))


def test_the_menu(snap_compare: Compare) -> None:
    """Eight rows above the prompt, the third one marked, a sign that there are more."""
    rows = [MenuRow(f"/{name} ", f"/{name}", f"what {name} does, in one line") for name in NAMES]

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        chat(pilot.app).menu.show(rows)
        await pilot.press("down", "down")

    assert snap_compare(app_with(), terminal_size=(80, 24), run_before=run)


def test_errors_and_notices(snap_compare: Compare) -> None:
    """A bar at the left, what happened, what to do; the answer of a command in one quiet line."""
    failed = Failed("The decode failed", "Try a smaller batch.", Message("assistant", "half", complete=False), STATS)
    keys = [*"/mtp", "space", *"off", "enter", *"/mtpp", "enter"]
    app = app_with([TextDelta("half"), failed])
    assert snap_compare(app, terminal_size=(80, 24), run_before=asked("Why?", keys=keys))


def test_opened_thinking(snap_compare: Compare) -> None:
    """The thinking is dim and indented under its line."""
    app = app_with(says("Because.", thinking=THOUGHTS))
    assert snap_compare(app, terminal_size=(80, 24), run_before=asked("Why?", keys=["tab", "t"]))


def test_a_page(snap_compare: Compare) -> None:
    """A page over the dimmed chat: title, how to close it, a table."""

    async def run(pilot: Pilot[Any]) -> None:
        await asked("Why?")(pilot)
        chat(pilot.app).stage.show_page(
            "Commands", "| Command | What it does |\n|---|---|\n| `/help` | says what there is |\n"
        )
        await pilot.pause()

    assert snap_compare(app_with(says("Because.")), terminal_size=(80, 24), run_before=run)
