"""A store on a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mtpchat.store.chat_store import ChatStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats.db"


@pytest.fixture
def open_store(path: Path) -> Iterator[Callable[..., ChatStore]]:
    """Opens stores that are closed in the end; failures are tried again at once."""
    opened: list[ChatStore] = []

    def make(**options: Any) -> ChatStore:
        store = ChatStore(path, **{"flush_s": 0.01, "retry_s": 0.01, "busy_s": 0.05} | options)
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[..., ChatStore]) -> ChatStore:
    return open_store()
