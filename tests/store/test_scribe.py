"""When what is written: ends of turns at once, running text now and then by itself, nothing while nothing is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mtpchat.chats import Grown, TurnBegun
from mtpchat.store import reading
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.scribe import Scribe
from tests.store.talk import Talk, looked_up


class Noted:
    """Stands for a store: only notes what is put."""

    def __init__(self) -> None:
        self.changes: list[object] = []

    def put(self, change: object) -> None:
        self.changes.append(change)


@pytest.fixture
def scribe(path: Path) -> Iterator[Scribe]:
    """Flushes every thousand seconds."""
    made = Scribe(path, lambda sentence: None, flush_s=1000.0, retry_s=1000.0, busy_s=0.01)
    yield made
    made.close()


@pytest.fixture
def begun() -> TurnBegun:
    noted = Noted()
    return Talk(noted).begin("Why?")  # type: ignore[arg-type]


def answer(path: Path) -> str:
    kept = looked_up(path, lambda connection: reading.load(connection, "")).path
    return kept[-1].content if kept[-1].role == "assistant" else ""


def test_the_beginning_of_a_turn_is_written_at_once_and_its_text_when_it_is_due(
    scribe: Scribe, begun: TurnBegun, path: Path
) -> None:
    assert scribe.pause_s() is None
    scribe.take(begun)
    assert scribe.pause_s() == 0
    scribe.work()
    assert looked_up(path, lambda connection: reading.load(connection, "")).path == begun.path
    assert scribe.pause_s() is None
    for piece in ("Be", "cause"):
        scribe.take(Grown(begun.answer, "answer", piece))
        scribe.work()
    pause_s = scribe.pause_s()
    assert pause_s is not None
    assert 900 < pause_s <= 1000
    assert answer(path) == ""
    scribe.work(at_once=True)
    assert answer(path) == "Because"


def test_after_a_failure_it_rests_until_something_new_comes(path: Path, begun: TurnBegun) -> None:
    path.mkdir(parents=True)
    told: list[str] = []
    scribe = Scribe(path, told.append, flush_s=0.0, retry_s=1000.0, busy_s=0.01)
    scribe.take(begun)
    scribe.work()
    rest_s = scribe.pause_s()
    assert rest_s is not None
    assert 900 < rest_s <= 1000
    scribe.take(begun)
    assert scribe.pause_s() == 0
    scribe.work()
    assert len(told) == 1
    path.rmdir()
    assert scribe.close() == ""
    assert looked_up(path, lambda connection: reading.load(connection, "")).path == begun.path


def test_running_text_is_written_by_itself(open_store: Callable[..., ChatStore], path: Path) -> None:
    talk = Talk(open_store(flush_s=0.02))
    begun = talk.begin("Why?")
    while not path.exists() or not looked_up(path, lambda connection: reading.recent(connection, 1)):
        time.sleep(0.002)
    for said, piece in (("Be", "Be"), ("Because", "cause")):
        talk.grow(begun, piece)
        while answer(path) != said:
            time.sleep(0.002)
