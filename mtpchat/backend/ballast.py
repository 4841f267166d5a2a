"""What speculation adds to a context, for whoever decides whether it is worth carrying."""

from __future__ import annotations

from typing import Protocol


class Ballast(Protocol):
    """What the target's context carries for speculation alone, and pays for in every decode, also in plain ones."""

    @property
    def words(self) -> str:
        """What it is: "4 snapshots", "hidden rows"."""
        ...

    @property
    def shed(self) -> bool:
        """True while the context is without it."""
        ...

    def share(self) -> float | None:
        """Part of a plain decode that it takes; None where that cannot be told.

        Measured once for these files on this machine, in about a second; afterwards it is known.
        """
        ...

    def rebuild(self, *, shed: bool) -> None:
        """Make the target's context anew, with or without it. The target's memory is then empty.

        Drafters that look at the target must have forgotten everything.

        Raises:
            ModelError, DrafterError: then another rebuild has to succeed before anything is decoded.
        """
        ...
