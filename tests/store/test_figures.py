"""Sums of all answers: each counted once, loops on neither side, losses taken off what was saved, few rows read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.chats import Circumstances, Deleted, TurnEnded
from mtpchat.stats import TurnStats
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.contents import CONTENTS, content_of
from mtpchat.store.database import open_database, open_for_reading, transaction
from mtpchat.store.figures import Figure, Sums, count, figures
from mtpchat.store.purging import purge
from tests.store.talk import Talk, looked_up, settled

DAY_S = 86_400.0
FAST = TurnStats(
    prompt_tokens=30,
    cached_tokens=10,
    output_tokens=100,
    steps=40,
    drafted=80,
    accepted=60,
    decode_s=2.0,
    plain_s=5.0,
    kind="mtp",
    mode="auto",
)


def say(talk: Talk, answer: str, stats: TurnStats | None, *, at: float = 1000.0, machine: str = "") -> TurnEnded:
    begun = talk.begin("Why?", at=at)
    begun = msgspec.structs.replace(
        begun, turn=f"{begun.turn}.own", how=Circumstances(model_name="Tiny", kind="ngram", machine=machine)
    )
    said = msgspec.structs.replace(
        talk.path[-1], id=begun.answer, parent=talk.path[-1].id, role="assistant", content=answer
    )
    talk.path = (*begun.path, said)
    ended = TurnEnded(begun, said, said.id, "stop", at + 1, stats)
    talk.store.put(ended)
    return ended


def all_of(path: Path) -> list[Figure]:
    return looked_up(path, figures)


def test_an_answer_is_counted_when_it_ends_and_once(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    ended = say(talk, "So it is. " * 20, FAST, machine="Fast CPU")
    store.put(ended)
    settled(store)
    with closing(open_for_reading(path)) as connection:
        assert connection.execute("SELECT count(*), sum(turns) FROM figure").fetchone() == (1, 1)
    (one,) = all_of(path)
    assert (one.model, one.machine, one.kind, one.content) == ("Tiny", "Fast CPU", "mtp", "prose")
    assert (one.sums.output_tokens, one.sums.tokens_per_second, one.sums.acceptance) == (100, 50.0, 0.75)
    assert (one.sums.gained_s, one.sums.lost_s, one.sums.speedup) == (3.0, 0.0, 2.5)
    assert all_of(path) == [one]


def test_what_speculation_cost_is_taken_off_what_it_saved(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    for plain_s in (5.0, 1.5):
        say(talk, "x", replace(FAST, plain_s=plain_s))
    settled(store)
    (one,) = all_of(path)
    assert (one.sums.gained_s, one.sums.lost_s, one.sums.saved_s) == (3.0, 0.5, 2.5)
    assert one.sums.speedup == pytest.approx(6.5 / 4)


@pytest.mark.parametrize(
    "stats",
    [
        replace(FAST, kind="none", drafted=0, accepted=0),
        replace(FAST, mode="off", drafted=0, accepted=0),
        replace(FAST, plain_s=None),
        replace(FAST, looped_tokens=95, looped_s=1.9),
    ],
)
def test_what_cannot_be_compared_is_not(store: ChatStore, path: Path, stats: TurnStats) -> None:
    say(Talk(store), "x", stats)
    settled(store)
    (one,) = all_of(path)
    assert (one.sums.output_tokens, one.sums.compared_turns, one.sums.speedup) == (100, 0, None)


@pytest.mark.parametrize("stats", [replace(FAST, mode="off"), replace(FAST, kind="none")])
def test_a_loss_counts_also_where_it_was_ended_by_switching_off(store: ChatStore, path: Path, stats: TurnStats) -> None:
    say(Talk(store), "x", replace(stats, plain_s=1.5))
    settled(store)
    (one,) = all_of(path)
    assert (one.sums.compared_turns, one.sums.lost_s) == (1, 0.5)


def test_loops_count_on_neither_side(store: ChatStore, path: Path) -> None:
    say(Talk(store), "x", replace(FAST, looped_tokens=50, looped_s=1.0))
    settled(store)
    (one,) = all_of(path)
    assert (one.sums.compared_s, one.sums.gained_s) == (1.0, 4.0)


def test_figures_outlive_their_chats(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    say(talk, "x", FAST)
    store.put(Deleted(talk.chat, 2000.0))
    settled(store)
    before = all_of(path)
    looked_up(path, lambda connection: purge(connection, [talk.chat]))
    assert looked_up(path, lambda connection: connection.execute("SELECT count(*) FROM turn").fetchone()) == (0,)
    assert all_of(path) == before != []


def fill(connection: sqlite3.Connection, turns: int) -> None:
    """Turns of an older version: nobody has counted them."""
    stats = msgspec.json.encode(FAST).decode()
    connection.execute("INSERT INTO chat (id, title, created, updated) VALUES ('chat', 'T', 0, 0)")
    connection.executemany(
        "INSERT INTO message (id, chat_id, role, content, created, complete)"
        " VALUES (?, 'chat', 'assistant', 'x', 0, 1)",
        [(f"m{at}",) for at in range(turns)],
    )
    connection.executemany(
        "INSERT INTO turn (id, message_id, started, ended, model, model_name, drafter, kind, sampling, seed, system,"
        " stats) VALUES (?, ?, 0, ?, '', 'Tiny', '', 'mtp', '{}', 0, '', ?)",
        [(f"t{at}", f"m{at}", (at % 60) * DAY_S + DAY_S / 2, stats) for at in range(turns)],
    )


def steps(connection: sqlite3.Connection) -> tuple[int, list[Figure]]:
    """Steps of SQLite's machine that a look at the figures takes, in hundreds: rows read, whatever the clock says."""
    taken = 0

    def step() -> int:
        nonlocal taken
        taken += 1
        return 0

    connection.set_progress_handler(step, 100)
    found = figures(connection)
    connection.set_progress_handler(None, 100)
    return taken, found


def test_a_second_look_reads_days_and_not_answers(path: Path) -> None:
    with closing(open_database(path)) as connection:
        fill(connection, 6000)
        first, found = steps(connection)
        second, again = steps(connection)
        assert again == found
        assert len(found) <= 61
        assert sum(one.sums.turns for one in found) == 6000
        assert second * 100 < first
        plan = connection.execute(
            "EXPLAIN QUERY PLAN SELECT 1 FROM turn WHERE turn.counted = 0 AND turn.stats IS NOT NULL"
        ).fetchall()
        assert "turn_uncounted" in plan[0][3]


def test_where_nothing_can_be_written_the_figures_are_the_same(path: Path) -> None:
    with closing(open_database(path)) as connection:
        fill(connection, 50)
    with closing(open_for_reading(path)) as connection:
        unwritten = figures(connection)
        assert connection.execute("SELECT count(*) FROM figure").fetchone() == (0,)
    assert unwritten == all_of(path) != []


HOSTILE = [
    '{"output_tokens": 1e400}',
    f'{{"output_tokens": {10**40}, "decode_s": 1}}',
    '{"output_tokens": -5, "decode_s": 1}',
    '{"output_tokens": 5, "decode_s": -1e300}',
    '{"output_tokens": "x"}',
    "[]",
    "nonsense",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_counters_that_are_none_are_passed_over_and_stop_nothing(path: Path, text: str) -> None:
    with closing(open_database(path)) as connection:
        fill(connection, 2)
        connection.execute("UPDATE turn SET stats = ? WHERE id = 't0'", (text,))
        with transaction(connection, durable=False):
            assert count(connection) == 2
            assert count(connection) == 0
        assert sum(one.sums.turns for one in figures(connection)) == 1


CODE = "Here:\n\n```python\nfor x in range(9):\n    print(x)\n```\n"
LIST = (
    "These are the rivers:\n\n- the Mosel, which bends a lot\n- the Rhine, which is longer\n1. the Meuse\n| a | b |\n"
)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (CODE * 3, "code"),
        ("Look:\n```\n" + "x = 1\n" * 20, "code"),
        ('{"name": "Puppy", "age": 3}', "data"),
        (LIST, "lists and tables"),
        ("河は外側の岸を削り、内側に土砂を積もらせるので、だんだん曲がっていく。" * 3, "Chinese, Japanese, Korean"),
        ("A river bends because faster water cuts the bank. " * 9, "prose"),
        ("A river bends. " * 30 + CODE, "prose"),
        ("Yes.", "short"),
        ("", "short"),
    ],
)
def test_contents_are_told_from_the_text(text: str, content: str) -> None:
    assert content_of(text) == content


@pytest.mark.parametrize(
    "text", ["`" * 50_000, "~~~\n" * 9_000, " " * 50_000, "```" + "x" * 50_000, "```\n" * 12_000, "- " * 30_000]
)
def test_traps_for_the_telling_end_soon(text: str) -> None:
    assert content_of(text) in CONTENTS


@given(st.text(), st.lists(st.sampled_from(["```", "\n", "- ", "|", "{", "河"]), max_size=30).map("".join))
def test_any_text_has_a_content(one: str, other: str) -> None:
    assert content_of(one + other + one) in CONTENTS


def test_sums_without_anything_know_nothing() -> None:
    sums = Sums()
    assert (sums.tokens_per_second, sums.acceptance, sums.mean_accepted_length, sums.speedup) == (None,) * 4


@pytest.mark.parametrize("value", [b"\xff\x00\xfe", "words", 7, 1.5, None])
def test_figures_that_are_none_stop_nothing(store: ChatStore, path: Path, value: object) -> None:
    say(Talk(store), "So it is. " * 20, FAST)
    settled(store)
    all_of(path)
    with closing(sqlite3.connect(path)) as connection:
        for name in (row[1] for row in connection.execute("PRAGMA table_info(figure)").fetchall()):
            try:
                connection.execute(f"UPDATE figure SET {name} = ?", (value,))
            except sqlite3.IntegrityError:  # the table refuses it
                continue
        connection.commit()
    for one in all_of(path):
        assert date.fromisoformat(one.day)
        assert isinstance(one.model, str)
        assert all(isinstance(count, int | float) for count in msgspec.structs.astuple(one.sums))
