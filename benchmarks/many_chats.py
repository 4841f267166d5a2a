"""How long do lists, searches and commits take when there are very many chats?

    python -m benchmarks.many_chats [--chats 10000] [--messages 20] [--file PATH]

Texts and titles are made of 20,000 words whose frequencies follow the law of Zipf, and every tenth chat has a file.
Median and worst of eleven runs, in milliseconds; time of the CPU says more where other work runs.
A million messages take a gigabyte and some minutes to make; --file keeps them, and measures them again the next time.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.bounded import bounded
from mtpchat.messages import Attachment
from mtpchat.store import reading, search
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.database import open_database, transaction
from tests.store.talk import Talk, settled

_WORDS = 20_000
_LENGTH, _TITLE, _FILE = 60, 5, 400
_ROLES = ("user", "assistant")
_RUNS = 11


def words() -> list[str]:
    """Made-up words, the most frequent first."""
    chance = random.Random(1)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    return list(dict.fromkeys("".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(3 * _WORDS)))[
        :_WORDS
    ]


def texts(count: int, length: int = _LENGTH) -> Iterator[str]:
    """Texts of about so many words."""
    chance, known = random.Random(length), words()
    weights = list(accumulate(1 / (rank + 2) for rank in range(len(known))))
    for _ in range(count):
        yield " ".join(chance.choices(known, cum_weights=weights, k=chance.randint(length // 2, length * 3 // 2)))


def fill(connection: sqlite3.Connection, chats: int, messages: int) -> None:
    """So many chats with so many messages each, indexed."""
    made, titles, files = texts(chats * messages), texts(chats, _TITLE), texts(chats, _FILE)
    with transaction(connection, durable=False):
        search.prepare(connection)
        for chat in range(chats):
            key = f"{chat:012x}"
            connection.execute(
                "INSERT INTO chat (id, title, created, updated, leaf) VALUES (?, ?, ?, ?, ?)",
                (key, next(titles), chat, chat, f"{key}-{messages - 1}"),
            )
            connection.executemany(
                "INSERT INTO message (id, chat_id, parent_id, role, content, created, complete, depth)"
                " VALUES (?, ?, ?, ?, ?, ?, 1, ?)",
                (
                    (f"{key}-{n}", key, f"{key}-{n - 1}" if n else None, _ROLES[n % 2], next(made), chat, n + 1)
                    for n in range(messages)
                ),
            )
            if chat % 10 == 0:
                file = msgspec.json.encode((Attachment(f"{chat}.txt", next(files)),)).decode()
                connection.execute("UPDATE message SET attachments = ? WHERE id = ?", (file, f"{key}-0"))
        while search.update(connection, 10_000):
            continue


def beginning(letters: int) -> str:
    """The letters with which most of all words begin."""
    weights: Counter[str] = Counter()
    for rank, word in enumerate(words()):
        if len(word) >= letters:
            weights[word[:letters]] += 1_000_000 // (rank + 2)
    return weights.most_common(1)[0][0]


def timed(what: str, work: Callable[[], object]) -> None:
    """Run and print."""
    took, worked = list[float](), list[float]()
    for _ in range(_RUNS):
        began, at_work = time.perf_counter(), time.process_time()
        work()
        took.append((time.perf_counter() - began) * 1000)
        worked.append((time.process_time() - at_work) * 1000)
    print(f"| {what} | {statistics.median(took):.1f} | {max(took):.1f} | {statistics.median(worked):.1f} |")


def measure(path: Path, messages: int) -> None:
    """Print a table."""
    known = words()
    with closing(open_database(path)) as connection:
        print(f"{path.stat().st_size / 1e6:,.0f} MB\n")
        print("| What | median ms | worst ms | of the CPU, median ms |\n|---|---|---|---|")
        timed("list of the latest 100", lambda: reading.recent(connection, 100))
        timed(f"a chat of {messages} messages", lambda: reading.load(connection, "00000000000a"))
        for what, text in {
            "the most frequent word": known[0] + " ",
            "a word of the middle": known[400],
            "a rare word": known[-1],
            "two frequent words": f"{known[0]} {known[1]}",
            "three words of the middle": f"{known[300]} {known[350]} {known[400]}",
            "a frequent and a rare word": f"{known[0]} {known[-1]}",
            "one letter": "b",
            "two letters": "ba",
            **{f"the most frequent beginning of {letters}": beginning(letters) for letters in (2, 3, 4, 5)},
        }.items():
            timed(f"search: {what}", lambda text=text: reading.find(connection, text, 200))  # type: ignore[misc]
    store = ChatStore(path)
    talk = Talk(store)
    timed("a turn, begun, journalled and ended", lambda: _turn(talk, store))
    print(store.close())


def _turn(talk: Talk, store: ChatStore) -> None:
    begun = talk.begin("question")
    talk.grow(begun, "half an answer")
    settled(store)
    talk.end(begun, "half an answer, and the rest")
    settled(store)


def main() -> None:
    """Fill a file and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chats", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=20)
    parser.add_argument("--file", type=Path, default=None)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        path = arguments.file or Path(folder) / "chats.db"
        if not path.exists():
            with closing(open_database(path)) as connection:
                began = time.perf_counter()
                fill(connection, arguments.chats, arguments.messages)
                count = arguments.chats * arguments.messages
                print(f"{count:,} messages made and indexed in {time.perf_counter() - began:.0f} s")
        measure(path, arguments.messages)


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=90))
