"""Flags of `mtpchat stats`."""

from __future__ import annotations

import argparse
from datetime import date

from mtpchat.errors import ConfigError

STATS = "stats"

_HELP = """\
  stats          what all chats came to: tokens, speeds, acceptance, time saved
                 (--since DATE, --model NAME)
"""


def stats_help() -> str:
    """Lines for the page of --help."""
    return _HELP


def add_stats_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    group = parser.add_argument_group("stats")
    group.add_argument("--since", metavar="DATE", type=_day, help="from that day on, as in 2026-11-01")


def refuse_misplaced_stats(arguments: argparse.Namespace) -> None:
    """Raise ConfigError for a flag of `stats` that stands elsewhere."""
    if arguments.since is not None and arguments.command != STATS:
        raise ConfigError("--since belongs to mtpchat stats", hint="All flags: mtpchat --help")


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise argparse.ArgumentTypeError("a day as in 2026-11-01 is wanted") from error
