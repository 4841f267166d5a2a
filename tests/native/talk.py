"""Talking to real llama.cpp models in tests: load, say, collect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config, ModelConfig, SamplingConfig, SpeculativeConfig
from mtpchat.engine.engine import ChatEngine
from mtpchat.engine.requests import TurnRequest
from mtpchat.events import Failed, Finished, ModelFacts, SpeculationControl, TurnEvent
from mtpchat.messages import Message
from mtpchat.stats import TurnStats

OFF = SpeculationControl(mode="off")
GREEDY = SamplingConfig(temperature=0, max_tokens=48)


def pinned(depth: int, kind: str = "") -> SpeculationControl:
    """Draft exactly `depth` tokens each step."""
    return SpeculationControl(mode="on", draft_max=depth, pinned=True, kind=kind)


@dataclass
class Talk:
    """An engine with a loaded model."""

    engine: ChatEngine
    facts: ModelFacts

    def events(
        self,
        messages: tuple[Message, ...] | str,
        control: SpeculationControl | Callable[[], SpeculationControl] = OFF,
        sampling: SamplingConfig = GREEDY,
        cancelled: Callable[[], bool] = lambda: False,
        continue_last: bool = False,
    ) -> list[TurnEvent]:
        """All events of one turn."""
        if isinstance(messages, str):
            messages = (Message("user", messages),)
        wanted = control if callable(control) else lambda: control
        request = TurnRequest(messages, sampling, continue_last)
        return list(self.engine.turn(request, wanted, cancelled))

    def say(
        self,
        messages: tuple[Message, ...] | str,
        control: SpeculationControl | Callable[[], SpeculationControl] = OFF,
        sampling: SamplingConfig = GREEDY,
    ) -> tuple[str, TurnStats]:
        """Text of the answer, thoughts included, and its counters."""
        last = self.events(messages, control, sampling)[-1]
        assert isinstance(last, Finished), last
        return last.message.thinking + "|" + last.message.content, last.stats

    def failure(self, messages: tuple[Message, ...] | str, sampling: SamplingConfig = GREEDY) -> Failed:
        """The failure a turn ends in."""
        last = self.events(messages, sampling=sampling)[-1]
        assert isinstance(last, Failed), last
        return last


@contextmanager
def talk(
    model: Path,
    drafter: Path | str = "",
    kind: str = "auto",
    *,
    depth_cap: int = 8,
    copies: Literal["auto", "on", "off"] = "off",
    off_rebuild: Literal["auto", "always", "never"] = "never",
    strict: bool = False,
    **model_settings: object,
) -> Iterator[Talk]:
    """Load a model on one thread, without trials and without measuring anything.

    Args:
        copies: the setting speculative.checkpoint_rollback.
        off_rebuild, strict: settings of speculation.
    """
    settings = msgspec.convert({"context": 2048, "threads": 1, "trial": "off", **model_settings}, ModelConfig)
    speculative = SpeculativeConfig(
        depth_cap=depth_cap, checkpoint_rollback=copies, off_rebuild=off_rebuild, strict=strict
    )
    config = Config(model=settings, speculative=speculative)
    engine = ChatEngine(LlamaBackend())
    try:
        facts = engine.load(
            LoadPlan(str(model), str(drafter), kind, config), lambda _what, _fraction, _size: None, lambda: False
        )
        yield Talk(engine, facts)
    finally:
        engine.close()
