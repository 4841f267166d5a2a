"""A chart as PNG: CairoSVG draws what chart.py writes as SVG.

It is not among the dependencies, because it needs the Cairo library of the system: whoever wants a PNG installs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mtpchat.errors import ConfigError

_WIDTH = 1600


def require_png() -> None:
    """Raise ConfigError where no PNG can be made."""
    _cairo()


def as_png(svg: str) -> bytes:
    """The chart as PNG, 1600 pixels wide. Raises ConfigError where that cannot be done."""
    made: bytes = _cairo().svg2png(bytestring=svg.encode(), output_width=_WIDTH)
    return made


def _cairo() -> Any:
    try:
        return import_module("cairosvg")
    except ImportError as error:
        raise ConfigError(
            "A PNG needs CairoSVG, which is not installed",
            hint="pip install cairosvg (or: pip install '.[plot]'), or take --svg, which needs nothing.",
        ) from error
    except OSError as error:  # the Python part is there, the library that it loads is not
        raise ConfigError(
            "A PNG needs the Cairo library, which this system does not have",
            hint="apt install libcairo2, dnf install cairo or brew install cairo; or take --svg, which needs nothing.",
        ) from error
