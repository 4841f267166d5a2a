"""Kept chats with the program in a real terminal: what is written while it runs, and how it goes on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pexpect
import pytest

from mtpchat.chats import Said
from mtpchat.errors import CommandError, StorageError
from mtpchat.paths import chats_file
from mtpchat.store import reading
from mtpchat.store.database import open_for_reading
from tests.e2e.test_terminal import Terminal, model_arguments, run, terminal
from tests.models import TinyModel

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]


def kept() -> list[dict[str, object]]:
    done = run(["chats", "list", "--json"])
    assert done.returncode == 0, done.stderr
    chats: list[dict[str, object]] = json.loads(done.stdout)
    return chats


def said(reference: str = "1") -> list[tuple[str, str, bool]]:
    done = run(["chats", "show", reference, "--json"])
    assert done.returncode == 0, done.stderr
    messages = json.loads(done.stdout)["messages"]
    return [(one["role"], one["content"] + one["thinking"], one["complete"]) for one in messages]


def so_far() -> list[Said]:
    """The messages of the latest chat as they stand in the file, for looking again and again; [] when there is none."""
    try:
        with closing(open_for_reading(chats_file())) as connection:
            return list(reading.load(connection, "").path)
    except (StorageError, CommandError, sqlite3.Error):  # the app is about to make it
        return []


def until(app: Terminal, condition: Callable[[], bool]) -> None:
    """Wait for what other processes can see; the app's output is read on meanwhile."""
    while not condition():
        with suppress(pexpect.TIMEOUT):
            app.child.expect_exact("never", timeout=0.05)


def something_is_said() -> bool:
    return any(one.content or one.thinking for one in so_far() if one.role == "assistant")


def answered(times: int) -> Callable[[], bool]:
    return lambda: sum(one.complete for one in so_far() if one.role == "assistant") == times


def test_a_chat_is_kept_and_gone_on_with(short_answer: TinyModel, tmp_path: Path) -> None:
    with terminal(model_arguments(short_answer), tmp_path) as app:
        app.wait_for("Ask anything")
        app.type("hello\r")
        until(app, answered(1))
        app.type("/quit\r")
        assert app.ended() == 0
        assert app.errors.read_bytes() == b""
    assert [(role, complete) for role, _, complete in said()] == [("user", True), ("assistant", True)]
    with terminal([*model_arguments(short_answer), "--continue"], tmp_path) as app:
        app.wait_for("2 messages")
        app.type("more\r")
        until(app, answered(2))
        app.type("/quit\r")
        assert app.ended() == 0
    assert [content for role, content, _ in said() if role == "user"] == ["hello", "more"]
    assert len(kept()) == 1


def test_nothing_is_kept_of_a_chat_that_is_not_to_be(short_answer: TinyModel, tmp_path: Path) -> None:
    with terminal([*model_arguments(short_answer), "--no-save"], tmp_path) as app:
        app.wait_for("Ask anything")
        app.type("hello\r")
        app.wait_for("thought for")
        app.type("/quit\r")
        assert app.ended() == 0
    assert kept() == []


def test_one_answer_is_kept_only_when_that_is_asked_for(short_answer: TinyModel) -> None:
    assert run([*model_arguments(short_answer), "-p", "hello"]).returncode == 0
    assert kept() == []
    assert run([*model_arguments(short_answer), "-p", "hello", "--save"]).returncode == 0
    assert [role for role, _, _ in said()] == ["user", "assistant"]


def test_a_place_where_nothing_can_be_kept_costs_no_answer(short_answer: TinyModel, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"[paths]\nchats = '{tmp_path}'\n")
    done = run([*model_arguments(short_answer), "--config", str(config), "-p", "hello", "--save"])
    assert done.returncode == 0
    assert done.stdout
    assert "kept in" in done.stderr
