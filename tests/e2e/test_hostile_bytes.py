"""Every byte that reaches the terminal, while all is hostile that can be: texts, files, names, titles and themes.

What is painted is looked at elsewhere, piece by piece; here it is what a terminal gets. It gets only those sequences
that the own screen of the program is made of, and a terminal that follows them shows what the program means to show.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from dataclasses import dataclass

import pexpect
import pyte
import pytest

from tests.e2e.hostile_app import MARK, NASTY, stages
from tests.ui.hostile import GALLERY

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

MODE = re.compile(r"\x1b\[\?(1049|25|1004|1000|1003|1015|1006|1016|2004|2026|2048|7)([hl])")
ASKS = re.compile(r"\x1b\[\?(2026|2048)\$p|\x1b\[>\d+u|\x1b\[<u")
MOVE = re.compile(r"\x1b\[(\d+);(\d+)H")
LOOK = re.compile(r"\x1b\[([\d;]*)m")
POINTER = re.compile(r"\x1b\]22;[a-z-]+\x07")
TITLE = re.compile(r"\x1b\]2;([^\x00-\x1f\x7f-\x9f]*)\x1b\\|\x1b\[2[23];2t")
COPY = re.compile(r"\x1b\]52;c;([A-Za-z0-9+/=]+)\x07")
STAGE = re.compile(re.escape(MARK).replace(r"\{number\}", r"(\d+)"))
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
WEIGHTS = {"", "0", "1", "2", "3", "4", "7", "9"}
"""Of `\\x1b[...m`: bold, dim, italic, underlined, reversed, struck; never blinking or hidden."""
ORDINARY = re.compile(r"[\x20-\x7e\u00a0-\u017f\u2010-\u203f\u2190-\u25ff\u2400-\u243f\u2800-\u28ff]*")
"""What takes one cell in every terminal; of other letters each terminal has an opinion of its own."""


@dataclass(frozen=True)
class Terminal:
    """What kind of terminal it is; `every` leaves texts out."""

    columns: int
    rows: int
    environment: dict[str, str]
    theme: str
    every: int = 1

    @property
    def colours(self) -> re.Pattern[str]:
        """Parts of `\\x1b[...m` that may set a colour."""
        if "COLORTERM" in self.environment:
            return re.compile(r"[34]8;2;\d{1,3};\d{1,3};\d{1,3}")
        return re.compile(r"(3|4|9|10)[0-79]")


TERMINALS = {
    "80x24": Terminal(80, 24, {"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "harbour-night"),
    "60x18 in sixteen colours": Terminal(60, 18, {"TERM": "xterm"}, "paper", every=5),
}


@dataclass(frozen=True)
class Run:
    """Everything that one terminal got, and what the program believed to be on its screen at each stage."""

    terminal: Terminal
    output: str
    believed: list[tuple[str, list[str]]]


@pytest.fixture(scope="module", params=TERMINALS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    terminal, folder = TERMINALS[request.param], tmp_path_factory.mktemp("hostile")
    unset = ("NO_COLOR", "COLORTERM", "LC_ALL", "LC_CTYPE")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    environment |= {"LANG": "C.UTF-8", "HOSTILE_THEME": terminal.theme, "HOSTILE_EVERY": str(terminal.every)}
    environment |= terminal.environment
    errors = folder / "errors"
    command = f'exec "{sys.executable}" -m tests.e2e.hostile_app "{folder}" 2>"{errors}"'
    size = (terminal.rows, terminal.columns)
    child = pexpect.spawn("/bin/sh", ["-c", command], dimensions=size, env=environment, timeout=240, maxread=65536)
    child.expect(pexpect.EOF)
    output = child.before.decode("utf-8")
    child.close()
    assert errors.read_text() == ""
    believed = [(one["name"], one["rows"]) for one in json.loads((folder / "stages.json").read_text())]
    return Run(terminal, output.replace("\r\n", "\n"), believed)


def test_the_program_went_through_all_of_it(run: Run) -> None:
    assert [name for name, _rows in run.believed] == [name for name, _stage in stages(run.terminal.every)]


def test_the_terminal_gets_nothing_but_what_the_screen_is_made_of(run: Run) -> None:
    for move in MOVE.finditer(run.output):
        assert 1 <= int(move[1]) <= run.terminal.rows, move
        assert 1 <= int(move[2]) <= run.terminal.columns, move
    for look in set(LOOK.findall(run.output)):
        weights = run.terminal.colours.sub("", look).split(";")
        assert set(weights) <= WEIGHTS, look
    rest = run.output
    for allowed in (MODE, ASKS, MOVE, LOOK, POINTER, TITLE, COPY, STAGE):
        rest = allowed.sub("", rest)
    found = CONTROL.search(rest)
    assert found is None, rest[max(found.start() - 40, 0) : found.end() + 40]


def test_the_screen_is_entered_once_and_left_once(run: Run) -> None:
    modes = [match[0] for match in MODE.finditer(run.output)]
    assert [modes.count(f"\x1b[?1049{end}") for end in "hl"] == [1, 1]
    last_text = max(match.end() for match in MOVE.finditer(run.output))
    assert run.output.index("\x1b[?1049h") < run.output.index("\x1b[1;1H") < last_text < run.output.index("\x1b[?1049l")


def test_only_what_was_asked_for_goes_to_the_clipboard(run: Run) -> None:
    copied = [base64.b64decode(match[1]).decode() for match in COPY.finditer(run.output)]
    assert len(copied) == 1


def test_titles_of_the_window_are_text(run: Run) -> None:
    titles = {match[1] for match in TITLE.finditer(run.output) if match[1]}
    assert titles
    assert all((title.endswith("mtpchat") and "owned" not in title) or "␛" in title for title in titles)


def test_a_terminal_shows_what_the_program_means_to_show(run: Run) -> None:
    """Letter for letter in all rows of ordinary letters: the header, the prompt, the numbers, the keys among them."""
    screen = pyte.Screen(run.terminal.columns, run.terminal.rows)
    stream = pyte.Stream(screen)
    screen.set_mode(pyte.modes.LNM)
    compared = 0
    pieces = STAGE.split(run.output)
    for text, number in zip(pieces[0::2], pieces[1::2], strict=False):
        stream.feed(_understood(text))
        name, rows = run.believed[int(number)]
        for at, row in enumerate(rows):
            if ORDINARY.fullmatch(row):
                assert screen.display[at].rstrip() == row, (name, at)
                compared += 1
    assert compared > 10 * len(run.believed)


def _understood(text: str) -> str:
    """Without what the other tests have looked at and the terminal parser does not know; it knows how lines end."""
    text = MODE.sub(lambda mode: mode[0] if mode[1] == "7" else "", text)
    for other in (ASKS, POINTER, TITLE, COPY):
        text = other.sub("", text)
    return text


def test_everything_hostile_was_there() -> None:
    assert len(GALLERY) > 40
    assert all(sign in NASTY for sign in ("\x1b]0;", "\x1b[2J", "\u202e", "\x9b", "\x00", "["))
