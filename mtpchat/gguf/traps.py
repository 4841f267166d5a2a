"""Settings of a file on which llama.cpp does not fail but ends the whole process, or hangs, found before it gets them.

Each is an assertion in its sources (src/llama-model.cpp, src/llama-vocab.cpp, ggml/src); what is not known here is
found by the trial of a file in a process of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from mtpchat.errors import ModelUnsupported
from mtpchat.gguf.cursor import quoted
from mtpchat.gguf.facts import FileFacts
from mtpchat.gguf.header import STRING, Header
from mtpchat.gguf.vocabulary import TOKENS, repeated_text

_MOST_LAYERS = 512
_MOST_EXPERTS = 1024
_EPSILONS = ("attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon", "attention.group_norm_epsilon")
_IGNORES_ONE_EXPERT = ("hunyuan_vl", "hunyuan-dense")


def require_loadable(header: Header, facts: FileFacts) -> None:
    """Raise ModelUnsupported if llama.cpp is known to end the process on this file."""
    trap = next(traps_of(header, facts), "")
    if trap:
        raise ModelUnsupported(
            f"{facts.path.name} {trap}; llama.cpp would end the whole program on it, or hang.",
            hint="The file is damaged or was badly made: get another conversion.",
        )


def traps_of(header: Header, facts: FileFacts) -> Iterator[str]:
    """What is wrong with a model, as clauses that follow the name of the file.

    Raises ModelUnreadable if the file has changed meanwhile.
    """
    arch = facts.architecture
    blocks = header.integer(f"{arch}.block_count")
    if blocks is not None and not 0 < blocks <= _MOST_LAYERS:
        yield f"claims {blocks} blocks"
    yield from _experts(header, facts)
    for key in _EPSILONS:
        value = header.values.get(f"{arch}.{key}")
        if isinstance(value, float) and (math.isnan(value) or value < 0):
            yield f"has {value} for {key.rpartition('.')[2]}"
    if blocks is not None and facts.heads > blocks:
        yield f"announces {facts.heads} prediction heads among {blocks} blocks"
    turned, size = header.integer(f"{arch}.rope.dimension_count"), header.integer(f"{arch}.attention.key_length")
    if turned and (turned % 2 or (size and turned > size)):
        yield f"turns {turned} dimensions of heads that have {size if size is not None else 'an even number'}"
    sections = header.numbers(f"{arch}.rope.dimension_sections")
    # To turn no dimension at all takes the CPU for ever.
    if turned == 0 or (sections and max(sections[:3]) <= 0):
        yield "has positions of no dimension"
    tokens = header.arrays.get(TOKENS)
    if tokens is not None and tokens.kind == STRING:
        twice = repeated_text(header.strings(TOKENS))
        if twice is not None:
            yield f"has two tokens {quoted(twice.decode('utf-8', 'replace'))}"


def _experts(header: Header, facts: FileFacts) -> Iterator[str]:
    arch = facts.architecture
    experts = header.integer(f"{arch}.expert_count") or 0
    if arch in _IGNORES_ONE_EXPERT and experts <= 1:
        return
    told = header.integer(f"{arch}.expert_used_count")
    used = (
        told if told is not None else max((int(one) for one in header.numbers(f"{arch}.expert_used_count")), default=0)
    )
    groups = header.integer(f"{arch}.expert_group_count") or 0
    groups_used = header.integer(f"{arch}.expert_group_used_count") or 0
    if experts > _MOST_EXPERTS or used > experts or (experts and not used):
        yield f"claims to use {used} of {experts} experts"
    elif groups and (groups >= experts or (groups > 1 and (experts % groups or not 0 < groups_used < groups))):
        yield f"claims to use {groups_used} of {groups} groups of experts"
