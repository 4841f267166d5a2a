"""What the app does about a run before it that ended without a goodbye: one line, and speculation off to begin with."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from mtpchat.config import Config
from mtpchat.fallen import SPECULATION_OFF, FallenPair, FallenPairs
from mtpchat.last_run import Death, RunRecord, take_deaths

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a run begins.

    Attributes:
        record: of this run; close it when the user has left in order.
        config: settings, with speculation off where the run before died with the same files in use.
        sentence: what there is to say about the run before, or "".
        deaths: what is known of it, for the log.
    """

    record: RunRecord
    config: Config
    sentence: str
    deaths: Sequence[Death]

    def write_log(self) -> None:
        """Keep what was said in the moment of death; call when there is a log."""
        for death in self.deaths:
            _log.warning("a run ended abruptly (%s):\n%s", death.reason, death.words or "nothing was said")


def begin_run(config: Config, *, resumes: bool) -> Beginning:
    """Look for a run that died, and record this one from now on.

    Args:
        resumes: this run goes on with a chat anyway.
    """
    deaths = take_deaths()
    record = RunRecord()
    record.catch_signals()
    fallen = FallenPairs()
    fallen.note(deaths)
    careful, pair = fallen.held_back(config)
    may_go_on = config.chats.save and not resumes
    if deaths:
        return Beginning(record, careful, _sentence(deaths[-1], off=pair is not None, may_go_on=may_go_on), deaths)
    return Beginning(record, careful, "" if pair is None else pair.warning, deaths)


def _sentence(death: Death, *, off: bool, may_go_on: bool) -> str:
    sentence = f"The last run ended abruptly{_with(death)}: {death.reason}."
    if off:
        sentence += f" {SPECULATION_OFF}"
    return f"{sentence} /chats 1 goes on with the chat." if may_go_on else sentence


def _with(death: Death) -> str:
    return f" with {FallenPair(death.model, death.drafter, death.kind).words} in use" if death.model else ""
