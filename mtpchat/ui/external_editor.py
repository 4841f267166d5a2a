"""Hands a text to the user's own editor and takes it back, with the app out of the way meanwhile.

The text stays in its temporary file until it has been read back, and for good where that fails: nothing that was
written in the editor can be lost by an editor that crashes, or by a file that comes back as something else.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from mtpchat.errors import EditorFailed
from mtpchat.text_file import UnreadableText, read_text
from mtpchat.ui.safe_text import safe_line, safe_text

_FALLBACKS = ("nano", "vim", "vi", "notepad.exe")
_HINT = "Set VISUAL or EDITOR to an editor that waits, such as nano, or code --wait."


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """The words that start the user's editor: $VISUAL, $EDITOR, or one that is there.

    Raises:
        EditorFailed: none is named and none is found, or the name cannot be read as words.
    """
    for name in ("VISUAL", "EDITOR"):
        wanted = environment.get(name, "").strip()
        if not wanted:
            continue
        try:
            words = shlex.split(wanted, posix=os.name == "posix")
        except ValueError as error:
            raise EditorFailed(f"${name} cannot be read: {error}: {safe_line(wanted)[:80]}", hint=_HINT) from error
        if words:
            return words
    found = next((one for one in _FALLBACKS if shutil.which(one)), "")
    if not found:
        raise EditorFailed("No editor is set, and none was found", hint=_HINT)
    return [found]


def edit(app: App[Any], text: str, *, name: str = "prompt", suffix: str = ".md") -> str:
    """Open `text` in the editor and wait. Nothing of the app runs meanwhile but the engine.

    Args:
        name: what the temporary file is called after.
        suffix: tells the editor what kind of text it is.

    Returns:
        The text as it was saved, without the one line end that editors add; control characters shown as signs.

    Raises:
        EditorFailed: there is no editor, it ended with an error, or its file cannot be read. The text given is as it
            was; what the editor saved stays in the file that the message names.
    """
    command = editor_command(os.environ)
    try:
        descriptor, place = tempfile.mkstemp(suffix=suffix, prefix=f"mtpchat-{name}-")
        path = Path(place)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
    except OSError as error:
        raise EditorFailed(f"The text cannot be put into a file: {error.strerror or error}", hint=_HINT) from error
    _run(app, command, path, text)
    try:
        edited = read_text(path)
    except (OSError, UnreadableText) as error:
        raise EditorFailed(f"What the editor saved cannot be read: {error}", hint=f"It is still in {path}") from error
    _remove(path)
    return safe_text(_without_added_end(edited.replace("\r\n", "\n"), text))


def _run(app: App[Any], command: list[str], path: Path, text: str) -> None:
    fault: OSError | None = None
    code = 0
    try:
        with app.suspend():
            # Whatever is raised in here would leave the app suspended.
            try:
                with _deaf_to_keys():
                    code = subprocess.call([*command, str(path)], stdout=_terminal(), stderr=_terminal())
            except OSError as error:
                fault = error
    except SuspendNotSupported as error:
        _remove(path)
        raise EditorFailed(
            "This terminal cannot be handed to an editor", hint="Write in the prompt instead."
        ) from error
    shown = safe_line(" ".join(command))[:80]
    if fault is not None:
        _remove(path)
        raise EditorFailed(f"{shown} cannot be started: {fault.strerror or fault}", hint=_HINT) from fault
    if code != 0:
        kept = _keep_if_changed(path, text)
        raise EditorFailed(f"{shown} ended with an error ({code}); the text is as it was", hint=kept or _HINT)


@contextlib.contextmanager
def _deaf_to_keys() -> Iterator[None]:
    """Ctrl+C and Ctrl+\\ in an editor that leaves them to the terminal reach the app, too: they are the editor's alone.

    Handlers that do nothing, rather than none: the editor would inherit that signals are ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    keys = (signal.SIGINT, *([signal.SIGQUIT] if sys.platform != "win32" else []))
    before = {key: signal.signal(key, lambda _number, _frame: None) for key in keys}
    try:
        yield
    finally:
        for key, handler in before.items():
            signal.signal(key, handler)


def _terminal() -> int | None:
    """The terminal that the app paints on; descriptors 1 and 2 lead to the log while it runs."""
    stream = sys.__stderr__
    if stream is None:
        return None
    try:
        return stream.fileno()
    except (OSError, ValueError):  # no real stream, in a test
        return None


def _keep_if_changed(path: Path, text: str) -> str:
    """Where the editor's version is, if it saved another one."""
    try:
        if read_text(path) != text:
            return f"What was saved is in {path}"
    except (OSError, UnreadableText):
        return f"What was saved is in {path}"
    _remove(path)
    return ""


def _without_added_end(edited: str, before: str) -> str:
    return edited[:-1] if edited.endswith("\n") and not before.endswith("\n") else edited


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # a file left over in the temporary folder does no harm
        path.unlink()
