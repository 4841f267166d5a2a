"""Flags of `mtpchat pull`."""

from __future__ import annotations

import argparse
from pathlib import Path

from mtpchat.errors import ConfigError

PULL = "pull"

_HELP = """\
  pull REPO[:QUANT]
                 fetch a model from Hugging Face; without QUANT: what there is
"""


def pull_help() -> str:
    """Lines for the page of --help."""
    return _HELP


def add_pull_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags; each is None unless it was given."""
    group = parser.add_argument_group("pull")
    group.add_argument("--endpoint", metavar="URL", help="another hub than huggingface.co, e.g. a mirror")
    group.add_argument("--revision", metavar="R", help="branch, tag or commit")
    group.add_argument("--drafter", metavar="auto|none|FILE|REPO", help="fetch the matching drafter too, or that one")
    group.add_argument("--to", metavar="DIR", type=Path, help="folder to put files into, instead of the cache")
    group.add_argument("--dry-run", action="store_true", default=None, help="say what would be fetched, or taken in")
    group.add_argument("--yes", action="store_true", default=None, help="take what fits best, without asking")
    group.add_argument("--offline", action="store_true", default=None, help="ask nobody: what is in the cache")


def refuse_misplaced_pull(arguments: argparse.Namespace) -> None:
    """Raise ConfigError for a flag of pull without pull, and for pull without a repository."""
    if arguments.command != PULL:
        for name in ("endpoint", "revision", "drafter", "to", "dry_run", "yes", "offline"):
            if name == "dry_run" and arguments.command == "chats import":
                continue
            if getattr(arguments, name) is not None:
                flag = "--" + name.replace("_", "-")
                hint = "In the chat it is -md FILE." if name == "drafter" else "All flags: mtpchat --help"
                raise ConfigError(f"{flag} belongs to mtpchat pull", hint=hint)
        return
    if len(arguments.operands) != 1:
        what = "a repository" if not arguments.operands else "one repository at a time"
        raise ConfigError(f"pull needs {what}", hint="mtpchat pull owner/name-GGUF:Q4_K_M")
