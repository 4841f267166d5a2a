"""Keys that are pressed one after the other: `ctrl+x ctrl+e`, as readline and Emacs have them.

A chord becomes one key of that name before anything else sees it, so that tables of keys, bindings and the order in
which things were typed are the same for it as for any other key.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mtpchat.ui.keys import KEYS, Key, Scope, key_name

_HELD_ALONE = frozenset(
    {f"{side}_{key}" for side in ("left", "right") for key in ("shift", "control", "alt", "super", "hyper", "meta")}
    | {"iso_level3_shift", "iso_level5_shift"}
)
"""Some terminals tell of these, too; who holds Ctrl for the next key has not pressed another one yet."""


class Chords:
    """Puts chords together.

    Attributes:
        pending: what was pressed of one that is not complete.

    Args:
        keymap: keys of the user's own, by id.
    """

    def __init__(self, keymap: Mapping[str, str]) -> None:
        self.pending: tuple[str, ...] = ()
        own = {key_name(name) for keys in keymap.values() for name in keys.split(",")}
        rows = [
            (tuple(key_name(name).split()), key) for key in KEYS for name in keymap.get(key.id, key.keys).split(",")
        ]
        # A key of the user's own is not taken away by a chord that ships.
        self._rows = {
            keys: key for keys, key in rows if len(keys) > 1 and (key.id in keymap or own.isdisjoint(keys[:1]))
        }

    def press(self, name: str, scopes: Collection[Scope]) -> str | None:
        """What a key is at this moment: itself, the chord that it completes, or None while it only begins or drops one.

        Esc drops a chord that is pending; any other key that does not belong to it drops it, too, and is what it is.

        Args:
            scopes: the rows of the table that count.
        """
        if name in _HELD_ALONE:
            return name
        begun, self.pending = self.pending, ()
        sequence = (*begun, name)
        going_on = self._beginning_with(sequence, scopes)
        if sequence in going_on:
            return " ".join(sequence)
        if going_on:
            self.pending = sequence
            return None
        if not begun:
            return name
        return None if name == "escape" else self.press(name, scopes)

    def drop(self) -> None:
        """Nothing is pending any more."""
        self.pending = ()

    def endings(self, scopes: Collection[Scope]) -> list[tuple[str, Key]]:
        """What the pending one could become: the keys that are missing, and the row of each."""
        rows = self._beginning_with(self.pending, scopes)
        return [(" ".join(keys[len(self.pending) :]), row) for keys, row in rows.items()]

    def _beginning_with(self, begun: tuple[str, ...], scopes: Collection[Scope]) -> dict[tuple[str, ...], Key]:
        return {keys: row for keys, row in self._rows.items() if row.scope in scopes and keys[: len(begun)] == begun}
