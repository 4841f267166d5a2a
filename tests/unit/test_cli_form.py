"""--json-schema and --grammar: files are judged before a model is loaded, and the answer is asked for in that form."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from mtpchat import headless
from mtpchat.cli import main
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from tests.shelf.trees import write_model

SCHEMA = '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}'


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Session]:
    """Sessions that would have answered."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    write_model(tmp_path / "model.gguf")
    (tmp_path / "pet.json").write_text(SCHEMA)
    (tmp_path / "yes.gbnf").write_text('root ::= "yes"\n')
    sessions: list[Session] = []
    monkeypatch.setattr(headless, "answer", lambda session, *_: sessions.append(session) or 0)
    monkeypatch.setattr(EngineService, "start", lambda _self: None)
    return sessions


def run(*flags: str) -> int:
    return main(["-m", "model.gguf", "-p", "A pet", *flags])


@pytest.mark.parametrize("flags", [("--json-schema", "pet.json"), ("--json-schema", SCHEMA), ("--grammar", "yes.gbnf")])
def test_the_answer_is_asked_for_in_the_form(asked: list[Session], flags: tuple[str, str]) -> None:
    assert run(*flags) == 0
    grammar = asked[0].terms.request().grammar
    assert grammar == ('root ::= "yes"\n' if flags[0] == "--grammar" else asked[0].terms.given.grammar)
    assert "root ::=" in grammar


@pytest.mark.parametrize("flag", ["--json-schema", "-j", "--json-schema-file", "-jf"])
def test_a_schema_goes_by_the_names_that_llama_cpp_has_for_it(asked: list[Session], flag: str) -> None:
    assert run(flag, "pet.json") == 0
    assert "name" in asked[0].terms.request().grammar


@pytest.mark.parametrize("flags", [("--grammar", 'root ::= "no"'), ("--grammar-file", "yes.gbnf")])
def test_a_grammar_is_a_file_or_typed_out(asked: list[Session], flags: tuple[str, str]) -> None:
    assert run(*flags) == 0
    assert asked[0].terms.request().grammar.startswith("root ::=")


def test_without_a_form_there_is_no_grammar(asked: list[Session]) -> None:
    assert run() == 0
    assert asked[0].terms.request().grammar == ""


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--json-schema", "missing.json"), "missing.json"),
        (("--json-schema", '{"type": "objekt"}'), "objekt"),
        (("--json-schema", '{"type": '), "line 1"),
        (("--grammar", "missing.gbnf"), "missing.gbnf"),
        (("--grammar", "yes.gbnf", "--json-schema", "pet.json"), "two forms"),
    ],
)
def test_a_bad_form_is_told_before_anything_is_loaded(
    asked: list[Session], flags: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*flags) == 2
    assert words in capsys.readouterr().err
    assert not asked


def test_with_json_a_bad_form_is_an_object_on_stdout(asked: list[Session], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "--json-schema", "missing.json") == 2
    assert "missing.json" in json.loads(capsys.readouterr().out)["error"]["message"]
