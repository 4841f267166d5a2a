"""The process is stopped and goes on: by Ctrl+Z on any screen, and by a signal that asks nobody."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.test_crash import Mortal, mortal, running
from tests.e2e.test_kept_chats import until
from tests.e2e.test_terminal import ALTERNATE_SCREEN, ORDINARY_SCREEN, model_arguments
from tests.models import TinyModel

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(90),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]
F1, CTRL_O, CTRL_P, CTRL_Z = "\x1bOP", "\x0f", "\x10", "\x1a"
TITLE, NO_TITLE = "\x1b]2;mtpchat\x1b\\", "\x1b]2;\x1b\\\x1b[23;2t"


def process() -> int:
    (record,) = running().glob("*.run")
    return int(record.stem)


def stopped(number: int) -> bool:
    return " T " in Path(f"/proc/{number}/stat").read_text()


def threads(number: int) -> int:
    return len(list(Path(f"/proc/{number}/task").iterdir()))


def leave(app: Mortal) -> None:
    app.type("\x03\x03")
    app.left(dies=False)


def test_every_screen_can_be_suspended_and_comes_back(short_answer: TinyModel, tmp_path: Path) -> None:
    with mortal(model_arguments(short_answer), tmp_path) as app:
        app.wait_for(TITLE)
        app.wait_for("n-gram")
        number = process()
        for key, words in ((F1, "In the prompt"), (CTRL_O, "search in titles"), (CTRL_P, "Search for commands")):
            app.type(key)
            app.wait_for(words)
            app.type(CTRL_Z)
            app.wait_for(NO_TITLE)
            app.wait_for(ORDINARY_SCREEN)
            until(app, lambda: stopped(number))
            os.kill(number, signal.SIGCONT)
            app.wait_for(ALTERNATE_SCREEN)
            app.wait_for(TITLE)
            app.wait_for(words)
            app.type("\x1b")
            app.wait_for("Ask anything")
        leave(app)


def test_a_process_that_was_stopped_without_being_asked_takes_its_terminal_once(
    short_answer: TinyModel, tmp_path: Path
) -> None:
    with mortal(model_arguments(short_answer), tmp_path) as app:
        app.wait_for("n-gram")
        number = process()
        app.type("half")
        app.wait_for("half")
        before = threads(number)
        for _ in range(3):
            os.kill(number, signal.SIGSTOP)
            until(app, lambda: stopped(number))
            os.kill(number, signal.SIGCONT)
            app.wait_for(ALTERNATE_SCREEN)
            app.wait_for("half")
        until(app, lambda: threads(number) == before)
        app.type(" typed")
        app.wait_for("typed")
        leave(app)
