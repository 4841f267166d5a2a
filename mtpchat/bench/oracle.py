"""What measured acceptance and measured costs allow: the least time in which a text can be had by one who knows.

The oracle knows for each place of a text how many guesses made there would be right, and what every width and every
guess costs on this machine. It drafts what is right and nothing else, and decodes plainly where nothing is. In which
rounds to cut the text is a shortest path over its places:

    T(i) = min over k in 0 .. right(i) of  price(k) + T(i + k + 1),        price(k) = guesses(k) + t(k + 1)

No rule can do better with the same guesses at the same costs, so this is the bound that a controller is held against.
What the bound leaves out: that a width may cost more after another width, that the first guess after a long pause is
dearer, and that nobody knows. Pure: costs and guesses come in as numbers.

Costs are made consistent first. More rows never cost less, so a width that was measured to be dearer than a wider one
counts as the wider one, and none as less than a plain step. Between widths that were measured lies a straight line;
beyond the widest nothing is known, and nothing is drafted there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median


@dataclass(frozen=True, slots=True)
class CostTable:
    """Seconds of a step by its width, consistent as the module's docstring says.

    Args:
        verify_s: (width, seconds) in ascending order; the first is that of width 1.

    Raises:
        ValueError: width 1 is missing, widths do not ascend, or a time is not positive.
    """

    verify_s: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        widths = [width for width, _ in self.verify_s]
        if not widths or widths[0] != 1 or any(a >= b for a, b in pairwise(widths)):
            raise ValueError("a table of costs begins with width 1 and ascends")
        if min(seconds for _, seconds in self.verify_s) <= 0:
            raise ValueError("a step takes some time")
        plain, least, made = self.verify_s[0][1], float("inf"), []
        for width, seconds in reversed(self.verify_s):
            least = min(least, seconds)
            made.append((width, max(plain, least)))
        object.__setattr__(self, "verify_s", ((1, plain), *reversed(made[:-1])))

    @property
    def widest(self) -> int:
        """The widest decode whose cost is known."""
        return self.verify_s[-1][0]

    @property
    def plain_s(self) -> float:
        """Seconds of a plain step."""
        return self.verify_s[0][1]

    def verify(self, width: int) -> float:
        """Seconds of a step of so many rows, 1 .. widest."""
        low, before = self.verify_s[0]
        for high, seconds in self.verify_s:
            if high >= width:
                return before + (seconds - before) * (width - low) / (high - low) if high > low else seconds
            low, before = high, seconds
        raise ValueError(f"nothing is known about {width} rows")


@dataclass(frozen=True, slots=True)
class Guesses:
    """What one source would have guessed at each place of a text.

    Attributes:
        right: for each token of the text, how many guesses from there on would have been right in a row.
        made: how many it would have made, at least `right`.
        first_s / later_s: seconds of the first guess of a draft and of each after it.
    """

    right: tuple[int, ...]
    made: tuple[int, ...]
    first_s: float = 0.0
    later_s: float = 0.0

    def cost(self, count: int) -> float:
        """Seconds of so many guesses."""
        return max(0.0, self.first_s) + (count - 1) * max(0.0, self.later_s) if count else 0.0


def plain_s(tokens: int, costs: CostTable) -> float:
    """Seconds of a text of so many tokens without guesses."""
    return tokens * costs.plain_s


def least_s(tokens: int, sources: Sequence[Guesses], costs: CostTable) -> float:
    """Seconds of the oracle, which takes for each round the best source and the best of the right guesses."""
    rows = [costs.verify(width) for width in range(1, costs.widest + 1)]
    least = [0.0] * (tokens + 1)
    for at in range(tokens - 1, -1, -1):
        best = rows[0] + least[at + 1]
        for source in sources:
            for count in range(1, min(source.right[at], tokens - at - 1, len(rows) - 1) + 1):
                best = min(best, source.cost(count) + rows[count] + least[at + count + 1])
        least[at] = best
    return least[0]


def bound(tokens: int, sources: Sequence[Guesses], costs: CostTable) -> float:
    """How many times as fast as plain decoding the oracle is; at least 1."""
    # Sums round: plain decoding added up step by step may seem a hair slower than in one product.
    return max(1.0, plain_s(tokens, costs) / least_s(tokens, sources, costs)) if tokens else 1.0


def merged(tables: Iterable[Mapping[int, float]]) -> CostTable | None:
    """One table of what several contenders measured: the median of each width. None without a plain step."""
    seen: dict[int, list[float]] = {}
    for table in tables:
        for width, seconds in table.items():
            if seconds > 0:
                seen.setdefault(width, []).append(seconds)
    if 1 not in seen:
        return None
    return CostTable(tuple((width, float(median(values))) for width, values in sorted(seen.items())))
