"""The window of the terminal is closed in the middle of an answer: the app ends by itself, and nothing is lost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from tests.e2e.test_crash import LEFT_ALONE, Mortal, answering, drafts, running
from tests.e2e.test_kept_chats import said, until
from tests.e2e.test_terminal import model_arguments
from tests.models import TinyModel

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(90),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]


def wait(condition: Callable[[], bool]) -> None:
    """Wait for what a process without a terminal does; the test's timeout is the limit."""
    never = Event()
    while not condition():
        never.wait(0.02)


def test_a_closed_window_ends_the_app_and_costs_nothing(dense_model: TinyModel, tmp_path: Path) -> None:
    app = Mortal([*model_arguments(dense_model), *LEFT_ALONE], tmp_path)
    answering(app)
    app.type("waiting one\r")
    app.type("half typed")
    until(app, lambda: "waiting one" in drafts() and "half typed" in drafts())
    (record,) = running().glob("*.run")
    app.child.ptyproc.fileobj.close()  # the other end of the terminal: who is on it is hung up, and told to go on
    wait(lambda: not record.exists())
    wait(lambda: not Path(f"/proc/{record.stem}").exists())
    app.child.close(force=True)
    assert "waiting one" in drafts()
    assert "half typed" in drafts()
    question, answer = said()
    assert question == ("user", "hello", True)
    assert answer[1]
    assert not answer[2]
