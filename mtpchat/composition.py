"""Where the parts of the engine are put together. Runs on the engine thread, which is where llama.cpp is imported."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtpchat.engine.kept_state import StateKeeper
    from mtpchat.engine.requests import Engine
    from mtpchat.gguf.memory_plan import Machine
    from mtpchat.last_run import RunRecord
    from mtpchat.store.states import StateFolder


def open_engine(
    log_folder: Path | None = None,
    log_level: str = "info",
    chats: Path | None = None,
    record: RunRecord | None = None,
    states: StateFolder | None = None,
) -> Engine:
    """The engine over llama.cpp, with nothing loaded.

    Args:
        log_folder: where llama.log is written; None keeps llama.cpp's log in memory.
        log_level: from which level on its lines are written: "debug", "info", "warn" or "error".
        chats: file of chats whose texts n-gram may continue; None has it read nothing.
        record: of the run that this engine is for, if its end is to be noticed.
        states: where what the model remembers of kept chats is kept; None keeps nothing of it.
    """
    from mtpchat.backend.llama.loader import LlamaBackend
    from mtpchat.engine.engine import ChatEngine
    from mtpchat.paths import cache_dir
    from mtpchat.shelf.last_use import LastUse
    from mtpchat.speculate.learned import Lessons

    earlier = partial(_earlier_texts, chats) if chats is not None else tuple
    backend = LlamaBackend(log_folder / "llama.log" if log_folder else None, log_level, record=record)
    lessons = Lessons(cache_dir() / "speculation.json")
    return ChatEngine(backend, lessons=lessons, earlier=earlier, used=LastUse().note, keeper=_keeper(states))


def machine_now() -> Machine:
    """Memory and GPUs as they are at this moment; for a thread, because llama.cpp may have to be imported first."""
    from mtpchat.backend.llama.devices import this_machine

    return this_machine()


def _keeper(states: StateFolder | None) -> StateKeeper | None:
    if states is None:
        return None
    from mtpchat.engine.kept_state import StateKeeper
    from mtpchat.store.state_writer import StateWriter

    return StateKeeper(StateWriter(states))


def _earlier_texts(chats: Path) -> Sequence[str]:
    from mtpchat.store.recall import earlier_texts

    return earlier_texts(chats)
