"""What a test prints reaches the process that shows it, whatever it is."""

from __future__ import annotations

from tests.conftest import _encodable


def test_halves_of_characters_are_written_out_and_all_else_stays() -> None:
    told = {"sections": [("Captured stdout call", "x \ud800 日 \udcff")], "duration": 0.5, "when": None}
    assert _encodable(told) == {
        "sections": [["Captured stdout call", "x \\ud800 日 \\udcff"]],
        "duration": 0.5,
        "when": None,
    }
