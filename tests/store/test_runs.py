"""Instances that carry on one and the same answer do not mix their words, and lose none of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpchat.chats import Grown, Said, TurnBegun, TurnEnded
from mtpchat.store import reading
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.taking_in import take_in
from tests.store.talk import Talk, looked_up, settled

OPEN = Callable[..., ChatStore]
ROOT = Path(__file__).parents[2]
SPEAKER = """
import sys
from pathlib import Path
import msgspec
from mtpchat.chats import Change
from mtpchat.store.chat_store import ChatStore
from tests.store.talk import settled

store = ChatStore(Path(sys.argv[1]), busy_s=20.0)
for line in sys.stdin.buffer:
    store.put(msgspec.json.decode(line, type=Change))
    settled(store)
    print("done", flush=True)
print(repr(store.close()), flush=True)
"""
"""Another process: keeps each change that it is given, and says so."""


class Speaker:
    """Another instance, a step at a time."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", SPEAKER, str(path)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout

    def put(self, change: TurnBegun | Grown | TurnEnded) -> None:
        self._in.write(msgspec.json.encode(change) + b"\n")
        self._in.flush()
        assert self._out.readline() == b"done\n"

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(20)

    def leave(self) -> None:
        if self._process.poll() is None:
            self._in.close()
            self._process.wait(20)
        self._in.close()
        self._out.close()


def cut(store: ChatStore, text: str = "One, ") -> TurnBegun:
    """A turn whose answer was stopped."""
    talk = Talk(store)
    begun = talk.begin("Count.")
    talk.end(begun, text, complete=False)
    settled(store)
    return begun


def again(first: TurnBegun, turn: str, so_far: str = "One, ") -> TurnBegun:
    return msgspec.structs.replace(first, turn=turn, so_far=(so_far, ""))


def more(begun: TurnBegun, text: str) -> Grown:
    return Grown(begun.answer, "answer", text, begun.turn)


def ended(begun: TurnBegun, text: str) -> TurnEnded:
    said = Said(begun.answer, begun.path[-1].id, "assistant", text)
    return TurnEnded(begun, said, said.id, "stop", 1003.0)


def answers(path: Path, first: TurnBegun) -> list[str]:
    """All versions of the answer, as another process would read them."""
    kept = looked_up(path, lambda connection: reading.load(connection, first.chat))
    return [one.content for one in kept.nodes if one.role == "assistant"]


def shown(path: Path, first: TurnBegun) -> list[str]:
    return [one.content for one in looked_up(path, lambda connection: reading.load(connection, first.chat)).path]


def test_two_processes_that_carry_on_one_answer_have_a_version_each(store: ChatStore, path: Path) -> None:
    first = cut(store)
    one, two = Speaker(path), Speaker(path)
    turns = again(first, "t1"), again(first, "t2")
    try:
        for speaker, turn in zip((one, two), turns, strict=True):
            speaker.put(turn)
        for words in (("two, ", "zwei, "), ("three, ", "drei, ")):
            for speaker, turn, word in zip((one, two), turns, words, strict=True):
                speaker.put(more(turn, word))
        assert sorted(answers(path, first)) == ["One, two, three, ", "One, zwei, drei, "]
        one.put(ended(turns[0], "One, two, three, four."))
        two.kill()
    finally:
        one.leave()
        two.leave()
    next_start = ChatStore(path)
    settled(next_start)
    next_start.close()
    assert sorted(answers(path, first)) == ["One, two, three, four.", "One, zwei, drei, "]


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    steps=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["begin", "grow", "end", "fold"])), max_size=24),
    turns=st.just(("t0", "t1", "t2")),
)
def test_whatever_the_order_each_run_has_its_own_words_and_no_others(
    tmp_path_factory: pytest.TempPathFactory, steps: Sequence[tuple[int, str]], turns: Sequence[str]
) -> None:
    path = tmp_path_factory.mktemp("runs") / "chats.db"
    store = ChatStore(path, flush_s=0.0)
    first = cut(store)
    runs = [again(first, turn) for turn in turns]
    said: dict[int, str] = {}
    over = set[int]()
    for who, what in steps:
        if what == "begin" and who not in said:
            said[who] = "One, "
            store.put(runs[who])
        elif what == "grow" and who in said and who not in over:
            said[who] += f"{who} "
            store.put(more(runs[who], f"{who} "))
        elif what == "end" and who in said and who not in over:
            over.add(who)
            store.put(ended(runs[who], said[who] + "end"))
            said[who] += "end"
        elif what == "fold":
            other = ChatStore(path)
            settled(store)
            settled(other)
            other.close()
        settled(store)
    there = answers(path, first)
    store.close()
    spoken = {text for text in said.values() if text != "One, "}
    assert spoken <= set(there)
    assert set(there) <= spoken | {"One, "}


def test_each_instance_goes_on_below_its_own_version(open_store: OPEN, path: Path) -> None:
    stores = [open_store(), open_store()]
    first = cut(stores[0])
    turns = [again(first, "t1"), again(first, "t2")]
    for store, turn, word in zip(stores, turns, ("two", "zwei"), strict=True):
        store.put(turn)
        settled(store)
        store.put(more(turn, word))
        settled(store)
    for store, turn, word in zip(stores, turns, ("two", "zwei"), strict=True):
        store.put(ended(turn, f"One, {word}."))
        settled(store)
        said = Said(turn.answer, turn.path[-1].id, "assistant", f"One, {word}.")
        asked = Said(f"ask-{word}", said.id, "user", f"After {word}?")
        store.put(
            msgspec.structs.replace(first, path=(*turn.path, said, asked), answer=f"next-{word}", turn=f"n-{word}")
        )
        settled(store)
        assert shown(path, first) == ["Count.", f"One, {word}.", f"After {word}?"]


def test_one_that_is_alone_carries_on_the_very_answer_also_after_a_kill(open_store: OPEN, path: Path) -> None:
    first = cut(open_store())
    killed = open_store()
    turn = again(first, "t1")
    killed.put(turn)
    killed.put(more(turn, "two, "))
    settled(killed)
    later = open_store()  # as if the one before had been killed
    settled(later)
    later.put(again(first, "t2", "One, two, "))
    later.put(ended(again(first, "t2", "One, two, "), "One, two, three."))
    settled(later)
    assert answers(path, first) == ["One, two, three."]


def test_a_version_of_its_own_is_carried_on_without_another(open_store: OPEN, path: Path) -> None:
    stores = [open_store(), open_store()]
    first = cut(stores[0])
    stores[0].put(ended(again(first, "t1"), "One, two."))
    settled(stores[0])
    cut_again = again(first, "t2")
    said = Said(first.answer, first.path[-1].id, "assistant", "One, zwei,", complete=False)
    stores[1].put(cut_again)
    stores[1].put(TurnEnded(cut_again, said, said.id, "cancelled", 1003.0))
    settled(stores[1])
    stores[1].put(ended(again(first, "t3", "One, zwei,"), "One, zwei, drei."))
    settled(stores[1])
    assert answers(path, first) == ["One, two.", "One, zwei, drei."]


def test_a_file_that_brings_the_rest_of_an_answer_does_not_mix_with_who_carries_it_on(
    open_store: OPEN, path: Path
) -> None:
    store = open_store()
    first = cut(store)
    turn = again(first, "t1")
    store.put(turn)
    store.put(more(turn, "two, "))
    settled(store)
    whole = store.ask(lambda connection: reading.whole_chat(connection, first.chat)).result(20)
    node = msgspec.structs.replace(whole.messages[-1], content="One, two, and all the rest.", complete=True)
    brought = msgspec.structs.replace(whole, messages=(*whole.messages[:-1], node))
    assert looked_up(path, lambda connection: take_in(connection, brought)).messages == 1
    store.put(more(turn, "three"))
    settled(store)
    settled(open_store())
    assert sorted(answers(path, first)) == ["One, two, and all the rest.", "One, two, three"]


def test_an_end_that_is_written_twice_makes_no_version(open_store: OPEN, path: Path) -> None:
    store = open_store()
    first = cut(store)
    once = again(first, "t1")
    said = Said(first.answer, first.path[-1].id, "assistant", "One, two,", complete=False)
    cancelled = TurnEnded(once, said, said.id, "cancelled", 1003.0)
    for change in (once, cancelled, ended(again(first, "t2", "One, two,"), "One, two, three."), cancelled, once):
        store.put(change)
        settled(store)
    assert answers(path, first) == ["One, two, three."]


def test_what_is_carried_on_is_whole_in_a_file_that_is_begun_anew(open_store: OPEN, path: Path) -> None:
    store = open_store()
    first = cut(store)
    for one in path.parent.iterdir():
        one.unlink()
    store.put(again(first, "t1"))
    store.put(more(again(first, "t1"), "two"))
    settled(store)
    assert shown(path, first) == ["Count.", "One, two"]


def test_words_without_the_name_of_a_run_belong_to_their_answer(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    begun = talk.begin("Count.")
    store.put(Grown(begun.answer, "answer", "One"))
    settled(store)
    assert shown(path, begun) == ["Count.", "One"]
