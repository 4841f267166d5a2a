"""What all answers came to: sums by day, model, machine, kind of speculation and content.

Each turn is added once, when it ends, to a row of its day; so a look at a million of them reads a few thousand rows,
and the sums outlive the chats. Turns of older files are added when they are looked at for the first time.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import msgspec

from mtpchat.stats import Rates, TurnStats
from mtpchat.store.contents import content_of
from mtpchat.store.database import transaction

_AT_ONCE = 200
"""So many turns are looked at before others may write again."""
_KEYS = ("day", "model", "machine", "kind", "content")
_UNCOUNTED = "turn.counted = 0 AND turn.stats IS NOT NULL"
_LETTERS = 20_000
_TOO_MUCH = 1e10
_END_OF_TIME = 253_000_000_000.0
"""Seconds until the year 9987."""


class Sums(msgspec.Struct, Rates):
    """Counters and seconds added up, see TurnStats.

    Attributes:
        compared_turns: so many turns speculated and can be held against plain decoding, their loops left out.
        compared_s: how long those took.
        gained_s, lost_s: what they were quicker and slower than plain decoding, each turn on one side.
    """

    turns: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    steps: int = 0
    drafted: int = 0
    accepted: int = 0
    forced: int = 0
    looped_tokens: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    compared_turns: int = 0
    compared_s: float = 0.0
    gained_s: float = 0.0
    lost_s: float = 0.0

    def add(self, other: Sums) -> None:
        """Add another one to this."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def saved_s(self) -> float:
        """Seconds that speculation saved; below 0 it cost them."""
        return self.gained_s - self.lost_s

    @property
    def speedup(self) -> float | None:
        """How many times as fast as plain decoding the turns were that can be compared."""
        return (self.compared_s + self.saved_s) / self.compared_s if self.compared_s > 0 else None


class Figure(msgspec.Struct, frozen=True):
    """The sums of one day (local time, YYYY-MM-DD) for one model, machine, kind and content; "" is unknown."""

    day: str
    model: str
    machine: str
    kind: str
    content: str
    sums: Sums


def count(connection: sqlite3.Connection, limit: int = _AT_ONCE) -> int:
    """Add up to `limit` turns that are not added yet; within a transaction. Returns how many there were."""
    rows = _uncounted(connection, limit)
    names = (*_KEYS, *Sums.__struct_fields__)
    added = ", ".join(f"{name} = {name} + excluded.{name}" for name in Sums.__struct_fields__)
    connection.executemany(
        f"INSERT INTO figure ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        f" ON CONFLICT ({', '.join(_KEYS)}) DO UPDATE SET {added}",
        [(*_key(one), *msgspec.structs.astuple(one.sums)) for one in _tally(rows)],
    )
    connection.executemany("UPDATE turn SET counted = 1 WHERE rowid = ?", [(row[0],) for row in rows])
    return len(rows)


def figures(connection: sqlite3.Connection) -> list[Figure]:
    """All there are, the oldest day first; turns that are not added yet are, if the file may be written."""
    try:
        while True:
            with transaction(connection, durable=False):
                if count(connection) < _AT_ONCE:
                    break
    except sqlite3.OperationalError:  # it may be read only, or locked: what is missing is added up for this once
        left = _tally(_uncounted(connection, -1))
    else:
        left = []
    # A file that was damaged, or that another program wrote, may hold anything anywhere.
    keys = (f"CAST(coalesce({name}, '') AS TEXT)" for name in _KEYS)
    names = ", ".join((*keys, *(f"coalesce({name}, 0) + 0" for name in Sums.__struct_fields__)))
    rows = connection.execute(f"SELECT {names} FROM figure ORDER BY day")
    known = [_figure(row[: len(_KEYS)], Sums(*row[len(_KEYS) :])) for row in rows]
    return sorted([*known, *left], key=lambda one: one.day) if left else known


def _uncounted(connection: sqlite3.Connection, limit: int) -> list[Any]:
    return connection.execute(
        "SELECT turn.rowid, ended, model_name, machine, kind, stats, CAST(substr(content, 1, ?) AS TEXT) FROM turn"
        f" JOIN message ON message.id = message_id WHERE {_UNCOUNTED} LIMIT ?",
        (_LETTERS, limit),
    ).fetchall()


def _tally(rows: Iterable[Sequence[Any]]) -> list[Figure]:
    found: dict[tuple[str, ...], Sums] = {}
    for _, ended, model, machine, kind, text, content in rows:
        try:
            stats = msgspec.json.decode(text, type=TurnStats)
        except (ValueError, RecursionError):  # counters of another version that do not fit are not known
            continue
        if stats.output_tokens and _is_credible(stats):
            key = (_day(ended), model, machine, stats.kind or kind, content_of(content))
            found.setdefault(key, Sums()).add(_sums(stats))
    return [_figure(key, sums) for key, sums in found.items()]


def _day(ended: object) -> str:
    """In local time; the first one of all for what is no time."""
    seconds = ended if isinstance(ended, int | float) and 0 <= ended < _END_OF_TIME else 0.0
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _figure(key: Sequence[str], sums: Sums) -> Figure:
    day, model, machine, kind, content = key
    return Figure(day if _is_day(day) else _day(None), model, machine, kind, content, sums)


def _is_credible(stats: TurnStats) -> bool:
    """Whether these can be counters: files that are imported may hold anything."""
    return all(
        0 <= value < _TOO_MUCH
        for value in (getattr(stats, name) for name in TurnStats.__dataclass_fields__)
        if isinstance(value, int | float)
    )


def _sums(stats: TurnStats) -> Sums:
    sums = Sums(
        1,
        stats.prompt_tokens,
        stats.cached_tokens,
        stats.output_tokens,
        stats.steps,
        stats.drafted,
        stats.accepted,
        stats.forced,
        stats.looped_tokens,
        stats.prefill_s,
        stats.decode_s,
    )
    speedup = stats.speedup
    # Who switches it off in the middle does so where it loses: what was drafted until then counts.
    speculated = stats.drafted > 0 or (stats.kind != "none" and stats.mode != "off")
    if speculated and speedup is not None:
        seconds = stats.decode_s - stats.looped_s
        saved = seconds * (speedup - 1)
        sums.compared_turns, sums.compared_s = 1, seconds
        sums.gained_s, sums.lost_s = max(saved, 0.0), max(-saved, 0.0)
    return sums


def _key(one: Figure) -> tuple[str, ...]:
    return one.day, one.model, one.machine, one.kind, one.content
