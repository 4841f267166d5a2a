"""Models and drafters that were in use when the program died: remembered until they are loaded again, with care.

The run that follows may be about another model; so this is a file, and whoever loads a model asks it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import platformdirs

from mtpchat.config import Config
from mtpchat.config_schema import replace_value
from mtpchat.errors import StorageError
from mtpchat.last_run import Death
from mtpchat.paths import APP, write_atomically

_log = logging.getLogger(__name__)

SPECULATION_OFF = "Speculation is off to begin with; /mtp auto switches it on."
_MOST = 50
_MOST_BYTES = 1 << 20


class FallenPair(msgspec.Struct, frozen=True):
    """What was in use: paths, and the kind of drafter; `drafter` is "" where the kind needs no file."""

    model: str
    drafter: str = ""
    kind: str = ""

    @property
    def words(self) -> str:
        """`a.gguf and h.gguf`, or what drafted in place of a second file."""
        other = Path(self.drafter).name if self.drafter else _WITHOUT_FILE.get(self.kind, "")
        return f"{Path(self.model).name}{f' and {other}' if other else ''}"

    @property
    def warning(self) -> str:
        """What is said when it is loaded again."""
        return f"The program ended abruptly with {self.words} in use. {SPECULATION_OFF}"


_WITHOUT_FILE = {"mtp": "its own MTP heads", "ngram": "n-gram"}


def _usual_place() -> Path:
    return platformdirs.user_state_path(APP, appauthor=False) / "fallen.json"


@dataclass(slots=True)
class FallenPairs:
    """The memory of such pairs. Where it cannot be read or written, the log says so and nobody is warned."""

    path: Path = field(default_factory=_usual_place)

    def note(self, deaths: Iterable[Death]) -> None:
        """Remember what was in use when runs died, unless a restart of the machine explains it or nobody drafted."""
        new = [
            FallenPair(one.model, one.drafter, one.kind)
            for one in deaths
            if one.model and one.kind not in ("", "none") and not one.restarted
        ]
        if new:
            self._write([*self.all(), *new])

    def held_back(self, config: Config) -> tuple[Config, FallenPair | None]:
        """The config with speculation off, and the pair that is the reason, if that is what it would load.

        Each pair is told once: whoever switches speculation on after that has been warned.
        """
        wanted = config.speculative
        if wanted.after_crash == "keep" or wanted.mode == "off":
            return config, None
        known = self.all()
        found = next((pair for pair in reversed(known) if _is_meant(pair, config)), None)
        if found is None:
            return config, None
        self._write([pair for pair in known if not _is_meant(pair, config)])
        return replace_value(config, "speculative.mode", "off"), found

    def all(self) -> list[FallenPair]:
        """What is remembered, the latest last."""
        try:
            if self.path.stat().st_size > _MOST_BYTES:
                return []
            return msgspec.json.decode(self.path.read_bytes(), type=list[FallenPair])
        except (OSError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
            return []

    def _write(self, pairs: list[FallenPair]) -> None:
        kept = list(dict.fromkeys(pairs))[-_MOST:]
        try:
            write_atomically(self.path, msgspec.json.encode(kept), keep_previous=False)
        except (StorageError, UnicodeError) as error:
            _log.info("what was in use at a crash is not kept: %s", error)


def _is_meant(pair: FallenPair, config: Config) -> bool:
    """Whether these settings would load the pair."""
    wanted = config.speculative
    if wanted.kind not in ("auto", pair.kind):
        return False
    if wanted.drafter and pair.drafter and not _same(wanted.drafter, pair.drafter):
        return False
    return bool(config.model.path) and _same(config.model.path, pair.model)


def _same(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):
        return one == other
