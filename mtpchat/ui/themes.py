"""Themes: a few colours in a TOML file become everything that the screen needs.

`background` and `accent` are enough; each other colour has a default that is derived from those two and is moved until
it can be read on the background. A theme with `ansi = true` names colours of the terminal's own palette instead, which
nothing can be derived from, and which look right in a terminal of sixteen colours. See themes/README.md for the keys.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path

from textual.color import Color, ColorParseError
from textual.theme import Theme

from mtpchat.config_schema import printable, shown
from mtpchat.errors import ThemeError
from mtpchat.paths import builtin_themes_dir
from mtpchat.text_file import UnreadableText, parse_toml, read_text
from mtpchat.ui.contrast import is_light, readable
from mtpchat.ui.fewer_colours import of_256, of_sixteen

DEFAULT_THEME = "harbour-night"

_REQUIRED = ("background", "accent")
_OPTIONAL = (
    "foreground", "muted", "panel", "raised", "line", "user", "thinking", "code",
    "gain", "loss", "warning", "error", "keyword", "string", "number", "name",
    "mtp", "draft", "eagle3", "ngram",
)  # fmt: skip
COLOURS = (*_REQUIRED, *_OPTIONAL)
_KEYS = (*COLOURS, "dark", "ansi", "about")
ANSI_THEME = "terminal"
"""The shipped theme of the terminal's own colours."""
_ANSI = {
    **dict.fromkeys(COLOURS, "ansi_default"),
    "accent": "ansi_cyan", "user": "ansi_magenta", "line": "ansi_bright_black", "raised": "ansi_default",
    "code": "ansi_cyan", "gain": "ansi_green", "loss": "ansi_red", "warning": "ansi_yellow", "error": "ansi_red",
    "keyword": "ansi_blue", "string": "ansi_green", "number": "ansi_magenta",
    "mtp": "ansi_cyan", "draft": "ansi_magenta", "eagle3": "ansi_yellow", "ngram": "ansi_green",
}  # fmt: skip
"""Muted text stays in the foreground: there is no grey that every palette shows on its background."""


@dataclass(frozen=True, slots=True)
class LoadedThemes:
    """All themes that can be chosen, by name, what is said about them, and what is wrong with the others."""

    themes: dict[str, Theme]
    failures: tuple[ThemeError, ...] = ()
    about: dict[str, str] = field(default_factory=dict)


def load_themes(user_folder: Path | None) -> LoadedThemes:
    """The shipped themes, overridden and joined by those of the user. A bad file is a failure in the list, no more."""
    themes: dict[str, Theme] = {}
    failures: list[ThemeError] = []
    about: dict[str, str] = {}
    for folder in (builtin_themes_dir(), user_folder):
        if folder is None or not folder.is_dir():
            continue
        for path in sorted(folder.glob("*.toml")):
            try:
                themes[path.stem], about[path.stem] = read_theme(path)
            except ThemeError as error:
                failures.append(error)
    if DEFAULT_THEME not in themes:
        themes[DEFAULT_THEME] = make_theme(DEFAULT_THEME, {"background": "#10161d", "accent": "#7fb3d5"})
    return LoadedThemes(themes, tuple(failures), about)


def read_theme(path: Path) -> tuple[Theme, str]:
    """One theme file, and its sentence for people, or "". Raises ThemeError that names file and key."""
    table = _read_table(path)
    return _named(path, table), str(table.get("about", ""))


def state_of(folder: Path | None) -> frozenset[tuple[str, int]]:
    """Names and times of the theme files in a folder: another value means that they are to be read again."""
    try:
        found = list(folder.glob("*.toml")) if folder is not None else []
        return frozenset((path.name, path.stat().st_mtime_ns) for path in found)
    except OSError:  # a file that goes while one looks; the next look sees what is there then
        return frozenset()


def _read_table(path: Path) -> dict[str, object]:
    try:
        return parse_toml(read_text(path))
    except UnreadableText as error:
        raise ThemeError(f"{path.name} {error.what}", path=path, hint=error.hint) from error
    except OSError as error:
        raise ThemeError(f"{path.name} cannot be read: {error}", path=path) from error
    except RecursionError as error:
        raise ThemeError(f"{path.name} is nested too deeply", path=path) from error
    except ValueError as error:
        raise ThemeError(f"{path.name} is not TOML: {printable(str(error))}", path=path) from error


def _named(path: Path, table: dict[str, object]) -> Theme:
    try:
        return make_theme(path.stem, table)
    except ThemeError as error:
        raise ThemeError(f"{path.name}: {error.message}", path=path, key=error.key, hint=error.hint) from error


def make_theme(name: str, table: dict[str, object]) -> Theme:
    """A Textual theme from the keys of a file. Raises ThemeError with `.key`."""
    for key in table:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            raise ThemeError(f"Unknown key {shown(key)}", key=key, hint=f'Did you mean "{near[0]}"?' if near else "")
    if table.get("ansi", False) is not False:
        return _ansi_theme(name, table)
    given = {key: _color(key, table[key]) for key in COLOURS if key in table}
    for key in _REQUIRED:
        if key not in given:
            raise ThemeError(f'"{key}" is missing', key=key, hint="A theme needs at least background and accent.")
    dark = table.get("dark", not is_light(given["background"]))
    if not isinstance(dark, bool):
        raise ThemeError('"dark" must be true or false', key="dark")
    return _theme(name, _complete(given, dark=dark), dark=dark)


def _ansi_theme(name: str, table: dict[str, object]) -> Theme:
    """A theme of the terminal's own colours."""
    if table["ansi"] is not True:
        raise ThemeError('"ansi" must be true or false', key="ansi")
    given = {key: _ansi_color(key, table[key]) for key in COLOURS if key in table}
    dark = table.get("dark", True)
    if not isinstance(dark, bool):
        raise ThemeError('"dark" must be true or false', key="dark")
    return _theme(name, {key: Color.parse(value) for key, value in _ANSI.items()} | given, dark=dark, ansi=True)


def _ansi_color(key: str, value: object) -> Color:
    try:
        color = Color.parse(value) if isinstance(value, str) else None
    except ColorParseError:
        color = None
    if color is None or color.ansi is None:
        raise ThemeError(
            f'"{key}" must be a colour of the terminal', key=key, hint='Such as "ansi_blue" or "ansi_default".'
        )
    return color


def _color(key: str, value: object) -> Color:
    if not isinstance(value, str):
        raise ThemeError(f'"{key}" must be a colour such as "#7fb3d5"', key=key)
    try:
        color = Color.parse(value)
    except ColorParseError as error:
        raise ThemeError(f'"{key}": {shown(value)} is no colour', key=key, hint='Write it as "#rrggbb".') from error
    if color.a < 1 or color.ansi is not None:
        raise ThemeError(f'"{key}" must be an opaque colour such as "#7fb3d5"', key=key)
    return color


def _complete(given: dict[str, Color], *, dark: bool) -> dict[str, Color]:
    """Every colour: those given as they are, the rest derived."""
    ground, accent = given["background"], given["accent"]
    pole = Color.parse("#f4f4f2" if dark else "#16181a")
    foreground = given.get("foreground", readable(pole.blend(accent, 0.06), (ground,), least=11.0))
    panel = given.get("panel", ground.blend(foreground, 0.055))
    raised = given.get("raised", ground.blend(foreground, 0.11))

    def on_all(color: Color) -> Color:
        return readable(color, (ground, panel, raised))

    def tinted(hue: str) -> Color:
        return on_all(foreground.blend(Color.parse(hue), 0.7))

    muted = given.get("muted", on_all(foreground.blend(ground, 0.42)))
    derived = {
        "foreground": foreground,
        "panel": panel,
        "raised": raised,
        "muted": muted,
        "line": ground.blend(foreground, 0.22),
        "user": on_all(accent),
        "thinking": muted,
        "code": on_all(accent.blend(foreground, 0.35)),
        "gain": on_all(Color.parse("#79c38a" if dark else "#1d7a3a")),
        "loss": on_all(Color.parse("#ef8078" if dark else "#b3261e")),
        "warning": on_all(Color.parse("#e0b060" if dark else "#8a5a00")),
        "error": on_all(Color.parse("#ef8078" if dark else "#b3261e")),
        "keyword": on_all(accent),
        "string": on_all(Color.parse("#9dc39a" if dark else "#2f6f4f")),
        "number": on_all(Color.parse("#d9b27c" if dark else "#8a5a00")),
        "name": on_all(accent.blend(foreground, 0.55)),
        "mtp": tinted("#6fc3df" if dark else "#0b6b8a"),
        "draft": tinted("#c9a0e6" if dark else "#7a3e9d"),
        "eagle3": tinted("#e6b36a" if dark else "#8a5a00"),
        "ngram": tinted("#8fcf9a" if dark else "#2c7a3f"),
    }
    return {**derived, **given}


def for_terminal(theme: Theme, color_system: str | None) -> Theme:
    """The theme in colours that the terminal has.

    Args:
        color_system: as Rich calls it: "standard" and "windows" have sixteen.
    """
    if theme.ansi or color_system not in ("256", "standard", "windows"):
        return theme
    colours = {key: Color.parse(theme.variables[f"mt-{key}"]) for key in COLOURS}
    if color_system == "256":
        return _theme(theme.name, of_256(colours), dark=theme.dark)
    return _theme(theme.name, of_sixteen(colours, dark=theme.dark), dark=theme.dark, ansi=True)


def _theme(name: str, colour: dict[str, Color], *, dark: bool, ansi: bool = False) -> Theme:
    named = {key: value.hex for key, value in colour.items()}
    return Theme(
        name=name,
        primary=named["accent"],
        secondary=named["user"],
        accent=named["accent"],
        warning=named["warning"],
        error=named["error"],
        success=named["gain"],
        foreground=named["foreground"],
        background=named["background"],
        surface=named["background"],
        panel=named["panel"],
        dark=dark,
        ansi=ansi,
        variables={
            **{f"mt-{key}": value for key, value in named.items()},
            **_textual_variables(named),
            **_selection(colour, ansi=ansi),
            **_cursor(named, ansi=ansi),
        },
    )


def _selection(colour: dict[str, Color], *, ansi: bool) -> dict[str, str]:
    """What is selected, and the match of a search, has a ground and a text of its own: both can be read everywhere."""
    ground, text = Color.parse("ansi_cyan"), Color.parse("ansi_black")
    if not ansi:
        ground = colour["background"].blend(colour["accent"], 0.35)
        text = readable(colour["foreground"], (ground,))
    return {
        f"{what}-selection-{part}": value.hex
        for what in ("screen", "input")
        for part, value in (("background", ground), ("foreground", text))
    }


def _cursor(named: dict[str, str], *, ansi: bool) -> dict[str, str]:
    """The cursor of fields. With colours of the terminal's own it is reversed, so that it is there without colours."""
    ground, text = named["accent"], named["background"]
    ground, text = (text, ground) if ansi else (ground, text)
    return {"input-cursor-background": ground, "input-cursor-foreground": text}


def _textual_variables(named: dict[str, str]) -> dict[str, str]:
    """Textual's own names, so that its widgets (palette, toasts, selection) follow the theme too."""
    heading = {f"markdown-h{level}-color": named["foreground"] for level in range(1, 7)}
    return {
        **heading,
        "text": named["foreground"],
        "text-muted": named["muted"],
        "foreground-muted": named["muted"],
        "border": named["line"],
        "border-blurred": named["line"],
        "ansi-background": named["background"],
        "ansi-foreground": named["foreground"],
        "scrollbar": named["line"],
        "scrollbar-hover": named["muted"],
        "scrollbar-active": named["accent"],
        "scrollbar-background": named["background"],
        "scrollbar-background-hover": named["background"],
        "scrollbar-background-active": named["background"],
        "scrollbar-corner-color": named["background"],
        "link-color": named["accent"],
        "link-color-hover": named["foreground"],
        "link-background-hover": named["raised"],
        "block-cursor-background": named["raised"],
        "block-cursor-foreground": named["foreground"],
        "block-hover-background": named["raised"],
        "markdown-h2-text-style": "bold",
        "markdown-h4-text-style": "bold",
    }
