"""When what the model remembers is kept and when it is put back: where that saves time, and never in the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import cast

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.backend.protocol import Bytes, LoadedModel
from mtpchat.engine.kept_state import Keep, Mind, StateKeeper
from mtpchat.engine.memory import Memory
from mtpchat.speculate.base import Drafter
from mtpchat.speculate.controller import Controller
from mtpchat.speculate.none import NoDrafter
from mtpchat.state_record import FoundState, StateRecord
from mtpchat.stats import TurnStats
from tests.speculate.fake_model import FakeTarget

CONTEXT = 4000


@dataclass
class FakeStates:
    """ContextStates of a FakeTarget: a state is its tokens, and as large as it is said to be."""

    target: FakeTarget
    bytes_held: int = 1000
    key: str = "key"
    draft_key: str = ""
    refuses: bool = False

    def size(self) -> int:
        return self.bytes_held

    def copy(self) -> Bytes:
        return np.array(self.target.memory, np.uint8)

    def copy_draft(self) -> None:
        return None

    def put(self, state: Bytes, length: int) -> bool:
        self.target.memory[:] = [] if self.refuses else state.tolist()
        return not self.refuses

    def put_draft(self, state: Bytes, length: int) -> bool:
        return False


@dataclass
class FakeFiles:
    """StateFiles in memory; `slow` ones are still writing whenever they are asked."""

    read_rate: float = 1e6
    write_rate: float = 1e6
    room: int = 1 << 40
    slow: bool = False
    kept: dict[str, tuple[FoundState, list[Bytes]]] = field(default_factory=dict)
    reads: int = 0
    word: str = ""

    def allowance(self) -> int:
        return self.room

    def records(self, key: str) -> Sequence[FoundState]:
        return [found for found, _ in self.kept.values() if found.record.key == key]

    def read(self, found: FoundState, cancelled: Callable[[], bool]) -> Sequence[Bytes] | None:
        self.reads += 1
        return None if cancelled() else self.kept[found.name][1]

    def at_risk(self, found: FoundState) -> AbstractContextManager[None]:
        return nullcontext()

    def drop(self, found: FoundState) -> None:
        del self.kept[found.name]

    @property
    def writing(self) -> bool:
        return self.slow

    def write(self, record: StateRecord, sections: Sequence[Bytes]) -> None:
        record = msgspec.structs.replace(record, sizes=tuple(map(len, sections)))
        assert record.sound()
        self.kept[record.chat] = FoundState(record.chat, record, 1000), list(sections)

    def take_word(self) -> str:
        word, self.word = self.word, ""
        return word

    def close(self, timeout: float) -> None:
        pass


@dataclass
class Run:
    """A keeper over a model that was just loaded."""

    files: FakeFiles
    keep: Keep = "auto"
    read_s: float = 0.02
    snapshots: int | None = None
    free: int | None = None
    target: FakeTarget = field(init=False)

    def __post_init__(self) -> None:
        self.target = FakeTarget(snapshots=self.snapshots, context=CONTEXT, width=0)
        self.states = FakeStates(self.target)
        drafters = cast("dict[str, Drafter]", {"none": NoDrafter()})
        self.controller = Controller(self.target, drafters, lambda: 0.0)
        self.memory = Memory(self.controller)
        loaded = cast("LoadedModel", _Loaded(self.target, self.states))
        self.keeper = StateKeeper(self.files, lambda: self.free)
        self.keeper.attach(Mind(loaded, self.controller, self.memory), self.keep)

    def turn(self, prompt: Sequence[int], chat: str = "c", cancelled: bool = False) -> int:
        """A turn that reads the prompt and says nothing; returns how many tokens were brought back."""
        back = self.keeper.recall(chat, prompt, lambda: cancelled)
        done = cached = self.memory.reuse(prompt)
        for at in range(done, len(prompt) - 1, 50):
            self.target.decode(prompt[at : min(at + 50, len(prompt) - 1)])
        self.memory.keep_checkpoint()
        read = len(prompt) - cached
        self.keeper.turn_ended(chat, TurnStats(len(prompt), cached, prefill_s=self.read_s * read))
        return back

    def rest(self, cancelled: bool = False) -> None:
        self.keeper.rest(lambda: cancelled)


@dataclass
class _Loaded:
    target: FakeTarget
    states: FakeStates
    draft_kind: str = ""


LONG = [at % 20 for at in range(120)]


def test_a_chat_is_kept_when_nobody_wants_anything_and_put_back_in_another_run() -> None:
    files = FakeFiles()
    first = Run(files)
    assert first.turn(LONG) == 0
    first.rest()
    second = Run(files)
    assert second.turn([*LONG, 1, 2, 3]) == len(LONG) - 1
    assert second.target.memory == [*LONG, 1, 2]
    assert sum(second.target.widths) == 3


def test_a_model_that_reads_quicker_than_the_disk_keeps_nothing() -> None:
    files = FakeFiles()
    run = Run(files, read_s=0.001)
    run.turn(LONG)
    run.rest()
    run.keeper.detach()
    assert not files.kept
    always = Run(files, keep="always", read_s=0.001)
    always.turn(LONG)
    always.rest()
    assert files.kept
    files.read_rate = 1e3
    assert Run(files).turn([*LONG, 1]) == 0, "reading it back takes longer than computing it"
    files.read_rate = 1e6
    assert Run(files).turn([*LONG, 1]) == len(LONG) - 1


def test_nothing_is_kept_or_put_back_when_that_is_not_wanted() -> None:
    files = FakeFiles()
    run = Run(files, keep="never")
    run.turn(LONG)
    run.rest()
    run.keeper.detach()
    assert not files.kept


def test_a_little_more_is_not_written_at_once_but_at_the_end() -> None:
    files = FakeFiles()
    run = Run(files)
    run.turn(LONG)
    run.rest()
    run.turn([*LONG, *range(20), *range(13)])
    run.rest()
    assert files.kept["c"][0].record.length == len(LONG) - 1
    run.keeper.detach()
    assert files.kept["c"][0].record.length == len(LONG) + 32


def test_a_wish_that_comes_first_is_not_kept_waiting() -> None:
    files = FakeFiles()
    run = Run(files)
    run.turn(LONG)
    run.rest(cancelled=True)
    assert not files.kept
    run.files.slow = True
    run.rest()
    assert not files.kept


def test_a_large_state_is_not_written_while_somebody_waits_for_the_end() -> None:
    files = FakeFiles()
    run = Run(files, keep="always")
    run.states.bytes_held = int(1.3e6)
    run.turn(LONG)
    run.keeper.detach()
    assert not files.kept


def test_a_state_for_which_there_is_no_room_is_told_once() -> None:
    files = FakeFiles(room=2_000_000, read_rate=1e12, write_rate=1e12)
    run = Run(files)
    run.states.bytes_held = 20_000_000
    run.turn(LONG)
    run.rest()
    run.rest()
    assert run.keeper.take_word() == (
        "This chat is read again when it is reopened: what the model remembers of it takes 20 MB, and 2 MB may be kept "
        "on disk (chats.state_max_gb, a tenth of what is free)."
    )
    assert not run.keeper.take_word()
    assert not files.kept


def test_a_state_of_many_gigabytes_is_kept_where_there_is_room_for_it() -> None:
    files = FakeFiles(read_rate=1e12, write_rate=1e12)
    run = Run(files, free=20 << 30)
    run.states.bytes_held = 9 << 30
    run.turn(LONG)
    run.rest()
    assert files.kept
    assert not run.keeper.take_word()


def test_a_state_that_memory_is_too_short_to_copy_is_told_once() -> None:
    files = FakeFiles(read_rate=1e12, write_rate=1e12)
    run = Run(files, free=16_000_000_000)
    run.states.bytes_held = 9_000_000_000
    run.turn(LONG)
    run.rest()
    run.rest()
    assert run.keeper.take_word() == (
        "This chat is read again when it is reopened: what the model remembers of it takes 9,000 MB, and 8,000 MB of "
        "memory may be taken for a copy."
    )
    assert not run.keeper.take_word()
    assert not files.kept


def test_a_state_is_neither_copied_nor_read_where_memory_is_short() -> None:
    files = FakeFiles()
    short = Run(files, free=1999)
    short.turn(LONG)
    short.rest()
    assert not files.kept
    run = Run(files, free=2000)
    run.turn(LONG)
    run.rest()
    assert files.kept
    assert Run(files, free=1999).turn([*LONG, 1]) == 0
    assert not files.reads


def test_trouble_with_the_disk_is_passed_on() -> None:
    run = Run(FakeFiles(word="The disk is full."))
    assert run.keeper.take_word() == "The disk is full."


def test_what_the_memory_has_already_is_not_read_from_disk() -> None:
    files = FakeFiles()
    run = Run(files)
    run.turn(LONG)
    run.rest()
    run.turn([*LONG, *range(20), *range(20)])
    assert not files.reads


def test_a_state_that_is_refused_is_removed_and_everything_is_read() -> None:
    files = FakeFiles()
    run = Run(files)
    run.turn(LONG)
    run.rest()
    again = Run(files)
    again.states.refuses = True
    assert again.turn([*LONG, 1]) == 0
    assert not files.kept
    assert again.target.memory == LONG


def test_a_turn_that_is_stopped_while_its_state_is_read_changes_nothing() -> None:
    files = FakeFiles()
    run = Run(files)
    run.turn(LONG)
    run.rest()
    assert Run(files).turn([*LONG, 1], cancelled=True) == 0
    assert files.kept


def test_a_state_longer_than_the_context_is_left_alone() -> None:
    files = FakeFiles()
    run = Run(files)
    run.turn(LONG)
    run.rest()
    small = Run(files)
    small.target.context = 100
    assert small.keeper.recall("c", LONG[:90], lambda: False) == 0
    assert files.kept


def test_a_memory_that_cannot_be_cut_is_brought_to_its_last_checkpoint() -> None:
    files = FakeFiles()
    run = Run(files, snapshots=2)
    run.turn(LONG)
    run.turn([*LONG, *range(20), *range(20)])
    run.rest()
    assert files.kept["c"][0].record.checkpoints == (len(LONG) - 1, len(LONG) + 39)
    again = Run(files, snapshots=2)
    other = [*LONG, 19, *range(9)]
    assert again.turn(other) == len(LONG) - 1
    assert again.target.memory == other[:-1]


def test_another_chat_keeps_the_one_that_is_left() -> None:
    files = FakeFiles()
    run = Run(files)
    run.turn(LONG, chat="a")
    run.turn([5] * 60, chat="b")
    assert set(files.kept) == {"a"}
    assert run.turn([*LONG, 1], chat="a") == len(LONG) - 1


def test_a_memory_that_was_cut_back_to_a_part_of_the_chat_is_kept_as_that() -> None:
    files = FakeFiles()
    run = Run(files)
    run.turn(LONG)
    run.target.rollback(100)
    run.rest()
    assert files.kept["c"][0].record.tokens().tolist() == LONG[:100]
    again = Run(files, keep="always")
    again.turn([*LONG, 1])
    again.rest()
    again.target.rollback(100)
    again.rest()
    assert files.kept["c"][0].record.length == len(LONG), "a longer state is not replaced by a part of it"


def test_a_memory_that_was_used_for_something_else_is_not_taken_for_the_chat() -> None:
    files = FakeFiles()
    run = Run(files)
    run.turn(LONG)
    run.memory.reuse([7] * 80)
    run.rest()
    assert not files.kept


moves = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(1, 90)),
        st.tuples(st.just("cut"), st.integers(0, 100)),
        st.tuples(st.just("other"), st.integers(0, 2)),
        st.tuples(st.just("rest"), st.just(0)),
        st.tuples(st.just("break"), st.just(0)),
    ),
    min_size=3,
    max_size=30,
)


@given(moves=moves, snapshots=st.sampled_from([None, 0, 3]), keep=st.sampled_from(["auto", "always"]))
@settings(deadline=None, max_examples=120)
def test_whatever_is_left_kept_and_reopened_the_memory_is_that_of_the_prompt(
    moves: list[tuple[str, int]], snapshots: int | None, keep: Keep
) -> None:
    files = FakeFiles()
    run = Run(files, keep=keep, snapshots=snapshots)
    chats: dict[str, list[int]] = {"0": [3] * 40}
    now = "0"
    for place, (what, number) in enumerate(moves):
        match what:
            case "say":
                chats[now] = [*chats[now], *((place * 7 + at) % 23 for at in range(number))][-1500:]
                back = run.turn(chats[now], chat=now)
                assert run.target.memory == chats[now][:-1]
                assert back < len(chats[now])
            case "cut":
                chats[now] = chats[now][: max(40, len(chats[now]) * number // 100)]
            case "other":
                chats.setdefault(str(number), list(chats[now]))
                now = str(number)
            case "rest":
                run.rest()
            case _:
                run.keeper.detach()
                run = Run(files, keep=keep, snapshots=snapshots)
