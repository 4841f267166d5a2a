"""How well a text can be read on its ground, and colours that are moved until it can."""

from __future__ import annotations

from collections.abc import Sequence

from textual.color import Color

READABLE = 4.5
"""Least contrast of a text on its ground (WCAG 2.1, level AA)."""


def contrast(one: Color, other: Color) -> float:
    """Contrast ratio of two opaque colours, 1..21 (WCAG 2.1)."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def is_light(color: Color) -> bool:
    """Whether dark text is easier to read on it than light text."""
    return _luminance(color) >= 0.18


def readable(color: Color, grounds: Sequence[Color], *, least: float = READABLE) -> Color:
    """`color`, moved towards white or black until it can be read on the first ground, and on the others if possible."""
    pole = max((Color.parse("white"), Color.parse("black")), key=lambda end: contrast(end, grounds[0]))
    steps = [color.blend(pole, step / 20) for step in range(21)]
    for count in range(len(grounds), 0, -1):
        for moved in steps:
            if all(contrast(moved, ground) >= least for ground in grounds[:count]):
                return moved
    return pole


def _luminance(color: Color) -> float:
    def linear(channel: float) -> float:
        return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)

    red, green, blue = color.normalized
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
