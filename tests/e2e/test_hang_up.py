"""A terminal that goes away, or is lent to the shell for a while, in a real terminal."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.test_crash import LEFT_ALONE, mortal, running
from tests.e2e.test_kept_chats import something_is_said, until
from tests.e2e.test_terminal import ALTERNATE_SCREEN, ORDINARY_SCREEN, model_arguments, terminal
from tests.e2e.test_unsent import drafts
from tests.models import TinyModel

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]


def test_a_closed_window_costs_neither_what_waits_nor_what_is_being_typed(
    dense_model: TinyModel, tmp_path: Path
) -> None:
    arguments = [*model_arguments(dense_model), *LEFT_ALONE]
    with mortal(arguments, tmp_path) as app:
        app.wait_for("Ask anything")
        app.type("hello\r")
        until(app, something_is_said)
        app.type("waiting one\r")
        app.type("half typed")
        until(app, lambda: "waiting one" in drafts() and "half typed" in drafts())
        app.kill(signal.SIGHUP)
        app.left(dies=False)
    assert "waiting one" in drafts()
    assert "half typed" in drafts()


def test_leaving_in_the_middle_of_an_answer_keeps_what_waits(dense_model: TinyModel, tmp_path: Path) -> None:
    arguments = [*model_arguments(dense_model), *LEFT_ALONE]
    with terminal(arguments, tmp_path) as app:
        app.wait_for("Ask anything")
        app.type("hello\r")
        until(app, something_is_said)
        app.type("waiting one\r")
        until(app, lambda: "waiting one" in drafts())
        app.type("\x03\x03")
        assert app.ended() == 0
    assert "waiting one" in drafts()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_a_suspended_app_lends_the_terminal_and_paints_everything_anew(short_answer: TinyModel, tmp_path: Path) -> None:
    with mortal(model_arguments(short_answer), tmp_path) as app:
        app.wait_for("Ask anything")
        app.type("half typed")
        app.wait_for("half typed")
        app.type("\x1a")
        app.wait_for(ORDINARY_SCREEN)
        (record,) = running().glob("*.run")
        process = int(record.stem)
        until(app, lambda: " T " in Path(f"/proc/{process}/stat").read_text())
        os.kill(process, signal.SIGCONT)
        app.wait_for(ALTERNATE_SCREEN)
        app.wait_for("half typed")
        app.wait_for("t/s")
        app.type("\x03\x03")
        app.left(dies=False)
