"""What a model file is good for, read off its header: chat model or drafter, which heads, which kind of memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mtpchat.errors import ModelUnsupported
from mtpchat.gguf import architectures as known
from mtpchat.gguf.file_names import model_name
from mtpchat.gguf.header import Header
from mtpchat.gguf.quantization import Mix, file_type_name, mix_of
from mtpchat.gguf.shards import read_model
from mtpchat.gguf.vocabulary import special_id, vocabulary_kind

__all__ = ["FileFacts", "Memory", "Role", "facts_of", "read_model", "require_chat", "why_no_heads"]

Role = Literal[
    "chat",
    "mtp_only",
    "eagle3",
    "dflash",
    "dspark",
    "gemma4_assistant",
    "draft_head",
    "adapter",
    "projector",
    "embedding",
    "diffusion",
    "vocab_only",
    "other",
]
Memory = Literal["attention", "hybrid", "recurrent"]

_NO_MIX = Mix((), 0, 0)
_MOST_BASES = 16
_NAME_ANOTHER = "mtpchat models, or /model in the chat, lists those that can."
HEAD_PROJECTION = "nextn.eh_proj.weight"
_HEAD_BLOCK = re.compile(r"blk\.(\d+)\.nextn\.")
_STRAY_HEAD = re.compile(r"(^|\.)(mtp|nextn)\.")
_HEAD_ROLES: dict[str, Role] = {
    "eagle3": "eagle3",
    "dflash": "dflash",
    "gemma4-assistant": "gemma4_assistant",
    "gemma4_assistant": "gemma4_assistant",
}


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A model file in numbers and names.

    Attributes:
        size: bytes, all parts together.
        name: the model's own name, or the file's stem.
        blocks: all of them, heads included.
        context: tokens it was trained for; None when the file does not say.
        width: of an embedding.
        vocabulary: how many tokens; None when the file does not say.
        chat_template: "" when there is none.
        heads: prediction heads the file announces.
        heads_there: of those, how many have their tensors.
        memory: what the model keeps between tokens.
        snapshots: its recurrent state can be taken back a few tokens.
        window: tokens that sliding-window attention sees; 0 without.
        parts: files the model is split into.
        trouble: why llama.cpp cannot run the heads although they are there, or "".
        head_blocks: blocks that have any tensor of a head, announced or not.
        size_label: "27B", as the file says it or counted.
        quantization: the usual name, e.g. "Q4_K_M"; "" without tensors.
        mix: types of the tensors by weight, and how many parameters there are.
        vocabulary_kind: "BPE", "SPM", ...; "" when the file does not say.
        bos / eos: ids of these tokens; None when the file does not say.
        licence: "apache-2.0", or "".
        base_models: names of the models it was made from.
        experts / experts_used: of a mixture of experts; 0 for a dense model.
    """

    path: Path
    size: int
    architecture: str
    name: str
    role: Role
    blocks: int
    context: int | None
    width: int | None
    vocabulary: int | None
    chat_template: str
    heads: int
    heads_there: int
    memory: Memory
    snapshots: bool
    window: int
    parts: int
    trouble: str
    head_blocks: int = 0
    size_label: str = ""
    quantization: str = ""
    mix: Mix = _NO_MIX
    vocabulary_kind: str = ""
    bos: int | None = None
    eos: int | None = None
    licence: str = ""
    base_models: tuple[str, ...] = ()
    experts: int = 0
    experts_used: int = 0

    @property
    def known_as(self) -> str:
        """What people call it: the file's name, and the model's own where that of the file says nothing."""
        return model_name(self.path.name, self.name, self.quantization)

    @property
    def trunk(self) -> int:
        """Blocks without heads."""
        return self.blocks - self.heads

    @property
    def chained(self) -> bool:
        """Several heads, of which each guesses one position."""
        return self.heads > 1 and self.architecture in known.CHAINS_HEADS

    @property
    def can_roll_back(self) -> bool:
        """Drafting is possible at all: what was decoded can be taken back."""
        return self.memory == "attention" or self.snapshots

    @property
    def overrides(self) -> tuple[tuple[str, int], ...]:
        """Settings to correct on loading: llama.cpp refuses some files whose announced heads were left out."""
        if self.heads_there or not self.heads or self.architecture not in known.REFUSES_MISSING_HEADS:
            return ()
        arch = self.architecture
        return ((f"{arch}.nextn_predict_layers", 0), (f"{arch}.block_count", self.trunk))


def facts_of(header: Header) -> FileFacts:
    """Everything a header tells. Never raises on odd values: what makes no sense is taken as not said."""
    arch = header.text("general.architecture")

    def number(key: str) -> int | None:
        value = header.integer(f"{arch}.{key}")
        return value if value is not None and value >= 0 else None

    heads, blocks = number("nextn_predict_layers") or 0, number("block_count") or 0
    mix = mix_of(header.tensors.values())
    return FileFacts(
        path=header.path,
        size=header.size,
        architecture=arch,
        name=header.text("general.name") or header.path.stem,
        role=_role(header, arch, heads),
        blocks=blocks,
        context=number("context_length"),
        width=number("embedding_length"),
        vocabulary=_vocabulary_size(header, arch),
        chat_template=header.text("tokenizer.chat_template"),
        heads=heads,
        heads_there=sum(f"blk.{index}.{HEAD_PROJECTION}" in header.tensors for index in _head_blocks(blocks, heads)),
        memory="recurrent" if arch in known.RECURRENT else "hybrid" if arch in known.HYBRID else "attention",
        snapshots=arch in known.SNAPSHOTS,
        window=number("attention.sliding_window") or 0,
        parts=header.integer("split.count") or 1,
        trouble=_head_trouble(header, arch, blocks, heads),
        head_blocks=_head_blocks_there(header),
        size_label=header.text("general.size_label") or _size_label(mix.parameters),
        quantization=file_type_name(header.integer("general.file_type"), mix),
        mix=mix,
        vocabulary_kind=vocabulary_kind(header),
        bos=special_id(header, "bos"),
        eos=special_id(header, "eos"),
        licence=header.text("general.license"),
        base_models=_base_models(header),
        experts=number("expert_count") or 0,
        experts_used=number("expert_used_count") or 0,
    )


def _head_blocks_there(header: Header) -> int:
    return len({match[1] for name in header.tensors if (match := _HEAD_BLOCK.match(name))})


def _size_label(parameters: int) -> str:
    for scale, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        if parameters >= scale:
            scaled = parameters / scale
            return f"{scaled:.1f}{unit}" if scaled < 9.95 else f"{scaled:.0f}{unit}"
    return ""


def _base_models(header: Header) -> tuple[str, ...]:
    count = header.integer("general.base_model.count") or 0
    names = []
    for index in range(min(max(count, 0), _MOST_BASES)):
        name = header.text(f"general.base_model.{index}.name")
        owner = header.text(f"general.base_model.{index}.organization")
        if name:
            names.append(f"{owner} {name}".strip())
    return tuple(names)


def why_no_heads(facts: FileFacts) -> str:
    """One sentence that says why this file cannot draft with prediction heads, or "" when it can."""
    file = facts.path.name
    if facts.heads == 0:
        return facts.trouble or f"{file} has no prediction heads."
    if facts.architecture not in known.RUNS_HEADS:
        return f"{file} has prediction heads, but llama.cpp cannot run those of the architecture {facts.architecture}."
    if facts.heads_there == 0:
        return facts.trouble or f"{file} announces prediction heads, but their tensors were left out when it was made."
    if facts.heads_there < facts.heads:
        return f"{file} announces {facts.heads} prediction heads, but only {facts.heads_there} have their tensors."
    if facts.heads > 1 and facts.architecture not in known.CHAINS_HEADS:
        return f"{file} has {facts.heads} prediction heads; of {facts.architecture}, llama.cpp runs exactly one."
    return facts.trouble


def require_chat(facts: FileFacts) -> None:
    """Raise ModelUnsupported, with the reason, if this file cannot be the model one talks to."""
    file = facts.path.name
    what = {
        "chat": "",
        "mtp_only": "holds prediction heads alone",
        "eagle3": "is an EAGLE-3 draft head",
        "dflash": "is a DFlash drafter",
        "dspark": "is a DSpark drafter",
        "gemma4_assistant": "is a Gemma 4 assistant, a drafter",
        "draft_head": "is a drafter",
        "adapter": "is an adapter (LoRA), not a model",
        "projector": "is the image or audio projector of a model",
        "embedding": "is an embedding model",
        "diffusion": "is a diffusion model, which does not write token by token",
        "vocab_only": "holds a vocabulary and no weights",
        "other": f"is {known.OTHER_PURPOSE.get(facts.architecture, 'not a language model')}",
    }[facts.role]
    if what:
        drafter = facts.role in ("mtp_only", "eagle3", "dflash", "dspark", "gemma4_assistant", "draft_head")
        hint = "Name the model it belongs to with -m, and this file with -md." if drafter else _NAME_ANOTHER
        if facts.role in ("projector", "adapter"):
            hint = "The model it belongs to is a file of its own, and much larger: name that one."
        raise ModelUnsupported(f"{file} {what}; it cannot chat.", hint=hint)
    if facts.heads >= facts.blocks > 0 or (facts.heads and not facts.blocks):
        raise ModelUnsupported(
            f"{file} announces {facts.heads} prediction heads among {facts.blocks} blocks.",
            hint="Its header is wrong; look for another conversion of the model.",
        )


def _head_blocks(blocks: int, heads: int) -> range:
    # A hostile header may claim billions of heads; no file has that many blocks.
    return range(max(0, blocks - min(heads, 64)), min(blocks, 1 << 20)) if heads <= blocks else range(0)


def _role(header: Header, arch: str, heads: int) -> Role:
    kind = header.text("general.type")
    if kind == "adapter" or header.text("adapter.type"):
        return "adapter"
    if kind == "mmproj" or arch == "clip":
        return "projector"
    if arch in _HEAD_ROLES:
        return "dspark" if arch == "dflash" and "markov_w1.weight" in header.tensors else _HEAD_ROLES[arch]
    if arch.endswith(("-assistant", "_assistant")) or "d2t" in header.tensors:
        return "draft_head"
    if arch in known.EMBEDS or (header.integer(f"{arch}.pooling_type") or 0) > 0:
        return "embedding"
    if arch in known.DIFFUSES:
        return "diffusion"
    if not arch or arch in known.OTHER_PURPOSE or kind not in ("", "model"):
        return "other"
    if not header.tensors:
        return "vocab_only"
    return "mtp_only" if heads and "blk.0.attn_norm.weight" not in header.tensors else "chat"


def _vocabulary_size(header: Header, arch: str) -> int | None:
    tokens = header.arrays.get("tokenizer.ggml.tokens")
    if tokens is not None:
        return tokens.count
    told = header.integer(f"{arch}.vocab_size")
    table = header.tensors.get("token_embd.weight")
    return table.shape[1] if told is None and table is not None and len(table.shape) == 2 else told


def _head_trouble(header: Header, arch: str, blocks: int, heads: int) -> str:
    """What is wrong with the heads beyond numbers: names of an older converter, parts that a graph insists on."""
    file = header.path.name
    expected = {f"blk.{index}.{HEAD_PROJECTION}" for index in _head_blocks(blocks, heads)}
    if not expected & header.tensors.keys():
        stray = next((name for name in header.tensors if _STRAY_HEAD.search(name)), "")
        return (
            f"{file} has tensors of prediction heads where llama.cpp does not look for them ({stray}); "
            "it needs to be converted again."
            if stray
            else ""
        )
    if arch in known.NEEDS_DENSE_FUSED_HEADS:
        parts = ("attn_qkv", "ffn_gate", "ffn_up", "ffn_down")
        missing = [
            name
            for index in _head_blocks(blocks, heads)
            for part in parts
            if (name := f"blk.{index}.{part}.weight") not in header.tensors
        ]
        if missing:
            return f"{file} lacks {missing[0]}, without which llama.cpp cannot run its prediction heads."
    return ""
