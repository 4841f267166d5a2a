"""What people write into the names of model files: which quantisation, which part of how many.

A name is a claim. It serves to call a file something before it has been opened.
"""

from __future__ import annotations

import re

_PART = re.compile(r"-(\d{5})-of-(\d{5})$")
_QUANTISATION = re.compile(
    r"(?<![A-Za-z0-9])((?:UD-)?(?:"
    r"I?Q[1-9]_(?:K(?:_(?:XXL|XL|XS|S|M|L))?|NL(?:_XL)?|XXS|XS|S|M|[01](?:_\d_\d)?)|TQ[12]_0|"
    r"BF16|FP?16|FP?32|MXFP4(?:_MOE)?|NVFP4|Q[2-8]))(?![A-Za-z0-9])",
    re.IGNORECASE,
)


def quantisation_in(name: str) -> str:
    """The quantisation that a name tells, upper case, e.g. "UD-Q4_K_XL": the last one; "" when it tells none."""
    found: list[str] = _QUANTISATION.findall(name)
    return found[-1].upper() if found else ""


def without_quantisation(name: str) -> str:
    """A name with the words that say how it is quantised taken out."""
    return _QUANTISATION.sub(" ", name)


def part_in(stem: str) -> tuple[int, int] | None:
    """Number of the part, from 1, and how many there are, of a name without its ending; None for one file alone."""
    match = _PART.search(stem)
    return (int(match[1]), int(match[2])) if match else None


def without_part(stem: str) -> str:
    """A name without its ending, and without the number of the part: the same for all parts of one model."""
    return _PART.sub("", stem)
