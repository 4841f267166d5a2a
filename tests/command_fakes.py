"""A session without an engine and a screen without a terminal, for slash commands, and how to talk to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import cast

from mtpchat.chats import Said
from mtpchat.commands.base import Reply
from mtpchat.commands.registry import dispatch
from mtpchat.config import Config, ModelConfig
from mtpchat.engine.branches import Branches
from mtpchat.engine.conversation import Made
from mtpchat.engine.requests import Task, TurnRequest
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.errors import sentence
from mtpchat.events import Measured, ModelFacts, SpeculationControl, Worked
from mtpchat.messages import Message
from mtpchat.stats import TurnStats


class Unchanged(Enum):
    """Stands for an argument that was not given, where None means something."""

    UNCHANGED = auto()


UNCHANGED = Unchanged.UNCHANGED
FACTS = ModelFacts(
    name="Tiny",
    path="/models/tiny.gguf",
    architecture="qwen35",
    kind="mtp",
    choice="MTP head in the main file",
    available=("none", "ngram", "mtp"),
    context_size=4096,
    depth_limit=4,
    depth_reason="this model keeps 4 snapshots to roll back to",
)


class FakeService:
    """The engine's side of a session as far as commands reach it: nothing is ever generated."""

    def __init__(self) -> None:
        self.busy = False
        self.control = SpeculationControl()

    def set_control(self, control: SpeculationControl) -> None:
        self.control = control

    async def aside(self, task: Task) -> Worked:
        raise AssertionError("nothing is ever generated, so nothing is done aside")

    async def measure(self, request: TurnRequest) -> Measured:
        raise AssertionError("nothing is ever generated, so nothing is measured")


class ArrangedSession(Session):
    """A session whose past can be set without living through it."""

    def __init__(
        self,
        config: Config | None = None,
        *,
        messages: tuple[Message, ...] = (),
        facts: ModelFacts | None = FACTS,
        busy: bool = False,
    ) -> None:
        self.service = FakeService()
        super().__init__(cast(EngineService, self.service), config or Config(model=ModelConfig(path=FACTS.path)))
        self.arrange(messages=messages, facts=facts, busy=busy)

    def arrange(
        self,
        *,
        messages: tuple[Message, ...] | None = None,
        facts: ModelFacts | Unchanged | None = UNCHANGED,
        stats: TurnStats | None = None,
        seed: int | None = None,
        busy: bool | None = None,
    ) -> None:
        """Set what is named; the rest stays."""
        if messages is not None:
            self._talk.leave()
            self._talk.branches = Branches(chain(messages), f"{len(messages)}" if messages else "")
            said = self._talk.branches.path
            self._talk._made = {one.id: Made(model=FACTS.name) for one in said if one.role == "assistant"}
        if not isinstance(facts, Unchanged):
            self._facts = facts
        if stats is not None:
            self._stats = self._talk.totals = stats
        if seed is not None:
            self._seed = seed
        if busy is not None:
            self.service.busy = busy

    @property
    def state(self) -> tuple[object, ...]:
        """Everything that a command can change."""
        return self.config, self.messages, self.system, self.facts, self.control, self.seed


@dataclass
class FakeContext:
    session: ArrangedSession = field(default_factory=ArrangedSession)
    config_path: str = "/nowhere/config.toml"
    themes: tuple[str, ...] = ("harbour-night", "paper")
    theme: str = "harbour-night"
    waiting: tuple[str, ...] = ()


def chain(messages: tuple[Message, ...]) -> list[Said]:
    """Nodes of a tree without branches; their ids are their places from 1."""
    return [
        Said(
            str(at),
            str(at - 1) if at > 1 else "",
            one.role,
            one.content,
            one.thinking,
            0.0,
            one.complete,
            one.attachments,
        )
        for at, one in enumerate(messages, 1)
    ]


def talk(*answers: str) -> tuple[Message, ...]:
    return tuple(
        one for answer in answers for one in (Message("user", f"about {answer}"), Message("assistant", answer))
    )


def say(context: FakeContext, line: str) -> Reply:
    """A reply that is not an error."""
    reply = dispatch(context, line)
    assert reply.level == "info", reply.text
    return reply


def refuse(context: FakeContext, line: str) -> str:
    """The text of a reply that is an error, in one line, and the session is as it was."""
    before = context.session.state
    reply = dispatch(context, line)
    assert reply.level == "error", reply
    assert reply.effect is None
    assert "\n" not in reply.text
    assert context.session.state == before
    return sentence(reply.text, reply.hint)
