"""The colours of a theme in terminals of 256 colours or of sixteen: ones that are there, and that can be read.

Where nothing is said, each colour becomes the nearest that the terminal has. Of 256 that makes a dark grey ground red
and a light one pink, because there are few dark colours among them; of sixteen it makes texts vanish.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from rich.color import ColorSystem
from textual.color import Color, rgb_to_lab

from mtpchat.ui.contrast import READABLE, contrast

_GROUNDS = ("background", "panel", "raised")
_LINE = "line"
_STEPS = (0, 95, 135, 175, 215, 255)
_GREY = 12.0
"""Distance from grey in Lab below which a colour is taken for a shade of it."""
# Hues of sixteen colours by the angle at which each ends, in degrees. On black the light ones are read in every
# palette, blue excepted; on white only three of the dark ones are.
_ON_BLACK = (
    (20, "ansi_bright_red"), (75, "ansi_bright_yellow"), (165, "ansi_bright_green"), (255, "ansi_bright_cyan"),
    (335, "ansi_bright_magenta"), (360, "ansi_bright_red"),
)  # fmt: skip
_ON_WHITE = ((40, "ansi_red"), (65, "ansi_magenta"), (265, "ansi_blue"), (335, "ansi_magenta"), (360, "ansi_red"))

Colours = Mapping[str, Color]


def of_256(colours: Colours) -> dict[str, Color]:
    """The colours of a theme, by what they are for, so that a terminal of 256 has them."""
    palette = _palette()
    grounds: list[Color] = []
    for name in _GROUNDS:
        grounds.append(_nearest(colours[name], [one for one in palette if one not in grounds]))
    found = dict(zip(_GROUNDS, grounds, strict=True))
    texts = [one for one in palette if all(contrast(one, ground) >= READABLE for ground in grounds)]
    for name, colour in colours.items():
        if name not in found:
            found[name] = _nearest(colour, palette if name == _LINE else texts or palette)
    return {name: palette[one] for name, one in found.items()}


def of_sixteen(colours: Colours, *, dark: bool) -> dict[str, Color]:
    """The colours of a theme as hues of sixteen, on black or on white."""
    ground, text, dim = ("black", "bright_white", "white") if dark else ("bright_white", "black", "black")
    fixed = {
        **dict.fromkeys(_GROUNDS, ground),
        "foreground": text,
        "muted": dim,
        "thinking": dim,
        _LINE: "bright_black",
    }
    found = {name: f"ansi_{word}" for name, word in fixed.items()}
    hues = _ON_BLACK if dark else _ON_WHITE
    for name, colour in colours.items():
        found.setdefault(name, f"ansi_{text}" if _is_grey(colour) else _hue(colour, hues))
    return {name: Color.parse(value) for name, value in found.items()}


def _hue(colour: Color, hues: Sequence[tuple[int, str]]) -> str:
    angle = colour.hsl.h * 360
    return next(name for end, name in hues if angle <= end)


def _is_grey(colour: Color) -> bool:
    _, a, b = rgb_to_lab(colour)
    return math.hypot(a, b) < _GREY


@cache
def _palette() -> dict[Color, Color]:
    """What the colours of a terminal of 256 look like -> what Rich takes for each of them."""
    cube = [Color(red, green, blue) for red in _STEPS for green in _STEPS for blue in _STEPS]
    greys = [Color(level, level, level) for level in (round(255 * step / 25) for step in range(26))]
    return {_shown(one): one for one in greys} | {one: one for one in cube if _shown(one) == one}


def _shown(colour: Color) -> Color:
    """What Rich makes of a colour in such a terminal."""
    return Color(*colour.rich_color.downgrade(ColorSystem.EIGHT_BIT).get_truecolor())


@cache
def _distance(one: Color, other: Color) -> float:
    """How different two colours look (CIE 1976)."""
    return math.dist(rgb_to_lab(one), rgb_to_lab(other))


def _nearest(colour: Color, palette: Iterable[Color]) -> Color:
    return min(palette, key=lambda one: _distance(one, colour))
