"""What is done to the marked message: put differently, answered anew, opened in an editor, its code saved."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyperclip  # type: ignore[import-untyped]
import pytest
from textual.pilot import Pilot

from mtpchat.commands.code_blocks import CodeBlock
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.clipboard import LocalClipboard
from mtpchat.ui.saving import suffix_of, suggestion
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import Pause, says
from tests.ui.test_reading import CODE, in_chat, marked, told
from tests.ui.tree_session import TreeSession, talk


def acting(session: TreeSession) -> MtpChatApp:
    """An app that stands aside for an editor without a terminal."""
    app = chat_app(session)
    app.suspend = nullcontext  # type: ignore[method-assign, assignment]
    return app


def four(*turns: Any) -> TreeSession:
    return TreeSession(talk("one", "first", "two", "second"), turns, config=STILL)


def an_editor(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    code = f"import sys, pathlib; path = pathlib.Path(sys.argv[1]); {script}"
    monkeypatch.setenv("VISUAL", f"{sys.executable} -c '{code}'")


async def test_an_edited_prompt_is_answered_as_another_version() -> None:
    session = four(says("anew"))
    app = acting(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"draft", "tab", "K", "K", "K", "e")
        await until(pilot, lambda: chat(app).prompt.text == "one")
        assert "sends it as another version" in seen(app)
        await pilot.press(*" more", "enter")
        await until(pilot, lambda: session.called == ["edit 0 one more"])
        await settled(pilot)
        text = seen(app)
        assert ["anew" in text, "one more" in text, "second" in text, "‹ 2/2 ›" in text] == [True, True, False, True]
        assert chat(app).prompt.text == "draft"
        assert [one.index for one in chat(app).transcript.entries] == [0, 1]


async def test_escape_leaves_an_edited_prompt_as_it_is() -> None:
    session = four()
    app = acting(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"draft", "tab", "K", "e")
        await until(pilot, lambda: chat(app).prompt.text == "two")
        await pilot.press("x", "escape")
        await until(pilot, lambda: chat(app).prompt.text == "draft")
        assert session.called == []
        assert "another version" not in seen(app)


async def test_an_unchanged_prompt_is_not_sent() -> None:
    session = four()
    app = acting(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "K", "e")
        await until(pilot, lambda: chat(app).prompt.text == "two")
        await pilot.press("enter")
        await until(pilot, lambda: "Unchanged" in told(app))
        assert session.called == []


async def test_an_answer_in_the_middle_is_given_anew_beside_the_old_one() -> None:
    session = four(says("other"))
    app = acting(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "K", "K", "r")
        await until(pilot, lambda: session.called == ["retry 0"])
        await settled(pilot)
        await until(pilot, lambda: "‹ 2/2 ›" in seen(app))
        assert "second" not in seen(app)
        await pilot.press("h")
        await until(pilot, lambda: "second" in seen(app))


async def test_nothing_is_changed_while_an_answer_is_written() -> None:
    wait = Pause()
    session = four([wait, *says("third")])
    app = acting(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"go", "enter")
        await until(pilot, wait.reached.is_set)
        await pilot.press("tab", "K", "K", "r", "F")
        await until(pilot, lambda: "An answer is being written" in told(app))
        assert session.called == []
        wait.gate.set()
        await settled(pilot)
        assert session.called == []


async def test_an_answer_from_the_editor_stands_beside_the_models(monkeypatch: pytest.MonkeyPatch) -> None:
    an_editor(monkeypatch, 'path.write_text(path.read_text() + ", in my words\\n")')
    session = four()
    app = acting(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "e")
        await until(pilot, lambda: session.called == ["amend 3 second, in my words"])
        await until(pilot, lambda: "second, in my words" in seen(app))
        assert "‹ 2/2 ›" in seen(app)


async def test_a_prompt_from_the_editor_is_answered_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    an_editor(monkeypatch, 'path.write_text("three\\n")')
    session = four(says("third"))
    app = acting(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "K", "o")
        await until(pilot, lambda: session.called == ["edit 2 three"])
        await settled(pilot)
        assert "third" in seen(app)


@pytest.mark.parametrize("key", ["e", "o"])
async def test_an_editor_that_changes_nothing_changes_nothing(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    an_editor(monkeypatch, "path.read_text()")
    session = four()
    app = acting(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, key)
        await until(pilot, lambda: "Unchanged" in told(app))
        assert session.called == []


async def test_an_editor_that_fails_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "/nowhere/editor")
    app = acting(four())
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "o")
        await until(pilot, lambda: "cannot be started" in told(app))
        assert "second" in seen(app)


async def saving(pilot: Pilot[Any], name: str) -> None:
    """Ask to save the first block, under a name."""
    await in_chat(pilot, "s")
    app = pilot.app
    assert isinstance(app, MtpChatApp)
    await until(pilot, lambda: chat(app).reading.save_bar.is_open)
    chat(app).reading.save_bar.field.value = name
    await pilot.press("enter")
    await pilot.pause()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def test_code_is_saved_under_a_name_by_its_language(desk: Path) -> None:
    app = acting(TreeSession(talk("one", CODE), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "s")
        assert "save block 1/2 as" in seen(app)
        assert "snippet.py" in seen(app)
        await pilot.press("down")
        await until(pilot, lambda: "snippet.sh" in seen(app))
        await pilot.press("up", "enter")
        await until(pilot, lambda: (desk / "snippet.py").is_file())
        assert (desk / "snippet.py").read_text() == "one = 1\ntwo = 2\n"
        assert "Saved 2 lines to snippet.py" in told(app)
        assert chat(app).transcript.has_focus


async def test_a_file_that_exists_is_replaced_only_after_a_second_enter(desk: Path) -> None:
    (desk / "mine.py").write_text("precious")
    app = acting(TreeSession(talk("one", CODE), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await saving(pilot, "mine.py")
        assert "exists · Enter replaces it" in seen(app)
        assert (desk / "mine.py").read_text() == "precious"
        await pilot.press("enter")
        await until(pilot, lambda: (desk / "mine.py").read_text() != "precious")


async def test_another_name_asks_again(desk: Path) -> None:
    for name in ("a.py", "b.py"):
        (desk / name).write_text("precious")
    app = acting(TreeSession(talk("one", CODE), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await saving(pilot, "a.py")
        chat(app).reading.save_bar.field.value = "b.py"
        await pilot.press("enter")
        await pilot.pause()
        assert [(desk / name).read_text() for name in ("a.py", "b.py")] == ["precious"] * 2


async def test_a_folder_is_made_only_after_a_second_enter(desk: Path) -> None:
    app = acting(TreeSession(talk("one", CODE), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await saving(pilot, "new/code.py")
        assert "new folder · Enter makes it" in seen(app)
        assert not (desk / "new").exists()
        await pilot.press("enter")
        await until(pilot, lambda: (desk / "new" / "code.py").is_file())


async def test_on_a_narrow_screen_a_question_leaves_room_for_the_name(desk: Path) -> None:
    app = acting(TreeSession(talk("one", CODE), config=STILL))
    async with app.run_test(size=(60, 20)) as pilot:
        await saving(pilot, "a-folder-with-a-name/of-some-length/code.py")
        assert "Enter makes it" in seen(app)
        assert chat(app).reading.save_bar.field.size.width >= 8


async def test_what_cannot_be_written_is_said_in_the_line(desk: Path) -> None:
    (desk / "folder").mkdir()
    app = acting(TreeSession(talk("one", CODE), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await saving(pilot, "folder")
        assert "That is a folder" in seen(app)
        await pilot.press("escape")
        await pilot.pause()
        assert not chat(app).reading.save_bar.is_open
        assert marked(app).source == CODE


@pytest.mark.parametrize(
    ("language", "suffix"),
    [("python", ".py"), ("rust", ".rs"), ("c++", ".cpp"), ("sh", ".sh"), ("no such", ".txt"), ("", ".txt")],
)
def test_suffixes_are_those_of_the_language(language: str, suffix: str) -> None:
    assert suffix_of(language) == suffix


def test_a_name_that_is_taken_is_not_suggested(tmp_path: Path) -> None:
    block = CodeBlock("python", "# tool.py\nx")
    assert suggestion(block, tmp_path) == "tool.py"
    (tmp_path / "tool.py").touch()
    assert suggestion(block, tmp_path) == "tool-2.py"


@pytest.mark.skipif(os.name != "posix", reason="the tool is a shell script")
async def test_copies_go_to_the_tool_of_the_system_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("wl-copy", "wl-paste"):
        (tmp_path / name).write_text(
            f"#!/bin/sh\ncat > {tmp_path}/{name}.new && mv {tmp_path}/{name}.new {tmp_path}/got"
        )
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-test")
    monkeypatch.setattr(pyperclip, "copy", pyperclip.lazy_load_stub_copy)
    app = acting(four())
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "y")
        await until(pilot, lambda: (tmp_path / "got").exists() and (tmp_path / "got").read_text() == "second")


def test_the_newest_copy_wins_and_no_tool_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[str] = []
    monkeypatch.setattr(pyperclip, "copy", got.append)
    board = LocalClipboard()
    for number in range(50):
        board.put(str(number))
    while not got or got[-1] != "49":
        pass
    monkeypatch.setattr(pyperclip, "copy", lambda _text: (_ for _ in ()).throw(pyperclip.PyperclipException("none")))
    board.put("x")
