"""`mtpchat verify`, `mtpchat bench` and `mtpchat tune`: from settings to an engine, to figures, to an exit code.

The engine runs on the main thread here: nothing else wants it, and its timings should meet as few other threads as can
be.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TextIO

import msgspec

from mtpchat import paths
from mtpchat.backend.protocol import LoadPlan
from mtpchat.bench.prompts import Prompt, builtin, from_conversations, read, select
from mtpchat.chats import conversation
from mtpchat.config import Config, ModelConfig
from mtpchat.errors import ConfigError, EngineError
from mtpchat.events import ModelFacts, SpeculationControl
from mtpchat.headless_output import EXIT_FAILED, report_error

if TYPE_CHECKING:
    from mtpchat.bench.subject import EngineSubject
    from mtpchat.bench.variants import Variant
    from mtpchat.cli_watch import Watch
    from mtpchat.engine.engine import ChatEngine


_ANSWER, _TEMPLATE = 128, 512
"""Tokens that are left free beside a conversation: for the answer, and for what the chat template adds."""


@dataclass(frozen=True, slots=True)
class Job:
    """One of the three commands with all that it needs."""

    config: Config
    arguments: argparse.Namespace
    stdout: TextIO
    stderr: TextIO
    config_path: Path

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """What is asked: -p, --prompts, --from-chats, or the built-in ones; narrowed by --only."""
        arguments = self.arguments
        if arguments.prompt is not None:
            if not arguments.prompt.strip():
                raise ConfigError("The prompt is empty", hint='Say something: -p "..."')
            return (Prompt("prompt", arguments.prompt),)
        if arguments.from_chats:
            return select(self._kept(arguments.from_chats), arguments.only or ())
        chosen: tuple[Prompt, ...] = select(
            read(arguments.prompts) if arguments.prompts else builtin(), arguments.only or ()
        )
        return chosen

    def _kept(self, limit: int) -> tuple[Prompt, ...]:
        """The last questions of the user's last chats. Raises ConfigError or StorageError when there are none."""
        from mtpchat.store.recall import last_asked

        found = last_asked(paths.chats_file(self.config.paths.chats), limit)
        if not found:
            raise ConfigError(
                "No chat has been saved yet: there is nothing to measure with", hint="Leave --from-chats."
            )
        model = self.config.model
        room = (model.context or ModelConfig().context) - self.tokens(_ANSWER) - _TEMPLATE
        made = ((kept.line.id, from_conversations([conversation(kept)], room=room)) for kept in found)
        return tuple(replace(prompt, name=f"chat-{chat}") for chat, prompts in made for prompt in prompts)

    @property
    def wanted(self) -> SpeculationControl:
        """The user's bounds of the depth."""
        speculative = self.config.speculative
        return SpeculationControl(
            draft_min=speculative.draft_min, draft_max=speculative.draft_max, free_max=speculative.ngram_max
        )

    def tokens(self, otherwise: int) -> int:
        """Length of an answer: -n, or what suits the command."""
        return self.config.sampling.max_tokens or otherwise

    def plan(self, config: Config | None = None) -> LoadPlan:
        """What is loaded: room for the deepest draft that will be asked for, and nothing learnt in earlier runs."""
        config = config or self.config
        speculative = config.speculative
        deepest = max((speculative.draft_max, *(self.arguments.depths or ())))
        deepest = max(deepest, speculative.depth_cap)
        config = msgspec.structs.replace(
            config, speculative=msgspec.structs.replace(speculative, depth_cap=deepest, learn=False)
        )
        return LoadPlan(config.model.path, speculative.drafter, speculative.kind, config)

    def subject(self, engine: ChatEngine) -> EngineSubject:
        from mtpchat.bench.subject import EngineSubject

        return EngineSubject(engine, self.config.model)

    def variants(self, engine: ChatEngine, *, always: bool = False) -> tuple[Variant, ...]:
        from mtpchat.bench.variants import variants

        probe, arguments = engine.probe(), self.arguments
        return variants(
            probe.kinds,
            probe.depth_limit,
            self.wanted,
            kinds=arguments.kinds or (),
            depths=arguments.depths or (),
            always=always,
        )


def run(job: Job) -> int:
    """Carry out the command. Returns the exit code; ConfigError and ModelError of the start are raised."""
    with _ends_on_termination():
        try:
            match job.arguments.command:
                case "verify":
                    from mtpchat.cli_verify import verify

                    return verify(job)
                case "bench":
                    from mtpchat.cli_bench import bench

                    return bench(job)
                case _:
                    from mtpchat.cli_tune import tune

                    return tune(job)
        except EngineError as error:
            report_error(error, "generation", job.stdout, job.stderr, as_json=job.arguments.json)
            return EXIT_FAILED


@contextmanager
def _ends_on_termination() -> Iterator[None]:
    """SIGTERM leaves through the context managers, so that a server that was started is ended too."""

    def leave(_number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + signal.SIGTERM)

    previous = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def opened_engine(job: Job) -> Iterator[ChatEngine]:
    """An engine with nothing loaded, closed in the end."""
    from mtpchat.composition import open_engine
    from mtpchat.engine.engine import ChatEngine
    from mtpchat.log_file import start_log

    log = start_log(paths.log_dir(job.config.paths.logs), job.arguments.log_level)
    engine = open_engine(log.parent if log else None, job.arguments.log_level)
    assert isinstance(engine, ChatEngine)
    try:
        yield engine
    finally:
        engine.close()


def load(engine: ChatEngine, plan: LoadPlan, watch: Watch) -> ModelFacts:
    """Load, with progress; warnings are shown. Raises ModelError or DrafterError."""
    facts = engine.load(
        plan, lambda what, fraction, _size: watch.status(f"loading {what} {fraction:.0%}"), lambda: False
    )
    watch.status("")
    for sentence in filter(None, (*facts.warnings, facts.fallback_reason)):
        watch.note(sentence)
    return facts
