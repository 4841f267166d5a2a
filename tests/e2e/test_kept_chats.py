"""Kept chats with the program in a real terminal: killed in the middle of an answer, and gone on with."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pexpect
import pytest

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


def until(app: Terminal, condition: Callable[[], bool]) -> None:
    """Wait for what other processes can see; the app's output is read on meanwhile."""
    while not condition():
        with suppress(pexpect.TIMEOUT):
            app.child.expect_exact("never", timeout=0.05)


def something_is_said() -> bool:
    return bool(kept()) and any(content for role, content, _ in said() if role == "assistant")


def answered(times: int) -> Callable[[], bool]:
    return lambda: bool(kept()) and sum(done for role, _, done in said() if role == "assistant") == times


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


def test_a_kill_in_the_middle_of_an_answer_leaves_what_was_said(dense_model: TinyModel, tmp_path: Path) -> None:
    with terminal([*model_arguments(dense_model), "-n", "0", "-c", "2048"], tmp_path) as app:
        app.wait_for("Ask anything")
        app.type("hello\r")
        until(app, something_is_said)
        app.child.kill(signal.SIGKILL)
        app.ended()
    question, answer = said()
    assert question == ("user", "hello", True)
    assert answer[1]
    assert not answer[2]
    with terminal([*model_arguments(dense_model), "--continue"], tmp_path) as app:
        app.wait_for("2 messages")
        app.type("/quit\r")
        assert app.ended() == 0


@pytest.mark.parametrize("way", ["keys", "SIGTERM", "SIGHUP"])
def test_leaving_in_the_middle_of_an_answer_keeps_what_was_said(
    dense_model: TinyModel, tmp_path: Path, way: str
) -> None:
    with terminal([*model_arguments(dense_model), "-n", "0", "-c", "2048"], tmp_path) as app:
        app.wait_for("Ask anything")
        app.type("hello\r")
        until(app, something_is_said)
        if way == "keys":
            app.type("\x03\x03")
        else:
            app.child.kill(getattr(signal, way))
        app.ended()
    question, answer = said()
    assert question == ("user", "hello", True)
    assert answer[1]
    assert not answer[2]


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
