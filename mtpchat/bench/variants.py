"""Ways to speculate that are compared with one another: off, fixed depths and the adaptive one, for each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtpchat.config_schema import nearest, shown
from mtpchat.errors import ConfigError
from mtpchat.events import SpeculationControl, SpeculationMode

OFF = "off"


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to speculate.

    Attributes:
        label: unique, e.g. "off", "mtp 3", "mtp auto".
        width: widest decode that it may ask for: its depth + 1.
    """

    label: str
    control: SpeculationControl
    kind: str = "none"

    @property
    def width(self) -> int:
        return 1 if self.control.mode == "off" else max(self.control.draft_max, self.control.free_max) + 1


PLAIN = Variant(OFF, SpeculationControl(mode="off"))


def variants(
    available: Sequence[str],
    limit: Callable[[str], int],
    wanted: SpeculationControl,
    *,
    kinds: Sequence[str] = (),
    depths: Sequence[int] = (),
    always: bool = False,
) -> tuple[Variant, ...]:
    """Off first; then, for each kind, the fixed depths and "auto" within the user's bounds.

    Args:
        available: kinds that can draft here.
        limit: most guesses per step of a kind.
        wanted: the user's bounds.
        kinds: only these; "none" asks for plain decoding alone; empty asks for all.
        always: also the adaptive depth that never stops drafting, "on".
        depths: fixed depths; those beyond a kind's limit are left out. Empty: 1 .. wanted.draft_max.

    Raises:
        ConfigError: a kind is not to be had.
    """
    _require(kinds, available)
    made = [PLAIN]
    for kind in available:
        if kinds and kind not in kinds:
            continue
        most = limit(kind)
        fixed = [depth for depth in (depths or range(1, wanted.draft_max + 1)) if 0 < depth <= most]
        made += [Variant(f"{kind} {depth}", _fixed(kind, depth), kind) for depth in dict.fromkeys(fixed)]
        made.append(Variant(f"{kind} auto", _adaptive(kind, wanted, most, "auto"), kind))
        if always:
            made.append(Variant(f"{kind} on", _adaptive(kind, wanted, most, "on"), kind))
    return tuple(made)


def _require(kinds: Sequence[str], available: Sequence[str]) -> None:
    for kind in kinds:
        if kind not in (*available, "none"):
            best = nearest(kind, available)
            there = ", ".join(available) or "none"
            raise ConfigError(
                f"There is no drafter of kind {shown(kind)} here",
                hint=f"Did you mean {best}?" if best else f"This model and drafter offer: {there}.",
            )


def _fixed(kind: str, depth: int) -> SpeculationControl:
    return SpeculationControl(mode="on", draft_max=depth, pinned=True, kind=kind)


def _adaptive(kind: str, wanted: SpeculationControl, most: int, mode: SpeculationMode) -> SpeculationControl:
    high = min(wanted.draft_max, most)
    low = min(wanted.draft_min, high)
    return SpeculationControl(mode=mode, draft_min=low, draft_max=high, kind=kind, free_max=wanted.free_max)
