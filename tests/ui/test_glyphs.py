"""What a poor terminal is shown: the own signs as ASCII, cell for cell, and no colours where none are wanted."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.filter import Monochrome, NoColor

import mtpchat
from mtpchat.config import Config, UiConfig
from mtpchat.ui.glyphs import AsciiSigns, plain, wants_ascii
from mtpchat.ui.themes import ANSI_THEME
from tests.ui.conftest import chat_app, seen, settled, until
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


@pytest.mark.parametrize(
    ("term", "wanted", "theme", "ansi"),
    [
        ("xterm", "harbour-night", ANSI_THEME, True),
        ("xterm", "ember", "ember", True),
        ("xterm-256color", "harbour-night", "harbour-night", False),
    ],
)
def test_sixteen_colours_are_the_terminals_own_unless_a_theme_is_wanted(
    monkeypatch: pytest.MonkeyPatch, term: str, wanted: str, theme: str, ansi: bool
) -> None:
    for name in ("NO_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", term)
    app = chat_app(FakeSession(config=Config(ui=UiConfig(theme=wanted))))
    assert (app.theme, app.current_theme.ansi) == (theme, ansi)


async def test_a_theme_that_is_picked_in_sixteen_colours_has_them_and_keeps_them_when_its_file_is_saved(
    monkeypatch: pytest.MonkeyPatch, config_folder: Path
) -> None:
    monkeypatch.delenv("COLORTERM")
    monkeypatch.setenv("TERM", "xterm")
    path = config_folder / "themes" / "mine.toml"
    path.write_text('background = "#123456"\naccent = "#ffffff"')
    app = chat_app(FakeSession(), config_path=str(config_folder / "config.toml"))
    async with app.run_test() as pilot:
        app.choose_theme("mine")
        assert app.current_theme.ansi
        path.write_text('background = "#ffffff"\naccent = "#000000"')
        os.utime(path, ns=(1, 1))
        await until(pilot, lambda: not app.current_theme.dark)
        assert (app.theme, app.current_theme.ansi) == ("mine", True)


async def test_the_whole_screen_can_be_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        assert any(isinstance(one, AsciiSigns) for one in app._filters)
        assert plain(seen(app)).isascii()


@pytest.mark.parametrize(("term", "hint"), [("linux", "enter send"), ("xterm-256color", "⏎ send")])
async def test_keys_are_called_by_words_where_there_are_no_signs_for_them(
    monkeypatch: pytest.MonkeyPatch, term: str, hint: str
) -> None:
    """An arrow would become a `^` or a `v`, which reads as a key with Ctrl."""
    monkeypatch.setenv("TERM", term)
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert hint in seen(app)
