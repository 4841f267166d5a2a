"""What a model, its drafter and their contexts take, in main memory and on GPUs, before anything is loaded.

From headers and settings alone. How contexts are made is the loader's business (backend/llama/loader.py); the rules
that decide sizes (how many snapshots, how many rows) are `context_shapes`, which the loader's tests hold against it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mtpchat.config import Config, ModelConfig
from mtpchat.gguf.attention_shape import MemoryShape, memory_shape
from mtpchat.gguf.choice import DrafterChoice
from mtpchat.gguf.facts import FileFacts, facts_of, read_model
from mtpchat.gguf.header import Header
from mtpchat.gguf.memory_sizes import ContextKind, ContextShape, ContextSize, WeightSize, context_size, weight_size

FREE_DEPTH = 16
"""Draft length that costs nothing to allow where rolling back is free: a few rows of logits."""

MOST_SNAPSHOTS = 16
"""Each is a copy of the whole recurrent state, up to 150 MB for a model of 27B."""

EAGLE3_ROWS, EAGLE3_READ = 64, 32
"""Rows of a decode of an EAGLE-3 head, and of one that is read."""

_FIXED = 28 << 20
"""What llama.cpp keeps beside all buffers: graphs, batches, work space of its threads. With it the plan meets what
processes were seen to take after a load and some decodes to a few percent."""

_PER_TOKEN_TEXT = 256
"""Bytes that a token of the vocabulary takes in tables."""

_NAMES: dict[ContextKind, str] = {
    "target": "model",
    "draft": "draft model",
    "heads": "MTP heads",
    "eagle3": "EAGLE-3 head",
    "assistant": "assistant",
}


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU.

    Attributes:
        free / total: bytes.
        shared: its memory is main memory (integrated GPUs, Apple).
    """

    name: str
    free: int
    total: int
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to load into.

    Attributes:
        ram: bytes of main memory that are free; None when that cannot be told, and then everything fits.
        devices: GPUs that this build can use.
        rearranges: names of tensor types that the CPU keeps in a layout of its own.
    """

    ram: int | None = None
    devices: tuple[Device, ...] = ()
    rearranges: frozenset[str] = frozenset()

    @property
    def vram(self) -> int:
        """Bytes that are free on all GPUs together."""
        return sum(device.free for device in self.devices)

    @property
    def shared(self) -> bool:
        """Whether what a GPU takes is taken from main memory."""
        return bool(self.devices) and all(device.shared for device in self.devices)


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A header with what was read off it."""

    header: Header
    facts: FileFacts
    shape: MemoryShape


@dataclass(frozen=True, slots=True)
class Files:
    """What is to be loaded: the model, and the drafter that was chosen for it.

    Attributes:
        kind: of the drafter: "none", "ngram", "draft", "mtp" or "eagle3".
        drafter: its file; None for heads in the model's own file and for kinds without one.
    """

    main: ModelFile
    kind: str
    drafter: ModelFile | None = None

    @property
    def draft_kind(self) -> ContextKind | None:
        """Kind of the drafter's context; None without one."""
        if self.kind == "mtp":
            assistant = self.drafter is not None and self.drafter.facts.role == "gemma4_assistant"
            return "assistant" if assistant else "heads"
        kinds: dict[str, ContextKind] = {"draft": "draft", "eagle3": "eagle3"}
        return kinds.get(self.kind)

    @property
    def drafter_words(self) -> str:
        """What the drafter is called."""
        return _NAMES[self.draft_kind] if self.draft_kind else ""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the plan.

    Attributes:
        part: "model" or what the drafter is.
        what: "weights", "KV cache", "state", "snapshots", "compute", "output" or "overhead".
        mapped: bytes of files, which the system reads and forgets as it likes.
        ram / vram: bytes that are taken for good.
    """

    part: str
    what: str
    mapped: int = 0
    ram: int = 0
    vram: int = 0


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What would be taken.

    Attributes:
        context: tokens.
        gpu_layers: of the model, the output counted as one; drafter_gpu: whether the drafter is on the GPU.
        layers: as many as could be.
    """

    context: int
    gpu_layers: int
    layers: int
    drafter_gpu: bool
    lines: tuple[Line, ...]

    @property
    def mapped(self) -> int:
        """Bytes of mapped files."""
        return sum(line.mapped for line in self.lines)

    @property
    def ram(self) -> int:
        """Bytes of main memory that are taken for good."""
        return sum(line.ram for line in self.lines)

    @property
    def vram(self) -> int:
        """Bytes on GPUs."""
        return sum(line.vram for line in self.lines)

    @property
    def total(self) -> int:
        """All bytes."""
        return self.mapped + self.ram + self.vram

    def of(self, what: str, part: str = "") -> int:
        """Bytes of all rows of that name, wherever they are."""
        rows = [line for line in self.lines if line.what == what and part in ("", line.part)]
        return sum(line.mapped + line.ram + line.vram for line in rows)


def read_files(main: Header, choice: DrafterChoice) -> Files:
    """Headers and shapes of a model and the drafter chosen for it.

    Raises:
        ModelError: the drafter's file cannot be read any more.
    """
    drafter = read_model(choice.path) if choice.path is not None else None
    return Files(_model_file(main), choice.kind, _model_file(drafter) if drafter is not None else None)


def _model_file(header: Header) -> ModelFile:
    facts = facts_of(header)
    return ModelFile(header, facts, memory_shape(header, facts))


def context_shapes(files: Files, config: Config) -> tuple[ContextShape, ContextShape | None]:
    """How the target's context and the drafter's would be made, as far as size goes."""
    settings, speculative, facts = config.model, config.speculative, files.main.facts
    depth = max(speculative.draft_max, speculative.depth_cap) if files.kind != "none" else 0
    remembers = facts.memory != "attention"
    if remembers:
        depth = min(depth, MOST_SNAPSHOTS)
    snapshots = depth if remembers and facts.snapshots else 0
    copies = bool(depth) and remembers and speculative.checkpoint_rollback != "off" and not snapshots
    flash = settings.flash_attention != "off"
    target = ContextShape(
        context=tokens_of(settings, facts),
        batch=max(settings.batch, depth + 2),
        snapshots=snapshots,
        copies=copies or (bool(snapshots) and speculative.strict),
        rows=1 + (depth if remembers else max(depth, FREE_DEPTH)),
        hidden_rows={"mtp": 1, "eagle3": 3}.get(files.kind, 0),
        flash=flash,
        type_k=settings.cache_type_k,
        type_v=settings.cache_type_v,
    )
    if files.draft_kind is None:
        return target, None
    batch, rows = target.batch, 1
    if files.draft_kind == "eagle3":
        batch, rows = min(EAGLE3_ROWS, batch), min(EAGLE3_READ, batch)
    return target, ContextShape(target.context, batch, files.draft_kind, rows=rows, flash=flash)


def tokens_of(settings: ModelConfig, facts: FileFacts) -> int:
    """Context that the settings ask for: never more than the model was trained for, 4096 where nobody says."""
    trained = facts.context or 0
    if not trained:
        return settings.context or 4096
    return min(settings.context or trained, trained)


def plan_memory(
    files: Files, config: Config, machine: Machine, *, gpu_layers: int = 0, drafter_gpu: bool = False
) -> MemoryPlan:
    """What loading these files with these settings takes.

    Args:
        gpu_layers: how many of the model's layers go to GPUs, counted from the last, the output first.
        drafter_gpu: whether the drafter goes there.
    """
    target, draft = context_shapes(files, config)
    main = files.main
    own_heads = files.kind == "mtp" and files.drafter is None
    weights = _weights(main, heads=own_heads, machine=machine)
    layers = len(weights.layers) + 1
    on_gpu = min(gpu_layers, layers) if machine.devices else 0
    build = _Build("model", config.model.mmap, len(weights.layers), on_gpu, len(machine.devices))
    lines = [*build.weights(weights), *build.context(context_size(main.shape, target))]
    words = files.drafter_words
    if draft is not None:
        drafter = files.drafter or main
        gpu = drafter_gpu and bool(machine.devices)
        every = len(drafter.shape.layers) + 1
        aside = _Build(words, config.model.mmap, every - 1, every if gpu else 0, len(machine.devices))
        if files.drafter is not None:
            lines += aside.weights(_weights(drafter, heads=files.kind == "mtp", machine=machine))
        else:
            aside = replace(aside, on_gpu=on_gpu)
        lines += aside.context(context_size(drafter.shape, draft))
    tokens = sum(file.shape.output for file in (main, files.drafter) if file is not None)
    lines.append(Line("model", "overhead", ram=_FIXED + _PER_TOKEN_TEXT * tokens))
    merged = tuple(line for line in lines if line.mapped or line.ram or line.vram)
    return MemoryPlan(target.context, on_gpu, layers, drafter_gpu, merged)


def _weights(file: ModelFile, *, heads: bool, machine: Machine) -> WeightSize:
    blocks = len(file.shape.layers)
    return weight_size(file.header, blocks, min(file.facts.trunk, blocks), heads=heads, rearranges=machine.rearranges)


@dataclass(frozen=True, slots=True)
class _Build:
    """Rows of one model. Layers go to the GPU from the last one on, the output counted as the very last."""

    part: str
    mmap: bool
    blocks: int
    on_gpu: int
    gpus: int

    def _split(self, sizes: tuple[int, ...]) -> tuple[int, int]:
        """Bytes in main memory and on the GPU, of something that each layer has."""
        first = max(0, self.blocks + 1 - self.on_gpu)
        return sum(sizes[:first]), sum(sizes[first:])

    def weights(self, size: WeightSize) -> list[Line]:
        """Rows of the weights; those that are copied to a GPU or rearranged are not the file's any more."""
        ram, vram = self._split(size.layers)
        ram += size.input
        if self.on_gpu:
            vram += size.output + (size.input if size.tied else 0)
        else:
            ram += size.output
        share = ram / size.total if size.total else 0.0
        copied = min(ram, int(size.rearranged * share)) if self.mmap else ram
        return [Line(self.part, "weights", mapped=ram - copied, ram=copied, vram=vram)]

    def context(self, size: ContextSize) -> list[Line]:
        """Rows of a context."""
        kv, state, compute = self._split(size.kv), self._split(size.state), self._compute(size)
        planes = size.snapshots / sum(size.state) if size.snapshots else 0.0
        kept = tuple(int(part * planes) for part in state)
        return [
            Line(self.part, "KV cache", ram=kv[0], vram=kv[1]),
            Line(self.part, "state", ram=state[0] - kept[0], vram=state[1] - kept[1]),
            Line(self.part, "snapshots", ram=kept[0] + size.copies, vram=kept[1]),
            Line(self.part, "compute", ram=compute[0], vram=compute[1]),
            Line(self.part, "output", ram=size.output),
        ]

    def _compute(self, size: ContextSize) -> tuple[int, int]:
        # With some layers on the GPU both sides compute, and both need the widest moment; so does each of several GPUs.
        whole = self.on_gpu > self.blocks
        return (0 if whole else size.compute), (size.compute * min(self.gpus, self.on_gpu))
