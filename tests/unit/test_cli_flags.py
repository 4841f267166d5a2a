"""Flags that other programs have, and mistakes that argparse words in its own way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mtpchat.cli import main
from mtpchat.cli_flags import COMMANDS, build_parser, parse_arguments
from mtpchat.cli_words import MEANT
from mtpchat.errors import ConfigError


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["-mx", "0"], "If -m is meant, a space follows: -m x"),
        (["-ngl99"], "A space follows: -ngl 99"),
        (["-mg", "0"], "CUDA_VISIBLE_DEVICES"),
        (["-np", "2"], "One answer is written at a time"),
        (["-cnv"], "The chat opens by itself"),
        (["-hf", "acme/Tiny-GGUF"], "mtpchat pull OWNER/NAME:QUANT"),
        (["-fit", "off"], "-ngl auto"),
        (["-ub", "512"], "Did you mean -b?"),
    ],
)
def test_short_flags_of_llama_cpp_are_not_read_as_others_with_a_value(argv: list[str], hint: str) -> None:
    with pytest.raises(ConfigError, match=f'Unknown flag "{argv[0]}"') as caught:
        parse_arguments(argv)
    assert hint in caught.value.hint


def test_numbers_may_stand_right_behind_a_letter() -> None:
    assert [(flag.name, flag.text) for flag in parse_arguments(["-t4", "-c8192"]).flags] == [
        ("-t", "4"),
        ("-c", "8192"),
    ]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["-c"], "-c/--ctx-size needs a value"),
        (["--log-level", "loud"], '--log-level must be one of debug, info, warn, error, not "loud"'),
        (["bench", "--depths", "0"], "--depths: '0' is not within 1-64"),
        (["stats", "--since", "\x1b[2J"], "--since: a day as in 2026-11-01 is wanted"),
    ],
)
def test_what_argparse_says_is_put_as_the_rest(argv: list[str], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_arguments(argv)
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("argv", "near"), [(["pul", "a/b"], "pull"), (["hlep"], "help"), (["chats", "exprt", "1"], "chats export")]
)
def test_a_mistyped_command_is_recognised_with_its_operands(argv: list[str], near: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_arguments(argv)
    assert caught.value.hint == f"Did you mean {near}?"


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["what is this"], 'To ask that: mtpchat -p "what is this"'),
        (["what", "is", "this"], 'To ask that: mtpchat -p "what is this"'),
        (["explain", '"it"', "please"], "To ask that: mtpchat -p \"explain 'it' please\""),
        (["chats", "exprt", "1", "to", "it"], "Did you mean chats export?"),
        (["bogus"], "All flags and commands: mtpchat --help"),
    ],
)
def test_who_says_a_sentence_in_place_of_a_command_learns_how_to_ask(argv: list[str], hint: str) -> None:
    with pytest.raises(ConfigError, match="Unknown command") as caught:
        parse_arguments(argv)
    assert caught.value.hint == hint


def test_many_files_of_one_flag_go_along_as_shells_write_them(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a.py", "b.py", "c.py")]
    for file in files:
        Path(file).write_text("x")
    arguments = parse_arguments(["-f", *files, "-p", "what is this"])
    assert (arguments.attached, arguments.command, arguments.prompt) == (files, "", "what is this")
    with pytest.raises(ConfigError, match="Unknown command"):
        parse_arguments(["-f", files[0], str(tmp_path / "missing.py")])
    with pytest.raises(ConfigError, match="Unknown command"):
        parse_arguments(files)


def test_an_answer_may_be_asked_for_with_nothing_but_what_is_piped_in() -> None:
    assert parse_arguments(["-p"]).prompt == ""
    assert parse_arguments(["-p", "-n", "5"]).prompt == ""
    assert parse_arguments(["-n", "5"]).prompt is None


def test_a_flag_that_is_like_none_names_none() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_arguments(["--bogus"])
    assert "Did you mean" not in caught.value.hint


def test_every_flag_is_on_the_whole_page_or_on_that_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    pages = ""
    for argv in (
        ["--help"],
        *(["help", name] for name in ("models", "pull", "doctor", "chats", "stats", "bench", "tune")),
    ):
        assert main(argv) == 0
        pages += capsys.readouterr().out
    hidden = {"--force", "-j", "-jf", "--json-schema-file", "--grammar-file"}  # told with `config init`; other names
    assert {flag for flag in build_parser()._option_string_actions if flag not in pages} <= hidden


@pytest.mark.parametrize(
    ("command", "own", "foreign"),
    [
        ("verify", "--depths", "--runs"),
        ("tune", "--budget", "--depths"),
        ("doctor", "--sha256", "--all"),
        ("inspect", "inspect", "--sha256"),
    ],
)
def test_the_page_of_a_command_has_no_flag_that_it_refuses(
    command: str, own: str, foreign: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["help", command]) == 0
    page = capsys.readouterr().out.partition("exit codes")[0]
    assert own in page
    assert foreign not in page
    assert f"{command}: " not in page


def test_the_version_is_a_word_and_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == main(["--version"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_keys_that_do_not_exist_are_not_written_into_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "set", "keys.quiit", "ctrl+x"]) == 2
    assert "did you mean quit?" in capsys.readouterr().err
    assert main(["config", "set", "keys.quit", "ctl+x"]) == 2
    assert "is not the name of a key" in capsys.readouterr().err
    assert main(["config", "set", "keys.quit", "ctrl+x"]) == 0


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["chat"], "mtpchat alone begins the chat"),
        (["run", "llama3"], "Did you mean mtpchat -m llama3?"),
        (["download", "owner/name"], "Did you mean mtpchat pull owner/name?"),
        (["ls"], "mtpchat models"),
        (["uninstall"], "mtpchat doctor"),
        (["run", "my", "code", "please"], 'To ask that: mtpchat -p "run my code please"'),
    ],
)
def test_words_of_other_programs_are_answered_with_the_words_of_this_one(argv: list[str], hint: str) -> None:
    with pytest.raises(ConfigError, match="Unknown command") as caught:
        parse_arguments(argv)
    assert hint in caught.value.hint


def test_what_other_programs_words_lead_to_exists() -> None:
    for word, hint in MEANT.items():
        assert word not in COMMANDS
        for named in re.findall(r"mtpchat ((?:chats |config )?[a-z]+)\b", hint):
            assert named == "alone" or named in COMMANDS, hint


def test_a_flag_without_a_value_that_gets_one_says_so() -> None:
    with pytest.raises(ConfigError, match=r'^--no-think takes no value: "x" is too much'):
        parse_arguments(["--no-think=x"])
