"""What is wrong with the user's `[keys]`: ids and keys that do not exist, and keys that would mean two things."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping

from textual.keys import KEY_NAME_REPLACEMENTS, Keys

from mtpchat.config_schema import nearest
from mtpchat.ui.keys import KEYS, Key, key_name, split_keymap, why_unknown
from mtpchat.ui.safe_text import safe_line

_HELD = ("ctrl", "shift", "alt", "super", "meta", "hyper")
_NAMES = frozenset({key.value for key in Keys if "+" not in key.value and not key.value.startswith("<")} | {
    *KEY_NAME_REPLACEMENTS.values(), "space",
})  # fmt: skip
_SAME = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+[": "escape", "ctrl+left_square_bracket": "escape"}
"""Keys that terminals send as another one."""


def complaints(wanted: Mapping[str, str]) -> list[str]:
    """One sentence for each thing that is wrong with `[keys]`."""
    used, unknown = split_keymap(wanted)
    return [
        *(why_unknown(name) for name in unknown),
        *(sentence for key_id, keys in used.items() for sentence in _no_keys(key_id, keys)),
        *_conflicts(used),
    ]


def _no_keys(key_id: str, keys: str) -> Iterator[str]:
    for name in (one for whole in _split(keys) for one in whole.split() or [""]):
        if name in _SAME:
            yield f"keys.{key_id}: terminals send {name} as {_SAME[name]}; it cannot be told apart"
        elif not is_key(name):
            near = nearest(name.rpartition("+")[2], sorted(_NAMES))
            held = name.rpartition("+")[0]
            close = f"; did you mean {held + '+' if held else ''}{near}?" if near else ", like ctrl+x, f5 or pagedown"
            yield safe_line(f"keys.{key_id}: {name or 'nothing'} is not the name of a key{close}")


def is_key(name: str) -> bool:
    """Whether a terminal could send a key of that name: a letter, sign or named key, with what is held before it."""
    *held, last = name.split("+") if name != "+" and not name.endswith("++") else [*name[:-2].split("+"), "+"]
    if any(one not in _HELD for one in held if one):
        return False
    return (len(last) == 1 and last.isprintable()) or last in _NAMES or _is_sign(last)


def _is_sign(name: str) -> bool:
    """Signs go by their Unicode names, such as left_square_bracket."""
    try:
        unicodedata.lookup(name.replace("_", " ").upper())
    except KeyError:
        return False
    return True


def _conflicts(used: Mapping[str, str]) -> Iterator[str]:
    """Pairs that share a key because of what the user wants; what ships shares keys only where it does no harm."""
    for at, one in enumerate(KEYS):
        for other in KEYS[at + 1 :]:
            if (one.id not in used and other.id not in used) or not _meet(one, other):
                continue
            shipped = {*_split(one.keys)} & {*_split(other.keys)}
            for name in sorted(({*_keys_of(one, used)} & {*_keys_of(other, used)}) - shipped):
                yield safe_line(
                    f"{name} means two things: keys.{one.id} and keys.{other.id}; give one of them another key"
                )
            for name, whole in _hidden(one, other, used):
                yield safe_line(f"{name} begins {whole} and does nothing itself: keys.{one.id}, keys.{other.id}")


def _hidden(one: Key, other: Key, used: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Keys of either that are never pressed alone, because a chord of the user's own begins with them."""
    for first, second in ((one, other), (other, one)):
        for name in _keys_of(first, used) if second.id in used else ():
            yield from ((name, whole) for whole in _keys_of(second, used) if name and whole.startswith(f"{name} "))


def _meet(one: Key, other: Key) -> bool:
    """Whether both can be meant at one time: prompt and transcript never are."""
    return one.scope == other.scope or not {"app", "chat"}.isdisjoint((one.scope, other.scope))


def _keys_of(key: Key, used: Mapping[str, str]) -> list[str]:
    return [key_name(name) for name in _split(used.get(key.id, key.keys))]


def _split(keys: str) -> list[str]:
    return [name.strip() for name in keys.split(",")]
