"""Verifying the model that a chat has loaded, between two of its answers.

The same comparison as on the command line, on fewer prompts. It learns apart from the chat, so that what the chat knows
about costs and acceptance stays its own; the target's memory is empty afterwards, and the chat is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mtpchat.bench.prompts import Prompt, builtin, from_conversations, select
from mtpchat.bench.subject import EngineSubject
from mtpchat.bench.variants import Variant, variants
from mtpchat.bench.verify import Check, verify
from mtpchat.config import ModelConfig, SamplingConfig
from mtpchat.engine.engine import ChatEngine
from mtpchat.engine.requests import Engine, Progress
from mtpchat.errors import EngineError, Interrupted
from mtpchat.events import SpeculationControl
from mtpchat.messages import Message

_ASKED = ("code-primes", "chat-zh", "edit-rename")
"""Built-in prompts that differ most in how well they can be guessed."""

_MOST_OF_A_CHAT = 3
_APART = "verify"


@dataclass(frozen=True, slots=True)
class Proof:
    """What is asked, and what is compared.

    Attributes:
        kind: of drafter; all that are there where it cannot draft.
        wanted: the user's bounds of the depth.
        depths: fixed depths; empty for 1 .. wanted.draft_max.
        model: its settings for the chat template are those that a chat has.
    """

    prompts: tuple[Prompt, ...]
    samplings: tuple[SamplingConfig, ...]
    kind: str
    wanted: SpeculationControl
    depths: tuple[int, ...] = ()
    model: ModelConfig = field(default_factory=ModelConfig)


@dataclass(frozen=True, slots=True)
class Findings:
    """What was compared so far; `total` is how many comparisons there would have been."""

    checks: tuple[Check, ...]
    total: int

    @property
    def stopped(self) -> bool:
        """Whether the user ended it early."""
        return len(self.checks) < self.total


def asked() -> tuple[Prompt, ...]:
    """A few of the built-in prompts."""
    return select(builtin(), _ASKED)


def asked_in(messages: Sequence[Message]) -> tuple[Prompt, ...]:
    """The last questions of a conversation, each with what had been said before it; a system message comes first."""
    begun = [messages[: at + 1] for at, one in enumerate(messages) if one.role == "user"]
    return from_conversations(begun, group="chat", name="question")[-_MOST_OF_A_CHAT:]


def prove(engine: Engine, proof: Proof, progress: Progress, cancelled: Callable[[], bool]) -> Findings:
    """Compare; must run where the engine runs.

    Raises:
        EngineError: nothing can draft here, or a turn failed.
    """
    if not isinstance(engine, ChatEngine):
        raise EngineError("This engine cannot be looked into.", hint="mtpchat verify loads the model itself.")
    subject = EngineSubject(engine, proof.model, cancelled=cancelled)
    engine.learn_apart(_APART)
    try:
        return _compare(subject, proof, _ways(engine, proof), progress)
    finally:
        engine.forget_apart(_APART)


def _ways(engine: ChatEngine, proof: Proof) -> tuple[Variant, ...]:
    probe = engine.probe()
    kinds = (proof.kind,) if proof.kind in probe.kinds else ()
    made = variants(probe.kinds, probe.depth_limit, proof.wanted, kinds=kinds, depths=proof.depths)
    if len(made) == 1:
        raise EngineError("Nothing is loaded that could guess ahead.", hint="/spec shows what there is.")
    return made


def _compare(subject: EngineSubject, proof: Proof, ways: Sequence[Variant], progress: Progress) -> Findings:
    checks: list[Check] = []
    total = len(proof.prompts) * len(proof.samplings) * (len(ways) - 1)
    progress("", 0, total)
    try:
        for check in verify(subject, proof.prompts, ways, proof.samplings):
            checks.append(check)
            progress(f"{check.variant}, {check.prompt}", len(checks), total)
    except Interrupted:
        return Findings(tuple(checks), total)
    return Findings(tuple(checks), total)
