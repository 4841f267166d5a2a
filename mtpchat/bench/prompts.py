"""What is asked while measuring: the built-in prompts by class and language, or the user's own from a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mtpchat.config_schema import nearest, printable, shown
from mtpchat.errors import ConfigError
from mtpchat.messages import Message
from mtpchat.text_file import UnreadableText, parse_toml, read_text

OWN = "own"
"""Class of prompts that name none."""

_FIELDS = ("name", "class", "language", "system", "text")
_EXAMPLE = 'Lines of text, JSONL with {"text": ...} per line, or TOML with [[prompt]] and text = "...".'


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question.

    Attributes:
        name: unique within a set.
        group: its class, e.g. "code"; figures are averaged within a class first.
        language: "en", "zh" or "".
        system: system message, or "".
        before: what was said before the question, without the system message.
    """

    name: str
    text: str
    group: str = OWN
    language: str = ""
    system: str = ""
    before: tuple[Message, ...] = ()


@cache
def builtin() -> tuple[Prompt, ...]:
    """The prompts that ship."""
    return read(Path(__file__).with_name("prompts.toml"))


def read(path: Path) -> tuple[Prompt, ...]:
    """The prompts of a file: .toml, .jsonl, or else one per line.

    Raises ConfigError that names file and line or entry.
    """
    text = _text_of(path)
    match path.suffix.lower():
        case ".toml":
            prompts = _from_toml(text, path)
        case ".jsonl" | ".ndjson":
            prompts = _from_jsonl(text, path)
        case _:
            lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
            prompts = [Prompt(f"line-{number}", line) for number, line in lines if line]
    if not prompts:
        raise ConfigError(f"{path}: there is no prompt in it", path=path, hint=_EXAMPLE)
    _refuse_doubles(prompts, path)
    return tuple(prompts)


def from_conversations(
    conversations: Iterable[Sequence[Message]], *, group: str = "chats", name: str = "chat", room: int | None = None
) -> tuple[Prompt, ...]:
    """One prompt from each conversation: its last question, with all that was said before it.

    The answer that followed is left out, since it is what will be generated. Conversations without a question are too.

    Args:
        conversations: messages in order, a system message first if there is one.
        group: class of the prompts.
        name: each is called that, with the number of its conversation, from 1.
        room: most bytes of system message, question and what came before; what was said first is left out until the
            rest fits. No limit without it. A token is hardly ever shorter than a byte.
    """
    made = []
    for number, messages in enumerate(conversations, 1):
        asked = [at for at, one in enumerate(messages) if one.role == "user" and one.content.strip()]
        if not asked:
            continue
        system = "\n\n".join(one.content for one in messages if one.role == "system")
        text = messages[asked[-1]].content
        before = tuple(one for one in messages[: asked[-1]] if one.role != "system")
        if room is not None:
            before = _end_of(before, room - _size(system) - _size(text))
        made.append(Prompt(f"{name}-{number}", text, group, system=system, before=before))
    return tuple(made)


def _end_of(said: Sequence[Message], room: int) -> tuple[Message, ...]:
    """The last messages that take at most `room` bytes, from a question of the user on."""
    start = len(said)
    for at in reversed(range(len(said))):
        room -= _size(said[at].content) + _size(said[at].thinking)
        if room < 0:
            break
        if said[at].role == "user":
            start = at
    return tuple(said[start:])


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def select(prompts: Sequence[Prompt], only: Sequence[str]) -> tuple[Prompt, ...]:
    """The prompts whose class, language or name is in `only`; all when that is empty.

    Raises ConfigError for a word that fits none, naming the nearest.
    """
    if not only:
        return tuple(prompts)
    groups = list(dict.fromkeys(prompt.group for prompt in prompts))
    known = {*groups, *(prompt.language for prompt in prompts), *(prompt.name for prompt in prompts)} - {""}
    for word in only:
        if word not in known:
            best = nearest(word, sorted(known))
            hint = f"Did you mean {best}?" if best else f"One of: {', '.join(groups)}."
            raise ConfigError(f"There are no prompts of class {shown(word)}", hint=hint)
    return tuple(one for one in prompts if {one.group, one.language, one.name} & set(only))


def _text_of(path: Path) -> str:
    try:
        return read_text(path.expanduser())
    except UnreadableText as error:
        raise ConfigError(f"{path}: {error.what}", path=path, hint=error.hint) from error
    except (OSError, RuntimeError) as error:  # RuntimeError: nobody's home
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{path}: cannot be read: {reason}", path=path, hint="Check the path.") from error


def _from_toml(text: str, path: Path) -> list[Prompt]:
    try:
        document = parse_toml(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not valid TOML: {printable(str(error))}", path=path, hint=_EXAMPLE) from error
    entries = document.get("prompt")
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: has no [[prompt]]", path=path, hint=_EXAMPLE)
    return [_prompt(entry, f"prompt {number}", path) for number, entry in enumerate(entries, 1)]


def _from_jsonl(text: str, path: Path) -> list[Prompt]:
    prompts = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path}: line {number} is not JSON: {error}", path=path, hint=_EXAMPLE) from error
        prompts.append(_prompt({"text": entry} if isinstance(entry, str) else entry, f"line {number}", path))
    return prompts


def _prompt(entry: object, place: str, path: Path) -> Prompt:
    def complain(what: str, hint: str = _EXAMPLE) -> ConfigError:
        return ConfigError(f"{path}: {place} {what}", path=path, hint=hint)

    if not isinstance(entry, Mapping):
        raise complain(f"must be a table with a text, not {shown(entry)}")
    for key, value in entry.items():
        if key not in _FIELDS:
            raise complain(f"has the unknown key {shown(key)}", f"Keys are: {', '.join(_FIELDS)}.")
        if not isinstance(value, str):
            raise complain(f"needs a text for {key}, not {shown(value)}")
    if not entry.get("text", "").strip():
        raise complain("has no text")
    return Prompt(
        name=entry.get("name") or place.replace(" ", "-"),
        text=entry["text"].strip("\n"),
        group=entry.get("class") or OWN,
        language=entry.get("language", ""),
        system=entry.get("system", ""),
    )


def _refuse_doubles(prompts: Sequence[Prompt], path: Path) -> None:
    seen: set[str] = set()
    for prompt in prompts:
        if prompt.name in seen:
            raise ConfigError(
                f"{path}: two prompts are called {shown(prompt.name)}", path=path, hint="Give each a name of its own."
            )
        seen.add(prompt.name)
