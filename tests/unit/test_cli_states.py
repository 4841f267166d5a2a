"""`mtpchat chats states`, and that a state goes with its chat."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest

from mtpchat import paths
from mtpchat.chats import Deleted
from mtpchat.cli import _open_store, main
from mtpchat.config import Config
from mtpchat.state_record import StateRecord
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.states import StateFolder
from tests.store.talk import Talk

TITLE = "Where do rivers go?"


@pytest.fixture
def kept() -> StateFolder:
    """A chat with a state, and a state of a chat that is not there."""
    store = ChatStore(paths.chats_file())
    Talk(store, "rivers000000").turn(TITLE, "Because they do.", at=1000.0)
    assert store.close() == ""
    folder = StateFolder(paths.states_dir(), 1 << 30)
    sections = [np.zeros(2_000_000, np.uint8), *(np.zeros(0, np.uint8) for _ in range(2))]
    for chat, tokens in (("gone00000000", 40), ("rivers000000", 1830)):
        folder.write(StateRecord("k" * 32, chat, np.zeros(tokens, np.int32).tobytes()), sections)
    return folder


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["chats", *argv]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_states_are_listed_with_their_chats(kept: StateFolder, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, last = said(capsys, "states").splitlines()
    assert first.split()[:4] == ["1,830", "tokens", "2.0", "MB"]
    assert first.endswith(TITLE)
    assert second.endswith("(no title)")
    assert last.startswith("2 states, 4.0 MB; up to ")


def test_states_are_listed_as_json(kept: StateFolder, capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads(said(capsys, "states", "--json"))
    assert [row["title"] for row in report["states"]] == [TITLE, ""]
    assert report["states"][0]["tokens"] == 1830


def test_a_state_that_was_written_after_the_deletion_goes_with_the_chat_for_good(
    kept: StateFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "delete", "rivers000000")
    sections = [np.zeros(99, np.uint8), *(np.zeros(0, np.uint8) for _ in range(2))]
    assert kept.write(StateRecord("k" * 32, "rivers000000", np.zeros(5, np.int32).tobytes()), sections)
    said(capsys, "purge")
    assert [one.record.chat for one in kept.records()] == ["gone00000000"]


def test_states_can_be_removed(kept: StateFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "states", "--clear") == "2 states removed, 4.0 MB\n"
    assert said(capsys, "states").startswith("No state is kept; up to ")


def test_a_chat_that_is_deleted_takes_its_state_along(kept: StateFolder, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "delete", "rivers000000")
    assert [found.record.chat for found in kept.records()] == ["gone00000000"]
    said(capsys, "delete", "rivers000000", "--undo")


async def test_the_same_holds_in_the_app(kept: StateFolder) -> None:
    store = _open_store(Config())
    store.put(Deleted("rivers000000", 5.0))
    await store.recent(10)
    assert [found.record.chat for found in kept.records()] == ["gone00000000"]
    assert await asyncio.to_thread(store.close) == ""


def test_clear_belongs_to_states(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["chats", "list", "--clear"]) == 2
    assert "--clear belongs to mtpchat chats states" in capsys.readouterr().err
