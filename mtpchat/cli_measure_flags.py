"""Flags of `mtpchat verify`, `mtpchat bench` and `mtpchat tune`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from mtpchat.errors import ConfigError

MEASURES = ("verify", "bench", "tune")

_MOST_DEPTH = 64

_HELP = """\
  verify         prove on this model that speculation changes no token
  bench          measure plain decoding against each kind and depth
  tune           choose threads, kind and depth for this model, and write a
                 profile
"""


def command_help() -> str:
    """Lines for the page of --help."""
    return _HELP


def add_measure_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags; each is None unless it was given."""
    group = parser.add_argument_group("verify, bench and tune")

    def add(name: str, metavar: str, kind: Callable[[str], object], text: str) -> None:
        group.add_argument(name, metavar=metavar, type=kind, default=None, help=text)

    add("--prompts", "FILE", Path, "prompts of your own: one per line, .jsonl or .toml")
    group.add_argument(
        "--from-chats",
        metavar="N",
        nargs="?",
        type=_count,
        const=20,
        help="the last questions of your last N (20) chats, with what came before",
    )
    add("--only", "LIST", _words, "only prompts of these classes, languages or names")
    add("--kinds", "LIST", _words, "only these kinds of drafter")
    add("--depths", "LIST", _depths, "verify, bench: fixed depths, e.g. 1-4 or 1,2,8")
    add("--temps", "LIST", _temperatures, "verify, bench: temperatures, e.g. 0,0.8")
    add("--runs", "N", _count, "bench: rounds (3)")
    add("--against", "SERVER", Path, "bench: a llama-server to race against")
    group.add_argument(
        "--server-args",
        metavar="ARGS",
        action="append",
        help="bench: further flags for it, as one text: its speculation; once more for a second server",
    )
    add("--csv", "FILE", Path, "bench: every single answer as CSV")
    add("--md", "FILE", Path, "bench: the tables as Markdown")
    add("--svg", "FILE", Path, "bench: a chart; with several temperatures, of the first")
    add("--png", "FILE", Path, "bench: the same as PNG; needs CairoSVG")
    group.add_argument(
        "--oracle",
        action="store_const",
        const=True,
        help="bench: one more pass, to hold the adaptive depth against the most that guessing could bring",
    )
    add("--budget", "SECONDS", _seconds, "time that it may take: bench (600), tune (120)")


_ALLOWED = {
    "prompts": MEASURES,
    "from_chats": MEASURES,
    "only": MEASURES,
    "kinds": MEASURES,
    "depths": ("verify", "bench"),
    "temps": ("verify", "bench"),
    "runs": ("bench",),
    "against": ("bench",),
    "server_args": ("bench",),
    "csv": ("bench",),
    "md": ("bench",),
    "svg": ("bench",),
    "png": ("bench",),
    "oracle": ("bench",),
    "budget": ("bench", "tune"),
}


def refuse_misplaced(arguments: argparse.Namespace) -> None:
    """Raise ConfigError for a flag that its command does not have."""
    for name, commands in _ALLOWED.items():
        if getattr(arguments, name) is None or arguments.command in commands:
            continue
        flag = "--" + name.replace("_", "-")
        raise ConfigError(f"{flag} belongs to mtpchat {' and '.join(commands)}", hint="All flags: mtpchat --help")
    if arguments.prompts is not None and arguments.from_chats is not None:
        raise ConfigError("--prompts and --from-chats name two sets of prompts", hint="Leave one of them away.")
    if arguments.server_args is not None and arguments.against is None:
        raise ConfigError("--server-args needs --against", hint="--against takes the path of llama-server.")


def _words(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if not words:
        raise argparse.ArgumentTypeError("a list such as code,chat is wanted")
    return words


def _depths(text: str) -> tuple[int, ...]:
    depths: list[int] = []
    for part in _words(text):
        low, dash, high = part.partition("-")
        try:
            first, last = int(low), int(high if dash else low)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{part!r} is not a depth such as 3 or 1-4") from error
        if not 1 <= first <= last <= _MOST_DEPTH:
            raise argparse.ArgumentTypeError(f"{part!r} is not within 1-{_MOST_DEPTH}")
        depths += range(first, last + 1)
    return tuple(dict.fromkeys(depths))


def _temperatures(text: str) -> tuple[float, ...]:
    try:
        values = tuple(dict.fromkeys(float(part) for part in _words(text)))
    except ValueError as error:
        raise argparse.ArgumentTypeError("a list of numbers such as 0,0.8 is wanted") from error
    if not all(0 <= value <= 100 for value in values):
        raise argparse.ArgumentTypeError("temperatures are from 0 to 100")
    return values


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError("a number from 1 to 1000 is wanted")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError("a number of seconds is wanted") from error
    if not 1 <= value <= 86400:
        raise argparse.ArgumentTypeError("a number of seconds from 1 to 86400 is wanted")
    return value
