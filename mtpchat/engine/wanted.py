"""From settings to what a running engine is asked for, and back."""

from __future__ import annotations

import msgspec

from mtpchat.config import Config, SpeculativeConfig
from mtpchat.events import SpeculationControl, SpeculationMode

_MODES: dict[str, SpeculationMode] = {"on": "on", "off": "off", "auto": "auto"}


def control_of(config: Config) -> SpeculationControl:
    """What the settings want of speculation."""
    wanted = config.speculative
    pinned = wanted.pinned or 0 < wanted.draft_min == wanted.draft_max  # bounds that leave no choice
    # A depth that was chosen bounds every kind of guess; otherwise copies, which cost nothing to make, may be longer.
    chosen = pinned or wanted.draft_min > 0 or wanted.draft_max != SpeculativeConfig().draft_max
    free_max = 0 if chosen else wanted.ngram_max
    return SpeculationControl(_MODES[wanted.mode], wanted.draft_min, wanted.draft_max, pinned, free_max=free_max)


def with_control(config: Config, control: SpeculationControl) -> Config:
    """The settings that want what a control asks for."""
    wanted = msgspec.structs.replace(
        config.speculative,
        mode=control.mode,
        draft_min=control.draft_min,
        draft_max=control.draft_max,
        pinned=control.pinned,
    )
    return msgspec.structs.replace(config, speculative=wanted)
