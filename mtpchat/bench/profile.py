"""Writing a tuned profile into the settings file without touching a comment of the user's.

The file is edited as text: the tables of that one profile are replaced, or added at the end. Before anything is written
the new text is read back; if it says anything else than the old one plus the profile, the file is left alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import tomli_w

from mtpchat.config_file import parse
from mtpchat.errors import ConfigError
from mtpchat.paths import write_atomically

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]*?)\s*\]")
_MARK = "# Written by mtpchat tune"


def profile_name(model: Path) -> str:
    """`tuned-<model>`, in letters that need no quotes in TOML."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", model.stem).strip("-").lower()
    return f"tuned-{stem or 'model'}"


def profile_block(name: str, settings: Mapping[str, Mapping[str, object]], remarks: tuple[str, ...] = ()) -> str:
    """The profile as TOML.

    Args:
        settings: section -> setting -> value.
        remarks: sentences that become comments.
    """
    head = [_MARK, *(f"# {' '.join(remark.split())}" for remark in remarks)]
    tables = [f"[profile.{name}.{section}]\n{tomli_w.dumps(dict(values))}" for section, values in settings.items()]
    return "\n".join(head) + "\n" + "\n".join(tables)


def write_profile(path: Path, name: str, block: str) -> None:
    """Put the profile into the file; the version before is kept beside it as .bak.

    Raises:
        ConfigError: the file is broken, or the profile cannot be put into it; it is unchanged then.
        StorageError: it cannot be written.
    """
    old = _read(path)
    parse(old, path)
    new = replaced(old, name, block)
    wanted = tomllib.loads(old)
    wanted.setdefault("profile", {})[name] = tomllib.loads(block)["profile"][name]
    try:
        faithful = tomllib.loads(new) == wanted
    except ValueError:
        faithful = False
    if not faithful:
        raise ConfigError(
            f"{path}: the profile {name} cannot be put into this file",
            path=path,
            hint="Add it by hand:\n" + block,
        )
    parse(new, path)
    write_atomically(path, new)


def replaced(text: str, name: str, block: str) -> str:
    """`text` with the tables of the profile replaced by `block`, or with the block at its end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    kept, at, inside, waiting = list[str](), -1, False, list[str]()
    for line in lines:
        header = _HEADER.match(line)
        if header:
            inside = _belongs(header[1], name)
            kept += () if inside else waiting  # comments above a table belong to it
            if inside:
                _drop_remarks(kept)
                at = len(kept) if at < 0 else at
        if not inside:
            kept.append(line)
            waiting = []
        elif line.lstrip().startswith("#") or not line.strip():
            waiting.append(line)
        else:
            waiting = []
    kept += [line for line in waiting if line.strip()]
    block = block.rstrip("\n").replace("\n", newline) + newline
    if at < 0:
        body = "".join(kept)
        gap = "" if not body.strip() else newline if body.endswith("\n") else newline * 2
        return body + gap + block
    rest = "".join(kept[at:])
    return "".join(kept[:at]) + block + (newline + rest.lstrip("\r\n") if rest.strip() else "")


def _belongs(header: str, name: str) -> bool:
    keys = [part.strip().strip("\"'") for part in header.split(".")]
    return keys[:2] == ["profile", name]


def _drop_remarks(kept: list[str]) -> None:
    """Take away the comment of an earlier run that ends `kept`."""
    start = len(kept)
    while start > 0 and kept[start - 1].startswith("#"):
        start -= 1
    marked = next((place for place in range(start, len(kept)) if kept[place].startswith(_MARK)), None)
    if marked is not None:
        del kept[marked:]


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8", path=path, hint="Save the file as UTF-8.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{path}: cannot be read: {reason}", path=path) from error
