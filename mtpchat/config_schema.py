"""What a setting may be: names, types and ranges read off the structs, and sentences about values that do not fit.

A setting is named by its dotted key, e.g. `sampling.top_p`. Under `keys` any name is a setting, because the screen
decides which ids there are.
"""

from __future__ import annotations

import difflib
import functools
import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect as spec

from mtpchat.config import Config, ModelConfig, ThinkingLevel
from mtpchat.config_lines import line_of
from mtpchat.errors import ConfigError

OPEN_SECTIONS = ("keys",)
_BOUNDLESS = 2**31 - 1
_YES = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}


_SPELLINGS = {
    ("model.thinking", word): meaning
    for words, meaning in ((("true", '"true"'), "on"), (("false", '"false"'), "off"))
    for word in words
}
"""Other ways to write a value, as `shown` quotes them."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written, for messages.

    Attributes:
        path: the settings file, or None.
        prefix: what stands before the dotted key in that file, e.g. "profile.fast.".
        flag: the command-line flag, or "".
        text: what the file says, so that the line can be named; "" where that is not known.
    """

    path: Path | None = None
    prefix: str = ""
    flag: str = ""
    text: str = ""

    def error(self, key: str, complaint: str, hint: str = "") -> ConfigError:
        """`complaint` follows the name of the setting: "must be ...". An empty key stands for the whole file."""
        name = self.prefix + key if key else ""
        subject = self.flag or printable(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…")
        line = line_of(self.text, self.prefix + key) if self.text and key else 0
        place = f"{printable(str(self.path))}{f', line {line}' if line else ''}:" if self.path else ""
        sentence = " ".join(part for part in (place, subject, complaint) if part)
        return ConfigError(sentence, path=self.path, key=self.prefix + key, hint=hint)


_LONGEST_NAME = 200
"""Letters of a name from a file that are quoted: it may be anything there."""
NOWHERE = Origin()


@functools.cache
def sections() -> tuple[str, ...]:
    """Names of the tables of a settings file, in order."""
    return Config.__struct_fields__


@functools.cache
def setting_types() -> dict[str, Any]:
    """Dotted key of every setting -> its annotated type, in the order of the structs."""
    return {
        f"{section.name}.{field.name}": field.type
        for section in msgspec.structs.fields(Config)
        if section.name not in OPEN_SECTIONS
        for field in msgspec.structs.fields(section.type)
    }


def check_value(key: str, value: object, origin: Origin = NOWHERE) -> object:
    """The value as its setting's type. Raises ConfigError for an unknown key, a wrong type or a value out of range."""
    kind = _type_of(key, origin)
    try:
        return msgspec.convert(_SPELLINGS.get((key, shown(value)), value), kind)
    except msgspec.ValidationError as error:
        raise origin.error(key, f"must be {expectation(kind)}, not {shown(value)}") from error


def check_whole(config: Config, origin: Origin = NOWHERE) -> Config:
    """The rules between settings. Raises ConfigError."""
    speculative = config.speculative
    if speculative.draft_min > speculative.draft_max:
        raise origin.error(
            "speculative.draft_min",
            f"must not be larger than draft_max: {speculative.draft_min} > {speculative.draft_max}",
            "Lower draft_min or raise draft_max.",
        )
    try:
        template_values(config.model)
    except msgspec.MsgspecError as error:
        key, wrong = "model.chat_template_kwargs", config.model.chat_template_kwargs
        raise origin.error(
            key, f"must be a JSON object, not {shown(wrong)}", """Write it like '{"reasoning_effort": "low"}'."""
        ) from error
    return config


def template_values(model: ModelConfig, thinking: ThinkingLevel | None = None) -> dict[str, object]:
    """What the settings pass to the chat template. Raises msgspec.MsgspecError where that is no JSON object.

    Args:
        thinking: the level that a chat asks for; None is that of the settings.
    """
    text = model.chat_template_kwargs.strip()
    further = msgspec.json.decode(text, type=dict[str, object]) if text else {}
    return {"enable_thinking": (thinking or model.thinking) != "off", **further}


def replace_value(config: Config, key: str, value: object) -> Config:
    """A config with one checked value replaced; `key` must be known."""
    section, _, name = key.partition(".")
    if section in OPEN_SECTIONS:
        return msgspec.structs.replace(config, **{section: {**getattr(config, section), name: value}})
    changed = msgspec.structs.replace(getattr(config, section), **{name: value})
    return msgspec.structs.replace(config, **{section: changed})


def replace_values(config: Config, values: Iterable[tuple[str, object]]) -> Config:
    """A config with several checked values replaced; the keys must be known."""
    for key, value in values:
        config = replace_value(config, key, value)
    return config


def set_value(config: Config, key: str, text: str) -> Config:
    """A config with one setting replaced by what the user typed.

    Args:
        key: dotted, e.g. "sampling.temperature".
        text: read as the setting's type; a list is a TOML array or a single text.

    Raises:
        ConfigError: unknown key (the hint names the nearest), wrong type, or out of range.
    """
    return check_whole(replace_value(config, key, parse_value(key, text)))


def parse_value(key: str, text: str, origin: Origin = NOWHERE) -> object:
    """What the user typed as a checked value of its setting's type. Raises ConfigError as `set_value` does."""
    return check_value(key, _parse(text, _type_of(key, origin)), origin)


def unknown(key: str, origin: Origin = NOWHERE) -> ConfigError:
    """The error for a key that does not exist, naming the nearest that does."""
    return origin.error(key, "is not a setting", nearest_setting(key, origin.prefix))


def nearest_setting(key: str, prefix: str = "") -> str:
    """A sentence that names the valid key nearest to a wrong one: first within its table, then anywhere by its name."""
    section, leaf = key.partition(".")[0], key.rpartition(".")[2]
    names = {known.partition(".")[2]: known for known in setting_types()}
    same_table = {known.partition(".")[2]: known for known in setting_types() if known.startswith(section + ".")}
    best = (
        same_table.get(nearest(leaf, same_table))
        or names.get(leaf)
        or nearest(key, [*sections(), *names.values()])
        or names.get(nearest(leaf, names))
    )
    if best:
        return f"Did you mean {printable(prefix)}{best}?"
    if same_table:
        return f"[{section}] knows {', '.join(same_table)}."
    return "The tables are " + ", ".join(f"[{known}]" for known in sections()) + "."


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that `word` abbreviates or is most like, or "" when there is none."""
    words = list(known)
    longer = [candidate for candidate in words if len(word) > 1 and candidate.startswith(word)]
    return next(iter(longer or difflib.get_close_matches(word, words, n=1, cutoff=0.6)), "")


def expectation(kind: Any) -> str:
    """What a type accepts, as words: "a number from 0 to 1"."""
    info = spec.type_info(kind)
    match info:
        case spec.BoolType():
            return "true or false"
        case spec.IntType() | spec.FloatType():
            noun = "a whole number" if isinstance(info, spec.IntType) else "a number"
            return noun + _bounds(info)
        case spec.LiteralType():
            return _either([f'"{value}"' for value in info.values])
        case spec.VarTupleType():
            return "a list of texts, none of them empty"
        case spec.StrType():
            return "a text"
        case spec.UnionType(types=types) if any(isinstance(member, spec.IntType) for member in types):
            words = [
                f'"{value}"' for member in types if isinstance(member, spec.LiteralType) for value in member.values
            ]
            numbers = [f"a whole number{_bounds(member)}" for member in types if isinstance(member, spec.IntType)]
            return _either([*words, *numbers])
        case spec.UnionType():
            return "a text or a list of texts"
        case _:
            return "a table"


def shown(value: object) -> str:
    """A value as it may be quoted in one line of a message: short, and without control characters."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            text = json.dumps(value, ensure_ascii=False)
        case int() | float():
            text = (
                f"{value:g}" if isinstance(value, float) else f"{value:d}" if abs(value) < 10**30 else "a huge number"
            )
        case list() | tuple():
            text = json.dumps(value, ensure_ascii=False, default=str)
        case dict():
            return "a table"
        case _:
            return f"{value} (a {type(value).__name__})"
    return printable(text if len(text) <= 60 else text[:57] + "...")


def printable(text: str) -> str:
    """Text with everything that a terminal could act on written as an escape."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _type_of(key: str, origin: Origin) -> Any:
    section, _, name = key.partition(".")
    if section in OPEN_SECTIONS and name:
        return str
    if key not in setting_types():
        raise unknown(key, origin)
    return setting_types()[key]


def _parse(text: str, kind: Any) -> object:
    """The typed text as a value; text that cannot be read stays text, so that the check names what was expected."""
    try:
        match spec.type_info(kind):
            case spec.BoolType():
                return _YES.get(text.strip().lower(), text)
            case spec.IntType():
                return int(text)
            case spec.UnionType(types=types) if any(isinstance(member, spec.IntType) for member in types):
                return int(text)  # what is no number is one of the words
            case spec.UnionType(types=types) if text.lstrip().startswith("[") and any(
                isinstance(member, spec.VarTupleType) for member in types
            ):
                return json.loads(text)
            case spec.FloatType():
                return float(text)
            case spec.VarTupleType():
                return _parse_list(text)
            case _:
                return text
    except ValueError:
        return text


def _parse_list(text: str) -> object:
    if text.lstrip().startswith("["):
        return tomllib.loads(f"list = {text}")["list"]
    return [text] if text else []


def _bounds(info: spec.IntType | spec.FloatType) -> str:
    low, high = info.ge if info.ge is not None else info.gt, info.le
    if low is None:
        return ""
    if high is None or high >= _BOUNDLESS:
        return f", {low:g} or more"
    return f" above {low:g} and at most {high:g}" if info.gt is not None else f" from {low:g} to {high:g}"


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
