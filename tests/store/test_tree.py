"""A chat is a tree that only grows; what was put is what is read."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpchat.chats import ChatLine, Deleted, LeafMoved, Placed, Renamed, Said, TurnEnded
from mtpchat.errors import CommandError
from mtpchat.stats import TurnStats
from mtpchat.store import reading, rescue
from mtpchat.store.chat_store import ChatStore
from tests.store.talk import Talk, looked_up, settled


def shown(path: Path, chat: str = "") -> list[tuple[str, str]]:
    kept = looked_up(path, lambda connection: reading.load(connection, chat))
    return [(said.role, said.content) for said in kept.path]


def lines(path: Path) -> list[ChatLine]:
    return looked_up(path, lambda connection: reading.recent(connection, 100))


def test_turns_are_read_back_as_they_were_said(store: ChatStore, path: Path) -> None:
    talk = Talk(store, system="Be brief.")
    talk.turn("Why?", "Because.")
    begun = talk.begin("And then?", at=2000.0)
    talk.end(begun, "Nothing.", thinking="Hm.", complete=False)
    settled(store)
    kept = looked_up(path, lambda connection: reading.load(connection, talk.chat))
    assert kept.path == talk.path
    assert (kept.system, kept.seed) == ("Be brief.", 7)
    assert kept.line == ChatLine(0, talk.chat, "Why?", 1000.0, 2001.0, 4, model="Tiny")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.text(), min_size=1, max_size=4))
def test_any_text_survives(open_store: Callable[..., ChatStore], path: Path, texts: list[str]) -> None:
    store = open_store()
    talk = Talk(store, chat=f"any{abs(hash(tuple(texts))):016x}")
    begun = talk.begin(texts[0])
    for text in texts:
        talk.grow(begun, text)
    talk.end(begun, "".join(texts))
    store.close()
    assert shown(path, talk.chat) == [("user", texts[0]), ("assistant", "".join(texts))]


def test_half_a_surrogate_pair_costs_that_character_alone(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    talk.turn("a\ud800b", "fine")
    settled(store)
    assert shown(path) == [("user", "a?b"), ("assistant", "fine")]


def test_a_second_answer_is_a_branch_beside_the_first(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    begun = talk.begin("Why?")
    talk.end(begun, "First.")
    talk.path = talk.path[:-1]
    talk.end(talk.again(at=1001.0), "Second.")
    settled(store)
    assert shown(path) == [("user", "Why?"), ("assistant", "Second.")]
    whole = looked_up(path, lambda connection: reading.whole(connection, talk.chat))
    messages = whole["messages"]
    assert isinstance(messages, list)
    assert [one["content"] for one in messages] == ["Why?", "First.", "Second."]
    assert messages[1]["parent"] == messages[2]["parent"] == messages[0]["id"]
    assert all(one["turns"][0]["seed"] == 7 for one in messages[1:])


def test_what_was_taken_back_stays_in_the_tree_and_comes_back_by_its_leaf(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    talk.turn("One?", "1.")
    talk.turn("Two?", "2.")
    whole = talk.path
    store.put(LeafMoved(talk.chat, whole[1].id))
    settled(store)
    assert shown(path) == [("user", "One?"), ("assistant", "1.")]
    store.put(LeafMoved(talk.chat, whole[3].id))
    settled(store)
    assert len(shown(path)) == 4
    store.put(LeafMoved(talk.chat, ""))
    settled(store)
    assert len(shown(path)) == 4, "with everything taken back, the newest branch is shown"


def test_a_turn_in_which_nothing_was_said_leaves_no_message(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    begun = talk.begin("Why?")
    store.put(TurnEnded(begun, None, begun.path[-1].id, "cancelled", 1001.0))
    settled(store)
    assert shown(path) == [("user", "Why?")]
    assert lines(path)[0].messages == 1


def test_an_answer_that_is_carried_on_keeps_its_place_and_both_turns(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    first = talk.begin("Count.")
    talk.end(first, "One, ", complete=False)
    how = first.how
    second = type(first)(first.chat, first.title, first.path, first.answer, "turn-2", 1002.0, how, ("One, ", ""))
    store.put(second)
    talk.grow(second, "two.")
    settled(store)
    assert shown(path)[-1] == ("assistant", "One, two.")
    talk.end(second, "One, two.")
    settled(store)
    kept = looked_up(path, lambda connection: reading.whole(connection, talk.chat))
    answer = kept["messages"][-1]  # type: ignore[index]
    assert (answer["content"], answer["complete"], len(answer["turns"])) == ("One, two.", True, 2)


def test_two_windows_that_carry_on_the_same_answer_lose_neither_end(
    open_store: Callable[..., ChatStore], path: Path
) -> None:
    talk = Talk(open_store())
    first = talk.begin("Count.")
    talk.end(first, "One, ", complete=False)
    settled(talk.store)
    for store, turn, rest in ((talk.store, "t1", "two."), (open_store(), "t2", "three.")):
        so_far = ("One, ", "")
        again = type(first)(first.chat, first.title, first.path, first.answer, turn, 1002.0, first.how, so_far)
        store.put(again)
        talk.store, talk.path = store, first.path
        talk.end(again, f"One, {rest}")
        settled(store)
    whole = looked_up(path, lambda connection: reading.whole(connection, talk.chat))
    assert {one["content"] for one in whole["messages"]} == {"Count.", "One, two.", "One, three."}  # type: ignore[attr-defined]


def test_counters_are_kept_with_the_turn(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    begun = talk.begin("Why?")
    stats = TurnStats(output_tokens=9, drafted=4, accepted=3, accepted_at=(2, 1), kind="mtp")
    node = talk.path[-1]
    store.put(TurnEnded(begun, type(node)(begun.answer, node.id, "assistant", "So."), begun.answer, "stop", 1.0, stats))
    settled(store)
    whole = looked_up(path, lambda connection: reading.whole(connection, talk.chat))
    turn = whole["messages"][-1]["turns"][0]  # type: ignore[index]
    assert (turn["kind"], turn["finish_reason"]) == ("mtp", "stop")
    assert turn["stats"]["accepted_at"] == [2, 1]


def test_every_change_may_be_carried_out_twice(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    begun = talk.begin("Why?")
    talk.grow(begun, "Be")
    for _ in range(2):
        store.put(begun)
        settled(store)
        talk.end(begun, "Because.")
        settled(store)
    assert shown(path) == [("user", "Why?"), ("assistant", "Because.")]
    assert lines(path)[0].messages == 2


def test_a_copy_of_a_beginning_may_be_placed_twice_and_is_a_chat_that_knows_how_it_was_made(
    store: ChatStore, path: Path
) -> None:
    talk = Talk(store, system="Be brief.")
    talk.turn("Why?", "Because.")
    one, two = talk.path
    copies = (Said("c1", "", "user", one.content), Said("c2", "c1", "assistant", two.content))
    placed = Placed("bbbb00000009", "Why? (fork)", copies, 2000.0, talk.chat, ((one.id, "c1"), (two.id, "c2")))
    for _ in range(2):
        store.put(placed)
        settled(store)
    kept = looked_up(path, lambda connection: reading.load(connection, "bbbb00000009"))
    assert (kept.path, kept.system, kept.seed) == (copies, "Be brief.", 7)
    assert (kept.line.title, kept.line.messages, kept.line.updated) == ("Why? (fork)", 2, 2000.0)
    assert len(lines(path)) == 2
    assert looked_up(path, lambda connection: len(reading.find(connection, "because", 9))) == 2


def test_what_could_not_be_placed_is_kept_for_the_next_start(path: Path) -> None:
    said = (Said("c1", "", "user", "Why?"),)
    kept = rescue.keep([Placed("bbbb00000009", "Why?", said, 2000.0)], path)
    assert kept is not None
    ((change,), whole) = rescue.read(kept)
    assert whole
    assert change == Placed("bbbb00000009", "Why?", said, 2000.0)


def test_lists_show_the_latest_first_and_deleted_chats_only_when_they_are_back(store: ChatStore, path: Path) -> None:
    for number, at in ((2, 1000.0), (3, 2000.0), (1, 3000.0)):
        Talk(store, f"bbbb0000000{number}").turn(f"Chat {number}", "Yes.", at=at)
    settled(store)
    assert [(line.number, line.title) for line in lines(path)] == [(1, "Chat 1"), (2, "Chat 3"), (3, "Chat 2")]
    store.put(Deleted("bbbb00000003", 5.0))
    store.put(Renamed("bbbb00000002", "Another"))
    settled(store)
    assert [line.title for line in lines(path)] == ["Chat 1", "Another"]
    store.put(Deleted("bbbb00000003", None))
    settled(store)
    assert len(lines(path)) == 3


def test_chats_are_named_by_place_by_id_and_by_the_beginning_of_it(store: ChatStore, path: Path) -> None:
    Talk(store, "cafe11111111").turn("One", "1", at=1000.0)
    Talk(store, "cafe22222222").turn("Two", "2", at=2000.0)
    settled(store)

    def named(reference: str) -> str:
        return looked_up(path, lambda connection: reading.resolve(connection, reference))

    assert named("") == named("1") == named("CAFE2") == "cafe22222222"
    assert named("2") == named("cafe11111111") == "cafe11111111"
    for wrong in ("0", "3", "999", "cafe", "c", "beef", "%", "____", "cafe1%"):
        with pytest.raises(CommandError):
            named(wrong)


def test_there_is_no_last_chat_before_the_first(store: ChatStore, path: Path) -> None:
    settled(store)
    with pytest.raises(CommandError, match="No chat"):
        looked_up(path, lambda connection: reading.load(connection, ""))


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_only_the_user_can_read_the_file(store: ChatStore, path: Path) -> None:
    Talk(store).turn("Secret?", "Yes.")
    settled(store)
    assert {stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()} == {0o600}


def test_nothing_is_touched_before_there_is_something_to_keep(open_store: Callable[..., ChatStore], path: Path) -> None:
    store = open_store()
    assert store.close() == ""
    assert not path.parent.exists()


def test_a_store_costs_the_start_of_the_app_not_even_the_import_of_sqlite(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from mtpchat.store.chat_store import ChatStore; "
        "store = ChatStore(Path(sys.argv[1])); store.listen(print); "
        "assert store.close() == ''; assert not {'sqlite3', '_sqlite3'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "x.db")], check=True, capture_output=True)
    assert list(tmp_path.iterdir()) == []
