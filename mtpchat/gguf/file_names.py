"""What people write into the names of model files: which quantisation, which part of how many.

A name is a claim. It serves to call a file something before it has been opened, and people know their files by it.
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

_DIGEST = re.compile(r"(?:sha256[-:_])?[0-9a-f]{32,}", re.IGNORECASE)
_WORDS = re.compile(r"[^\W_]+")
_ANY_MODEL = re.compile(
    r"models?|ggml|gguf|hf|unsloth|pytorch|consolidated|weights|main|merged|final|out|output|file|default|imatrix"
    r"|quanti[sz]ed|converted|tmp|test|\d+"
)
"""What programs call a file whatever model is in it: model.gguf, ggml-model-q4_0.gguf, unsloth.Q4_K_M.gguf."""


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


def tells_the_model(stem: str) -> bool:
    """Whether a name without its ending says which model is in the file: digests and what any file is called do not."""
    if _DIGEST.fullmatch(stem):
        return False
    words = _WORDS.findall(without_quantisation(without_part(stem)).casefold())
    return not all(map(_ANY_MODEL.fullmatch, words))


def model_name(file_name: str, own_name: str, quantisation: str) -> str:
    """What to call the model of a file: by the file's name, which tells quantisations and versions apart.

    Args:
        file_name: with its ending.
        own_name: general.name of the file, or ""; it stands in where the file's name says nothing.
        quantisation: of the file's weights, or "".
    """
    stem = file_name[:-5] if file_name.casefold().endswith(".gguf") else file_name
    name = without_part(stem) or stem
    if tells_the_model(stem) or not own_name.strip() or own_name == stem:
        return name
    told = own_name.strip()
    return told if not quantisation or quantisation.casefold() in told.casefold() else f"{told} {quantisation}"
