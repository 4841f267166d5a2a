"""The text of a PDF.

Files of unknown people are full of surprises: whatever the library raises becomes one sentence.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from io import BytesIO

MOST_S = 30.0
"""Seconds after which reading is given up, looked at after each page."""


class UnreadablePdf(Exception):
    """It has no text that can be had. `what` follows the file's name; `hint` says what to do."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


def is_pdf(data: bytes) -> bool:
    """Whether it says so near its beginning, as readers of PDF look for it."""
    return b"%PDF-" in data[:1024]


def pdf_text(data: bytes, most_letters: int, clock: Callable[[], float]) -> str:
    """The text of all pages, with an empty line between two.

    Args:
        most_letters: more of them are refused.
        clock: seconds, monotonic.

    Raises:
        UnreadablePdf: locked, damaged, without text, too long, or too slow.
    """
    try:
        return _text(data, most_letters, clock)
    except UnreadablePdf:
        raise
    except RecursionError as error:
        raise UnreadablePdf("is nested too deeply", "Print it into a new PDF.") from error
    except Exception as error:  # a damaged file makes the library raise anything at all
        logging.getLogger(__name__).info("a PDF could not be read: %r", error)
        raise UnreadablePdf("is a damaged PDF", "Print it into a new PDF, or save its text.") from error


def _text(data: bytes, most_letters: int, clock: Callable[[], float]) -> str:
    from pypdf import PasswordType, PdfReader

    # Its warnings about each small flaw would land on the screen.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    until = clock() + MOST_S
    reader = PdfReader(BytesIO(data), strict=False)
    if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
        raise UnreadablePdf("is locked with a password", "Save a copy without one.")
    pages: list[str] = []
    letters = 0
    for page in reader.pages:
        text = page.extract_text().strip()
        letters += len(text)
        if letters > most_letters:
            raise UnreadablePdf(f"has more than {most_letters:,} letters of text", "Save the pages that matter.")
        if text:
            pages.append(text)
        if clock() > until:
            raise UnreadablePdf(f"takes more than {MOST_S:.0f} s to read", "Save the pages that matter.")
    if not pages:
        raise UnreadablePdf("has no text in it, only pictures", "Text recognition (ocrmypdf) can add it.")
    return "\n\n".join(pages).encode("utf-8", "replace").decode("utf-8")
