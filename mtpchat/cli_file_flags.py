"""Flags of the commands about files: `mtpchat inspect` and `mtpchat doctor`."""

from __future__ import annotations

import argparse

from mtpchat.cli_pull_flags import PULL
from mtpchat.config_file import Flag
from mtpchat.errors import ConfigError

FILE_COMMANDS = ("inspect", "doctor")

_HELP = """\
  inspect FILE   what a model file is, and whether its MTP heads will work here
  doctor [FILE]  look for trouble: build, machine, settings and files
"""


def file_command_help() -> str:
    """Lines for the page of --help."""
    return _HELP


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    group = parser.add_argument_group("inspect and doctor")
    group.add_argument("--sha256", action="store_true", help="doctor: compare checksums (FILE.sha256, or the hub's)")


def take_operands(arguments: argparse.Namespace) -> None:
    """Set `.operands` to what follows the name of a command about files, and leave only that name in `.words`.

    Raises ConfigError for a flag that its command does not have.
    """
    words: list[str] = arguments.words
    takes = bool(words) and words[0] in (*FILE_COMMANDS, PULL)
    arguments.operands = words[1:] if takes else []
    arguments.words = words[:1] if takes else words
    if words[:1] == ["plan"] and len(words) == 2:  # as inspect and doctor take it
        arguments.flags = [*arguments.flags, Flag("plan", "model.path", words[1])]
        arguments.words = words[:1]
    if arguments.sha256 and words[:1] != ["doctor"]:
        raise ConfigError("--sha256 belongs to mtpchat doctor", hint="All flags: mtpchat --help")
