"""How one answer is shown without the app: as text while it comes, or as one JSON object at the end.

The answer alone goes to stdout; everything said about it goes to stderr. On a terminal control characters are shown as
signs; into a pipe or file the model's text goes unchanged.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Literal, Protocol, TextIO, assert_never

from mtpchat.errors import MtpChatError, advice, closed
from mtpchat.events import (
    Event,
    Failed,
    Finished,
    LeftOut,
    LoadFinished,
    Loading,
    ModelFacts,
    Prefilling,
    StatsTick,
    TextDelta,
)
from mtpchat.stats import TurnStats
from mtpchat.ui import format as fmt
from mtpchat.ui.safe_text import safe_line, safe_text

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130

ErrorType = Literal["usage", "load", "generation", "interrupted", "fetch"]

_ERASE = "\r\x1b[2K"
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


class Output(Protocol):
    """Where the events of a load and a turn go. Methods raise OSError when stdout cannot be written."""

    def show(self, event: Event) -> None:
        """One event, final ones included."""
        ...

    def fail(self, kind: ErrorType, message: str, hint: str, partial: str = "") -> None:
        """It ends without an answer; `partial` is what was said before."""
        ...

    def status(self, text: str) -> None:
        """What is going on, for whoever watches; gone with the next thing that is shown."""
        ...


class TextOutput:
    """Streams the answer.

    Args:
        thinking: show thinking too, dimmed on stderr, if that is a terminal.
        plain: no colours (NO_COLOR).
    """

    def __init__(self, stdout: TextIO, stderr: TextIO, *, thinking: bool = True, plain: bool = False) -> None:
        self._stdout = stdout
        self._out_is_terminal = stdout.isatty()
        self._notes = Notes(stderr, plain=plain)
        self._thinking = thinking
        self._last = "\n"

    def show(self, event: Event) -> None:
        match event:
            case TextDelta(text=text, channel="answer"):
                self._notes.close_thinking()
                self._write(safe_text(text) if self._out_is_terminal else text)
            case TextDelta(text=text):
                if self._thinking:
                    self._notes.think(text)
            case Finished(stats=stats, notice=notice):
                self._end_line()
                self._notes.finish(stats, notice)
            case Loading() | LeftOut() | Prefilling() | LoadFinished() | StatsTick() | Failed():
                self._notes.show(event)
            case _:
                assert_never(event)

    def fail(self, kind: ErrorType, message: str, hint: str, partial: str = "") -> None:
        self._end_line()
        self._notes.error(message, hint)

    def status(self, text: str) -> None:
        self._notes.status(text)

    def _end_line(self) -> None:
        self._notes.close_thinking()
        if self._last != "\n":
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._stdout.write(text)
            self._stdout.flush()
            self._last = text[-1]


class JsonOutput:
    """Says nothing until the end, then exactly one object on stdout."""

    def __init__(self, stdout: TextIO, stderr: TextIO) -> None:
        self._stdout = stdout
        self._notes = Notes(stderr)
        self._left_out: LeftOut | None = None

    def show(self, event: Event) -> None:
        if isinstance(event, LeftOut):
            self._left_out = event
        if isinstance(event, Finished):
            self._notes.finish(None, event.notice)
            write_json(self._stdout, answer_object(event, self._left_out))
        elif not isinstance(event, TextDelta):
            self._notes.show(event)

    def fail(self, kind: ErrorType, message: str, hint: str, partial: str = "") -> None:
        self._notes.status("")
        write_json(self._stdout, error_object(kind, message, hint, partial))

    def status(self, text: str) -> None:
        self._notes.status(text)


class Notes:
    """Everything on stderr: progress and the closing line only for people, warnings and errors always."""

    def __init__(self, stderr: TextIO, *, plain: bool = False) -> None:
        self._stderr = stderr
        self._is_terminal = stderr.isatty()
        self._dim, self._undim = ("", "") if plain else (_DIM, _PLAIN)
        self._status = ""
        self._thinking = False

    def show(self, event: Loading | LeftOut | Prefilling | LoadFinished | StatsTick | Failed) -> None:
        match event:
            case LeftOut():
                self.status("")
                self._line(f"mtpchat: {fmt.left_out(event)}")
            case Loading(what=what, fraction=fraction):
                self.status(f"loading {safe_line(what)} {fmt.percent(fraction)}")
            case Prefilling(done=done, total=total):
                self.status(f"reading {done:,}/{total:,} tokens")
            case LoadFinished(facts=facts):
                self._facts(facts)
            case StatsTick() | Failed():  # counters wait for the closing line; a failure is told by `fail`
                return
            case _:
                assert_never(event)

    def status(self, text: str) -> None:
        """Replace the line of progress; "" takes it away."""
        if self._is_terminal and text != self._status:
            self._put((_ERASE if self._status else "") + text)
            self._status = text

    def think(self, text: str) -> None:
        if not self._is_terminal:
            return
        self.status("")
        self._put(self._dim + safe_text(text) + self._undim)
        self._thinking = True

    def close_thinking(self) -> None:
        self.status("")
        if self._thinking:
            self._put("\n\n")
            self._thinking = False

    def finish(self, stats: TurnStats | None, notice: str) -> None:
        self.status("")
        if notice:
            self._line(f"mtpchat: {safe_line(notice)}")
        if stats is not None and self._is_terminal:
            self._line(f"{self._dim}{summary(stats)}{self._undim}")

    def error(self, message: str, hint: str) -> None:
        self.status("")
        self._line(f"mtpchat: {safe_line(closed(message))}")
        for step in filter(None, hint.split(" · ")):  # several ways out, a line each
            self._line(f"  {safe_line(advice(step))}")

    def _facts(self, facts: ModelFacts) -> None:
        self.status("")
        reason = facts.fallback_reason  # the choice says what there is instead
        instead = facts.choice if reason and reason in facts.choice else reason
        for sentence in filter(None, (*facts.warnings, instead)):
            self._line(f"mtpchat: {safe_line(sentence)}")

    def _line(self, text: str) -> None:
        self._put(text + "\n")

    def _put(self, text: str) -> None:
        with suppress(OSError):  # a full disk behind stderr: there is nobody left who could be told
            self._stderr.write(text)
            self._stderr.flush()


def summary(stats: TurnStats) -> str:
    """The closing line: rate, gain, acceptance, mean accepted length, tokens and seconds; a dash where unknown."""
    parts = [
        f"{fmt.rate(stats.tokens_per_second)} {fmt.multiplier(stats.speedup)}",
        *(["repeats"] if stats.looping else []),
        f"acc {fmt.percent(stats.acceptance)}",
        f"len {fmt.decimal(stats.mean_accepted_length if stats.drafted else None)}",
        f"{stats.output_tokens} tokens",
        fmt.duration(stats.prefill_s + stats.decode_s),
    ]
    return " · ".join(parts)


def answer_object(finished: Finished, left_out: LeftOut | None = None) -> dict[str, object]:
    """What --json prints. Times are seconds; None stands for what is not known."""
    stats = finished.stats
    return {
        "text": finished.message.content,
        "thinking": finished.message.thinking,
        "finish_reason": finished.reason,
        "usage": {
            "prompt_tokens": stats.prompt_tokens,
            "cached_tokens": stats.cached_tokens,
            "completion_tokens": stats.output_tokens,
        },
        "left_out": None if left_out is None else _left_out_object(left_out),
        "timings": {
            "prefill_s": stats.prefill_s,
            "decode_s": stats.decode_s,
            "ttft_s": stats.ttft_s,
            "tokens_per_second": stats.tokens_per_second,
            "draft_s": stats.draft_s,
            "plain_s": stats.plain_s,
        },
        "speculation": {
            "kind": stats.kind,
            "depth": stats.depth,
            "drafted": stats.drafted,
            "accepted": stats.accepted,
            "reached_at": list(stats.reached_at),
            "accepted_at": list(stats.accepted_at),
            "forced": stats.forced,
            "steps": stats.steps,
            "mean_accepted_length": stats.mean_accepted_length,
            "plain_tokens_per_second": stats.plain_tokens_per_second,
            "speedup": stats.speedup,
            "looping": stats.looping,
            "looped_tokens": stats.looped_tokens,
            "looped_s": stats.looped_s,
            "fallback_reason": stats.fallback_reason or None,
        },
    }


def _left_out_object(left_out: LeftOut) -> dict[str, int]:
    return {"first": left_out.first, "messages": left_out.count, "whole_tokens": left_out.whole_tokens}


def error_object(kind: ErrorType, message: str, hint: str, partial: str = "") -> dict[str, object]:
    """What --json prints when there is no answer; `text` is there when something had been said."""
    error: dict[str, object] = {"type": kind, "message": message, "hint": hint or None}
    return {"error": {**error, "text": partial} if partial else error}


def write_json(stdout: TextIO, value: dict[str, object]) -> None:
    """One line of ASCII: no control character, no encoding and no half surrogate can spoil it."""
    write_out(stdout, json.dumps(value) + "\n")


def write_out(stdout: TextIO, text: str) -> None:
    """Write what a command has found; a reader who has left (`| head`) changes nothing about its exit code."""
    try:
        stdout.write(text)
        stdout.flush()
    except BrokenPipeError:
        abandon_stdout()


def report_error(error: MtpChatError, kind: ErrorType, stdout: TextIO, stderr: TextIO, *, as_json: bool) -> None:
    """Tell an error that came before any output was chosen."""
    if as_json:
        write_json(stdout, error_object(kind, error.message, error.hint))
    else:
        Notes(stderr).error(error.message, error.hint)


def abandon_stdout() -> None:
    """After a broken pipe: what is still buffered goes nowhere, so that leaving does not complain."""
    _abandon(sys.stdout)


def settle_stderr() -> None:
    """What stderr does not take changes no exit code: Python tries once more when it ends, and would make it 120."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        _abandon(sys.stderr)


def _abandon(stream: TextIO) -> None:
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError, AttributeError):  # what is no file needs none of this
        return
