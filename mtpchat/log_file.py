"""The program's own log: a file in the user's log folder, never the terminal."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

from mtpchat.errors import StorageError
from mtpchat.paths import ensure_dir

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
_MOST_BYTES = 1_000_000


def start_log(folder: Path, level: str) -> Path | None:
    """Send the log to `folder`/mtpchat.log, keeping one older file of at most a megabyte; replaces an earlier log.

    Args:
        level: "debug", "info", "warn" or "error".

    Returns:
        The file, or None when it cannot be written: the program works without a log.
    """
    logger = logging.getLogger("mtpchat")
    stop_log()
    logger.setLevel(_LEVELS[level])
    path = folder / "mtpchat.log"
    try:
        ensure_dir(folder)
        logger.addHandler(_LogFile(path))
    except (StorageError, OSError):
        logger.addHandler(logging.NullHandler())  # with no handler at all, warnings would be printed over the app
        return None
    return path


def stop_log() -> None:
    """Close the log."""
    logger = logging.getLogger("mtpchat")
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()


class _LogFile(RotatingFileHandler):
    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=_MOST_BYTES, backupCount=1, encoding="utf-8", errors="backslashreplace")
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))

    def handleError(self, record: logging.LogRecord) -> None:
        """A disk that fills up costs lines of the log; the usual traceback on stderr would be painted over the app."""
