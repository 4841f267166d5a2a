"""What the thread of the screen costs while an answer streams, counted rather than timed.

    python benchmarks/painting_cost.py [--size 80x24] [--rate 180] [--answers 2] [--runs 1] [--profile FILE]

No model: a scripted engine says a fixed Markdown text at a given rate, through the real service, mailbox and session,
to the app in a real pseudo-terminal. Seconds are CPU time of the thread that paints, so a busy machine disturbs them
little. The second answer shows what the first one paid once and for all.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bounded import bounded, end_with_terminal

from mtpchat.backend.protocol import LoadPlan
from mtpchat.engine.requests import TurnRequest
from mtpchat.events import Finished, Measured, ModelFacts, SpeculationControl, StatsTick, TextDelta, TurnEvent
from mtpchat.messages import Message
from mtpchat.stats import TurnStats

_PARAGRAPH = (
    "A bicycle stays upright because **the rider steers into a fall**: the front wheel moves back under the centre of "
    "mass before it is too late. The trail of the fork helps, and so does the `gyroscopic` effect of the wheels, *a "
    "little*. What feels like balance is a loop of small corrections that nobody notices any more.\n\n"
)
_CHAPTER = (
    "## How it {verb}\n\n"
    + _PARAGRAPH
    + "1. The pedals turn the crank, and the crank pulls the chain.\n2. The chain turns the **cassette** at the rear "
    "wheel.\n3. The tyre pushes against the road; the road pushes back.\n4. The frame carries all of it.\n\n"
    + _PARAGRAPH
    + "- *Brakes* turn motion into heat.\n- Gears change how far a turn of the pedals goes; a low gear is easy and "
    "slow.\n- Bearings keep what turns apart from what does not.\n\n"
)
_CODE = '''```python
def lean_angle(speed: float, radius: float, gravity: float = 9.81) -> float:
    """How far a rider leans in a curve, in radians."""
    return math.atan2(speed * speed, radius * gravity)

for speed in range(2, 12):
    print(speed, round(math.degrees(lean_angle(speed, 15.0)), 1))
```

'''
_TABLE = "| part | job |\n|---|---|\n| fork | steers |\n| chain | drives |\n| saddle | carries |\n\n"
TEXT = "# Bicycles\n\n" + "".join(
    _CHAPTER.format(verb=verb) + extra
    for verb, extra in (("moves", _CODE), ("steers", _TABLE), ("stops", _CODE), ("lasts", "The end.\n"))
)
CHARACTERS_A_TOKEN = 4


class ScriptedEngine:
    """Says TEXT at a steady rate, with counters eight times a second as the real engine does."""

    def __init__(self, rate: float) -> None:
        self._pause_s = 1 / rate

    def load(
        self, plan: LoadPlan, progress: Callable[[str, float, int], None], cancelled: Callable[[], bool]
    ) -> ModelFacts:
        """See mtpchat.engine.requests.Engine."""
        return ModelFacts("scripted", plan.model, "fake", "none", "No drafter.", context_size=8192)

    def turn(
        self, request: TurnRequest, control: Callable[[], SpeculationControl], cancelled: Callable[[], bool]
    ) -> Iterator[TurnEvent]:
        """See mtpchat.engine.requests.Engine."""
        began = told = time.monotonic()
        stats = TurnStats(prompt_tokens=20, prefill_s=0.1, context_size=8192, kind="none")
        pieces = [TEXT[at : at + CHARACTERS_A_TOKEN] for at in range(0, len(TEXT), CHARACTERS_A_TOKEN)]
        for count, piece in enumerate(pieces, 1):
            if cancelled():
                break
            time.sleep(max(began + count * self._pause_s - time.monotonic(), 0))
            now = time.monotonic()
            stats = replace(stats, output_tokens=count, steps=count, decode_s=now - began, context_used=20 + count)
            yield TextDelta(piece)
            if now - told >= 1 / 8:
                told = now
                yield StatsTick(stats)
        yield Finished(Message("assistant", TEXT), stats, "stop")

    def measure(self, request: TurnRequest, cancelled: Callable[[], bool]) -> Measured:
        """See mtpchat.engine.requests.Engine."""
        return Measured(20, 8192)

    def close(self) -> None:
        """Nothing is held."""


@dataclass(slots=True)
class Counts:
    """What is counted while an answer streams."""

    fetches: int = 0
    layouts: int = 0
    paints: int = 0
    mounted: int = 0
    cpu_s: float = 0.0
    process_s: float = 0.0
    end_s: float = 0.0


class Counter:
    """Counts between the first word and the last, and then until the screen is quiet."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.profiler: Any = None
        self._watch()

    def begin(self) -> None:
        """An answer begins."""
        self.counts = Counts(cpu_s=-time.thread_time(), process_s=-time.process_time())
        if self.profiler is not None:
            self.profiler.enable()

    def end(self) -> None:
        """Its last word has come; the full rendering follows."""
        if self.profiler is not None:
            self.profiler.disable()
        self.counts.cpu_s += time.thread_time()
        self.counts.process_s += time.process_time()
        self.counts.end_s = -time.thread_time()

    def _watch(self) -> None:
        from textual.screen import Screen
        from textual.widget import Widget

        from mtpchat.engine.mailbox import Mailbox

        self._tap(Mailbox, "_take", "fetches")
        self._tap(Screen, "_refresh_layout", "layouts")
        self._tap(Screen, "_compositor_refresh", "paints")
        self._tap(Widget, "_on_mount", "mounted")

    def _tap(self, owner: type, method: str, field: str) -> None:
        original = getattr(owner, method)

        def counted(*args: Any, **options: Any) -> Any:
            setattr(self.counts, field, getattr(self.counts, field) + 1)
            return original(*args, **options)

        setattr(owner, method, counted)


def run_app(options: argparse.Namespace) -> None:
    """The child: the app on the scripted engine. Writes what was counted, one entry per answer."""
    from textual.pilot import Pilot

    from mtpchat.config import Config, ModelConfig
    from mtpchat.engine.service import EngineService
    from mtpchat.engine.session import Session
    from mtpchat.ui.app import MtpChatApp

    counter = Counter()
    if options.profile:
        import cProfile

        counter.profiler = cProfile.Profile(time.thread_time)
    service = EngineService(lambda: ScriptedEngine(options.rate))
    service.start()
    session = Session(service, Config(model=ModelConfig(path="/scripted.gguf")))
    app = MtpChatApp(session)
    results: list[Counts] = []

    async def ask(pilot: Pilot[object]) -> None:
        end_with_terminal()
        chat = app.screen_stack[0]
        for _ in range(options.answers):
            while session.facts is None or chat.turns.busy:  # type: ignore[attr-defined]
                await asyncio.sleep(0.05)
            await asyncio.sleep(1.0)  # a person types; what the app does when it is idle is done by now
            results.append(await _one_answer(app, counter, pilot))
        app.exit()

    app.run(auto_pilot=ask)
    service.close()
    if counter.profiler is not None:
        counter.profiler.dump_stats(options.profile)
    Path(options.child).write_text(json.dumps([{f: getattr(one, f) for f in Counts.__slots__} for one in results]))


async def _one_answer(app: Any, counter: Counter, pilot: Any) -> Counts:
    chat = app.screen_stack[0]
    presenter = chat.presenter
    shown = type(presenter).turn_event
    begun = threading.Event()

    async def told(self: Any, event: TurnEvent) -> None:
        if isinstance(event, TextDelta) and not begun.is_set():
            begun.set()
            counter.begin()
        if isinstance(event, Finished):
            counter.end()
        await shown(self, event)

    type(presenter).turn_event = told
    try:
        await pilot.press("h", "i", "enter")
        # Not pilot.pause: it asks every widget whether it is at rest, which would be counted.
        await asyncio.sleep(0.2)
        while chat.turns.busy:
            await asyncio.sleep(0.3)
        await asyncio.sleep(0.5)
        counter.counts.end_s += time.thread_time()
        return counter.counts
    finally:
        type(presenter).turn_event = shown


def spawn(options: argparse.Namespace) -> list[dict[str, float]]:
    """Run the child in a terminal of its own and read what it counted."""
    from app_in_terminal import counted_by

    columns, rows = (int(number) for number in options.size.split("x"))
    command = [sys.executable, os.path.abspath(__file__), "--rate", str(options.rate)]
    command += ["--answers", str(options.answers), "--profile", options.profile, "--child"]
    counted: list[dict[str, float]] = counted_by(command, (rows, columns))
    return counted


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="80x24")
    parser.add_argument("--rate", type=float, default=180.0, help="tokens per second")
    parser.add_argument("--answers", type=int, default=2, help="answers in one chat")
    parser.add_argument("--runs", type=int, default=1, help="fresh processes")
    parser.add_argument("--profile", default="", help="write a profile of the painting thread here")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_app(options)
        return 0
    tokens = -(-len(TEXT) // CHARACTERS_A_TOKEN)
    print(f"{tokens} tokens at {options.rate:.0f} tokens/s, {options.size}")
    for _ in range(options.runs):
        for number, one in enumerate(spawn(options), 1):
            seconds = one["cpu_s"]
            print(
                f"answer {number}: {seconds / tokens * 1000:.3f} s of CPU per 1,000 tokens "
                f"({seconds / tokens * options.rate:5.1%} of a core; process {one['process_s']:.2f} s), "
                f"{seconds / one['fetches'] * 1000:.1f} ms per fetch ({one['fetches']:.0f}), "
                f"per fetch {one['layouts'] / one['fetches']:.2f} layouts and "
                f"{one['paints'] / one['fetches']:.2f} paints, {one['mounted']:.0f} widgets mounted, "
                f"then {one['end_s']:.3f} s for the full rendering"
            )
    return 0


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=20, inside="--child" in sys.argv))
