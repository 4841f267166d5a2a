"""llama.cpp's log goes to a file, never to the terminal, which belongs to the app."""

from __future__ import annotations

import ctypes
import os
from collections import deque
from pathlib import Path
from typing import IO, Any, ClassVar

from mtpchat.backend.llama.reported import Buffer, buffer_in

# enum ggml_log_level of ggml.h
_LEVELS = {"debug": 1, "info": 2, "warn": 3, "warning": 3, "error": 4}
_CONTINUED = 5


class LlamaLog:
    """Receives llama.cpp's log lines: writes those at `level` and above to a file and remembers the last errors.

    Attributes:
        echoes: complaints go to descriptor 2, too, from all logs of a process that may die of what they tell.
        buffers: what llama.cpp said it has taken, latest last; whoever begins a load may clear it.

    Args:
        path: the log file, appended to; None keeps the lines in memory only.
        level: "debug", "info", "warn" or "error".
    """

    echoes: ClassVar[bool] = False
    _installed: ClassVar[Any] = None

    def __init__(self, path: Path | None, level: str = "info") -> None:
        self._floor = _LEVELS.get(level, 2)
        self._file: IO[str] | None = None
        self._errors: deque[str] = deque(maxlen=20)
        self.buffers: deque[Buffer] = deque(maxlen=200)
        self._last_level = 2
        if path is not None:
            self._open(path)

    def _open(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "a", encoding="utf-8", errors="replace", buffering=1)  # noqa: SIM115 - lives with the process
        except OSError as error:
            # A full or read-only disk must not keep the model from loading; the reason is kept with the errors.
            self._errors.append(f"log file {path}: {error.strerror or error}")

    def install(self) -> None:
        """Point llama.cpp and ggml at this log. Call before any other native call."""
        import llama_cpp.llama_cpp as lib

        @lib.llama_log_callback  # type: ignore[untyped-decorator]
        def callback(level: int, text: bytes, _user: object) -> None:
            self._write(level, text.decode("utf-8", "replace"))

        LlamaLog._installed = callback  # llama.cpp keeps calling it, and ctypes keeps no reference of its own
        lib.llama_log_set(callback, ctypes.c_void_p(0))

    def _write(self, level: int, text: str) -> None:
        level = self._last_level if level == _CONTINUED else level
        self._last_level = level
        if level >= _LEVELS["warn"] and text.strip():
            self._errors.append(text.strip())
            if LlamaLog.echoes:
                os.write(2, f"{text.strip()}\n".encode("utf-8", "replace"))
        if "buffer size" in text and (buffer := buffer_in(text)) is not None:
            self.buffers.append(buffer)
        if level < self._floor or self._file is None:
            return
        try:
            self._file.write(text)
        except OSError as error:
            self._file = None
            self._errors.append(f"log file: {error.strerror or error}")

    def note(self, text: str, level: str = "warn") -> None:
        """Write a line of our own; from "warn" on it may be taken for the cause of a failure that follows."""
        self._write(_LEVELS[level], text if text.endswith("\n") else text + "\n")

    def forget(self) -> None:
        """Drop the remembered errors, before an attempt whose failure is to be explained."""
        self._errors.clear()

    def last_error(self) -> str:
        """The most telling of llama.cpp's last complaints, or ""."""
        lines = [line for line in self._errors if "error" in line.lower() or "fail" in line.lower()] or list(
            self._errors
        )
        # The first complaint names the cause; those after it are only its echo on the way up.
        return lines[0].split(os.linesep)[0] if lines else ""
