"""The chart as PNG, and what is said where it cannot be made."""

from __future__ import annotations

import struct

import pytest

from mtpchat.bench import picture
from mtpchat.bench.chart import ratios_chart
from mtpchat.bench.picture import as_png, require_png
from mtpchat.bench.results import standings
from mtpchat.errors import ConfigError
from tests.bench.test_results import trial


def test_the_chart_becomes_a_png_as_wide_as_it_should_be() -> None:
    try:
        require_png()
    except ConfigError as error:
        pytest.skip(error.message)
    chart = ratios_chart(standings([trial("off", 10), trial("x <&>", 20)], "off"), "title", "sub", "off")
    data = as_png(chart)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">I", data[16:20]) == (1600,)


@pytest.mark.parametrize(
    ("failure", "said"),
    [(ModuleNotFoundError("cairosvg"), "pip install"), (OSError('no library called "cairo-2"'), "libcairo2")],
)
def test_what_is_missing_for_a_png_is_named_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, said: str
) -> None:
    def fail(name: str) -> None:
        raise failure

    monkeypatch.setattr(picture, "import_module", fail)
    with pytest.raises(ConfigError) as caught:
        require_png()
    assert said in caught.value.hint
    assert "--svg" in caught.value.hint
