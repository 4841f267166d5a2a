"""Every theme can be read; a bad one costs one message."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from textual.color import Color, rgb_to_lab
from textual.theme import Theme

import mtpchat.ui
from mtpchat.config_file import load
from mtpchat.errors import ThemeError
from mtpchat.ui.contrast import READABLE, contrast
from mtpchat.ui.provenance import KINDS
from mtpchat.ui.themes import ANSI_THEME, COLOURS, DEFAULT_THEME, for_terminal, load_themes, make_theme, read_theme
from tests.ui.conftest import chat_app, settled, until
from tests.ui.fake_session import FakeSession

UI = Path(mtpchat.ui.__file__).parent
SHIPPED = load_themes(None).themes
PAINTED = [name for name, theme in SHIPPED.items() if not theme.ansi]
"""Themes whose colours are known; the others look as the terminal has them."""
GROUNDS = ("background", "panel", "raised")
LINE = "line"
"""Rules, borders and scrollbars: nothing is read in it."""
TEXTS = tuple(name for name in COLOURS if name not in (*GROUNDS, LINE))
ANY_COLOUR = st.tuples(*[st.integers(0, 255)] * 3).map(lambda rgb: Color(*rgb).hex)


PALETTES = {
    "xterm": (
        "#000000 #cd0000 #00cd00 #cdcd00 #0000ee #cd00cd #00cdcd #e5e5e5"
        " #7f7f7f #ff0000 #00ff00 #ffff00 #5c5cff #ff00ff #00ffff #ffffff"
    ),
    "VGA": (
        "#000000 #aa0000 #00aa00 #aa5500 #0000aa #aa00aa #00aaaa #aaaaaa"
        " #555555 #ff5555 #55ff55 #ffff55 #5555ff #ff55ff #55ffff #ffffff"
    ),
}
"""What sixteen colours look like in the two palettes that most others are made after."""


def colour(theme: Theme, name: str) -> Color:
    return Color.parse(theme.variables[f"mt-{name}"])


def too_faint(
    theme: Theme, seen: Callable[[Color], Color] = lambda one: one, least: float = READABLE
) -> dict[str, float]:
    """Texts that cannot be read on a ground that they may stand on; every text stands on every ground somewhere."""
    pairs = {
        f"{text} on {ground}": contrast(seen(colour(theme, text)), seen(colour(theme, ground)))
        for text in TEXTS
        for ground in GROUNDS
    }
    for what in ("screen", "input"):
        text, ground = (
            seen(Color.parse(theme.variables[f"{what}-selection-{one}"])) for one in ("foreground", "background")
        )
        pairs[f"selected on the {what}"] = contrast(text, ground)
    return {pair: round(ratio, 2) for pair, ratio in pairs.items() if ratio < least}


def test_the_shipped_themes_are_all_there() -> None:
    assert {"harbour-night", "paper", "high-contrast", "phosphor", "ember", "orchard-dusk", "salt-marsh"} == set(
        PAINTED
    )
    assert ANSI_THEME in SHIPPED
    assert not load_themes(None).failures


@pytest.mark.parametrize("theme", PAINTED)
def test_every_text_of_a_shipped_theme_can_be_read_on_every_ground(theme: str) -> None:
    assert not too_faint(SHIPPED[theme], least=7.0 if theme == "high-contrast" else READABLE)


@pytest.mark.parametrize("theme", PAINTED)
def test_in_256_colours_a_theme_keeps_to_those_that_there_are_and_can_be_read(theme: str) -> None:
    fewer = for_terminal(SHIPPED[theme], "256")

    def painted(one: Color) -> Color:
        return Color(*one.rich_color.downgrade(ColorSystem.EIGHT_BIT).get_truecolor())

    assert not too_faint(fewer, painted)
    grounds = {painted(colour(fewer, name)) for name in GROUNDS}
    assert len(grounds) == len(GROUNDS), "what is marked must differ from what is not"
    assert all(one.hsl.s < 0.1 for one in grounds), "no dark grey becomes red"
    for name in COLOURS:
        apart = math.dist(rgb_to_lab(painted(colour(fewer, name))), rgb_to_lab(colour(SHIPPED[theme], name)))
        assert apart < 40, name


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("theme", PAINTED)
def test_in_sixteen_colours_every_theme_can_be_read(theme: str, palette: str) -> None:
    sixteen = [Color.parse(one) for one in PALETTES[palette].split()]
    fewer = for_terminal(SHIPPED[theme], "standard")
    assert fewer.ansi
    assert fewer.dark is SHIPPED[theme].dark

    def painted(one: Color) -> Color:
        assert one.ansi is not None
        return sixteen[one.ansi]

    assert not too_faint(fewer, painted)


def test_themes_can_be_told_apart_in_sixteen_colours() -> None:
    fewer = [for_terminal(SHIPPED[theme], "standard") for theme in PAINTED]
    assert len({(colour(one, "background").hex, colour(one, "accent").hex) for one in fewer}) >= 4


@pytest.mark.parametrize("color_system", ["truecolor", None])
def test_a_terminal_of_all_colours_shows_a_theme_as_it_is(color_system: str | None) -> None:
    assert for_terminal(SHIPPED["paper"], color_system) is SHIPPED["paper"]


def test_every_colour_of_the_screen_is_one_of_a_theme() -> None:
    """So that the laws above hold for all that is painted: no rule and no line brings a colour of its own."""
    known = {f"mt-{name}" for name in COLOURS} | {"background", "foreground", "accent", "error", "success", "warning"}
    known |= {f"input-cursor-{part}" for part in ("background", "foreground")}
    used = set(re.findall(r"\$([a-z][a-z0-9-]+)", (UI / "app.tcss").read_text()))
    for path in UI.rglob("*.py"):
        strings = re.findall(r'"([^"\n]*)"', path.read_text())
        used |= {
            name
            for one in strings
            if " " not in one.replace("bold ", "")
            for name in re.findall(r"\$([a-z][a-z0-9-]+)", one)
        }
    assert used
    assert used <= known | {f"mt-{kind}" for kind in KINDS} | {"mt-"}
    assert not re.search(r"(?<!\w)#[0-9a-f]{3,6}\b|opacity", (UI / "app.tcss").read_text())


@given(ANY_COLOUR, ANY_COLOUR)
def test_two_colours_make_a_theme_whose_derived_texts_can_be_read(background: str, accent: str) -> None:
    theme = make_theme("mine", {"background": background, "accent": accent})
    ground = Color.parse(background)
    for name in (*TEXTS, *KINDS):
        if name != "accent":  # it was asked for
            assert contrast(colour(theme, name), ground) >= READABLE
    assert (
        contrast(*(Color.parse(theme.variables[f"screen-selection-{one}"]) for one in ("foreground", "background")))
        >= READABLE
    )


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
