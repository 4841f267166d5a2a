"""Every theme can be read; a bad one costs one message."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.color import Color

from mtpchat.config_file import load
from mtpchat.errors import ThemeError
from mtpchat.ui.provenance import KINDS
from mtpchat.ui.themes import DEFAULT_THEME, READABLE, contrast, load_themes, make_theme, read_theme
from tests.ui.conftest import chat_app, settled, until
from tests.ui.fake_session import FakeSession

SHIPPED = load_themes(None).themes
PAINTED = [name for name, theme in SHIPPED.items() if not theme.ansi]
"""Themes whose colours are known; the others look as the terminal has them."""
TEXTS = ("foreground", "muted", "user", "thinking", "code", "gain", "loss", "warning", "error", "accent", *KINDS)
CODE = ("foreground", "muted", "keyword", "string", "number", "name", "gain", "loss", *KINDS)
COLOURS = st.tuples(*[st.integers(0, 255)] * 3).map(lambda rgb: Color(*rgb).hex)


def colour(theme: str, name: str) -> Color:
    return Color.parse(SHIPPED[theme].variables[f"mt-{name}"])


def test_the_shipped_themes_are_all_there() -> None:
    assert {"harbour-night", "paper", "high-contrast", "phosphor"} <= set(SHIPPED)
    assert not load_themes(None).failures


@pytest.mark.parametrize("theme", PAINTED)
def test_every_text_of_a_shipped_theme_can_be_read(theme: str) -> None:
    least = 7.0 if theme == "high-contrast" else READABLE
    pairs = [(text, "background") for text in TEXTS] + [(text, "panel") for text in CODE]
    pairs += [("foreground", "raised")]
    low = {pair: round(contrast(colour(theme, pair[0]), colour(theme, pair[1])), 2) for pair in pairs}
    assert not {pair: ratio for pair, ratio in low.items() if ratio < least}


@given(COLOURS, COLOURS)
def test_two_colours_make_a_theme_whose_derived_texts_can_be_read(background: str, accent: str) -> None:
    theme = make_theme("mine", {"background": background, "accent": accent})
    ground = Color.parse(background)
    for name in ("foreground", "muted", "user", "thinking", "code", "gain", "loss", "warning", "error", *KINDS):
        assert contrast(Color.parse(theme.variables[f"mt-{name}"]), ground) >= READABLE


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ('background = "#000"\naccent = "#zzz"', "accent", "accent"),
        ('background = "#000"', "accent", "missing"),
        ('background = "#000"\naccent = "#fff"\nacent = "#fff"', "acent", "acent"),
        ('background = "#000"\naccent = "#fff"\ndark = "yes"', "dark", "dark"),
        ('background = "#000"\naccent = 3', "accent", "accent"),
        ("background = ", "", "TOML"),
        ("ansi = 1", "ansi", "ansi"),
        ('ansi = true\naccent = "#ff0000"', "accent", "terminal"),
        ('ansi = true\nuser = "ansi_pink"', "user", "terminal"),
    ],
)
def test_a_bad_theme_names_its_file_and_key(tmp_path: Path, text: str, key: str, words: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ThemeError) as caught:
        read_theme(path)
    assert caught.value.key == key
    assert "mine.toml" in caught.value.message
    assert words in caught.value.message


def test_a_mistyped_key_is_answered_with_the_nearest() -> None:
    with pytest.raises(ThemeError) as caught:
        make_theme("mine", {"background": "#000", "acent": "#fff"})
    assert "accent" in caught.value.hint


async def test_a_bad_theme_costs_one_toast_and_not_the_start(config_folder: Path) -> None:
    (config_folder / "themes" / "mine.toml").write_text('background = "#000"\naccent = "[/]"')
    app = chat_app(FakeSession(), config_path=str(config_folder / "config.toml"))
    async with app.run_test() as pilot:
        await settled(pilot)
        notes = [note.message for note in app._notifications]
        assert len(notes) == 1
        assert "mine.toml" in notes[0]
        assert "accent" in notes[0]
        assert app.theme == DEFAULT_THEME


async def test_a_user_theme_overrides_a_shipped_one(config_folder: Path) -> None:
    (config_folder / "themes" / "paper.toml").write_text('background = "#123456"\naccent = "#ffffff"')
    app = chat_app(FakeSession(), config_path=str(config_folder / "config.toml"))
    async with app.run_test() as pilot:
        app.choose_theme("paper")
        await pilot.pause()
        assert app.screen.styles.background.hex == "#123456"


async def test_a_theme_file_that_is_saved_is_seen_at_once_and_a_mistake_in_it_is_named(config_folder: Path) -> None:
    path = config_folder / "themes" / "mine.toml"
    path.write_text('background = "#123456"\naccent = "#ffffff"')
    app = chat_app(FakeSession(), config_path=str(config_folder / "config.toml"))
    async with app.run_test() as pilot:
        app.choose_theme("mine")
        path.write_text('background = "#223344"\naccent = "#ffffff"')
        os.utime(path, ns=(1, 1))
        await until(pilot, lambda: app.screen.styles.background.hex == "#223344")
        path.write_text('background = "#223344"\naccent = "none"')
        os.utime(path, ns=(2, 2))
        await until(pilot, lambda: app.theme == DEFAULT_THEME)
        assert ["mine.toml" in note.message for note in app._notifications] == [True]
        path.unlink()
        await until(pilot, lambda: "mine" not in app.theme_names)


async def test_the_marked_theme_is_the_one_that_is_seen(config_folder: Path) -> None:
    config = config_folder / "config.toml"
    app = chat_app(FakeSession(), config_path=str(config))
    async with app.run_test() as pilot:
        names = list(app.theme_names)
        await app._chat.run_command("/theme")
        await pilot.pause()
        await pilot.press("down", "j")
        await until(pilot, lambda: app.theme == names[2])
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == names[0])
        await app._chat.run_command("/theme")
        await pilot.pause()
        await pilot.press("down", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert (app.theme, config.exists()) == (names[1], False)
        await app._chat.run_command("/theme")
        await pilot.pause()
        await pilot.press("down", "s")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert (app.theme, load(config).config.ui.theme) == (names[2], names[2])


async def test_every_shipped_theme_can_be_put_on(config_folder: Path) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        for name in [*app.theme_names, *app.theme_names[:1]]:
            assert app.theme_name == name
            await pilot.press("ctrl+t")
