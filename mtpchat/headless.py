"""One answer without the app: `mtpchat -p TEXT`, and text piped in.

Ctrl+C stops the answer and keeps what was said; a second one ends the process at once. A reader that goes away
(`| head`) ends it quietly.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

from mtpchat.errors import ConfigError, ContextFull, Interrupted, MtpChatError
from mtpchat.events import Event, Failed, Finished, LoadFinished
from mtpchat.headless_output import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, Output, abandon_stdout

if TYPE_CHECKING:
    from mtpchat.engine.session import Session
    from mtpchat.messages import Attachment

_MOST_PIPED = 64 << 20
"""Bytes; no model reads as much, and what never ends would fill the memory."""


def read_question(
    prompt: str | None, stdin: TextIO | None, warn: Callable[[str], None], *, may_be_empty: bool = False
) -> str:
    """The text of -p and what is piped in, below it. Blocks until the pipe is closed.

    Args:
        prompt: the text of -p, or None.
        stdin: a terminal is not read; bytes that are not UTF-8 become U+FFFD, with a warning.
        may_be_empty: something else is there to be answered.

    Raises:
        ConfigError: both are empty, and may not be.
    """
    piped = "" if stdin is None or stdin.isatty() else _read_piped(stdin, warn)
    text = "\n\n".join(part for part in ((prompt or "").rstrip("\r\n"), piped) if part.strip())
    if text or may_be_empty:
        return text
    what = "the prompt is empty" if prompt is not None else "there is nothing to answer: standard input is empty"
    raise ConfigError(what, hint='Say something: mtpchat -p "..."   or start it in a terminal to chat.')


def read_files(
    prompt: str | None, files: Sequence[str], most_mb: int, warn: Callable[[str], None]
) -> tuple[Attachment, ...]:
    """The files of -f, and those that the text of -p mentions; what is piped in mentions none.

    Args:
        prompt: the text of -p, or None.
        files: paths of files, and of folders.
        most_mb: size in MB up to which a file is read.

    Raises:
        AttachmentError: one of them cannot go along.
    """
    if not files and "@" not in (prompt or ""):
        return ()
    from mtpchat.attachments.gathering import files_of, named_files, read_all
    from mtpchat.attachments.mentions import Place, find_mentions
    from mtpchat.attachments.missing import Folders, missing_files

    place = Place.here()
    named = [one for typed in files for one in files_of(typed, place)] + named_files(prompt or "", place)
    for missing in missing_files(prompt or "", find_mentions(prompt or "", place), place, Folders(place)):
        warn(missing.sentence)
    found = read_all(list({one.path.absolute(): one for one in named}.values()), most_mb)
    for one in found:
        if one.note:
            warn(f"{one.attachment.name}: {one.note}")
    return tuple(one.attachment for one in found)


def _read_piped(stdin: TextIO, warn: Callable[[str], None]) -> str:
    try:
        data = stdin.buffer.read(_MOST_PIPED + 1)
    except OSError as error:
        raise ConfigError(f"Standard input cannot be read: {error.strerror or error}") from error
    if len(data) > _MOST_PIPED:
        raise ConfigError(f"Standard input is larger than {_MOST_PIPED >> 20} MB", hint="Send less of it.")
    try:
        return data.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        warn(f"standard input is not UTF-8 (byte {error.start}); what could not be read is shown as \ufffd")
        return data.decode("utf-8-sig", "replace").rstrip("\r\n")


def answer(session: Session, text: str, output: Output, attachments: Sequence[Attachment] = ()) -> int:
    """Load the session's model, ask once, show the answer. Returns the exit code.

    A BrokenPipeError is an end like any other; other failures to write stdout are told on stderr.
    """
    try:
        return asyncio.run(_answer(session, text, output, attachments))
    except BrokenPipeError:
        abandon_stdout()
        return EXIT_OK


async def _answer(session: Session, text: str, output: Output, attachments: Sequence[Attachment]) -> int:
    with Interrupts(session.cancel) as interrupts:
        try:
            return await _load_and_ask(session, text, attachments, output, interrupts)
        except Interrupted:  # before a word was said: while the prompt was measured
            output.fail("interrupted", "interrupted", "")
            return EXIT_INTERRUPTED
        except ContextFull as error:  # here is nothing to be summarised or left out
            output.fail("generation", error.message, "Send less, or set a larger context with -c.")
            return EXIT_FAILED
        except MtpChatError as error:
            output.fail("generation", error.message, error.hint)
            return EXIT_FAILED
        finally:
            await interrupts.settled()


async def _load_and_ask(
    session: Session, text: str, attachments: Sequence[Attachment], output: Output, interrupts: Interrupts
) -> int:
    loaded = await _follow(session.load(), output)
    if interrupts.asked:
        output.fail("interrupted", "interrupted", "")
        return EXIT_INTERRUPTED
    if not isinstance(loaded, LoadFinished):
        message, hint = _explained(loaded, "the model did not load")
        output.fail("load", message, hint)
        return EXIT_USAGE
    ended = await _follow(session.send(text, attachments), output)
    if isinstance(ended, Finished):
        return EXIT_INTERRUPTED if interrupts.asked or ended.reason == "cancelled" else EXIT_OK
    message, hint = _explained(ended, "the answer did not end")
    said = ended.partial.content if isinstance(ended, Failed) and ended.partial else ""
    output.fail("interrupted" if interrupts.asked else "generation", message, hint, said)
    return EXIT_INTERRUPTED if interrupts.asked else EXIT_FAILED


def _explained(last: Event | None, otherwise: str) -> tuple[str, str]:
    return (last.message, last.hint) if isinstance(last, Failed) else (otherwise, "")


async def _follow(events: AsyncGenerator[Event, None], output: Output) -> Event | None:
    """Show all events and return the last one. Whatever goes wrong, the work behind them is stopped first."""
    last: Event | None = None
    async with aclosing(events) as stream:
        async for last in stream:
            output.show(last)
    return last


def _nothing() -> None:
    return


class Interrupts:
    """Ctrl+C while it is entered: the first asks to stop, the second ends the process at once.

    Args:
        cancel: stops the work in progress and waits until it has stopped.
    """

    def __init__(self, cancel: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.asked = False
        self._cancel = cancel
        self._cancelling: asyncio.Task[None] | None = None

    def __enter__(self) -> Interrupts:
        self._loop = asyncio.get_running_loop()
        self._previous = signal.getsignal(signal.SIGINT)
        with suppress(NotImplementedError):  # Windows, where a wait ends by itself
            # A signal that comes just before the loop begins to wait would be seen after that: now it ends the wait.
            self._loop.add_signal_handler(signal.SIGINT, _nothing)
        signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(NotImplementedError):
            self._loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, self._previous)

    async def settled(self) -> None:
        """Wait until a cancellation on its way is through."""
        if self._cancelling is not None:
            await self._cancelling

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked:
            os._exit(EXIT_INTERRUPTED)
        self.asked = True
        self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._cancelling = self._loop.create_task(self._cancel())
