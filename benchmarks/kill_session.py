"""Kills whole sessions at random moments, in whatever they are doing, and holds the disk against what they had said.

    python -m benchmarks.kill_session [--kills 240] [--abreast 3]

Each victim is a real session with the real store, drafts and kept states; only the engine is a fake that talks. It
sends (some messages with files), edits, retries, stops, carries on, walks, undoes, redoes, amends, forks, compacts,
renames, pins, gets titles, deletes, purges, and opens chats of others. Several share one file at a time, and what
a kill leaves behind is gone on with. benchmarks/kill_verdict.py judges.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import msgspec
import numpy as np

from benchmarks.bounded import bounded
from benchmarks.kill_verdict import Figures, Line, judge
from mtpchat.chats import Change, Deleted, Pinned
from mtpchat.config import Config
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.errors import CommandError
from mtpchat.events import Event
from mtpchat.messages import Attachment, Message
from mtpchat.state_record import StateRecord
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.purging import purge, wipe
from mtpchat.store.state_writer import StateWriter
from mtpchat.store.states import StateFolder
from mtpchat.ui.chips import Written
from mtpchat.ui.drafts import Draft, Drafts
from tests.fakes import FakeEngine, Gate

_STEPS = (
    "send",
    "send",
    "send",
    "attach",
    "edit",
    "retry",
    "stop",
    "stop",
    "continue",
    "walk",
    "undo",
    "redo",
    "amend",
    "fork",
    "compact",
    "rename",
    "title",
    "pin",
    "throw_away",
    "clear",
    "resume",
    "draft",
    "draft",
    "state",
    "settle",
    "settle",
)


class Pace(Gate):
    """Where a fake engine takes its time for a token."""

    def hold(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        if not cancelled():
            time.sleep(0.004)


class Teller(ChatStore):
    """A store that says of everything what it was given, and when."""

    def __init__(self, path: Path, out: int) -> None:
        super().__init__(path, busy_s=20.0)
        self._out = out

    def put(self, change: Change) -> None:
        super().put(change)
        self.tell(Line(change=change))

    def tell(self, line: Line) -> None:
        said = msgspec.structs.replace(line, at=time.monotonic())
        text = msgspec.json.encode(said) + b"\n"
        while text:
            text = text[os.write(self._out, text) :]


class Speaker:
    """One session that goes on for ever, step after step."""

    def __init__(self, folder: Path, number: int, out: int) -> None:
        self.chance = random.Random(number)
        self.engine = FakeEngine(step=Pace())
        self.service = EngineService(lambda: self.engine)
        self.service.start()
        self.store = Teller(folder / "chats.db", out)
        self.session = Session(self.service, Config(), archive=self.store)
        self.drafts = Drafts(folder / "drafts")
        self.states = StateWriter(StateFolder(folder / "states", 1 << 30))
        self.number, self.said, self.own = number, 0, True

    def text(self, most: int) -> str:
        self.said += 1
        words = " ".join(
            self.chance.choices(("river", "é", "水", "x\u0301", "bends", "\n\n"), k=self.chance.randrange(most))
        )
        return f"{self.number}.{self.said} {words}".strip()

    async def run(self) -> NoReturn:
        while True:
            step = self.chance.choice(_STEPS)
            try:
                await getattr(self, step)()
            except CommandError:
                continue

    async def _hear(self, events: AsyncGenerator[Event, None]) -> None:
        self.engine.replies = [(self.text(8), self.text(60)) if self.chance.random() < 0.3 else self.text(60)]
        async with aclosing(events):
            async for _ in events:
                pass

    def _place(self, role: str) -> int:
        places = [at for at, one in enumerate(self.session.messages) if one.role == role]
        if not places:
            raise CommandError("nothing there")
        return self.chance.choice(places)

    async def send(self) -> None:
        await self._hear(self.session.send(self.text(20)))

    async def attach(self) -> None:
        files = tuple(Attachment(f"{at}.txt", self.text(400)) for at in range(self.chance.randrange(1, 4)))
        await self._hear(self.session.send(self.text(5), files))

    async def edit(self) -> None:
        await self._hear(self.session.edit(self._place("user"), self.text(9)))

    async def retry(self) -> None:
        await self._hear(self.session.retry(self._place("user")))

    async def stop(self) -> None:
        async with aclosing(self.session.send(self.text(9))) as events:
            self.engine.replies = [self.text(90)]
            left = self.chance.randrange(1, 30)
            async for _ in events:
                left -= 1
                if not left:
                    await self.session.cancel()

    async def continue_(self) -> None:
        if self.own:  # of two that carry on one answer at a time, one becomes a copy beside it
            await self._hear(self.session.continue_last())

    async def walk(self) -> None:
        self.session.walk(self._place(self.chance.choice(("user", "assistant"))), self.chance.choice((-1, 1)))

    async def undo(self) -> None:
        self.session.undo()

    async def redo(self) -> None:
        self.session.redo()

    async def amend(self) -> None:
        self.session.amend(self._place("assistant"), self.text(30))

    async def fork(self) -> None:
        self.session.fork(self._place("assistant"))
        self.own = True

    async def compact(self) -> None:
        kept = self.session.messages[self._place("user") :]
        self.session.begin_anew((Message("user", "Summarise"), Message("assistant", self.text(20)), *kept))

    async def rename(self) -> None:
        self.session.rename(self.text(4))

    async def title(self) -> None:
        self.session._talk.chronicle.entitle(self.text(4))

    async def pin(self) -> None:
        """Pinned chats are those that others may open."""
        if self.session.chat_id:
            self.store.put(Pinned(self.session.chat_id, True))

    async def throw_away(self) -> None:
        """A chat of its own, said, deleted, brought back, deleted and let go of for good."""
        await self.clear()
        await self.send()
        chat = self.session.chat_id
        for at in (time.time(), None, time.time()):
            self.store.put(Deleted(chat, at))
        self.store.tell(Line(purging=chat))
        self.session.clear()
        await asyncio.wrap_future(self.store.ask(lambda connection: (purge(connection, [chat]), wipe(connection))))

    async def clear(self) -> None:
        self.session.clear()
        self.own = True

    async def resume(self) -> None:
        pinned = [line.id for line in await self.store.recent(20) if line.pinned]
        if pinned:
            self.session.resume(await self.store.open(self.chance.choice(pinned)))
            self.own = False
            if len(self.session.messages) > 30:
                self.session.clear()

    async def draft(self) -> None:
        chat, text = f"draft{self.number % 8}-{self.chance.randrange(4)}", self.text(200)
        self.store.tell(Line(drafting=(chat, text)))
        self.drafts.put(chat, Draft(Written(text), (Written("waits"),)))
        self.drafts.write_out()
        self.store.tell(Line(drafted=(chat, text)))

    async def state(self) -> None:
        if self.states.writing:
            return
        ids = np.arange(self.chance.randrange(1, 900), dtype=np.int32)
        record = StateRecord("k" * 32, f"chat{self.chance.randrange(12)}", ids.tobytes())
        draw = np.random.default_rng(self.said)
        self.states.write(record, [draw.integers(0, 256, size, np.uint8) for size in (900_000, 40_000, 100)])

    async def settle(self) -> None:
        await asyncio.wrap_future(self.store.ask(lambda connection: None))
        self.store.tell(Line(settled=True))


setattr(Speaker, "continue", Speaker.continue_)


class Victim:
    """A forked session, and what it has told."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder
        ours, its = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(ours)
                os.setpgid(0, 0)
                asyncio.run(Speaker(folder, number, its).run())
            finally:
                os._exit(9)
        os.close(its)
        self.pipe, self.text = ours, bytearray()
        os.set_blocking(ours, False)

    def listen(self) -> None:
        while True:
            try:
                chunk = os.read(self.pipe, 1 << 20)
            except BlockingIOError:
                return
            if not chunk:
                return
            self.text += chunk

    def kill(self) -> float:
        at = time.monotonic()
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        assert os.WIFSIGNALED(status), f"it ended by itself: {status}"
        self.listen()
        os.close(self.pipe)
        return at

    def lines(self) -> list[Line]:
        whole = bytes(self.text).split(b"\n")[:-1]
        return [msgspec.json.decode(line, type=Line) for line in whole]


def run(folder: Path, kills: int, abreast: int, longest_s: float = 3.0) -> Figures:
    """Kill so many sessions, `abreast` at a time on one file, and judge each."""
    figures, chance, done = Figures(), random.Random(kills), 0
    while done < kills:
        place = folder / f"{done // 60}"  # a new file now and then, so that looking at all of it stays cheap
        place.mkdir(exist_ok=True)
        victims = [Victim(place, done + at) for at in range(min(abreast, kills - done))]
        ends = {id(one): time.monotonic() + chance.uniform(0.15, longest_s) for one in victims}
        died: list[tuple[Victim, float]] = []
        while victims:
            for victim in [*victims]:
                victim.listen()
                if time.monotonic() >= ends[id(victim)]:
                    died.append((victim, victim.kill()))
                    victims.remove(victim)
            time.sleep(0.002)
        done += len(died)
        judge(place, [(victim.lines(), at) for victim, at in died], figures)
    return figures


def main() -> None:
    """Run and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=240)
    parser.add_argument("--abreast", type=int, default=3)
    arguments = parser.parse_args()
    with TemporaryDirectory() as name:
        print(run(Path(name), arguments.kills, arguments.abreast).told())


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=60))
