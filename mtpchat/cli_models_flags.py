"""Flags of `mtpchat models`."""

from __future__ import annotations

import argparse

from mtpchat.errors import ConfigError

MODELS = "models"

_HELP = """\
  models         what is on this machine, or the drafters there are for a model
                 (--pairs MODEL)
"""


def models_command_help() -> str:
    """Lines for the page of --help."""
    return _HELP


def add_models_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    group = parser.add_argument_group("models")
    group.add_argument("--all", action="store_true", help="drafters, other files and unreadable ones, too")
    group.add_argument("--pairs", metavar="MODEL", help="what could draft for this model, the best first, and why")


def refuse_misplaced_models(arguments: argparse.Namespace) -> None:
    """Raise ConfigError for a flag of `models` that stands elsewhere."""
    for flag, given in (("--all", arguments.all), ("--pairs", arguments.pairs is not None)):
        if given and arguments.command != MODELS:
            raise ConfigError(f"{flag} belongs to mtpchat models", hint="All flags: mtpchat --help")
