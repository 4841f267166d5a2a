"""What a chat of 100,000 tokens costs the thread of the screen, against a chat of two turns. No model.

    python benchmarks/long_transcript.py [--turns 120] [--rate 180] [--only WHAT ...]

A chat is reopened in a real pseudo-terminal, paged through, searched, marked, resized, and answered at its end by a
scripted engine. A frame is what the thread computes between two writes to the terminal, in seconds of CPU, so a busy
machine disturbs it little; a stretch is what it computes without looking at its other work. Resident memory is read
after each part.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import termios
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bounded import bounded, end_with_terminal
from painting_cost import CHARACTERS_A_TOKEN, TEXT, ScriptedEngine

from mtpchat.chats import ChatLine, KeptChat, Said
from mtpchat.engine.archive import KeepsNothing

_ANSWER_CHARACTERS = 3000
_THOUGHTS = "First the fork, then the chain: what is asked is why it stays upright.\n" * 4


class OneChat(KeepsNothing):
    """Keeps one chat, of that many turns."""

    keeps = True

    def __init__(self, turns: int) -> None:
        self._turns = turns

    async def open(self, reference: str) -> KeptChat:
        """See mtpchat.engine.archive.Archive."""
        path: list[Said] = []
        for turn in range(self._turns):
            first = turn * 700 % len(TEXT)
            answer = f"Answer {turn}.\n\n" + (TEXT[first:] + "\n```\n\n" * (TEXT[first:].count("```") % 2) + TEXT)
            thinking = _THOUGHTS if turn % 3 == 0 else ""
            parent = path[-1].id if path else ""
            path.append(Said(f"u{turn}", parent, "user", f"Question {turn}: and why does it do that?"))
            path.append(Said(f"a{turn}", f"u{turn}", "assistant", answer[:_ANSWER_CHARACTERS], thinking))
        return KeptChat(ChatLine(1, "one", "Bicycles", 0.0, 0.0, len(path)), tuple(path))


class Meter:
    """Seconds of CPU of each frame, and of each stretch of the event loop."""

    def __init__(self) -> None:
        from textual.app import App

        self.frames: list[float] = []
        self.stretches: list[float] = []
        self._last = time.thread_time()
        display, run = App._display, asyncio.Handle._run

        def displayed(app: Any, *args: Any) -> None:
            display(app, *args)
            now = time.thread_time()
            self.frames.append(now - self._last)
            self._last = now

        def ran(handle: asyncio.Handle) -> None:
            begun = time.thread_time()
            run(handle)
            self.stretches.append(time.thread_time() - begun)

        App._display = displayed  # type: ignore[method-assign]
        asyncio.Handle._run = ran  # type: ignore[method-assign]

    def begin(self) -> None:
        """Another part begins."""
        self.frames.clear()
        self.stretches.clear()
        self._last = time.thread_time()

    def counted(self, begun: float) -> dict[str, float]:
        """What the part took."""
        frames = sorted(self.frames) or [0.0]
        return {
            "frames": len(self.frames),
            "p50": frames[len(frames) // 2],
            "p95": frames[min(int(len(frames) * 0.95), len(frames) - 1)],
            "worst": frames[-1],
            "stretch": max(self.stretches, default=0.0),
            "cpu": time.thread_time() - begun,
            "mb": _resident_mb(),
        }


def _resident_mb() -> float:
    """Where the system does not tell, the largest size so far."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class Reader:
    """Does with a chat what a reader does."""

    def __init__(self, app: Any, meter: Meter) -> None:
        self._app = app
        self._meter = meter
        self.results: dict[str, dict[str, float]] = {}

    async def part(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do something and keep what it took until the screen is at rest."""
        self._meter.begin()
        begun = time.thread_time()
        await work()
        await self._rest()
        self.results[name] = self._meter.counted(begun)

    async def _rest(self) -> None:
        """Until the thread does next to nothing for a while."""
        while True:
            begun = time.thread_time()
            await asyncio.sleep(0.3)
            if time.thread_time() - begun < 0.03:
                return

    async def keys(self, *keys: str) -> None:
        """Press keys, one after the other has been dealt with."""
        for key in keys:
            frames = len(self._meter.frames)
            await self._app._press_keys([key])
            for _ in range(15):
                if len(self._meter.frames) > frames:
                    break
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.02)

    async def reopened(self) -> None:
        """Until the end of the chat is on the screen."""
        transcript = self._app.screen_stack[0].transcript
        while not transcript.entries or not transcript.entries[-1].region:
            await asyncio.sleep(0.02)

    async def resize(self) -> None:
        """To 160 by 48 and back."""
        for size in ((48, 160), (24, 80)):
            with open("/dev/tty") as terminal:
                termios.tcsetwinsize(terminal.fileno(), size)
            await asyncio.sleep(0.3)
            await self._rest()

    async def ask(self) -> None:
        """One more answer at the end."""
        chat = self._app.screen_stack[0]
        while self._app._session.facts is None or chat.turns.busy:
            await asyncio.sleep(0.05)
        await self.keys(*"hi", "enter")
        await asyncio.sleep(0.3)
        while chat.turns.busy:
            await asyncio.sleep(0.1)


def parts_of(reader: Reader) -> dict[str, Callable[[], Awaitable[None]]]:
    """What is measured, in this order."""
    return {
        "reopen": reader.reopened,
        "page up x 60": lambda: reader.keys(*["pageup"] * 60),
        "top": lambda: reader.keys("ctrl+home"),
        "page down x 60": lambda: reader.keys(*["pagedown"] * 60),
        "end": lambda: reader.keys("ctrl+end"),
        "mark x 20": lambda: reader.keys("tab", *["left_square_bracket"] * 20, "escape"),
        "find, 10 steps": lambda: reader.keys("ctrl+f", *"upright", *["enter"] * 10, "escape", "ctrl+end"),
        "80x24, 160x48, back": reader.resize,
        "answer": reader.ask,
    }


def run_app(options: argparse.Namespace) -> None:
    """The child: the app on the scripted engine and a kept chat. Writes what was counted."""
    from mtpchat.config import Config, ModelConfig
    from mtpchat.engine.service import EngineService
    from mtpchat.engine.session import Session
    from mtpchat.ui.app import MtpChatApp

    meter = Meter()
    service = EngineService(lambda: ScriptedEngine(options.rate))
    service.start()
    session = Session(service, Config(model=ModelConfig(path="/scripted.gguf")), archive=OneChat(options.turns))
    app = MtpChatApp(session, resume="")
    results: dict[str, Any] = {}

    async def read(pilot: Any) -> None:
        end_with_terminal()
        reader = Reader(app, meter)
        for name, work in parts_of(reader).items():
            if not options.only or name.split(" ")[0].rstrip(",") in options.only:
                profiler = _profiler(options.profile if name.startswith(options.part) else "")
                await reader.part(name, work)
                if profiler is not None:
                    profiler.disable()
                    profiler.dump_stats(options.profile)
        results.update(reader.results)
        app.exit()

    app.run(auto_pilot=read)
    service.close()
    Path(options.child).write_text(json.dumps(results))


def _profiler(path: str) -> Any:
    if not path:
        return None
    import cProfile

    profiler = cProfile.Profile(time.thread_time)
    profiler.enable()
    return profiler


def spawn(options: argparse.Namespace, turns: int) -> dict[str, dict[str, float]]:
    """Run the child in a terminal of its own and read what it counted."""
    from app_in_terminal import counted_by

    command = [sys.executable, os.path.abspath(__file__), "--rate", str(options.rate), "--turns", str(turns)]
    command += [
        "--profile",
        options.profile,
        "--part",
        options.part,
        *(["--only", *options.only] if options.only else []),
    ]
    counted: dict[str, dict[str, float]] = counted_by([*command, "--child"])
    return counted


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=120)
    parser.add_argument("--short", type=int, default=2, help="turns of the chat to compare with; 0 leaves it out")
    parser.add_argument("--rate", type=float, default=180.0, help="tokens per second")
    parser.add_argument("--only", nargs="*", default=[], help="first words of the parts to be measured")
    parser.add_argument("--profile", default="", help="write a profile of one part here")
    parser.add_argument("--part", default="reopen", help="which one")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_app(options)
        return 0
    for turns in (options.short, options.turns):
        if not turns:
            continue
        print(f"{turns} turns, about {turns * _ANSWER_CHARACTERS // CHARACTERS_A_TOKEN:,} tokens; ms of CPU per frame")
        print(f"  {'':22}{'frames':>7}{'p50':>8}{'p95':>8}{'worst':>8}{'stretch':>9}{'all, s':>8}{'MB':>7}")
        for name, one in spawn(options, turns).items():
            times = [one[key] * 1000 for key in ("p50", "p95", "worst", "stretch")]
            figures = "{:8.1f}{:8.1f}{:8.1f}{:9.1f}".format(*times)
            print(f"  {name:22}{one['frames']:7.0f}{figures}{one['cpu']:8.2f}{one['mb']:7.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=30, inside="--child" in sys.argv))
