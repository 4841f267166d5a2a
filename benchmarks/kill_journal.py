"""Kills a process that writes a chat, at random moments, and holds what is left against what it had said.

    python -m benchmarks.kill_journal [--kills 240]

Half of the processes have each piece of text confirmed now and then: what was confirmed must be there. The other half
write as the app does, with nothing confirmed: all that was said more than a second before the end must be there. Each
time the file must be sound, every turn that had ended whole, and what is left of the last one a beginning of it. Few
files serve for all: what one kill leaves behind is gone on with.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from benchmarks.bounded import bounded
from mtpchat.store import reading
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.database import open_database
from tests.store.talk import Talk, settled

_LAST_SECOND_S = 1.0


def piece_of(turn: int, piece: int) -> str:
    """What is said at that place."""
    return f"turn {turn} piece {piece} {'é' * (piece % 7)} "


def pieces_in(turn: int) -> int:
    """How long the answer of a turn is."""
    return 3 + turn * 7 % 11


def answer_of(turn: int, pieces: int | None = None) -> str:
    """The whole answer of a turn, or its first pieces."""
    return "".join(piece_of(turn, at) for at in range(pieces_in(turn) if pieces is None else pieces))


def speak(path: Path, chat: str, out: int, *, timed: bool) -> NoReturn:
    """Talk for ever; a line on `out` for everything that has been said and, unless timed, is safe."""
    store = ChatStore(path, busy_s=20.0)
    talk = Talk(store, chat)
    for turn in count():
        begun = talk.begin(f"question {turn}", at=time.time())
        for piece in range(pieces_in(turn)):
            talk.grow(begun, piece_of(turn, piece))
            _said(store, out, turn, piece + 1, ended=False, timed=timed, ask=piece % 3 == 0)
        talk.end(begun, answer_of(turn))
        _said(store, out, turn, pieces_in(turn), ended=True, timed=timed, ask=True)
    raise AssertionError


def _said(store: ChatStore, out: int, turn: int, pieces: int, *, ended: bool, timed: bool, ask: bool) -> None:
    if timed:
        time.sleep(0.01)
    elif ask:
        settled(store)
    else:
        return
    os.write(out, f"{time.monotonic()} {turn} {pieces} {ended:d}\n".encode())


class Victim:
    """A forked process that speaks, and what it has told."""

    def __init__(self, path: Path, chat: str, *, timed: bool) -> None:
        self.path, self.chat, self.timed = path, chat, timed
        ours, its = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(ours)
            speak(path, chat, its, timed=timed)
        os.close(its)
        self._pipe = os.fdopen(ours, "rb", buffering=0)
        self._text = b""

    def listen(self, lines: int) -> None:
        """Until it has told so much."""
        while self._text.count(b"\n") < lines:
            chunk = self._pipe.read(1 << 16)
            assert chunk, "it ended by itself"
            self._text += chunk

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self._text += self._pipe.read() or b""
        self._pipe.close()

    def told(self) -> Iterator[tuple[float, int, int, bool]]:
        """(when, turn, pieces, ended) of everything that must be there."""
        rows = [line.split() for line in self._text.decode().split("\n")[:-1]]
        newest = float(rows[-1][0]) if rows else 0.0
        for at, turn, pieces, ended in rows:
            if not self.timed or float(at) <= newest - _LAST_SECOND_S:
                yield float(at), int(turn), int(pieces), ended == "1"

    def check(self) -> int:
        """What is in the file is what was said. Returns how many turns had ended."""
        ends, promised = -1, (0, 0)
        for _, turn, pieces, ended in self.told():
            promised = (turn, pieces)
            ends = turn if ended else ends
        with closing(open_database(self.path, busy_s=20.0)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
            there = connection.execute("SELECT 1 FROM chat WHERE id = ?", (self.chat,)).fetchone()
            path = reading.load(connection, self.chat).path if there else ()
        answers = [said for said in path if said.role == "assistant"]
        assert len(answers) > ends, (len(answers), ends)
        for turn, said in enumerate(answers[:-1]):
            assert said.complete
            assert said.content == answer_of(turn)
        assert [said.content for said in path[::2]] == [f"question {turn}" for turn in range(len(path[::2]))]
        if answers:
            last = len(answers) - 1
            assert answer_of(last).startswith(answers[-1].content)
            assert answers[-1].complete == (answers[-1].content == answer_of(last)) or not answers[-1].complete
            assert ends < last or answers[-1].complete
        turn, pieces = promised
        said_there = answers[turn].content if turn < len(answers) else ""
        assert said_there.startswith(answer_of(turn, pieces)), (said_there, turn, pieces)
        return ends + 1


def run(folder: Path, rounds: int, *, timed: bool, abreast: int) -> int:
    """Kill `rounds` processes, `abreast` at a time. Returns how many turns had ended in all of them."""
    chance = random.Random(rounds)
    turns = 0
    for first in range(0, rounds, abreast):
        victims = [
            Victim(folder / f"{number % max(4, abreast // 4)}.db", f"chat{number:08}", timed=timed)
            for number in range(first, min(first + abreast, rounds))
        ]
        for victim in victims:
            victim.listen(chance.randrange(100, 160) if timed else chance.randrange(40))
        if timed:
            time.sleep(chance.random() * 0.5)
        for victim in victims:
            victim.kill()
        turns += sum(victim.check() for victim in victims)
    return turns


def main() -> None:
    """Run and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=240)
    kills = parser.parse_args().kills
    for timed in (False, True):
        with TemporaryDirectory() as folder:
            turns = run(Path(folder), kills // 2, timed=timed, abreast=16 if timed else 4)
        what = "said more than a second before" if timed else "confirmed"
        print(f"{kills // 2} kills: all {turns} turns that had been {what} are whole, and so is what came after them")


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=30))
