"""What a poor terminal is shown: the own signs as ASCII, cell for cell, and no colours where none are wanted."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.filter import Monochrome, NoColor

import mtpchat
from mtpchat.ui.glyphs import AsciiSigns, plain, wants_ascii
from mtpchat.ui.themes import ANSI_THEME
from tests.ui.conftest import chat_app, seen, settled
from tests.ui.fake_session import FakeSession

ROOT = Path(mtpchat.__file__).parent
NOT_SHOWN = {"light.py", "safe_text.py", "glyphs.py", "mentions.py"}
"""Modules whose strings hold signs to be looked for, or to stand for what cannot be shown."""


def own_signs() -> Iterator[tuple[str, str]]:
    """Every text with signs beyond ASCII that the screen may show, with the module that has it."""
    for folder in ("ui", "commands"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docs = {
                id(body[0].value)
                for node in ast.walk(tree)
                if isinstance(body := getattr(node, "body", None), list) and body and isinstance(body[0], ast.Expr)
            }
            for node in ast.walk(tree) if path.name not in NOT_SHOWN else ():
                text = node.value if isinstance(node, ast.Constant) and id(node) not in docs else ""
                if isinstance(text, str) and not text.isascii():
                    yield path.name, text


def test_every_sign_of_the_screen_has_one_in_ascii() -> None:
    signs = {(name, sign) for name, text in own_signs() for sign in plain(text) if not sign.isascii()}
    assert not signs


def test_what_stands_for_a_sign_takes_as_many_cells() -> None:
    texts = [text for _, text in own_signs()]
    assert [cell_len(plain(text)) for text in texts] == [cell_len(text) for text in texts]


def test_letters_of_other_languages_stay() -> None:
    assert plain("naïve 川 🦊 Ω · …") == "naïve 川 🦊 Ω - ~"


@pytest.mark.parametrize(
    ("wanted", "environment", "ascii_only"),
    [
        ("auto", {"TERM": "xterm-256color", "LANG": "de_DE.UTF-8"}, False),
        ("auto", {"TERM": "xterm-256color", "LANG": "de_DE.ISO-8859-1"}, True),
        ("auto", {"TERM": "linux", "LANG": "de_DE.UTF-8"}, True),
        ("auto", {"TERM": "xterm", "LANG": "de_DE.latin1", "LC_ALL": "de_DE.UTF-8"}, False),
        ("auto", {"TERM": "xterm", "LANG": "C.UTF-8"}, False),
        ("unicode", {"TERM": "linux"}, False),
        ("ascii", {"TERM": "xterm", "LANG": "de_DE.UTF-8"}, True),
        ("auto", {"LANG": "xx_XX.no-such-encoding"}, False),
    ],
)
def test_the_terminal_and_the_locale_decide_unless_the_user_does(
    wanted: str, environment: dict[str, str], ascii_only: bool
) -> None:
    assert wants_ascii(wanted, environment) is ascii_only  # type: ignore[arg-type]


async def test_a_terminal_without_colours_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        kinds = {type(one) for one in app._filters}
        assert NoColor in kinds
        assert Monochrome not in kinds
        assert app.theme == ANSI_THEME


@pytest.mark.parametrize(("term", "theme"), [("xterm", ANSI_THEME), ("xterm-256color", "harbour-night")])
def test_sixteen_colours_are_the_terminals_own(monkeypatch: pytest.MonkeyPatch, term: str, theme: str) -> None:
    for name in ("NO_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", term)
    assert chat_app(FakeSession()).theme == theme


async def test_the_whole_screen_can_be_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        assert any(isinstance(one, AsciiSigns) for one in app._filters)
        assert plain(seen(app)).isascii()
