"""Pictures of files in a message; each docstring says what must be seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from mtpchat.ui.app import MtpChatApp
from tests.attachments.test_walk import plant
from tests.ui.conftest import chat, settled, until
from tests.ui.fake_session import says
from tests.ui.test_snapshots import Compare, app_with, asked


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory."""
    plant(tmp_path, "notes.md", text="Rivers bend.\n" * 60)
    plant(tmp_path, "src/river.py", "src/meander.py", "docs/field notes.md", text="x = 1\n" * 700)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(text: str, *, before: str = "") -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Ask `before`, then type, and wait until the files are known and counted."""

    async def run(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, MtpChatApp)
        await settled(pilot)
        if before:
            await asked(before)(pilot)
        prompt, attached = chat(app).prompt, chat(app).area.attached
        prompt.insert(text)
        await pilot.pause()
        await until(pilot, lambda: not prompt._mentions._looking and not attached._looking and attached._wanted is None)
        await until(pilot, lambda: chat(app).area._tokens._shown is not None)

    return run


def test_the_menu_of_files(snap_compare: Compare, place: Path) -> None:
    """Files and folders with sizes and rough tokens above the prompt; below it, what is named already."""
    assert snap_compare(app_with(), terminal_size=(80, 24), run_before=typed("compare @notes.md with @"))


def test_a_message_with_files(snap_compare: Compare, place: Path) -> None:
    """A dim line for each file below what was said; below the prompt the line of one that is too large, in colour."""
    app = app_with(says("Both of them."))
    run = typed("and @src/", before='what is @notes.md, and @"docs/field notes.md"?')
    assert snap_compare(app, terminal_size=(110, 30), run_before=run)
