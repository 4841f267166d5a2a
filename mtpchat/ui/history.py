"""The prompts of this and earlier runs: one JSON string a line, so that a prompt may have many lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path

from mtpchat.errors import StorageError
from mtpchat.paths import ensure_dir, write_atomically
from mtpchat.ui.safe_text import safe_text

_log = logging.getLogger(__name__)
_LONGEST = 64_000


class History:
    """Goes back and forth through earlier prompts.

    Args:
        path: the file; None keeps nothing across runs.
        size: how many prompts are kept; 0 keeps none.
        keep: False reads earlier prompts but adds none to the file.
    """

    def __init__(self, path: Path | None, size: int, *, keep: bool = True) -> None:
        self._path = path
        self._size = size
        self._keep = keep
        self._entries = self._read()
        self._place = len(self._entries)
        self._draft = ""

    @property
    def entries(self) -> Sequence[str]:
        """Oldest first."""
        return tuple(self._entries)

    def add(self, text: str) -> None:
        """Remember a prompt; a repetition of the last one only once."""
        self._draft = ""
        if text.strip() and self._size > 0 and len(text) <= _LONGEST and self._entries[-1:] != [text]:
            self._entries.append(text)
            self._append(text)
        self._place = len(self._entries)

    def older(self, current: str) -> str | None:
        """The prompt before, or None at the beginning. `current` is kept to come back to."""
        if self._place == 0:
            return None
        if self._place == len(self._entries):
            self._draft = current
        self._place -= 1
        return self._entries[self._place]

    def newer(self) -> str | None:
        """The prompt after, at last the one that was being written; None when there."""
        if self._place >= len(self._entries):
            return None
        self._place += 1
        return self._entries[self._place] if self._place < len(self._entries) else self._draft

    def search(self, text: str, limit: int = 50) -> list[str]:
        """Prompts that contain `text` in any case, latest first, each once."""
        wanted = text.casefold()
        unique = dict.fromkeys(reversed(self._entries))
        return [entry for entry in unique if wanted in entry.casefold()][:limit]

    def _read(self) -> list[str]:
        if self._path is None or self._size <= 0:
            return []
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            _log.warning("earlier prompts cannot be read: %s", error)
            return []
        entries = [entry for line in lines if (entry := _decoded(line))]
        if len(entries) > 2 * self._size:
            self._rewrite(entries[-self._size :])
        return entries[-self._size :]

    def _append(self, text: str) -> None:
        if self._path is None or not self._keep:
            return
        try:
            ensure_dir(self._path.parent)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(text) + "\n")
        except (OSError, StorageError) as error:
            _log.warning("the prompt is not kept: %s", error)

    def _rewrite(self, entries: Sequence[str]) -> None:
        if self._path is None:
            return
        try:
            write_atomically(self._path, "".join(json.dumps(entry) + "\n" for entry in entries))
        except StorageError as error:
            _log.warning("earlier prompts cannot be trimmed: %s", error)


def _decoded(line: str) -> str:
    """The prompt of a line; "" for one that is damaged."""
    try:
        value = json.loads(line)
    except ValueError:
        return ""
    return safe_text(value) if isinstance(value, str) else ""
