"""What the app does about a run before it that ended without a goodbye: one line, and speculation off to begin with."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mtpchat.config import Config
from mtpchat.config_schema import replace_value
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
    if not deaths:
        return Beginning(record, config, "", deaths)
    careful = _careful(config, deaths[-1])
    may_go_on = config.chats.save and not resumes
    return Beginning(record, careful, _sentence(deaths[-1], off=careful is not config, may_go_on=may_go_on), deaths)


def _careful(config: Config, death: Death) -> Config:
    """The same config, or one with speculation off."""
    wanted = config.speculative
    if death.restarted or wanted.after_crash == "keep" or wanted.mode == "off" or death.kind in ("", "none"):
        return config
    other_kind = wanted.kind not in ("auto", death.kind)
    other_drafter = bool(wanted.drafter and death.drafter) and not _same(wanted.drafter, death.drafter)
    if other_kind or other_drafter or not _same(config.model.path, death.model):
        return config
    return replace_value(config, "speculative.mode", "off")


def _same(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):
        return one == other


def _sentence(death: Death, *, off: bool, may_go_on: bool) -> str:
    sentence = f"The last run ended abruptly{_with(death)}: {death.reason}."
    if off:
        sentence += " Speculation is off to begin with; /mtp auto switches it on."
    return f"{sentence} /chats 1 goes on with the chat." if may_go_on else sentence


def _with(death: Death) -> str:
    if not death.model:
        return ""
    drafter = Path(death.drafter).name if death.drafter else {"mtp": "its own MTP heads", "ngram": "n-gram"}
    named = drafter if isinstance(drafter, str) else drafter.get(death.kind, "")
    return f" with {Path(death.model).name}{f' and {named}' if named else ''} in use"
