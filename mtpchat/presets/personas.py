"""Personas: a system message with the sampling and the thinking that go with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import msgspec

from mtpchat.chats import ChatOptions
from mtpchat.config import Config, SamplingConfig, ThinkingLevel
from mtpchat.config_schema import check_value
from mtpchat.presets.files import Preset, Shelf, read_presets

FOLDER = "personas"


class Persona(Preset, frozen=True, kw_only=True):
    """One persona.

    Attributes:
        system: its system message.
        thinking: whether, or how much, the model is to think; None leaves it.
    """

    system: str
    thinking: bool | ThinkingLevel | None = None

    def complaint(self) -> tuple[str, str] | None:
        """Without a system message it is none."""
        return None if self.system.strip() else ("system", "system is empty")

    @property
    def thinking_level(self) -> str:
        """ "" where it says nothing of it."""
        if isinstance(self.thinking, bool):
            return "on" if self.thinking else "off"
        return self.thinking or ""


def read_personas(config_dir: Path) -> Shelf[Persona]:
    """Those that ship and those in `personas` beside the settings file."""
    return read_presets(Persona, FOLDER, config_dir)


class Terms(Protocol):
    """What holds for the chat that is going on; see engine.chat_terms."""

    @property
    def options(self) -> ChatOptions: ...

    def choose(self, **options: object) -> None: ...


class Wearer(Protocol):
    """The part of a session that a persona is about."""

    config: Config
    system: str
    persona: Worn | None

    @property
    def terms(self) -> Terms: ...

    @property
    def chat_id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Worn:
    """A persona in force, and what held before it.

    Attributes:
        asked: it was asked for at the start, also for a chat that is gone on with.
    """

    persona: Persona
    name: str
    system: str
    sampling: SamplingConfig
    thinking: str
    asked: bool = False


def put_on(session: Wearer, name: str, persona: Persona, *, keep: Collection[str] = (), asked: bool = False) -> None:
    """Let a persona hold from the next answer on, in place of the one before.

    Args:
        keep: settings of the sampler that stay as they are.
        asked: see Worn.
    """
    take_off(session)
    before = session.config.sampling
    session.persona = Worn(persona, name, session.system, before, session.terms.options.thinking, asked)
    wanted = {key: value for key, value in sampling_values(persona).items() if key not in keep}
    _set_sampling(session, wanted)
    if persona.system.strip():
        session.system = persona.system
    if persona.thinking_level:
        session.terms.choose(thinking=persona.thinking_level)
    session.terms.choose(persona=name)


def take_off(session: Wearer) -> None:
    """Bring back what held before the persona; what was changed since then stays as it was changed."""
    worn = session.persona
    if worn is None:
        return
    session.persona = None
    _take_back_sampling(session, worn)
    if session.system == worn.persona.system:
        session.system = worn.system
    if worn.persona.thinking_level and session.terms.options.thinking == worn.persona.thinking_level:
        session.terms.choose(thinking=worn.thinking)
    session.terms.choose(persona="")


def follow_chat(session: Wearer, personas: Callable[[], Shelf[Persona]]) -> None:
    """After another chat has been shown: a kept chat brings its persona, a new one goes on with the one in force."""
    worn, kept = session.persona, session.terms.options.persona
    if kept == (worn.name if worn is not None else ""):
        return
    if worn is not None and (worn.asked or not session.chat_id):
        session.persona = replace(worn, asked=False)
        session.system = worn.persona.system or session.system
        session.terms.choose(persona=worn.name, thinking=worn.persona.thinking_level or session.terms.options.thinking)
        return
    if worn is not None:
        session.persona = None
        _take_back_sampling(session, worn)
    found = personas().found.get(kept) if kept else None
    if found is not None:
        system, thinking = session.system, session.terms.options.thinking
        put_on(session, kept, found)
        session.system = system  # as the chat has it, should the file say something else by now
        session.terms.choose(thinking=thinking)


def shown_name(session: Wearer) -> str:
    """Name of the persona whose system message holds, or ""."""
    worn = session.persona
    if worn is None or (worn.persona.system.strip() and worn.persona.system != session.system):
        return ""
    return worn.name


def sampling_values(persona: Preset) -> dict[str, object]:
    """What it says of the sampler, checked and in the types of the settings."""
    return {key: check_value(f"sampling.{key}", value) for key, value in persona.sampling.items()}


def _set_sampling(session: Wearer, values: Mapping[str, object]) -> None:
    sampling = msgspec.structs.replace(session.config.sampling, **values)
    session.config = msgspec.structs.replace(session.config, sampling=sampling)


def _take_back_sampling(session: Wearer, worn: Worn) -> None:
    now, put = session.config.sampling, sampling_values(worn.persona)
    _set_sampling(
        session, {key: getattr(worn.sampling, key) for key, value in put.items() if getattr(now, key) == value}
    )
