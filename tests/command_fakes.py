"""The part of a session and a screen that slash commands reach, without an engine, and how to talk to it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import msgspec

from mtpchat.commands.base import Reply
from mtpchat.commands.registry import dispatch
from mtpchat.config import Config, ModelConfig, SamplingConfig
from mtpchat.errors import ConfigError
from mtpchat.events import ModelFacts, SpeculationControl
from mtpchat.messages import Message
from mtpchat.stats import TurnStats

FACTS = ModelFacts(
    name="Tiny",
    path="/models/tiny.gguf",
    architecture="qwen35",
    kind="mtp",
    choice="MTP head in the main file",
    available=("none", "ngram", "mtp"),
    context_size=4096,
    depth_limit=4,
)


@dataclass
class FakeSession:
    """The part of a session that commands use, without an engine."""

    config: Config = field(default_factory=lambda: Config(model=ModelConfig(path="/models/tiny.gguf")))
    messages: tuple[Message, ...] = ()
    system: str = ""
    facts: ModelFacts | None = FACTS
    stats: TurnStats | None = None
    totals: TurnStats = field(default_factory=TurnStats)
    busy: bool = False
    seed: int | None = None
    control: SpeculationControl = field(default_factory=SpeculationControl)

    def set_control(self, control: SpeculationControl) -> None:
        self.control = control

    def set_sampling(self, key: str, value: str) -> object:
        try:
            known = msgspec.to_builtins(self.config.sampling) | {key: value}
            sampling = msgspec.convert(known, SamplingConfig, strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError(f"{key} cannot be {value}") from error
        self.config = msgspec.structs.replace(self.config, sampling=sampling)
        return getattr(sampling, key)

    def undo(self) -> str:
        users = [index for index, one in enumerate(self.messages) if one.role == "user"]
        if not users:
            return ""
        text = self.messages[users[-1]].content
        self.messages = self.messages[: users[-1]]
        return text

    def clear(self) -> None:
        self.messages = ()


@dataclass
class FakeContext:
    session: FakeSession = field(default_factory=FakeSession)
    config_path: str = "/nowhere/config.toml"
    themes: tuple[str, ...] = ("harbour-night", "paper")
    theme: str = "harbour-night"


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
    before = replace(context.session)
    reply = dispatch(context, line)
    assert reply.level == "error", reply
    assert reply.effect is None
    assert "\n" not in reply.text
    assert context.session == before
    return reply.text
