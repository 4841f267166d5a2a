"""What is kept about a model file between two runs, so that a list of hundreds of files need not open one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from mtpchat.errors import MtpChatError
from mtpchat.gguf.facts import FileFacts, Memory, Role, facts_of, read_model, why_no_heads
from mtpchat.gguf.header import Header

DRAFTER_ROLES: frozenset[str] = frozenset({"mtp_only", "eagle3", "dflash", "dspark", "gemma4_assistant", "draft_head"})
Kind = Literal["model", "drafter", "other", "broken"]

_KINDS: dict[str, str] = {
    "chat": "chat model",
    "mtp_only": "MTP heads",
    "eagle3": "EAGLE-3 head",
    "dflash": "DFlash drafter",
    "dspark": "DSpark drafter",
    "gemma4_assistant": "Gemma 4 assistant",
    "draft_head": "draft head",
    "adapter": "adapter (LoRA)",
    "projector": "projector",
    "embedding": "embedding model",
    "diffusion": "diffusion model",
    "vocab_only": "vocabulary without weights",
    "other": "no language model",
}


class FileRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A model file in a line.

    Attributes:
        role: what it is good for; see gguf.facts.
        title: the model's own name.
        size: bytes, all parts together.
        quantisation: "Q4_K_M"; "" when it is unknown.
        bits: per parameter; None without tensors.
        heads: prediction heads that can be used.
        heads_trouble: why there are none that can, where the file has or announces some.
        bases: names of the models it was made from.
        trouble: why the file cannot be read; all else is empty then.
        hint: what can be done about that.
    """

    role: Role = "other"
    title: str = ""
    architecture: str = ""
    size: int = 0
    parts: int = 1
    size_label: str = ""
    quantisation: str = ""
    bits: float | None = None
    context: int | None = None
    width: int | None = None
    layers: int = 0
    vocabulary: int | None = None
    heads: int = 0
    heads_trouble: str = ""
    memory: Memory = "attention"
    experts: int = 0
    licence: str = ""
    bases: tuple[str, ...] = ()
    trouble: str = ""
    hint: str = ""

    @property
    def kind(self) -> Kind:
        """Which list it belongs into."""
        if self.trouble:
            return "broken"
        if self.role == "chat":
            return "model"
        return "drafter" if self.role in DRAFTER_ROLES else "other"

    @property
    def what(self) -> str:
        """What it is, in two words."""
        return "cannot be read" if self.trouble else _KINDS[self.role]


def read_record(path: Path) -> FileRecord:
    """Read a file's header. Whatever is wrong with the file is part of the answer."""
    try:
        return record_of(read_model(path))
    except MtpChatError as error:
        return FileRecord(trouble=error.message, hint=error.hint)


def record_of(header: Header) -> FileRecord:
    """The record of a header."""
    facts = facts_of(header)
    why_not = why_no_heads(facts)
    return FileRecord(
        role=facts.role,
        title=facts.name,
        architecture=facts.architecture,
        size=facts.size,
        parts=facts.parts,
        size_label=facts.size_label,
        quantisation=facts.quantization,
        bits=facts.mix.bits,
        context=facts.context,
        width=facts.width,
        layers=facts.trunk,
        vocabulary=facts.vocabulary,
        heads=0 if why_not else facts.heads,
        heads_trouble=why_not if _speaks_of_heads(facts) else "",
        memory=facts.memory,
        experts=facts.experts,
        licence=facts.licence,
        bases=facts.base_models,
    )


def _speaks_of_heads(facts: FileFacts) -> bool:
    return bool(facts.heads or facts.trouble)
