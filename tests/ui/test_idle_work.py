"""What is done while nothing runs waits for a pause, and harms nothing."""

from __future__ import annotations

import gc

import pytest
from textual.widget import Widget

from mtpchat.ui import idle_work
from mtpchat.ui.idle_work import IdleWork, prepare, settle_memory


def test_a_pause_of_the_reader_is_used_to_let_go_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[bool] = []
    monkeypatch.setattr(idle_work, "settle_memory", lambda *, thoroughly=True: looks.append(thoroughly))
    monkeypatch.setattr(idle_work, "prepare", lambda: None)
    counts = iter([(0, 0, 0), (0, 4, 1), (0, 4, 1), (0, 5, 5), (0, 9, 5), (0, 9, 5)])
    monkeypatch.setattr(gc, "get_count", lambda: next(counts))
    before = gc.get_threshold()
    try:
        work = IdleWork(Widget())
        seen_looks = []
        for _ in range(7):  # the first prepares
            work._look()
            seen_looks.append(len(looks))
    finally:
        gc.set_threshold(*before)
    # once after what has ended; not while much is made, nor for little; then in the pause
    assert seen_looks == [0, 1, 1, 1, 1, 1, 2]


def test_what_is_prepared_when_idle_does_no_harm() -> None:
    prepare()
    settle_memory()
    try:
        assert gc.get_freeze_count() > 0
        settle_memory(thoroughly=False)
    finally:
        gc.unfreeze()
