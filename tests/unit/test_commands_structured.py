"""/json and /grammar: the form of answers is chosen for a chat; a bad file is told with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtpchat.engine.chat_terms import ChatTerms
from mtpchat.structured.forms import ANY_FORM, AnswerForm, grammar_form, schema_form
from tests.command_fakes import FakeContext, refuse, say, talk

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeContext:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "person.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "yes.gbnf").write_text('root ::= "yes" | "no"\n')
    return FakeContext()


def terms_of(context: FakeContext) -> ChatTerms:
    return context.session.terms


def test_json_holds_the_next_answers_to_a_schema_until_it_is_off(context: FakeContext) -> None:
    assert "anything" in say(context, "/json").text
    assert "person.json" in say(context, "/json person.json").text
    assert terms_of(context).form.name == "person.json"
    assert "root ::=" in terms_of(context).request().grammar
    assert "person.json" in say(context, "/json").text
    say(context, "/json off")
    assert terms_of(context).form == ANY_FORM
    assert terms_of(context).request().grammar == ""
    assert "already" in refuse(context, "/json off")


def test_grammar_takes_the_file_as_it_is(context: FakeContext) -> None:
    say(context, "/grammar yes.gbnf")
    assert terms_of(context).request().grammar == 'root ::= "yes" | "no"\n'


def test_a_form_of_the_command_line_holds_until_the_chat_says_otherwise(context: FakeContext) -> None:
    terms = terms_of(context)
    terms.given = AnswerForm("all.json", "root ::= value")
    assert terms.form.name == "all.json"
    say(context, "/json person.json")
    assert terms.form.name == "person.json"
    say(context, "/json off")
    assert terms.form == ANY_FORM


def test_the_form_is_kept_with_the_chat_and_a_new_chat_begins_without_it(context: FakeContext) -> None:
    talk(context)
    say(context, "/json person.json")
    assert context.session.terms.options.form == "person.json"
    say(context, "/clear")
    assert terms_of(context).form == ANY_FORM


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("broken.json", '{"type": "object",\n  "properties": }', "line 2, column 17"),
        ("odd.json", '{"type": "object", "properties": {"a": {"contains": {}}}}', "#/properties/a/contains"),
        ("list.json", "[1, 2]", "#"),
        ("latin.json", b'{"title": "caf\xe9"}', "UTF-8"),
        ("huge.json", " " * 300_000, "256 KB"),
        ("deep.json", '{"a":' * 50_000, "JSON"),
    ],
)
def test_a_bad_schema_is_told_with_file_and_place_and_changes_nothing(
    context: FakeContext, tmp_path: Path, name: str, content: str | bytes, words: str
) -> None:
    say(context, "/json person.json")
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    told = refuse(context, f"/json {name}")
    assert words in told
    assert name in told
    assert terms_of(context).form.name == "person.json"


def test_a_file_that_is_not_there_or_no_file_is_told(context: FakeContext, tmp_path: Path) -> None:
    assert "missing.json" in refuse(context, "/json missing.json")
    (tmp_path / "folder.json").mkdir()
    assert "folder.json" in refuse(context, "/json folder.json")
    (tmp_path / "empty.gbnf").write_text("\n")
    assert "empty" in refuse(context, "/grammar empty.gbnf")


def test_a_schema_can_be_typed_out_and_a_path_may_be_quoted(tmp_path: Path) -> None:
    assert "root ::=" in schema_form(json.dumps(SCHEMA)).grammar
    path = tmp_path / "with space.json"
    path.write_text(json.dumps(SCHEMA))
    assert schema_form(f'"{path}"').name == "with space.json"
    path.with_suffix(".gbnf").write_text("\ufeffroot ::= [0-9]")
    assert grammar_form(str(path.with_suffix(".gbnf"))).grammar == "root ::= [0-9]"
