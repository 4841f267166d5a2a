"""Errors read alike wherever they are shown: a sentence of what happened, and one of what to do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat import errors
from mtpchat.errors import CommandError, MtpChatError, advice, closed, sentence

PACKAGE = Path(errors.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
KINDS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, MtpChatError)}
KINDS -= {"ExchangeError"}  # its words follow the name of a file
PROGRAMS = {"llama.cpp", "llama-server", "huggingface_hub", "mtpchat"}
SUBCOMMANDS = {"chats", "config", "inspect", "pull"}
"""They begin a sentence as they are typed."""

words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1).filter(str.strip)


@given(words)
def test_what_happened_ends_once_however_it_was_written(what: str) -> None:
    told = CommandError(what).message
    assert told[-1] in ".!?…:"
    assert closed(told) == told
    assert told.startswith(what.rstrip())


@given(words, words)
def test_a_whole_sentence_is_one_line_with_both_parts(what: str, hint: str) -> None:
    told = sentence(what, hint)
    assert "\n" not in told
    assert told == CommandError(what, hint=hint).sentence
    assert told.startswith(" ".join(what.split()))


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("start without --no-save", "Start without --no-save"),
        ("mtpchat pull owner/name", "mtpchat pull owner/name"),
        ("/retry answers anew", "/retry answers anew"),
        ("", ""),
    ],
)
def test_advice_begins_with_a_capital_unless_it_is_to_be_typed(hint: str, shown: str) -> None:
    assert advice(hint) == shown


def raised(path: Path) -> list[str]:
    """How the errors that a module raises begin, as far as that is written there."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Raise)]
    found = []
    for call in calls:
        if not isinstance(call.exc, ast.Call) or not isinstance(call.exc.func, ast.Name) or not call.exc.args:
            continue
        first = call.exc.args[0]
        first = first.values[0] if isinstance(first, ast.JoinedStr) and first.values else first
        if call.exc.func.id in KINDS and isinstance(first, ast.Constant):
            found.append(str(first.value))
    return found


def test_errors_begin_with_a_capital_or_a_name() -> None:
    begun = [(path.name, text) for path in SOURCES for text in raised(path)]
    assert len(begun) > 100
    small = [(name, text) for name, text in begun if text[:1].islower()]
    assert [(name, text) for name, text in small if text.split()[0] not in PROGRAMS | SUBCOMMANDS] == []


def joins(node: ast.AST) -> bool:
    """Whether an f-string puts message and hint together by itself."""
    if not isinstance(node, ast.JoinedStr):
        return False
    names = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    return {"message", "hint"} <= names


def test_message_and_hint_are_joined_in_one_place() -> None:
    joined = [path.name for path in SOURCES if any(map(joins, ast.walk(ast.parse(path.read_text("utf-8")))))]
    assert joined == []
