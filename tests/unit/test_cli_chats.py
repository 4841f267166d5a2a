"""`mtpchat chats`: lists, shows, finds, exports and deletes; nothing in a chat reaches the terminal as a command."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mtpchat import paths
from mtpchat.bench.prompts import Prompt
from mtpchat.cli import main
from mtpchat.cli_flags import parse_arguments
from mtpchat.cli_measure import Job
from mtpchat.config import ChatsConfig, Config, ModelConfig
from mtpchat.errors import ConfigError, StorageError
from mtpchat.messages import Message
from mtpchat.store.chat_store import ChatStore
from tests.store.talk import Talk
from tests.unit.test_cli import FakeApp, chat

__all__ = ["chat"]  # a fixture

HOSTILE = "\x1b]0;owned\x07\x1b[2J evil \x9b31m\u202e"


@pytest.fixture
def kept() -> Path:
    """Three chats where the program keeps them."""
    path = paths.chats_file()
    store = ChatStore(path)
    Talk(store, "rivers000000", system="Be brief.").turn("Why do rivers meander?", "Because they do.", at=1000.0)
    Talk(store, "hostile00000").turn(f"Say {HOSTILE}", f"Said {HOSTILE}", at=2000.0)
    again = Talk(store, "again0000000")
    begun = again.begin("Once more?", at=3000.0)
    again.end(begun, "First.")
    again.path = again.path[:-1]
    again.end(again.again(at=3001.0), "Second.")
    assert store.close() == ""
    return path


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["chats", *argv]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert all(line.isprintable() for line in err.splitlines())
    return err


def test_a_list_shows_the_latest_first_with_their_ids(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "list").splitlines()
    assert [line.split()[1] for line in lines] == ["again0000000", "hostile00000", "rivers000000"]
    assert "Why do rivers" in lines[2]
    assert len(said(capsys, "list", "--limit", "1").splitlines()) == 1
    listed = json.loads(said(capsys, "list", "--json"))
    assert (listed[0]["number"], listed[0]["messages"]) == (1, 2), "those of the branch that is shown"


def test_before_the_first_chat_a_list_is_empty_and_nothing_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert "No chat" in said(capsys, "list")
    assert json.loads(said(capsys, "list", "--json")) == []
    assert "No chat" in refused(capsys, "chats", "show", "1")
    assert "No chat" in refused(capsys, "chats", "delete", "1")
    assert said(capsys, "path") == f"{paths.chats_file()}\n"
    assert not paths.chats_file().parent.exists()


def test_a_chat_is_shown_by_number_id_or_its_beginning(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "show", "3")
    assert shown == said(capsys, "show", "rivers000000") == said(capsys, "show", "rive")
    assert "Why do rivers meander?" in shown
    assert "Because they do." in shown
    tree = json.loads(said(capsys, "show", "1", "--json"))
    assert [one["content"] for one in tree["messages"]] == ["Once more?", "First.", "Second."]


@pytest.mark.parametrize("argv", [["list"], ["show", "2"], ["search", "evil"], ["delete", "2"]])
def test_no_control_byte_of_a_chat_reaches_the_terminal(
    kept: Path, capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    text = said(capsys, *argv)
    assert "evil" in text or "Say" in text
    assert all(line.isprintable() for line in text.splitlines())


def test_an_export_is_harmless_on_a_terminal_and_faithful_in_a_file(
    kept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert HOSTILE in said(capsys, "export", "2")
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    assert main(["chats", "export", "2"]) == 0
    assert "\x1b" not in terminal.getvalue()
    assert "evil" in terminal.getvalue()


def test_exports_have_three_formats(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    markdown = said(capsys, "export", "3")
    assert markdown.startswith("# Chat with Tiny\n")
    assert "## System\n\nBe brief." in markdown
    assert json.loads(said(capsys, "export", "1", "--format", "json"))["title"] == "Once more?"
    rows = [json.loads(line) for line in said(capsys, "export", "all", "--format", "jsonl").splitlines()]
    assert [row["id"] for row in rows] == ["again0000000", "hostile00000", "rivers000000"]
    assert rows[2]["conversations"] == [
        {"from": "system", "value": "Be brief."},
        {"from": "human", "value": "Why do rivers meander?"},
        {"from": "gpt", "value": "Because they do."},
    ]
    assert rows[1]["conversations"][0]["value"] == f"Say {HOSTILE}"


def test_what_is_found_says_where(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "search", "rivers", "mean").startswith("rivers000000")
    (hit,) = json.loads(said(capsys, "search", "first", "--json"))
    assert (hit["id"], hit["role"]) == ("again0000000", "assistant"), "in a branch that is not shown, too"
    assert said(capsys, "search", "nothing", "like", "it") == "Nothing was found.\n"


def test_an_answer_that_a_killed_program_left_behind_is_found(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(kept)) as connection, connection:
        (message,) = connection.execute("SELECT id FROM message WHERE content = 'Second.'").fetchone()
        connection.execute("UPDATE message SET complete = 0 WHERE id = ?", (message,))
        connection.execute(
            "INSERT INTO journal (message_id, channel, text) VALUES (?, 'answer', ' Otters')", (message,)
        )
    assert "(stopped)\n  Second. Otters" in said(capsys, "show", "1")
    assert "again0000000" in said(capsys, "search", "otters")


def test_a_deleted_chat_comes_back(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "undelete again0000000" in said(capsys, "delete", "1", "rivers000000")
    assert len(said(capsys, "list").splitlines()) == 1
    said(capsys, "delete", "again", "rive", "--undo")
    assert len(said(capsys, "list").splitlines()) == 3
    said(capsys, "delete", "1")
    assert said(capsys, "list", "--deleted").startswith("again0000000")
    assert said(capsys, "search", "once", "--deleted").startswith("again0000000")
    assert said(capsys, "search", "rivers", "--deleted") == "Nothing was found.\n"
    assert json.loads(said(capsys, "undelete", "again", "--json")) == [{"id": "again0000000", "deleted": False}]
    assert said(capsys, "list", "--deleted") == "No chat is deleted.\n"


def test_a_chat_gets_a_title_and_a_pin(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "rename", "rive", "Bends", "of", "rivers") == "Why do rivers meande is now: Bends of rivers\n"
    assert said(capsys, "pin", "rive", "hostile").startswith("pinned: Bends of rivers\n")
    lines = said(capsys, "list").splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["1*", "hostile00000"],
        ["2*", "rivers000000"],
        ["3", "again0000000"],
    ]
    assert "no longer" in said(capsys, "unpin", "hostile")
    listed = json.loads(said(capsys, "list", "--json"))
    assert next((one["title"], one["pinned"], one["named"]) for one in listed) == ("Bends of rivers", True, True)
    assert json.loads(said(capsys, "rename", "1", "X", "--json")) == [{"id": "rivers000000", "title": "X"}]
    assert "empty" in refused(capsys, "chats", "rename", "1", " ")


def test_what_is_purged_is_gone_from_the_file_and_only_what_was_deleted_can_be(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "comes first" in refused(capsys, "chats", "purge", "rive")
    said(capsys, "delete", "rive", "hostile")
    assert said(capsys, "purge", "rive") == "gone for good: Why do rivers meande\n"
    assert said(capsys, "list", "--deleted").startswith("hostile00000")
    assert json.loads(said(capsys, "purge", "--json")) == [{"id": "hostile00000", "purged": True}]
    assert said(capsys, "purge") == "Nothing is deleted.\n"
    assert len(said(capsys, "list").splitlines()) == 1
    left = b"".join(one.read_bytes() for one in kept.parent.iterdir())
    assert b"meander" not in left
    assert b"Because they do" not in left
    assert b"owned" not in left


def test_one_that_is_not_there_deletes_nothing(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no chat" in refused(capsys, "chats", "delete", "1", "nowhere")
    assert len(said(capsys, "list").splitlines()) == 3


def test_a_damaged_file_is_told_and_left_where_it_is(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept.write_bytes(b"Dear diary, " * 500)
    for argv in (["list"], ["show", "1"], ["search", "x"], ["delete", "1"]):
        assert "damaged" in refused(capsys, "chats", *argv)
    assert kept.read_bytes().startswith(b"Dear diary")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["chats", "shwo", "1"], "Unknown command"),
        (["chats", "show"], "needs ID"),
        (["chats", "show", "1", "2"], "takes one ID"),
        (["chats", "list", "1"], "takes no argument"),
        (["chats", "search"], "needs WORDS"),
        (["chats", "list", "--format", "md"], "--format belongs to mtpchat chats export"),
        (["chats", "list", "--undo"], "--undo belongs to mtpchat chats delete"),
        (["chats", "show", "1", "--deleted"], "--deleted belongs to mtpchat chats list and search"),
        (["chats", "rename", "1"], "needs ID TITLE"),
        (["chats", "pin"], "needs ID"),
        (["--limit", "3"], "--limit belongs to"),
        (["--continue", "--resume", "1"], "two chats"),
        (["--continue", "-p", "hi"], "neither -p nor a command"),
        (["chats", "list", "--continue"], "neither -p nor a command"),
        (["--resume", "1", "-sys", "x"], "does not go with -sys"),
    ],
)
def test_a_mistake_is_explained(capsys: pytest.CaptureFixture[str], argv: list[str], words: str) -> None:
    assert words in refused(capsys, *argv)


@pytest.mark.parametrize(
    ("argv", "resume"), [([], None), (["--continue"], ""), (["--resume", "abcd"], "abcd"), (["--no-save"], None)]
)
def test_flags_say_which_chat_the_app_opens_and_whether_it_is_kept(chat: Any, argv: list[str], resume: str) -> None:
    path = paths.config_file()
    path.parent.mkdir(parents=True)
    path.write_text("[model]\npath = '/m.gguf'\n")
    assert chat(*argv) == 0
    assert FakeApp.opened["resume"] == resume
    assert FakeApp.session.archive.keeps is ("--no-save" not in argv)
    assert not paths.chats_file().exists(), "nothing is opened before there is something to keep"


class TestFromChats:
    """Questions to measure with, from the user's own chats."""

    def job(self, *argv: str, config: Config | None = None) -> Job:
        arguments = parse_arguments(["bench", *argv])
        return Job(config or Config(chats=ChatsConfig(save=False)), arguments, io.StringIO(), io.StringIO(), Path())

    def test_prompts_are_the_last_questions_of_the_latest_chats(self, kept: Path) -> None:
        prompts = self.job("--from-chats").prompts
        assert [prompt.text for prompt in prompts] == ["Once more?", f"Say {HOSTILE}", "Why do rivers meander?"]
        assert prompts[2] == Prompt("chat-rivers000000", "Why do rivers meander?", "chats", system="Be brief.")
        assert len(self.job("--from-chats", "2").prompts) == 2

    def test_what_came_before_a_question_is_asked_along_with_it(self, kept: Path) -> None:
        store = ChatStore(kept)
        talk = Talk(store, "longer000000")
        talk.turn("Why?", "So.", at=5000.0)
        talk.turn("And then?", "Then this.", at=5001.0)
        store.close()
        (prompt,) = self.job("--from-chats", "1").prompts
        before = Message("user", "Why?"), Message("assistant", "So.")
        assert prompt == Prompt("chat-longer000000", "And then?", "chats", before=before)

    def test_of_a_long_chat_the_end_is_asked_as_far_as_the_context_goes(self, kept: Path) -> None:
        store = ChatStore(kept)
        talk = Talk(store, "longer000000")
        for number in range(8):
            talk.turn(f"Question {number}?", "河" * 100, at=5000.0 + number)
        store.close()
        config = Config(chats=ChatsConfig(save=False), model=ModelConfig(context=2048))
        (prompt,) = self.job("--from-chats", "1", config=config).prompts
        assert prompt.text == "Question 7?"
        assert [one.content for one in prompt.before[::2]] == [
            "Question 3?",
            "Question 4?",
            "Question 5?",
            "Question 6?",
        ]

    def test_the_same_conversation_is_asked_once(self, kept: Path) -> None:
        store = ChatStore(kept)
        for number in range(3):
            Talk(store, f"same{number:08}").turn("Same?", "Yes.", at=5000.0 + number)
        store.close()
        assert [prompt.text for prompt in self.job("--from-chats", "2").prompts] == ["Same?", "Once more?"]

    def test_deleted_chats_are_not_asked(self, kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
        said(capsys, "delete", "1", "2")
        assert [prompt.text for prompt in self.job("--from-chats").prompts] == ["Why do rivers meander?"]

    def test_without_chats_it_is_said_what_to_do(self) -> None:
        with pytest.raises(StorageError, match="No chat"):
            _ = self.job("--from-chats").prompts

    def test_two_sets_of_prompts_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="two sets"):
            self.job("--from-chats", "--prompts", "x.txt")


def test_what_could_not_be_saved_when_the_app_ended_is_in_the_next_list(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(kept, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        store = ChatStore(kept, busy_s=0.01)
        Talk(store, "late00000000").turn("Too late?", "No.", at=9000.0)
        assert "kept in" in store.close()
        other.execute("ROLLBACK")
    assert "Too late?" in said(capsys, "list").splitlines()[0]
