"""Settings, themes and prompts out of damaged files: values, or a sentence that names the file; never anything else."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mtpchat.bench.prompts import Prompt
from mtpchat.bench.prompts import read as read_prompts
from mtpchat.config_file import load
from mtpchat.config_text import render_default
from mtpchat.errors import ConfigError, MtpChatError, ThemeError
from mtpchat.ui.themes import load_themes, read_theme

FILES = 250
LONGEST_S = 5.0

SETTINGS = render_default() + '\n[model]\n[profile.fast.sampling]\ntemperature = 0.5\nstop = ["a"]\n'
THEME = 'background = "#10161d"\naccent = "#7fb3d5"\nabout = "calm"\ndark = true\nuser = "#aabbcc"\n'
PROMPTS = '[[prompt]]\nname = "one"\nclass = "code"\nlanguage = "en"\ntext = """\nsay\n"""\n[[prompt]]\ntext = "b"\n'
VALUES = (
    "1", "-1", "1e999", "nan", "inf", "9" * 400, "0x" + "f" * 4000, "true", '""', '"\\u0000\\u001b[2J"', "[]", "{}",
    "[[]]", "1979-05-27T07:32:00Z", '"' + "x" * 100_000 + '"', "{a = {b = {c = 1}}}", "[1, 'a', {}]", "'[red]'",
    '"#fffffffff"', '"rgb(1,2,999999999999999999999)"', '"\\u202e"', '"transparent"', '"ansi_red"', '"#10161d80"', "-0",
)  # fmt: skip


def spoiled(text: str, number: int) -> bytes:
    """A damaged version of a file, the same each time."""
    chance = random.Random(number)
    lines = text.splitlines()
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(lines))
        name = lines[at].partition("=")[0].strip() or "x"
        match chance.randrange(9):
            case 0 | 1 | 2:
                lines[at] = f"{name.lstrip('# ') or 'x'} = {chance.choice(VALUES)}"
            case 3:
                lines.insert(at, lines[chance.randrange(len(lines))])
            case 4:
                del lines[at]
            case 5:
                lines[at] = chance.choice(
                    ("[", "]]", "= 1", "[model", '"', "'''", "[a.b.c]", "[[model]]", "\x00", "{" * 20)
                )
            case 6:
                depth = chance.choice((50, 5_000, 200_000))
                lines.insert(at, f"deep = {'[' * depth}{']' * depth}")
            case 7:
                lines.insert(at, ".".join("a" * chance.choice((1, 3_000))) + " = 1")
            case _:
                lines[at] = "".join(chr(chance.randrange(0x3000)) for _ in range(40))
        lines = lines or [""]
    raw = chance.choice(("\n", "\n", "\r\n", "\r")).join(lines).encode("utf-8", "replace")
    match chance.randrange(10):
        case 0:
            return b"\xef\xbb\xbf" + raw
        case 1:
            return raw.decode().encode("utf-16")
        case 2:
            return raw[: chance.randrange(len(raw) + 1)]
        case 3:
            at = chance.randrange(len(raw) + 1)
            return raw[:at] + chance.randbytes(chance.choice((1, 40))) + raw[at:]
        case 4:
            return chance.choice(
                (b"", chance.randbytes(3000), b"\x00" * 5000, b"[" * 300_000, b"a." * 100_000, b"\xff\xfe")
            )
        case _:
            return raw


def settings(path: Path) -> None:
    loaded = load(path)
    if loaded.banner is not None:
        raise loaded.banner


class Case(NamedTuple):
    """A kind of file: how it is called, what is in a sound one, who reads it, and how it refuses."""

    name: str
    text: str
    read: Callable[[Path], object]
    refusal: type[MtpChatError]


CASES = (
    Case("config.toml", SETTINGS, settings, ConfigError),
    Case("mine.toml", THEME, lambda path: read_theme(path)[0], ThemeError),
    Case("prompts.toml", PROMPTS, read_prompts, ConfigError),
    Case("prompts.jsonl", '{"text": "a", "name": "b"}\n"c"\n', read_prompts, ConfigError),
    Case("prompts.txt", "one\ntwo\n", read_prompts, ConfigError),
)
every_kind = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def refusal_of(path: Path, case: Case, number: int) -> str:
    """The sentence with which a file is refused, or ""."""
    try:
        case.read(path)
    except case.refusal as error:
        return error.message
    except Exception as error:
        raise AssertionError(f"spoiled({case.name}, {number}): {type(error).__name__}: {error!s:.200}") from error
    return ""


@every_kind
def test_damaged_files_give_values_or_a_sentence_that_names_the_file(tmp_path: Path, case: Case) -> None:
    path = tmp_path / case.name
    refused = 0
    for number in range(FILES):
        path.write_bytes(spoiled(case.text, number))
        begun = time.thread_time()
        sentence = refusal_of(path, case, number)
        assert time.thread_time() - begun < LONGEST_S, number
        assert not sentence or case.name in sentence, number
        assert len(sentence) < 1000, (number, sentence[:300])
        refused += bool(sentence)
    assert refused > FILES * 0.05


@every_kind
@pytest.mark.parametrize("form", ["bom", "crlf", "bom and crlf"])
def test_files_of_other_systems_are_read_as_they_are_meant(tmp_path: Path, case: Case, form: str) -> None:
    path = tmp_path / case.name
    text = case.text.replace("\n[model]\n", "\n")
    raw = text.replace("\n", "\r\n") if "crlf" in form else text
    path.write_bytes((b"\xef\xbb\xbf" if "bom" in form else b"") + raw.encode())
    found = case.read(path)
    assert found is None or not isinstance(found, tuple) or all(isinstance(one, Prompt) for one in found)


@every_kind
def test_a_folder_in_place_of_a_file_is_said_to_be_unreadable(tmp_path: Path, case: Case) -> None:
    (tmp_path / case.name).mkdir()
    with pytest.raises(case.refusal, match=case.name):
        case.read(tmp_path / case.name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@every_kind
def test_a_pipe_in_place_of_a_file_is_refused_instead_of_waited_for(tmp_path: Path, case: Case) -> None:
    os.mkfifo(tmp_path / case.name)
    with pytest.raises(case.refusal, match=case.name):
        case.read(tmp_path / case.name)


def test_one_bad_theme_costs_no_other(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(THEME, "utf-8")
    for number in range(60):
        (tmp_path / f"bad{number}.toml").write_bytes(spoiled(THEME, number))
    loaded = load_themes(tmp_path)
    assert "good" in loaded.themes
    assert loaded.failures
