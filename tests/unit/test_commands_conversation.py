"""/model, /drafter and the commands that deal with what was said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.commands.base import ChooseModel, Reload, ShowChat, StartTurn
from mtpchat.commands.page import code
from mtpchat.config import Config, PathsConfig, SpeculativeConfig
from mtpchat.exchange.findings import Found
from mtpchat.exchange.intake import findings
from mtpchat.messages import Message
from mtpchat.whole_chat import model_of, said_in, shown, system_of
from tests.command_fakes import FACTS, FakeContext, refuse, say, talk
from tests.shelf.trees import write_model


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeContext:
    monkeypatch.chdir(tmp_path)
    return FakeContext()


def test_model_is_found_in_the_models_folder_and_asks_for_a_reload(context: FakeContext, tmp_path: Path) -> None:
    write_model(tmp_path / "shelf" / "next.gguf")
    context.session.config = Config(
        paths=PathsConfig(models=str(tmp_path / "shelf")),
        speculative=SpeculativeConfig(drafter="old-head.gguf", kind="draft"),
    )
    reply = say(context, "/model next.gguf")
    assert reply.effect == Reload()
    assert context.session.config.model.path == str(tmp_path / "shelf" / "next.gguf")
    assert (context.session.config.speculative.drafter, context.session.config.speculative.kind) == ("", "auto")
    assert "old-head.gguf" in reply.text


@pytest.mark.parametrize("kind", ["broken", "projector"])
def test_a_file_that_is_no_model_leaves_the_model_in_use_alone(context: FakeContext, tmp_path: Path, kind: str) -> None:
    before = context.session.config
    if kind == "broken":
        (tmp_path / "other.gguf").write_bytes(b"nothing")
    else:
        write_model(tmp_path / "other.gguf", kind="mmproj")
    assert "other.gguf" in refuse(context, "/model other.gguf")
    assert context.session.config == before


def test_model_that_is_not_there_names_the_nearest_file(context: FakeContext, tmp_path: Path) -> None:
    (tmp_path / "Qwen3-8B.gguf").touch()
    assert "Qwen3-8B.gguf?" in refuse(context, "/model Qwen3-8b.guf")
    assert "folder" in refuse(context, f"/model {tmp_path}")


def test_drafter_is_set_and_dropped_with_a_reload(context: FakeContext, tmp_path: Path) -> None:
    (tmp_path / "head.gguf").touch()
    assert say(context, "/drafter head.gguf").effect == Reload()
    assert context.session.config.speculative.drafter == str(tmp_path / "head.gguf")
    assert say(context, "/drafter none").effect == Reload()
    assert context.session.config.speculative.drafter == ""
    assert say(context, "/drafter none").effect is None


def test_a_drafter_that_was_found_can_be_dropped_and_looked_for_again(context: FakeContext) -> None:
    context.session.arrange(facts=replace(FACTS, drafter="/models/MTP/mtp-tiny.gguf"))
    assert say(context, "/drafter none").effect == Reload()
    assert context.session.config.speculative.find == "off"
    assert say(context, "/drafter auto").effect == Reload()
    assert context.session.config.speculative.find == "folder"
    assert context.session.config.speculative.drafter == ""


def test_bare_model_asks_for_the_list_of_models(context: FakeContext) -> None:
    assert say(context, "/model").effect == ChooseModel()


def test_bare_drafter_tells_what_is_loaded(context: FakeContext) -> None:
    assert "MTP head in the main file" in say(context, "/drafter").text


def test_continue_starts_a_turn(context: FakeContext) -> None:
    refuse(context, "/continue")
    context.session.arrange(messages=talk("done"))
    assert "complete" in refuse(context, "/continue")
    context.session.arrange(messages=(*talk("done")[:1], Message("assistant", "half", complete=False)))
    assert say(context, "/continue").effect == StartTurn("continue")


def test_undo_gives_the_text_back_to_the_prompt(context: FakeContext) -> None:
    context.session.arrange(messages=talk("one", "two"))
    assert say(context, "/undo").effect == ShowChat(prompt_text="about two")
    assert context.session.messages == talk("one")
    say(context, "/undo")
    refuse(context, "/undo")


def test_clear_empties_the_conversation(context: FakeContext) -> None:
    context.session.arrange(messages=talk("one"))
    assert say(context, "/clear").effect == ShowChat()
    assert context.session.messages == ()


def test_system_message_is_shown_set_and_removed(context: FakeContext) -> None:
    say(context, "/system Answer in\nverse.")
    assert context.session.system == "Answer in\nverse."
    assert "verse" in say(context, "/system").text
    say(context, "/system none")
    assert context.session.system == ""


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=20))
def test_code_spans_outgrow_the_backticks_in_them(text: str) -> None:
    span = code(text)
    fence = span[: len(span) - len(span.lstrip("`"))]
    assert span.endswith(fence)
    assert fence not in span[len(fence) : -len(fence)]


def test_exported_json_gives_back_the_conversation(context: FakeContext, tmp_path: Path) -> None:
    said = (
        Message("user", "ünï [red] \x1b[31m"),
        Message("assistant", "half", thinking="hm", complete=False),
    )
    context.session.arrange(messages=said)
    context.session.system = "Be brief."
    say(context, "/export chat.json")
    read = json.loads((tmp_path / "chat.json").read_text(encoding="utf-8"))
    (found,) = findings((tmp_path / "chat.json").read_bytes(), 0.0)
    assert isinstance(found, Found)
    assert read["program"] == "mtpchat"
    assert (model_of(found.chat), system_of(found.chat)) == ("Tiny", "Be brief.")
    assert tuple(map(said_in, shown(found.chat))) == said


def test_exported_markdown_holds_every_word(context: FakeContext, tmp_path: Path) -> None:
    said = (Message("user", "why?"), Message("assistant", "so", thinking="hm", complete=False))
    context.session.arrange(messages=said)
    say(context, "/export chat.MD")
    text = (tmp_path / "chat.MD").read_text(encoding="utf-8")
    for part in ("# Chat with Tiny", "## You\n\nwhy?", "hm", "so\n\n*(stopped here)*"):
        assert part in text


def test_export_never_replaces_a_file_unless_told(context: FakeContext, tmp_path: Path) -> None:
    target = tmp_path / "my chat.md"
    target.write_text("precious")
    context.session.arrange(messages=talk("one"))
    assert "/export! my chat.md" in refuse(context, "/export my chat.md")
    assert target.read_text() == "precious"
    say(context, "/export! my chat.md")
    assert "about one" in target.read_text()


@pytest.mark.parametrize("line", ["/export", "/export chat", "/export chat.exe", "/export .", "/export x\0.md"])
def test_export_to_a_place_that_makes_no_sense_is_refused_and_leaves_nothing(
    context: FakeContext, tmp_path: Path, line: str
) -> None:
    context.session.arrange(messages=talk("one"))
    refuse(context, line)
    assert list(tmp_path.iterdir()) == []


def test_export_of_an_empty_conversation_is_refused(context: FakeContext) -> None:
    refuse(context, "/export chat.md")
