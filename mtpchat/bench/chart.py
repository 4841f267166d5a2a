"""A bar chart of ratios as SVG: one group of bars per class, one bar per contender, a line at 1."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from mtpchat.bench.results import Ratio, Standing

_COLOURS = (
    *("#9aa5b1", "#2f6fab", "#e07b39", "#3a9d5d", "#8e5ea2", "#c44e52", "#b8a02f", "#4fb3bf"),
    *("#7f4f24", "#d6729e", "#5b8c2a", "#1f3a6e", "#9c9ede", "#e6a817", "#1b7f79", "#5c1a20"),
)
"""Two kinds with four fixed depths and one adaptive one each are ten contenders; none shares its colour."""
_BAR, _GAP, _HEIGHT, _LEFT, _TOP = 12, 22, 220, 46, 48
_ROW, _NARROWEST = 18, 58


def ratios_chart(rows: Sequence[Standing], title: str, subtitle: str, baseline: str) -> str:
    """The chart of one temperature.

    Args:
        rows: all of one temperature; the baseline itself is drawn as the line at 1.
        title / subtitle: plain text.
    """
    shown = [one for one in rows if one.contender != baseline]
    groups = list(rows[0].by_group) if rows else []
    columns: list[tuple[str, list[Ratio]]] = [("all", [one.against for one in shown])]
    columns += [(group, [one.by_group[group] for one in shown]) for group in groups]
    top = max(1.25, *(one.value or 0 for _, ratios in columns for one in ratios), 0) * 1.08
    pitch = max(len(shown) * _BAR, _NARROWEST) + _GAP
    width = _LEFT + len(columns) * pitch + _GAP
    height = _TOP + _HEIGHT + 30 + _ROW * (len(shown) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11" role="img">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="8" y="18" font-size="13" fill="#1f2933">{_text(title)}</text>',
        f'<text x="8" y="34" fill="#52606d">{_text(subtitle)}</text>',
        *_axis(top, width),
    ]
    for place, (name, ratios) in enumerate(columns):
        middle = _LEFT + _GAP + place * pitch + (pitch - _GAP) / 2
        parts += _bars(ratios, middle - len(ratios) * _BAR / 2, top)
        parts.append(
            f'<text x="{middle:.1f}" y="{_TOP + _HEIGHT + 16}" text-anchor="middle" fill="#1f2933">{_text(name)}</text>'
        )
    parts += _legend([one.contender for one in shown])
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axis(top: float, width: float) -> list[str]:
    step = 0.25 if top < 2 else 0.5 if top < 4 else 1.0
    lines, value = [], 0.0
    while value <= top:
        y = _y(value, top)
        colour, thick = ("#1f2933", 1.5) if abs(value - 1) < 1e-9 else ("#e4e7eb", 1)
        lines.append(
            f'<line x1="{_LEFT}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}" stroke-width="{thick}"/>'
        )
        lines.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#52606d">×{value:.2f}</text>')
        value += step
    return lines


def _bars(ratios: Sequence[Ratio], left: float, top: float) -> list[str]:
    parts = []
    for place, one in enumerate(ratios):
        if one.value is None:
            continue
        x, y = left + place * _BAR, _y(one.value, top)
        colour = _COLOURS[(place + 1) % len(_COLOURS)]
        base = _y(0, top)
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{_BAR - 2}" height="{base - y:.1f}" fill="{colour}">'
            f"<title>×{one.value:.2f}</title></rect>"
        )
        if one.spread:
            centre, reach = x + _BAR / 2 - 1, one.value * one.spread
            ends = _y(one.value + reach, top), _y(max(0.0, one.value - reach), top)
            parts.append(
                f'<line x1="{centre:.1f}" x2="{centre:.1f}" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}" stroke="#1f2933"/>'
            )
    return parts


def _legend(labels: Sequence[str]) -> list[str]:
    parts = []
    for place, label in enumerate(labels):
        y = _TOP + _HEIGHT + 34 + place * _ROW
        colour = _COLOURS[(place + 1) % len(_COLOURS)]
        parts.append(f'<rect x="{_LEFT}" y="{y}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{_LEFT + 16}" y="{y + 9}" fill="#1f2933">{_text(label)}</text>')
    return parts


def _y(value: float, top: float) -> float:
    return _TOP + _HEIGHT * (1 - value / top)


def _text(text: str) -> str:
    return escape("".join(letter for letter in text if letter.isprintable()))
