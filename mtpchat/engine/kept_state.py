"""Going on with a chat where it was left, also in another run: what the model remembers is kept on disk.

A state is found by the tokens it holds, not by its chat: whichever has the longest beginning in common with the prompt
is put back, where reading it is quicker than computing it anew. What the prompt does not share is cut as always, so
that a restored memory is in no way special to anything that comes after.

Only copies are made on the engine's thread, and only between turns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import msgspec
import numpy as np

from mtpchat.backend.protocol import Bytes, LoadedModel
from mtpchat.engine.memory import Checkpoint, Memory
from mtpchat.events import Finished, Prefilling, TurnEvent
from mtpchat.machine_memory import available_ram
from mtpchat.speculate.base import Drafter
from mtpchat.speculate.controller import Controller
from mtpchat.speculate.memo import Memo
from mtpchat.state_record import FoundState, Ids, StateRecord
from mtpchat.stats import TurnStats

_log = logging.getLogger(__name__)

Keep = Literal["auto", "always", "never"]

FEWEST_TOKENS = 32
"""So many are read in no time."""
_WORTH_S = 0.5
_NEWS_S = 1.0
_GOODBYE_S = 1.2
_FAREWELL_S = 1.5
_QUICK_COPY = 256 << 20
_FEWEST_READ = 32
"""Tokens from which on the time of reading a prompt says something."""


class StateFiles(Protocol):
    """Where states are kept. What comes back from it is what was put in, byte for byte."""

    read_rate: float
    write_rate: float

    def allowance(self) -> int:
        """Bytes that a state may have at most."""
        ...

    def records(self, key: str) -> Sequence[FoundState]:
        """The states that fit a key."""
        ...

    def read(self, found: FoundState, cancelled: Callable[[], bool]) -> Sequence[Bytes] | None:
        """Its sections; None if that cannot be, or if it was cancelled."""
        ...

    def at_risk(self, found: FoundState) -> AbstractContextManager[None]:
        """Around what native code does with it: a state that ends the process is not tried a second time."""
        ...

    def drop(self, found: FoundState) -> None:
        """Remove a state that turned out to be unfit."""
        ...

    @property
    def writing(self) -> bool:
        """Whether a state is still on its way to the disk."""
        ...

    def write(self, record: StateRecord, sections: Sequence[Bytes]) -> None:
        """Keep a state, on another thread. Not while `writing`."""
        ...

    def take_word(self) -> str:
        """A sentence about trouble with the disk, once; "" otherwise."""
        ...

    def close(self, timeout: float) -> None:
        """Wait so many seconds for the disk; what is not done then is given up."""
        ...


@dataclass(frozen=True, slots=True)
class Mind:
    """A loaded model and everything that remembers with it."""

    loaded: LoadedModel
    controller: Controller
    memory: Memory

    @property
    def drafter(self) -> Drafter | None:
        """The drafter that has a context of its own."""
        return self.controller.drafters.get(self.loaded.draft_kind) if self.loaded.draft_kind else None


class StateKeeper:
    """Decides when a state is kept and when one is put back.

    Args:
        files: where they are kept; owned from now on.
        free: bytes of main memory that may be taken, None where nobody knows.
    """

    def __init__(self, files: StateFiles, free: Callable[[], int | None] = available_ram) -> None:
        self._files = files
        self._free = free
        self._mind: Mind | None = None
        self._keep: Keep = "auto"
        self._chat = ""
        self._tokens: list[int] = []
        self._saved: list[int] = []
        self._read_s = 0.0
        self._told = False
        self._word = ""

    def attach(self, mind: Mind, keep: Keep) -> None:
        """A model was loaded.

        Args:
            keep: which states; see the setting chats.keep_state.
        """
        self._mind, self._keep = mind, keep
        self._chat, self._tokens, self._saved, self._read_s, self._told = "", [], [], 0.0, False

    def detach(self) -> None:
        """The model is about to be unloaded: keep what was not kept yet, if that takes no time."""
        self.leave()
        self._mind = None

    def around(
        self, chat: str, prompt: Sequence[int], events: Iterator[TurnEvent], cancelled: Callable[[], bool]
    ) -> Iterator[TurnEvent]:
        """The events of a turn, with its memory put back before they begin, and said where it was."""
        remembered = self.recall(chat, prompt, cancelled)
        stats: TurnStats | None = None
        try:
            for event in events:
                match event:
                    case Prefilling():
                        yield replace(event, remembered=remembered)
                    case Finished():
                        stats = event.stats
                        yield self._with_words(event, remembered)
                    case _:
                        yield event
        finally:
            self.turn_ended(chat, stats)

    def _with_words(self, event: Finished, remembered: int) -> Finished:
        kept = f"{remembered:,} tokens were remembered from last time, and not read again." if remembered else ""
        words = [event.notice, kept, self.take_word()]
        return replace(event, notice=" ".join(filter(None, words)))

    def recall(self, chat: str, prompt: Sequence[int], cancelled: Callable[[], bool]) -> int:
        """Before a turn: put back the state that has most of the prompt in common.

        Args:
            chat: id of the chat; "" for a turn that belongs to none.

        Returns:
            How many tokens of the prompt are in memory because of it; 0 if nothing was put back.
        """
        mind = self._mind
        if mind is None or self._keep == "never" or mind.loaded.states is None:
            return 0
        if not chat or chat != self._chat:
            self.leave()
            self._chat, self._saved = "", []
        if not chat:
            return 0
        have = mind.memory.reach(prompt)
        key = mind.loaded.states.key
        if not key or len(prompt) - have <= FEWEST_TOKENS:
            return 0
        deep = mind.loaded.target.capabilities.deep_rollback
        asked = np.asarray(prompt, np.int32)
        found = [(_reach(one.record, asked, deep=deep), one) for one in self._files.records(key)]
        reach, best = max(found, key=lambda pair: pair[0], default=(0, None))
        if best is None or not self._is_quicker(best, reach - have) or not self._has_room(best.size):
            return 0
        sections = self._files.read(best, cancelled)
        if sections is None:
            return 0
        with self._files.at_risk(best):
            fits = self._put_back(mind, best.record, sections)
        if not fits:
            self._files.drop(best)
            return 0
        self._read_s = self._read_s or best.record.read_s
        self._saved = best.record.tokens().tolist() if best.record.chat == chat else []
        return reach

    def _is_quicker(self, found: FoundState, gain: int) -> bool:
        if gain <= FEWEST_TOKENS or found.record.length > self._context():
            return False
        return self._keep == "always" or gain * found.record.read_s > found.size / self._files.read_rate

    def _context(self) -> int:
        return self._mind.loaded.target.capabilities.context if self._mind is not None else 0

    @staticmethod
    def _put_back(mind: Mind, record: StateRecord, sections: Sequence[Bytes]) -> bool:
        states = mind.loaded.states
        mind.memory.forget()
        if states is None or not states.put(sections[0], record.length):
            mind.memory.forget()
            return False
        points = [Checkpoint(at, part.tobytes()) for at, part in zip(record.checkpoints, sections[3:], strict=True)]
        mind.memory.take_over(record.tokens().tolist(), points)
        drafter = mind.drafter
        if drafter is None or not record.draft_key or record.draft_key != states.draft_key:
            return True
        if not _recall_drafter(mind, drafter, record, sections):
            drafter.close()  # it begins anew from the rows that it is shown
        return True

    def turn_ended(self, chat: str, stats: TurnStats | None) -> None:
        """After a turn: the memory holds what was said."""
        mind = self._mind
        if mind is None:
            return
        self._chat, self._tokens = chat, mind.controller.context[: mind.loaded.target.length]
        read = stats.prompt_tokens - stats.cached_tokens if stats is not None else 0
        if stats is not None and read >= _FEWEST_READ and stats.prefill_s > 0:
            self._read_s = stats.prefill_s / read

    def rest(self, cancelled: Callable[[], bool]) -> None:
        """Nobody has wanted anything for some seconds: keep the chat if enough of it is new."""
        if not cancelled():
            self._save(quick=False)

    def leave(self) -> None:
        """Keep what is new if it is written within the time that somebody waits at the end of a program."""
        self._save(quick=True)

    def _save(self, *, quick: bool) -> None:
        """Copy the memory and have it written, if it belongs to a chat and that saves time later."""
        mind = self._mind
        if mind is None or self._keep == "never" or not self._chat or self._files.writing:
            return
        states, tokens = mind.loaded.states, mind.controller.context[: mind.loaded.target.length]
        # What has asked the model something in between has cut the memory back to the chat, or to a part of it.
        if len(tokens) <= FEWEST_TOKENS or tokens != self._tokens[: len(tokens)] or states is None or not states.key:
            return
        news = len(tokens) - _shared(self._saved, tokens)
        size = states.size() + mind.memory.checkpoint_bytes
        if news and self._is_due(len(tokens), news, size, quick=quick) and self._fits(size):
            self._saved = tokens if self._copy(mind, tokens) else self._saved

    def _is_due(self, tokens: int, news: int, size: int, *, quick: bool) -> bool:
        written_s = size / self._files.write_rate
        if quick and (size > _QUICK_COPY or written_s > _GOODBYE_S):
            _log.info("a state of %d bytes is not kept: it would take %.1f s", size, written_s)
            return False
        if self._keep == "always":
            return True
        new_s = news * self._read_s
        return self._pays(tokens, size) and new_s >= (_WORTH_S if quick else max(_NEWS_S, written_s))

    def _pays(self, tokens: int, size: int) -> bool:
        return tokens * self._read_s - size / self._files.read_rate >= _WORTH_S

    def _fits(self, size: int) -> bool:
        """Whether there is room for so much on the disk, and for the copy in memory until it is there."""
        most = self._files.allowance()
        if size > most:
            limits = "chats.state_max_gb, a tenth of what is free"
            self._tell(size, f"{_megabytes(most)} MB may be kept on disk ({limits}).")
        elif not self._has_room(size):
            self._tell(size, f"{_megabytes((self._free() or 0) // 2)} MB of memory may be taken for a copy.")
        else:
            return True
        return False

    def _tell(self, size: int, room: str) -> None:
        """Say once why a chat is not kept."""
        if not self._told:
            self._told = True
            self._word = (
                "This chat is read again when it is reopened: what the model remembers of it takes "
                f"{_megabytes(size)} MB, and {room}"
            )

    def _has_room(self, size: int) -> bool:
        """Whether a copy may stand in memory beside the model for a moment."""
        free = self._free()
        return free is None or size <= free // 2

    def _copy(self, mind: Mind, tokens: Sequence[int]) -> bool:
        states = mind.loaded.states
        try:
            state = states.copy() if states is not None else None
            if states is None or state is None:
                return False
            draft_key, rows, parts = _copy_drafter(mind)
        except MemoryError:
            return False
        points = [point for point in mind.memory.checkpoints if point.length <= len(tokens)]
        record = StateRecord(
            key=states.key,
            chat=self._chat,
            ids=np.asarray(tokens, np.int32).tobytes(),
            draft_key=draft_key,
            draft_rows=rows,
            checkpoints=tuple(point.length for point in points),
            read_s=self._read_s,
        )
        self._files.write(record, [state, *parts, *(np.frombuffer(point.state, np.uint8) for point in points)])
        return True

    def take_word(self) -> str:
        """A sentence for the user, once; "" otherwise."""
        word, self._word = self._word, ""
        return word or self._files.take_word()

    def close(self) -> None:
        """Wait a moment for the disk."""
        self._files.close(_FAREWELL_S)


def _copy_drafter(mind: Mind) -> tuple[str, int, tuple[Bytes, Bytes]]:
    """Key, rows, and both sections of the drafter; empty where it has nothing to go on from."""
    nothing = np.empty(0, np.uint8)
    states, drafter = mind.loaded.states, mind.drafter
    memo = drafter.memo() if drafter is not None and not mind.controller.fallback_reason else None
    if states is None or memo is None or not states.draft_key:
        return "", 0, (nothing, nothing)
    state, rows = states.copy_draft() or (nothing, 0)
    return states.draft_key, rows, (state, np.frombuffer(msgspec.msgpack.encode(memo), np.uint8))


def _recall_drafter(mind: Mind, drafter: Drafter, record: StateRecord, sections: Sequence[Bytes]) -> bool:
    try:
        memo = msgspec.msgpack.decode(sections[2].tobytes(), type=Memo)
    except (msgspec.MsgspecError, RecursionError):
        return False
    states = mind.loaded.states
    if states is None or (record.draft_rows and not states.put_draft(sections[1], record.draft_rows)):
        return False
    return drafter.recall(memo)


def _reach(record: StateRecord, prompt: Ids, *, deep: bool) -> int:
    """How many tokens of the prompt are in memory with this state; the last one is always decoded."""
    shared = min(_shared(record.tokens(), prompt), len(prompt) - 1)
    if deep or shared == record.length:
        return shared
    return max((at for at in record.checkpoints if at <= shared), default=0)


def _shared(known: Sequence[int] | Ids, tokens: Sequence[int] | Ids) -> int:
    length = min(len(known), len(tokens))
    different = np.flatnonzero(np.asarray(known[:length]) != np.asarray(tokens[:length]))
    return int(different[0]) if different.size else length


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f}"
