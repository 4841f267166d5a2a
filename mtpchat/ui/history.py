"""The prompts of this and earlier runs, one JSON value a line, so that a prompt may have many lines.

The value is a string, or for a prompt with folded pastes an object: {"text": ..., "folds": [[start, end], ...]}.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from mtpchat.config import Config
from mtpchat.errors import StorageError
from mtpchat.paths import ensure_dir, history_file, write_atomically
from mtpchat.ui.chips import Written
from mtpchat.ui.safe_text import safe_text

_log = logging.getLogger(__name__)
_LONGEST = 64_000
"""Characters of a prompt that are worth keeping across runs; longer ones are remembered until the app ends."""
_MOST_TRIED = 20
"""Lines that are looked at for each prompt that is kept."""
_NOTHING = Written("")


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
        self._draft = _NOTHING

    @property
    def entries(self) -> Sequence[str]:
        """Oldest first."""
        return tuple(entry.text for entry in self._entries)

    def add(self, written: Written) -> None:
        """Remember a prompt; a repetition of the last one only once."""
        self._draft = _NOTHING
        if written.text.strip() and self._size > 0 and [one.text for one in self._entries[-1:]] != [written.text]:
            self._entries.append(written)
            if len(written.text) <= _LONGEST:
                self._append(written)
        self._place = len(self._entries)

    def folded(self, text: str) -> Written:
        """`text` folded as it was when it was sent, if it was sent as a prompt."""
        return next((entry for entry in reversed(self._entries) if entry.text == text), Written(text))

    def older(self, current: Written) -> Written | None:
        """The prompt before, or None at the beginning. `current` is kept to come back to."""
        if self._place == 0:
            return None
        if self._place == len(self._entries):
            self._draft = current
        self._place -= 1
        return self._entries[self._place]

    def newer(self) -> Written | None:
        """The prompt after, at last the one that was being written; None when there."""
        if self._place >= len(self._entries):
            return None
        self._place += 1
        return self._entries[self._place] if self._place < len(self._entries) else self._draft

    def search(self, text: str, limit: int = 50) -> list[Written]:
        """Prompts that contain all words of `text` in any case, latest first, each once."""
        wanted = text.casefold().split()
        unique = {entry.text: entry for entry in self._entries[::-1]}
        return [one for one in unique.values() if all(word in one.text.casefold() for word in wanted)][:limit]

    def _read(self) -> list[Written]:
        if self._path is None or self._size <= 0:
            return []
        try:
            text = self._path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        except OSError as error:
            _log.warning("earlier prompts cannot be read: %s", error)
            return []
        # A file that something else has filled with lines must not keep the start waiting.
        lines = [line for line in text.splitlines() if line][-_MOST_TRIED * self._size :]
        entries = [entry for line in lines if (entry := _decoded(line)).text]
        if len(entries) > 2 * self._size:
            self._rewrite(entries[-self._size :])
        return entries[-self._size :]

    def _append(self, written: Written) -> None:
        if self._path is None or not self._keep:
            return
        try:
            ensure_dir(self._path.parent)
            # In one write: two windows that remember at once do not write into each other's lines.
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with open(descriptor, "ab", buffering=0) as file:
                file.write(f"{_encoded(written)}\n".encode())
        except (OSError, StorageError) as error:
            _log.warning("the prompt is not kept: %s", error)

    def _rewrite(self, entries: Sequence[Written]) -> None:
        if self._path is None:
            return
        try:
            write_atomically(self._path, "".join(_encoded(entry) + "\n" for entry in entries), keep_previous=False)
        except StorageError as error:
            _log.warning("earlier prompts cannot be trimmed: %s", error)


def history_of(config: Config) -> History:
    """The history that the settings want."""
    return History(history_file(config.paths.history), config.ui.history_size, keep=config.chats.save)


def _encoded(written: Written) -> str:
    return json.dumps({"text": written.text, "folds": written.folds} if written.folds else written.text)


def _decoded(line: str) -> Written:
    """The prompt of a line; an empty one for a line that is damaged."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return _NOTHING
    if isinstance(value, str):
        return Written(safe_text(value))
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return _NOTHING
    return written_from(value["text"], value.get("folds"))


def written_from(text: str, folds: object) -> Written:
    """A prompt that was kept in a file; stretches that cannot be are left out with the others."""
    safe = safe_text(text)
    if len(safe) != len(text) or not isinstance(folds, list):
        return Written(safe)
    pairs = [(pair[0], pair[1]) for pair in folds if isinstance(pair, list) and len(pair) == 2]
    flat = [place for pair in pairs for place in pair]
    whole = len(pairs) == len(folds) and all(isinstance(place, int) for place in flat)
    if not whole or any(first > second for first, second in pairwise([0, *flat, len(text)])):
        return Written(safe)
    return Written(safe, tuple(pairs))
