"""The form of an answer as people name it: a JSON schema or a grammar, in a file or typed out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from mtpchat.errors import GrammarError

_MOST_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What answers have to look like.

    Attributes:
        name: what people call it, e.g. "person.json"; "" for any form.
        grammar: GBNF, or "".
    """

    name: str = ""
    grammar: str = ""


ANY_FORM = AnswerForm()


def schema_form(typed: str) -> AnswerForm:
    """The form of a JSON schema: of the file that is named, or typed out, which begins with a brace.

    Raises:
        GrammarError: no such file, no JSON, or a schema that a grammar cannot keep; it names file and place.
    """
    typed = typed.strip()
    if typed.startswith("{"):
        return AnswerForm("a schema", _from_schema(typed, None))
    path = Path(typed.strip("\"'")).expanduser()
    return AnswerForm(path.name, _from_schema(_read(path), path))


def grammar_form(typed: str) -> AnswerForm:
    """The form of a grammar in GBNF, which llama.cpp judges later: of a file, or typed out, which has a ::= in it.

    Raises:
        GrammarError: no such file.
    """
    if "::=" in typed:
        return AnswerForm("a grammar", typed)
    path = Path(typed.strip().strip("\"'")).expanduser()
    text = _read(path)
    if not text.strip():
        raise GrammarError(f"{path} is empty.", path=path, hint="root ::= ... is where an answer begins.")
    return AnswerForm(path.name, text)


def _from_schema(text: str, path: Path | None) -> str:
    from mtpchat.structured.json_schema import grammar_of

    name = str(path) if path else "the schema"
    try:
        schema = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise GrammarError(f"{name} is no JSON: {error.msg} at {place}.", path=path, key=place) from error
    except (RecursionError, ValueError) as error:
        raise GrammarError(f"{name} is no JSON that can be read.", path=path) from error
    try:
        return grammar_of(schema)
    except GrammarError as error:
        raise GrammarError(f"In {name}, {error.message}", path=path, key=error.key, hint=error.hint) from error


def _read(path: Path) -> str:
    """A text file of reasonable size; a folder, a pipe or a picture is none."""
    try:
        if not path.is_file():
            raise GrammarError(f"There is no file {path}.", path=path, hint="Check the path.")
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise GrammarError(f"{path} cannot be read: {error.strerror or error}.", path=path) from error
    if len(raw) > _MOST_BYTES:
        raise GrammarError(f"{path} is longer than {_MOST_BYTES >> 10} KB.", path=path, hint="Make it smaller.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GrammarError(f"{path} is no text (UTF-8).", path=path, hint="Save it as UTF-8.") from error
