"""The terminal is lent to the shell for a while."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.test_crash import mortal, running
from tests.e2e.test_kept_chats import until
from tests.e2e.test_terminal import ALTERNATE_SCREEN, ORDINARY_SCREEN, model_arguments
from tests.models import TinyModel

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]


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
