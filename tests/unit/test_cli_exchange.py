"""`mtpchat chats export` and `import`: files and folders, chats whole or not at all, and what is said of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mtpchat import paths
from mtpchat.cli import main
from mtpchat.store.chat_store import ChatStore
from tests.exchange.test_other_programs import CHATGPT, MESSAGES, OPEN_WEBUI
from tests.store.talk import Talk

Say = Callable[..., str]


@pytest.fixture
def kept() -> None:
    """Two chats, the second with two answers to one question."""
    store = ChatStore(paths.chats_file())
    Talk(store, "rivers000000", system="Be brief.").turn("Why do rivers meander?", "Because **they** do.", at=1000.0)
    again = Talk(store, "again0000000")
    again.end(again.begin("Once more?", at=3000.0), "First.")
    again.path = again.path[:-1]
    again.end(again.again(at=3001.0), "Second.")
    assert store.close() == ""


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Runs `mtpchat chats ...` in an empty folder; gives what was said, and checks the exit code."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(*argv: str, code: int = 0) -> str:
        assert main(["chats", *argv]) == code, capsys.readouterr()
        out, err = capsys.readouterr()
        return out if code != 2 else err

    return run


def listed(say: Say) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(say("list", "--json"))
    return found


def write(name: str, value: object) -> str:
    Path(name).write_text(json.dumps(value), "utf-8")
    return name


@pytest.mark.usefixtures("kept")
def test_the_suffix_of_the_file_decides_the_format(say: Say) -> None:
    for name, sign in (("a.md", "# Chat"), ("a.json", "{"), ("a.jsonl", '{"id"'), ("a.html", "<!DOCTYPE html>")):
        assert name in say("export", "2", "-o", name)
        assert Path(name).read_text("utf-8").startswith(sign)
    assert "<strong>they</strong>" in Path("a.html").read_text("utf-8")
    assert "a.foo" in say("export", "2", "-o", "a.foo", code=2)
    assert say("export", "2", "--format", "html") == Path("a.html").read_text("utf-8")


@pytest.mark.usefixtures("kept")
def test_nothing_is_replaced_and_no_folder_made_unasked(say: Say) -> None:
    Path("a.md").write_text("mine")
    assert "--force" in say("export", "1", "-o", "a.md", code=2)
    assert "--force" in say("export", "1", "-o", "new/a.md", code=2)
    assert "--force" in say("export", "1", "-o", "new/", code=2)
    assert sorted(os.listdir()) == ["a.md"]
    assert Path("a.md").read_text() == "mine"
    say("export", "1", "-o", "a.md", "--force")
    say("export", "1", "-o", "new/a.md", "--force")
    assert Path("a.md").read_text() == Path("new/a.md").read_text()
    assert sorted(os.listdir()) == ["a.md", "new"]


@pytest.mark.usefixtures("kept")
def test_a_folder_gets_a_file_for_each_chat_also_for_those_of_one_name(say: Say) -> None:
    say("export", "again0000000", "-o", "one.json")
    other = json.loads(Path("one.json").read_text().replace("again0000000", "other0000000"))
    say("import", write("two.json", other))
    Path("f").mkdir()
    assert "3 files" in say("export", "all", "-o", "f", "--format", "html")
    assert len(os.listdir("f")) == 3
    assert all(name.endswith(".html") for name in os.listdir("f"))


@pytest.mark.usefixtures("kept")
def test_all_chats_in_one_file_are_one_document(say: Say) -> None:
    say("export", "all", "-o", "all.json")
    whole = json.loads(Path("all.json").read_text())
    assert [chat["id"] for chat in whole] == ["again0000000", "rivers000000"]
    assert json.loads(say("export", "all", "--json")) == whole
    say("export", "all", "-o", "all.html")
    assert Path("all.html").read_text().count("<article>") == 2
    say("export", "all", "-o", "all.jsonl")
    assert len(Path("all.jsonl").read_text().splitlines()) == 2


@pytest.mark.usefixtures("kept")
def test_an_export_comes_back_whole_and_twice_makes_no_doubles(say: Say) -> None:
    before = say("export", "all", "--format", "json")
    Path("all.json").write_text(before)
    assert "2 known already" in say("import", "all.json")
    paths.chats_file().unlink()
    assert "2 chats, 5 messages taken in" in say("import", "all.json")
    assert "0 chats, 0 messages taken in" in say("import", "all.json")
    assert say("export", "all", "--format", "json") == before
    assert "Second." in say("show", "again0000000")
    assert "rivers000000" in say("search", "meander")


@pytest.mark.usefixtures("kept")
def test_a_chat_that_went_on_elsewhere_goes_on_here_where_it_is_the_newer_one(say: Say) -> None:
    chat = json.loads(say("export", "again0000000", "--format", "json"))
    chat["messages"].append({"id": "more", "role": "user", "content": "And then?", "parent": chat["leaf"]})
    chat["messages"][1].update(complete=True)
    older = {**chat, "leaf": "more", "updated": 5.0}
    assert "1 of those known goes on" in say("import", write("a.json", older))
    assert "And then?" not in say("show", "again0000000")
    chat["messages"].append({"id": "last", "role": "assistant", "content": "Then.", "parent": "more"})
    say("import", write("b.json", {**chat, "leaf": "last", "updated": 9000.0}))
    assert "Then." in say("show", "again0000000")


def test_an_answer_that_was_cut_off_here_and_went_on_there_is_whole(say: Say) -> None:
    store = ChatStore(paths.chats_file())
    talk = Talk(store, "counts000000")
    talk.end(talk.begin("Count."), "One, ", complete=False)
    assert store.close() == ""
    chat = json.loads(say("export", "1", "--format", "json"))
    chat["messages"][1].update(content="One, two.", complete=True)
    say("import", write("a.json", chat))
    assert "One, two." in say("show", "1")
    assert "(stopped)" not in say("show", "1")
    assert "counts" in say("search", "two")


@pytest.mark.usefixtures("kept")
def test_a_message_of_another_chat_is_refused_with_its_chat(say: Say) -> None:
    chat = json.loads(say("export", "again0000000", "--format", "json"))
    before = say("export", "all", "--format", "json")
    said = say("import", write("a.json", [{**chat, "id": "stolen000000"}, MESSAGES]))
    assert "skipped" in said
    assert "another chat" in said
    assert "1 chat, 2 messages taken in" in said
    assert "stolen" not in json.dumps(listed(say))
    assert json.loads(before)[0] in json.loads(say("export", "all", "--format", "json"))


def test_a_look_at_what_would_be_taken_in_changes_nothing(say: Say) -> None:
    said = say("import", write("c.json", [CHATGPT]), "--dry-run")
    assert "1 chat, 5 messages would be taken in" in said
    assert "messages of 'tool' (1)" in said
    assert not paths.chats_file().exists()
    say("import", "c.json")
    assert "1 known already" in say("import", "c.json", "--dry-run")
    assert [chat["title"] for chat in listed(say)] == ["Rivers"]


def test_files_of_several_programs_at_once_and_one_that_is_damaged(say: Say) -> None:
    whole = json.dumps([CHATGPT, OPEN_WEBUI], indent=1)
    Path("cut.json").write_text(whole[:-40])
    said = say("import", "cut.json", write("m.json", {"messages": MESSAGES}), "nothing.json", code=1)
    assert "stopped at line" in said
    assert "No such file" in said
    assert {chat["title"] for chat in listed(say)} == {"Rivers", "Look:"}
    told = json.loads(say("import", "cut.json", "m.json", "--json", code=1))
    assert [(one["chats"], one["known"], bool(one["error"])) for one in told] == [(0, 1, True), (0, 1, False)]


def test_control_bytes_of_a_file_never_reach_the_terminal(say: Say) -> None:
    evil = {"messages": [{"role": "\x1b[2J\x07", "content": "x"}, {"role": "user", "content": "hi"}]}
    said = say("import", write("\x1b]0;evil\x07.json", [evil, {"title": "\x1b[31m"}]))
    assert all(line.isprintable() for line in said.splitlines())


@pytest.mark.parametrize(
    "argv", [["import"], ["import", "--format", "md", "x"], ["list", "--dry-run"], ["show", "-o", "x", "1"]]
)
def test_flags_and_operands_that_make_no_sense_are_refused(say: Say, argv: list[str]) -> None:
    assert say(*argv, code=2)
