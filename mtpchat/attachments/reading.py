"""One file for a message: opened without waiting, read up to a limit, and turned into text.

A path may lead anywhere: to a pipe that nobody writes to, a device without an end, a gigabyte. Each is refused in one
sentence before it is read.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mtpchat.attachments.decoding import Decoded, NotText, decode
from mtpchat.attachments.framing import printable_name
from mtpchat.attachments.lines import Lines, count_lines
from mtpchat.attachments.pdf import UnreadablePdf, is_pdf, pdf_text
from mtpchat.errors import AttachmentError
from mtpchat.messages import Attachment

MEGABYTE = 1_000_000
_OPEN = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
_TEXT_HINT = "Text files, source code and PDFs can go along."
_AS_TEXT = "To send the path as text, write a space behind the @."


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file that was read.

    Attributes:
        attachment: what goes to the model.
        note: what is worth knowing about how it was read, or "".
    """

    attachment: Attachment
    note: str = ""


def read_file(
    path: Path, name: str, most_mb: int, lines: Lines | None = None, *, clock: Callable[[], float] = time.monotonic
) -> FileRead:
    """Read a file, or a part of it.

    Args:
        path: of the file.
        name: what people and the model call it.
        most_mb: size up to which it is read, in MB of a million bytes; text of a PDF counts as one byte a letter.
        lines: those that are wanted, None for all; `name` says so, too.

    Raises:
        AttachmentError: it cannot go along; the sentence names it and says why.
    """
    name = printable_name(name)
    try:
        data = _bytes(path, name, most_mb)
        decoded = Decoded(pdf_text(data, most_mb * MEGABYTE, clock)) if is_pdf(data) else decode(data)
    except NotText as error:
        raise AttachmentError(f"{name} is {_no_text(error.what)}", path=path, hint=_TEXT_HINT) from error
    except UnreadablePdf as error:
        raise AttachmentError(f"{name} {error.what}", path=path, hint=error.hint) from error
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise AttachmentError(
            f"{name} cannot be read: {reason}", path=path, hint="Check its permissions, and that it is still there."
        ) from error
    if lines is None:
        return FileRead(Attachment(name, decoded.text), decoded.note)
    part = lines.of(decoded.text, name.removesuffix(lines.suffix), path)
    note = ", ".join(filter(None, (lines.share(count_lines(decoded.text)), decoded.note)))
    return FileRead(Attachment(name, part), note)


def _bytes(path: Path, name: str, most_mb: int) -> bytes:
    _require_file(os.stat(path), path, name)
    descriptor = os.open(path, _OPEN)
    with open(descriptor, "rb", closefd=True) as file:
        found = os.fstat(descriptor)
        _require_file(found, path, name)  # it may have been exchanged meanwhile
        most = most_mb * MEGABYTE
        # Files of the kernel's own say that they are empty, and are not: what is read counts, too.
        data = (file.read(most + 1) or b"") if found.st_size <= most else b""
    if max(len(data), found.st_size) > most:
        size = f"has {found.st_size / MEGABYTE:,.1f} MB" if found.st_size > most else "goes on and on"
        raise AttachmentError(
            f"{name} {size}, and at most {most_mb} MB of a file are read",
            path=path,
            hint="Name a part of it; chats.attachments_max_mb in the settings allows more.",
        )
    return data


def _require_file(found: os.stat_result, path: Path, name: str) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    if stat.S_ISDIR(found.st_mode):
        raise AttachmentError(f"{name} is a folder", path=path, hint="A / at its end takes the files in it.")
    kinds = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    what = next((what for is_kind, what in kinds if is_kind(found.st_mode)), "a device")
    raise AttachmentError(f"{name} is {what}, no file", path=path, hint=_AS_TEXT)


def _no_text(what: str) -> str:
    return "a binary file, no text" if what == "binary" else f"{what}, no text"
