"""The pages of help: the whole one, and those of single commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpchat.cli import main
from mtpchat.cli_flags import COMMANDS, build_parser

HELP_PAGES = [["--help"], ["help"], *(["help", name] for name in sorted({one.split()[0] for one in COMMANDS}))]


@pytest.mark.parametrize("argv", HELP_PAGES, ids=" ".join)
def test_help_fits_into_eighty_columns(
    argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/conf")  # paths are as long as they are
    assert main(argv) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


def test_commands_stand_before_the_flags() -> None:
    page = build_parser().format_help()
    assert page.index("\ncommands:") < page.index("--ctx-size")


@pytest.mark.parametrize(
    "argv", [["help", "pull"], ["pull", "--help"], ["pull", "owner/name", "-h"], ["--help", "pull"]]
)
def test_a_command_has_a_page_with_its_own_flags(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    page = capsys.readouterr().out
    assert "pull REPO[:QUANT]" in page
    assert "--endpoint" in page
    assert "exit codes:" in page
    for foreign in ("--sha256", "--oracle", "inspect FILE"):
        assert foreign not in page


def test_help_knows_what_is_said_with_a_slash(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("why", "/why"):
        assert main(["help", name]) == 0
        assert capsys.readouterr().out.startswith("/why\n")


def test_help_of_something_unknown_names_what_is_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "modles"]) == 2
    assert "mtpchat help models" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["bench", "tune", "verify", "models"])
def test_a_file_after_a_command_that_wants_a_flag_is_answered_with_that_flag(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "a.gguf"]) == 2
    assert f"Did you mean {command} -m a.gguf?" in capsys.readouterr().err


def test_plan_takes_its_model_as_inspect_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "nowhere.gguf"]) == 2
    assert "There is no file nowhere.gguf" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["models", "plan"])
def test_a_broken_settings_file_is_told_where_defaults_hold_instead(
    command: str, isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = isolated_home / ".config" / "mtpchat" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[paths")
    main([command])
    assert "not valid TOML" in capsys.readouterr().err
