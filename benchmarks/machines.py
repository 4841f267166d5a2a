"""Machines that are made up: what a step costs there by its width, for the simulations.

Six profiles are shaped on published figures, the staircases on what was measured on two cores or on what is hard.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """What steps cost.

    Attributes:
        plain_s: seconds of a plain step.
        rows: cost of widths 1, 2, 3, ... as multiples of a plain step; the last rise goes on.
        draft: seconds of a guess as a share of a plain step.
        switch: what a change of width costs, as a share of a plain step.
        slope: what the cost tables assume before anything is measured.
        row: seconds of reading a row that waited, as a share of a plain step: all tokens since the last guess wait.
    """

    plain_s: float
    rows: tuple[float, ...]
    draft: float
    switch: float = 0.0
    slope: float = 0.1
    row: float = 0.0

    def verify(self, width: int) -> float:
        """Cost of a width as a multiple of a plain step."""
        over = max(0, width - len(self.rows))
        return self.rows[width - 1 - over] + over * (self.rows[-1] - self.rows[-2])


def _rising(*slopes: float) -> tuple[float, ...]:
    return tuple(1 + sum(slopes[:width]) for width in range(len(slopes) + 1))


PROFILES = {
    "rtx5090-27B": Machine(0.0134, _rising(*[0.05] * 3, *[0.07] * 9), 1.25 / 13.4, 0.4 / 13.4, row=0.0005),
    "rtx3090-27B": Machine(0.0230, _rising(*[0.10] * 2, *[0.16] * 10), 0.1, 0.4 / 23),
    "m4-metal-27B": Machine(0.172, _rising(*[0.75] * 12), 9 / 172),
    "cpu-2core": Machine(0.180, _rising(*[0.62] * 12), 14 / 180, slope=0.6, row=0.015),
    "strix-27B": Machine(0.090, _rising(*[0.12] * 3, *[0.2] * 9), 6 / 90),
    "moe-offload": Machine(0.050, _rising(*[0.55] * 12), 4 / 50, slope=0.6),
}
STAIRCASES = {
    # SmolLM2-135M on two cores, measured; a head that costs .07 of a step instead of that model's .3
    "f16-2core": Machine(0.014, (1, 1.30, 1.33, 1.79, 1.80, 2.05, 2.3, 2.54, 2.75), 0.07, slope=0.6, row=0.01),
    "q8-2core": Machine(0.0148, (1, 1.52, 2.01, 2.11, 2.99, 3.0, 3.35, 3.71), 0.07, slope=0.6, row=0.01),
    "cliff-then-flat": Machine(0.020, (1, 1.9, 1.9, 1.9, 1.9, 1.9, 1.9, 1.9, 3.8, 3.8), 0.03, slope=0.6),
    "late-cliff": Machine(0.020, (1, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 3.0, 3.1), 0.05),
}
