"""Which models to offer somebody who has none: a short list that ships with the program, held against free memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from mtpchat.gguf.memory_plan import Machine
from mtpchat.hub.fit import fits
from mtpchat.text_file import parse_toml, read_text

_FILE = Path(__file__).with_name("starters.toml")
_MOST = 2


class Starter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model for beginners.

    Attributes:
        fetch: what /pull takes.
        gigabytes: of everything that is fetched, roughly.
        guesses: whether it has heads, a drafter beside it, or nothing of the kind.
        drafter: the file beside it, as /pull takes it behind the repository; "" for none.
        trial: small enough for every machine.
        gpu: only for machines whose GPU holds all of it.
    """

    name: str
    fetch: str
    gigabytes: float
    guesses: Literal["heads", "drafter", "nothing"]
    about: str
    drafter: str = ""
    trial: bool = False
    gpu: bool = False

    @property
    def size(self) -> int:
        """Bytes, roughly."""
        return round(self.gigabytes * 1e9)

    @property
    def fetch_drafter(self) -> str:
        """What /pull takes for the file beside it; "" for none."""
        return f"{self.fetch.partition(':')[0]}:{self.drafter}" if self.drafter else ""


class _Starters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: tuple[Starter, ...]


@cache
def starters() -> tuple[Starter, ...]:
    """All of the list, from small to large."""
    return msgspec.convert(parse_toml(read_text(_FILE)), _Starters).model


def trial(among: Sequence[Starter] = ()) -> Starter:
    """The one to try first."""
    return next(one for one in among or starters() if one.trial)


def suitable(machine: Machine, among: Sequence[Starter] = ()) -> list[Starter]:
    """The two most capable that the free memory holds, the better one first; of unknown memory, the two smallest."""
    known = [one for one in among or starters() if not one.trial]
    if machine.ram is None and not machine.devices:
        return [one for one in known if not one.gpu][:_MOST]
    return [one for one in known if on_gpu(one, machine) or (not one.gpu and fits(one.size, machine.ram))][::-1][:_MOST]


def on_gpu(starter: Starter, machine: Machine) -> bool:
    """Whether GPUs with memory of their own hold all of it."""
    own = sum(device.free for device in machine.devices if not device.shared)
    shared = max((device.free for device in machine.devices if device.shared), default=0)
    return fits(starter.size, max(own, shared)) is True


def first_steps() -> str:
    """What somebody without a model can do on the command line, in one line."""
    small = trial()
    return (
        f"mtpchat pull {small.fetch} fetches a small one ({round(small.size / 1e6)} MB) · "
        "mtpchat -m FILE uses a file · mtpchat models lists those on this machine · "
        "mtpchat config set paths.models FOLDER says where yours are · mtpchat --demo tries the demo · "
        "mtpchat alone, in a terminal, helps to choose"
    )
