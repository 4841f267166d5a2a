"""When each model was used last, in one small file of the state folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import platformdirs

from mtpchat.errors import StorageError
from mtpchat.paths import APP, write_atomically

_log = logging.getLogger(__name__)

_MOST = 500
_MOST_BYTES = 1 << 20


def _usual_place() -> Path:
    return platformdirs.user_state_path(APP, appauthor=False) / "models.json"


@dataclass(slots=True)
class LastUse:
    """Path of a model -> seconds since 1970.

    Attributes:
        path: the file.
        clock: seconds since 1970.
    """

    path: Path = field(default_factory=_usual_place)
    clock: Callable[[], float] = time.time

    def note(self, model: str) -> None:
        """A model was loaded. Where that cannot be kept, the log says so."""
        model = str(Path(model).absolute())
        used = self.all()
        used.pop(model, None)
        kept = dict(list(used.items())[-(_MOST - 1) :])
        try:
            write_atomically(self.path, msgspec.json.encode({**kept, model: round(self.clock())}).decode())
        except (StorageError, UnicodeError) as error:
            _log.info("the use of a model is not kept: %s", error)

    def all(self) -> dict[str, float]:
        """Everything that is known; nothing when the file cannot be read."""
        try:
            if self.path.stat().st_size > _MOST_BYTES:
                return {}
            return msgspec.json.decode(self.path.read_bytes(), type=dict[str, float])
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return {}
