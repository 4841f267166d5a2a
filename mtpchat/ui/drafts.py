"""What was typed and not sent, kept so that neither a restart nor a crash costs it: one small file for each chat.

Windows share the draft of a chat that has begun; of one that has not, each has its own, see draft_slot.py.

A file is JSON: {"text": ..., "folds": [[start, end], ...], "waiting": [the same, ...]}. A chat that has nothing unsent
has no file.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mtpchat.errors import StorageError
from mtpchat.paths import write_atomically
from mtpchat.text_file import UnreadableText, read_text
from mtpchat.ui.chips import Written
from mtpchat.ui.draft_slot import DraftSlot
from mtpchat.ui.history import written_from

_log = logging.getLogger(__name__)
_MOST_LETTERS = 2_000_000
_MOST_FILES = 100
_STALE_S = 3600.0
"""Nobody has been writing a file for so long."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What one chat has that is unsent: the prompt's text, and prompts that wait."""

    written: Written = Written("")  # noqa: RUF009  it is frozen
    waiting: tuple[Written, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.written.text.strip() or self.waiting)


class Drafts:
    """The files. `write_out` may be called on any thread, the rest on one.

    Args:
        folder: where they are; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._slot = DraftSlot(folder) if folder is not None else None
        self._lock = threading.Lock()
        self._pending: dict[str, Draft] = {}
        self._complained = False

    @property
    def keeps(self) -> bool:
        """Whether anything is written."""
        return self._folder is not None

    def read(self, chat: str) -> Draft:
        """The draft of a chat ("" is the one that has not begun); an empty one where there is none or it is damaged."""
        with self._lock:
            name = chat or (self._slot.take_over() if self._slot is not None else "")
        path = self._path(name) if name else None
        if path is None:
            return Draft()
        try:
            return _decoded(json.loads(read_text(path)))
        except (FileNotFoundError, NotADirectoryError):
            return Draft()
        except (UnreadableText, ValueError, RecursionError) as error:
            _log.warning("the draft %s cannot be read: %s", path, error)
            return Draft()

    def put(self, chat: str, draft: Draft) -> None:
        """Have a draft take the place of the one before at the next `write_out`; an empty one takes its file away."""
        self._pending[chat] = draft

    def write_out(self) -> None:
        """Write what was put; the last draft of a chat wins, whoever writes it. What fails is logged once."""
        with self._lock:
            while self._pending:
                chat, draft = self._pending.popitem()
                try:
                    path = self._path(chat or self._own_name(draft))
                    if path is not None:
                        self._put(path, draft)
                except (OSError, StorageError) as error:
                    if not self._complained:
                        _log.warning("what was typed is not kept: %s", error)
                    self._complained = True

    def close(self) -> None:
        """Nothing more is written: another window may have what is left of a chat that has not begun."""
        with self._lock:
            if self._slot is not None:
                self._slot.release()

    def _own_name(self, draft: Draft) -> str:
        """The name of this window's draft; "" while there is neither one nor anything to be written."""
        if self._slot is None:
            return ""
        return self._slot.begin() if draft else self._slot.name

    def _put(self, path: Path, draft: Draft) -> None:
        letters = len(draft.written.text) + sum(len(one.text) for one in draft.waiting)
        if not draft or letters > _MOST_LETTERS:
            path.unlink(missing_ok=True)
            return
        is_new = not path.exists()
        write_atomically(path, json.dumps(_encoded(draft)), keep_previous=False)
        if is_new:
            self._thin_out(path.parent)

    @staticmethod
    def _thin_out(folder: Path) -> None:
        """The oldest files go when there are too many, and what a killed process had not finished writing."""
        for unfinished in folder.glob(".*.tmp"):
            if time.time() - unfinished.stat().st_mtime > _STALE_S:
                unfinished.unlink(missing_ok=True)
        files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in files[_MOST_FILES:]:
            path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path | None:
        if self._folder is None or not re.fullmatch(r"[\w-]{1,64}", name):
            return None
        return self._folder / f"{name}.json"


def _encoded(draft: Draft) -> dict[str, object]:
    return {**_fields(draft.written), "waiting": [_fields(one) for one in draft.waiting]}


def _fields(written: Written) -> dict[str, object]:
    return {"text": written.text, "folds": written.folds}


def _decoded(value: object) -> Draft:
    """Raises ValueError for what is no draft."""
    if not isinstance(value, dict):
        raise ValueError("it is no object")
    waiting = value.get("waiting", [])
    if not isinstance(waiting, list):
        raise ValueError("what waits is no list")
    return Draft(_written(value), tuple(one for item in waiting if (one := _written(item)).text.strip()))


def _written(value: object) -> Written:
    if not isinstance(value, Mapping) or not isinstance(value.get("text"), str):
        raise ValueError("a text is missing")
    return written_from(value["text"], value.get("folds"))
