"""What a step costs on this machine, measured while chatting: seconds per verify width and per guess.

Timings of a desktop are dirty: a compiler starts, a page is swapped in, a width is used for the first time and its
graph is built. Three habits keep them apart from the truth:

- one observation moves a value by a tenth of at most a quarter of it; but where several in a row agree that the old
  value is wrong, it is wrong, and the steps become large;
- a width counts in full only when the step before had the same width, since a change of width may cost extra;
- when one width becomes slower, the others most likely did, too (heat, a longer context, another program): values that
  were not measured lately move along by the same ratio.

A width that was never tried is taken to cost half of what the last slope says. Costs are a staircase on many machines,
and a step that is never tried is never found to be flat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

GPU_SLOPE, CPU_SLOPE = 0.1, 0.6
"""What one more row is taken to cost before it was measured, as a share of a plain step."""
_GAIN, _CLAMP = 0.1, 0.25
"""One sample moves a value by a tenth of the surprise, of which a quarter at most is believed."""
_GUESS_CLAMP = 0.5
"""Guesses are short, and their times scatter more."""
_SURE = 4
"""So many outliers in a row, all to the same side, are no outliers."""
_SURE_GAIN = 0.5
_SWITCHED = 0.25
"""Weight of a step whose width differs from the one before."""
_STALE_STEPS = 16
"""A width that was not seen for so many steps moves along with the others."""
_OLD_STEPS, _MUCH_LESS = 64, 0.8
"""A width that was not tried for so long, and now takes so much less than is remembered, is believed at once."""
_FIRST_SAMPLES = 3
"""The lower median of so many is where a value begins."""
_OPTIMISM = 0.5
"""Of the mean slope so far, for widths beyond the widest that was measured."""
_DOUBT_STEPS = 32
"""Steps in which the trust in a single sample of a width is halved."""
_MATURE, _CERTAIN = 16, 8
"""Samples from which on a value tells that the machine changes, and what is an outlier."""
_ROWS_PER_GUESS = 64
"""So many waiting rows are taken to cost what a guess does, before it was measured."""
PSEUDO_SAMPLES = 8.0
"""How much a cost that was measured in an earlier run weighs."""


@dataclass(slots=True)
class _Estimate:
    """A positive number followed through noise."""

    value: float
    clamp: float
    samples: list[float] = field(default_factory=list)
    run: int = 0
    seen_at: int = 0
    count: float = 0.0

    def note(self, sample: float, weight: float = 1.0) -> float:
        """Take a sample; returns by which factor the value moved."""
        old = self.value
        self.count += 1
        if len(self.samples) < _FIRST_SAMPLES:
            # The first samples pay for caches and graphs, or hit a stall: the lower median, not the mean, is the start.
            self.samples.append(sample)
            self.value = sorted(self.samples)[(len(self.samples) - 1) // 2]
            return self.value / old
        surprise = sample / old - 1
        side = (surprise > self.clamp) - (surprise < -self.clamp)
        self.run = self.run + side if side and side * self.run >= 0 else side
        sure = abs(self.run) >= _SURE
        if sure:
            # A level shift is followed, but never past a stall that is a hundred times too long.
            step = _SURE_GAIN * max(-0.5, min(1.0, surprise))
        else:
            step = _GAIN * max(-self.clamp, min(self.clamp, surprise))
        self.value = old * (1 + weight * step)
        return self.value / old


class Costs:
    """Seconds per verify width and per guess.

    Args:
        clock: seconds, monotonic; only used for the age of the plain rate.
        slope: first assumption of what one more row costs, as a share of a plain step: about .1 on a GPU, .6 on a CPU.
    """

    def __init__(self, clock: Callable[[], float], slope: float = 0.3) -> None:
        self._clock = clock
        self._slope = slope
        self._verify: dict[int, _Estimate] = {}
        self._guess: dict[tuple[str, bool], _Estimate] = {}
        self._row: dict[str, _Estimate] = {}
        self._points: list[tuple[int, float]] = []
        self._read: dict[int, float] = {}
        self._step = 0
        self._last_width = 0
        self._plain_at: float | None = None
        self._drifted = 1.0

    @property
    def plain_s(self) -> float | None:
        """Seconds of a plain step, None until it was measured."""
        plain = self._verify.get(1)
        return plain.value if plain is not None else None

    @property
    def plain_age_s(self) -> float | None:
        """Seconds since a plain step was last measured."""
        return None if self._plain_at is None else self._clock() - self._plain_at

    @property
    def settled(self) -> bool:
        """Whether a plain step was measured in this run, and often enough to begin with."""
        return self._plain_at is not None and len(self._verify[1].samples) >= _FIRST_SAMPLES

    @property
    def drifted(self) -> float:
        """By which factor the plain cost was moved along by others since it was last measured itself."""
        return self._drifted

    def guess_s(self, kind: str, position: int = 1) -> float | None:
        """Seconds of guess number `position` of this kind of drafter, None until any was measured.

        The first guess of a draft is dearer than those after it: the drafter catches up with the text there.
        """
        found = self._guess.get((kind, position > 1)) or self._guess.get((kind, position == 1))
        return found.value if found is not None else None

    def catch_up_s(self, kind: str, rows: int) -> float:
        """Seconds that reading so many waiting rows adds to the first guess of this kind of drafter."""
        if not rows:
            return 0.0
        found = self._row.get(kind)
        return rows * (found.value if found is not None else (self.guess_s(kind) or 0.0) / _ROWS_PER_GUESS)

    @property
    def last_width(self) -> int:
        """Width of the last step; 0 before the first."""
        return self._last_width

    def knows(self, width: int) -> bool:
        """Whether this width was measured."""
        return width in self._verify

    def certain(self, width: int) -> bool:
        """Whether this width was measured often enough to tell an outlier."""
        one = self._verify.get(width)
        return one is not None and one.count > _CERTAIN

    def measured(self) -> dict[int, float]:
        """Seconds per width, of those that were measured."""
        return {width: one.value for width, one in sorted(self._verify.items())}

    def guesses(self) -> dict[str, tuple[float, float]]:
        """Seconds of the first and of a later guess, per kind of drafter that was measured."""
        kinds = {kind for kind, _ in self._guess}
        return {kind: (self.guess_s(kind, 1) or 0.0, self.guess_s(kind, 2) or 0.0) for kind in sorted(kinds)}

    def seed(self, widths: dict[int, float], guesses: dict[str, tuple[float, float]]) -> None:
        """Start from what was measured in an earlier run. Nothing that was measured in this one is overwritten."""
        for width, seconds in widths.items():
            if width not in self._verify:
                self._verify[width] = _learnt(seconds, _CLAMP)
        for kind, pair in guesses.items():
            for later, seconds in enumerate(pair):
                self._guess.setdefault((kind, bool(later)), _learnt(seconds, _GUESS_CLAMP))
        self._changed()

    def verify_s(self, width: int) -> float:
        """Seconds of a step that verifies width - 1 guesses: measured, or read off its neighbours."""
        found = self._read.get(width)
        if found is None:
            if not self._points:
                self._points = self._trusted()
            found = self._read[width] = self._on_line(self._points, width)
        return found

    def _trusted(self) -> list[tuple[int, float]]:
        """(width, seconds) of the widths to draw the line through."""
        known = sorted(self._verify.items())
        sure = [(width, one.value) for width, one in known if one.count > 1 or width == 1]
        if len(sure) in {0, len(known)}:
            return [(width, one.value) for width, one in known]
        # A single sample may have met a stall: until there are two, its neighbours have a say, the longer, the more.
        points = []
        for width, one in known:
            value = one.value
            if one.count <= 1 < width:
                trust = 0.5 ** (1 + (self._step - one.seen_at) / _DOUBT_STEPS)
                value = min(value, trust * value + (1 - trust) * self._on_line(sure, width))
            points.append((width, value))
        return points

    def _on_line(self, points: list[tuple[int, float]], width: int) -> float:
        if not points:
            return 1.0
        low, before = points[0]
        for high, value in points:
            if high >= width:
                return before + (value - before) * (width - low) / (high - low) if high > low else value
            low, before = high, value
        first, start = points[0]
        rise = self._slope * before
        if low > first:
            # The mean slope so far: the last one may be a flat part or a cliff of the staircase.
            rise = _OPTIMISM * max(0.0, (before - start) / (low - first))
        return before + rise * (width - low)

    def _changed(self) -> None:
        self._points = []
        self._read.clear()

    def observe(self, width: int, verify_s: float) -> None:
        """Note one step.

        Args:
            width: rows verified (guesses + 1).
            verify_s: decode, sampling and roll-back.
        """
        self._step += 1
        switched = width != self._last_width
        self._last_width = width
        if verify_s > 0:
            self._note_width(width, verify_s, switched=switched)

    def observe_guesses(self, kind: str, guesses: int, draft_s: float, first_s: float | None = None) -> None:
        """Note one draft.

        Args:
            kind: who guessed.
            guesses: how many guesses were made, verified or not; at least 1.
            draft_s: time they took together.
            first_s: share of it that the first one took; None where only the sum is known.
        """
        first = first_s if first_s is not None else draft_s / guesses
        self._note_guess(kind, False, first)
        if guesses > 1:
            self._note_guess(kind, True, max(0.0, draft_s - first) / (guesses - 1))

    def observe_catch_up(self, kind: str, rows: int, first_s: float) -> None:
        """Note a first guess before which many rows had to be read.

        Args:
            rows: how many; at least 1.
            first_s: seconds of both together.
        """
        guess_s = self.guess_s(kind)
        if guess_s is not None and first_s < guess_s:
            self._note_guess(kind, False, first_s)  # a guess alone cannot cost more than one with rows before it
        row_s = max(1e-9, (first_s - (guess_s or 0.0)) / rows)
        self._row.setdefault(kind, _Estimate(row_s, _GUESS_CLAMP)).note(row_s)

    def _note_width(self, width: int, verify_s: float, *, switched: bool) -> None:
        one = self._verify.get(width)
        if one is None:
            if width == 1 and switched and self._step == 1:
                return  # the very first step pays for everything that is set up on first use
            one = self._verify[width] = _Estimate(verify_s, _CLAMP)
            if 1 in self._verify:  # rows verified together never cost more than one by one
                verify_s = min(verify_s, width * self.verify_s(1))
        if width > 1 and self._step - one.seen_at > _OLD_STEPS and verify_s < _MUCH_LESS * one.value:
            one.value, one.run = verify_s, 0  # noise only ever makes a step longer: the last time was a bad one
        fresh = len(one.samples) < _FIRST_SAMPLES
        moved = one.note(verify_s, _SWITCHED if switched and not fresh else 1.0)
        one.seen_at = self._step
        if one.count > _MATURE:  # before, it is the estimate that moves, not the machine
            self._drift(moved)
        if width == 1 and not switched:
            self._plain_at, self._drifted = self._clock(), 1.0
        elif width > 1 and one.count > _FIRST_SAMPLES and 1 in self._verify:
            # More rows never cost less: a plain step that seems dearer was measured at a bad time.
            self._verify[1].value = min(self._verify[1].value, one.value)
        self._changed()

    def _drift(self, ratio: float) -> None:
        stale = [(width, one) for width, one in self._verify.items() if self._step - one.seen_at > _STALE_STEPS]
        if not stale:
            return
        # Each width in use sees the machine change: together they must not tell it more than once.
        ratio **= 1 / (len(self._verify) - len(stale))
        for width, one in stale:
            one.value *= ratio
            if width == 1:
                self._drifted *= ratio

    def _note_guess(self, kind: str, later: bool, seconds: float) -> None:
        one = self._guess.setdefault((kind, later), _Estimate(max(seconds, 1e-9), _GUESS_CLAMP))
        one.note(max(seconds, 1e-9))


def _learnt(seconds: float, clamp: float) -> _Estimate:
    return _Estimate(seconds, clamp, samples=[seconds] * _FIRST_SAMPLES, count=PSEUDO_SAMPLES)
