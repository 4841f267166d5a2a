"""Reads a folder of presets strictly: a broken file costs a sentence that names it and the line, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar, cast

import msgspec

from mtpchat.config_schema import NOWHERE, check_value, nearest, printable, shown
from mtpchat.errors import ConfigError, PresetError
from mtpchat.text_file import UnreadableText, parse_toml, read_text

_MOST_FILES = 200
_SHIPPED = Path(__file__).parent

T = TypeVar("T", bound="Preset")


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename={"given_name": "name"}):
    """What every file may say.

    Attributes:
        given_name: what it is called, if not as its file.
        description: one line for lists.
        sampling: settings of the sampler by name.
    """

    given_name: str = ""
    description: str = ""
    sampling: dict[str, object] = {}

    def complaint(self) -> tuple[str, str] | None:
        """What else is wrong: a key, and a sentence about it."""
        return None


@dataclass(frozen=True, slots=True)
class Shelf(Generic[T]):
    """What was found: presets by name, and what is wrong with the files that are left out."""

    found: Mapping[str, T]
    failures: tuple[PresetError, ...] = ()

    def get(self, name: str, what: str) -> T:
        """The preset of a name, in any case. Raises PresetError, which names the nearest or the broken file."""
        wanted = name.casefold()
        if wanted in self.found:
            return self.found[wanted]
        broken = next((one for one in self.failures if one.path and one.path.stem.casefold() == wanted), None)
        if broken is not None:
            raise broken
        near = nearest(wanted, self.found)
        hint = f"Did you mean {near}?" if near else f"There is {', '.join(self.found)}." if self.found else ""
        raise PresetError(f"There is no {what} {shown(name)}", hint=hint)


def read_presets(kind: type[T], folder: str, config_dir: Path) -> Shelf[T]:
    """All presets of a kind; the user's own take the place of those that ship under the same name.

    Args:
        folder: name of the folder, here and beside the settings file.
        config_dir: where the settings file is.
    """
    found, failures = dict[str, T](), list[PresetError]()
    for place in (_SHIPPED / folder, config_dir / folder):
        for path in sorted(place.glob("*.toml"))[:_MOST_FILES]:
            try:
                one = _read(kind, path)
                found[(one.given_name or path.stem).casefold()] = one
            except PresetError as error:
                failures.append(error)
    return Shelf(dict(sorted(found.items())), tuple(failures))


def _read(kind: type[T], path: Path) -> T:
    try:
        stamp = path.stat()
        text = read_text(path)
    except (OSError, UnreadableText) as error:
        what = error.what if isinstance(error, UnreadableText) else f"cannot be read: {error.strerror or error}"
        raise PresetError(f"{printable(str(path))} {what}", path=path) from error
    return cast("T", _decoded(kind, path, text, stamp.st_mtime_ns))


@lru_cache(maxsize=256)
def _decoded(kind: type[T], path: Path, text: str, _changed: int) -> T:
    try:
        document = parse_toml(text)
    except (ValueError, RecursionError) as error:
        raise _error(path, f"is not valid TOML: {printable(str(error))}") from error
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    for key in document:
        if key not in known:
            near = nearest(key, known)
            advice = f"Did you mean {near}?" if near else f"It knows {', '.join(sorted(known))}."
            raise _error(path, f"{printable(key)} is not a key", text, key, advice)
    try:
        preset = msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        words, _, place = str(error).partition(" - at `$.")
        key = re.split(r"[`.\[]", place)[0]
        missing = re.search(r"required field `(\w+)`", words)
        said = f"{missing[1]} is missing" if missing else f"{key}: {words}" if key else words
        raise _error(path, said, text, key) from error
    _check(preset, path, text)
    return preset


def _check(preset: Preset, path: Path, text: str) -> None:
    name = preset.given_name or path.stem
    if not re.fullmatch(r"[\w.-]{1,40}", name):
        advice = "Letters, digits, - and _ make a name that can be typed."
        raise _error(path, f"{shown(name)} is no name", text, "name", advice)
    for key, value in preset.sampling.items():
        try:
            check_value(f"sampling.{key}", value, NOWHERE)
        except ConfigError as error:
            raise _error(path, error.message, text, key, error.hint) from error
    if (complaint := preset.complaint()) is not None:
        raise _error(path, complaint[1], text, complaint[0])


def _error(path: Path, complaint: str, text: str = "", key: str = "", hint: str = "") -> PresetError:
    match = re.search(rf"^[ \t]*\"?{re.escape(key)}\"?[ \t]*=", text, re.MULTILINE) if key else None
    line = f", line {text.count(chr(10), 0, match.start()) + 1}" if match else ""
    return PresetError(f"{printable(str(path))}{line}: {complaint}", path=path, key=key, hint=hint)
