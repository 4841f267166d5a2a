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
    """Send the log to `folder`/mtpchat.log, keeping one older file of at most a megabyte.

    Args:
        level: "debug", "info", "warn" or "error".

    Returns:
        The file, or None when it cannot be written: the program works without a log.
    """
    logger = logging.getLogger("mtpchat")
    logger.propagate = False  # the root logger would print warnings over the app
    logger.setLevel(_LEVELS[level])
    logging.raiseExceptions = False  # a disk that fills up must not print tracebacks over the app either
    try:
        handler: logging.Handler = _file_handler(ensure_dir(folder) / "mtpchat.log")
    except (StorageError, OSError) as error:
        logger.addHandler(logging.NullHandler())
        logger.info("no log file: %s", error)
        return None
    logger.addHandler(handler)
    return folder / "mtpchat.log"


def _file_handler(path: Path) -> RotatingFileHandler:
    handler = RotatingFileHandler(
        path, maxBytes=_MOST_BYTES, backupCount=1, encoding="utf-8", errors="backslashreplace"
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    return handler
