"""What llama.cpp itself says it has taken, read off its log: the measure that plans are held against."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mtpchat.gguf.memory_plan import MemoryPlan

_LINE = re.compile(r"(\S+)\s+(model|KV|RS|compute|output) buffer size\s*=\s*([\d.]+) MiB")


@dataclass(frozen=True, slots=True)
class Buffer:
    """One buffer.

    Attributes:
        place: its kind, e.g. "CPU", "CPU_Mapped", "CUDA0".
        what: "model", "KV", "RS" (recurrent states), "compute" or "output".
        size: bytes, to a hundredth of a MiB, which is how exactly llama.cpp tells.
    """

    place: str
    what: str
    size: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Bytes as they were planned and as they were reported, without what llama.cpp does not tell of.

    Attributes:
        rows: (what, planned, reported).
    """

    rows: tuple[tuple[str, int, int], ...]

    @property
    def planned(self) -> int:
        """All that was planned."""
        return sum(planned for _, planned, _ in self.rows)

    @property
    def reported(self) -> int:
        """All that was reported."""
        return sum(reported for _, _, reported in self.rows)

    def __str__(self) -> str:
        parts = [f"{what} {_mib(planned)}/{_mib(reported)}" for what, planned, reported in self.rows]
        return f"planned/reported {_mib(self.planned)}/{_mib(self.reported)} MiB: " + ", ".join(parts)


_PLANNED = {"model": ("weights",), "KV": ("KV cache",), "RS": ("state", "snapshots"), "compute": ("compute",)}


def compare(plan: MemoryPlan, buffers: Iterable[Buffer]) -> Comparison:
    """Hold a plan against what was reported while it was loaded. Rows of logits grow later, and are left out."""
    reported = list(buffers)
    rows = []
    for what, names in _PLANNED.items():
        size = sum(buffer.size for buffer in reported if buffer.what == what) - _twice(reported, what)
        planned = sum(plan.of(name) for name in names)
        if size or planned:
            rows.append((what, planned, size))
    return Comparison(tuple(rows))


def _twice(buffers: list[Buffer], what: str) -> int:
    """Weights that the CPU rearranged are also counted as part of the mapped file that they were read from."""
    mapped = any(buffer.what == what and buffer.place.endswith("_Mapped") for buffer in buffers)
    return sum(buffer.size for buffer in buffers if buffer.what == what and mapped and "REPACK" in buffer.place)


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.2f}"


def buffer_in(line: str) -> Buffer | None:
    """The buffer that a line of the log tells of."""
    found = _LINE.search(line)
    return Buffer(found[1], found[2], round(float(found[3]) * (1 << 20))) if found else None
