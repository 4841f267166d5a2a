"""Guesses copied from earlier chats: only where the setting allows it, and the text stays the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.protocol import LoadPlan
from mtpchat.chats import Deleted
from mtpchat.config import Config, ModelConfig, SpeculativeConfig
from mtpchat.engine.engine import ChatEngine
from mtpchat.events import Finished
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.recall import earlier_texts
from tests.models import TinyModel
from tests.native.talk import Talk, pinned
from tests.store.talk import Talk as KeptTalk


@contextmanager
def talk(model: TinyModel, earlier: Callable[[], Sequence[str]], *, history: bool) -> Iterator[Talk]:
    config = Config(
        model=ModelConfig(path=str(model.path), context=2048, threads=1, trial="off"),
        speculative=SpeculativeConfig(kind="ngram", ngram_history=history, off_rebuild="never"),
    )
    engine = ChatEngine(LlamaBackend(), earlier=earlier)
    try:
        plan = LoadPlan(str(model.path), "", "ngram", config)
        yield Talk(engine, engine.load(plan, lambda _what, _fraction, _size: None, lambda: False))
    finally:
        engine.close()


def answer(chat: Talk) -> Finished:
    last = chat.events("hello", pinned(6))[-1]
    assert isinstance(last, Finished)
    return last


@pytest.fixture
def file_of_chats(tmp_path: Path, dense_model: TinyModel) -> Path:
    """A kept chat in which the model said what it will say again."""
    path = tmp_path / "chats.db"
    store = ChatStore(path)
    KeptTalk(store).turn("hello", dense_model.chain.text(48))
    assert store.close() == ""
    return path


def test_a_text_of_an_earlier_chat_is_guessed_where_the_setting_allows_it(
    dense_model: TinyModel, file_of_chats: Path
) -> None:
    with talk(dense_model, lambda: earlier_texts(file_of_chats), history=True) as chat:
        copied = answer(chat)
    with talk(dense_model, tuple, history=True) as chat:
        alone = answer(chat)
    assert copied.message == alone.message
    assert copied.stats.accepted >= alone.stats.accepted + 20
    assert copied.stats.steps < alone.stats.steps / 2


def test_without_the_setting_nothing_of_earlier_chats_is_read(dense_model: TinyModel) -> None:
    def refuse() -> Sequence[str]:
        raise AssertionError("earlier chats were read")

    with talk(dense_model, refuse, history=False) as chat:
        assert answer(chat).message.content


def test_a_file_that_is_not_there_or_damaged_costs_only_the_copies(dense_model: TinyModel, tmp_path: Path) -> None:
    (tmp_path / "damaged.db").write_bytes(b"Dear diary, " * 500)
    for name in ("absent.db", "damaged.db"):
        assert earlier_texts(tmp_path / name) == []
        with talk(dense_model, lambda name=name: earlier_texts(tmp_path / name), history=True) as chat:  # type: ignore[misc]
            assert answer(chat).message.content


def test_the_newest_texts_are_taken_up_to_a_limit_and_stand_last(tmp_path: Path) -> None:
    store = ChatStore(tmp_path / "chats.db")
    for number in range(4):
        KeptTalk(store, f"chat{number:08}").turn(f"question {number}", f"answer {number} " * 10, at=float(number))
    store.close()
    whole = earlier_texts(tmp_path / "chats.db")
    assert whole[-1].startswith("answer 3")
    assert whole[0] == "question 0"
    some = earlier_texts(tmp_path / "chats.db", 150)
    assert sum(map(len, some)) == 150
    assert some[1:] == whole[-len(some) + 1 :]
    assert whole[-len(some)].startswith(some[0])


def test_deleted_chats_are_not_copied_from(tmp_path: Path) -> None:
    store = ChatStore(tmp_path / "chats.db")
    KeptTalk(store, "gone00000000").turn("secret", "very secret")
    store.put(Deleted("gone00000000", 1.0))
    store.close()
    assert earlier_texts(tmp_path / "chats.db") == []
