"""Does it fit, and if not, what would? The plan held against the memory that is free, and the ways down from it.

Nothing is dropped silently. Settings that leave something to us (`-c 0`, `-ngl auto`) are filled in with a sentence.
Settings that do not fit become choices with numbers, or, where the user has said beforehand what matters more, steps
that are taken one by one and said one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mtpchat.config import Config
from mtpchat.config_schema import replace_value
from mtpchat.fitting import FitChoice, FitKey
from mtpchat.gguf.cursor import human_size
from mtpchat.gguf.memory_plan import Files, Machine, MemoryPlan, plan_memory, tokens_of
from mtpchat.gguf.memory_sizes import PAD, quantizable

State = Literal["fits", "slow", "no"]
Step = Literal["offload", "cache", "plain"]

LEAST = 512
"""A shorter context is not offered."""

_USEFUL = 2048
"""With less the drafter is not worth keeping, and the model's own context is not cut without asking."""

_RESERVE = 0.05
"""Share of what is free that is left to others."""

_BESIDE_FILES = 0.75
"""Share of the memory that a context may take where the files do not fit into it anyway."""

_WAYS: dict[str, tuple[tuple[Step, ...], ...]] = {
    "speed": ((), ("cache",), ("plain",), ("plain", "cache")),
    "context": (("plain",), ("plain", "cache")),
}
"""What is given up in order, before the context is shortened, by what the user prefers."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """A plan held against a machine.

    Attributes:
        state: "fits"; "slow": it runs, but the files are larger than the memory that is left for them; "no".
    """

    plan: MemoryPlan
    machine: Machine
    state: State

    @property
    def numbers(self) -> str:
        """What is needed and what is free, as words."""
        plan, machine = self.plan, self.machine
        needed = human_size(plan.ram + plan.mapped)
        if self.state != "fits" and plan.mapped:
            needed = f"{human_size(plan.ram)} (and {human_size(plan.mapped)} of mapped weights)"
        ram = f"{needed} of {_free(machine.ram)} main memory"
        if not machine.devices:
            return ram
        return f"{ram} and {human_size(plan.vram)} of {_free(machine.vram)} GPU memory"


@dataclass(frozen=True, slots=True)
class Settled:
    """Settings in which nothing is left open.

    Attributes:
        config: the context is a number, and so are the layers on the GPU.
        sentences: what was filled in, given up, or is worth knowing.
    """

    files: Files
    config: Config
    assessment: Assessment
    sentences: tuple[str, ...]


def assess(files: Files, config: Config, machine: Machine) -> Assessment:
    """What these settings take, and whether that is there. `-ngl auto` is as many layers as fit."""
    plan = _offloaded(files, config, machine)
    return Assessment(plan, machine, _state(plan, machine))


def settle(files: Files, config: Config, machine: Machine) -> Settled | None:
    """Fill in what the settings leave open. None without room: then ask (`choices`) or go down (`step_down`)."""
    settings, trained = config.model, files.main.facts.context or 0
    found, sentences = assess(files, config, machine), []
    if settings.context == 0 and trained and found.state != "fits":
        context = largest_context(files, config, machine, trained)
        if min(trained, _USEFUL) <= context < trained:
            config = replace_value(config, "model.context", context)
            found = assess(files, config, machine)
            sentences.append(f"The model's own context of {trained:,} tokens does not fit; {context:,} do.")
    if found.state == "no":
        return None
    remarks = _remarks(config, found)
    if found.state == "slow":
        remarks.append(_advice(files, config, machine, found.plan))
    return Settled(files, _resolved(config, found.plan), found, (*sentences, *remarks))


def step_down(files: Files, config: Config, machine: Machine, prefer: str) -> Settled | None:
    """Give up what matters less, step by step, until it fits. None when nothing fits.

    Args:
        prefer: "speed" keeps the drafter as long as a useful context is left, "context" keeps the context.
    """
    wanted = tokens_of(config.model, files.main.facts)
    goal = wanted if prefer == "context" else min(wanted, _USEFUL)
    case = _Case(files, config, machine)
    best: tuple[int, tuple[Step, ...]] = (0, ())
    for way in _ways(files, config, machine, prefer):
        context = _context_after(case, way)
        if context > best[0]:
            best = context, way
        if context >= goal:
            break
    context, way = best
    if context < min(LEAST, wanted):
        return None
    sentences = [_SAID[step](files) for step in way]
    if context < wanted:
        sentences.append(f"The context was shortened from {wanted:,} to {context:,} tokens, which fit.")
    after = case.after(way, context)
    found = assess(after.files, after.config, machine)
    remarks = _remarks(after.config, found)
    return Settled(after.files, _resolved(after.config, found.plan), found, (*sentences, *remarks))


def choices(files: Files, config: Config, machine: Machine) -> tuple[FitChoice, ...]:
    """The ways to make it fit, with numbers; each of them fits."""
    wanted = tokens_of(config.model, files.main.facts)
    case = _Case(files, config, machine)
    offers: list[tuple[FitKey, tuple[Step, ...]]] = [("speed", ()), ("context", ("plain",)), ("cache", ("cache",))]
    if _pinned_to_gpu(files, config, machine):
        offers.insert(0, ("offload", ("offload",)))
    offers.append(("plain", ("plain", "cache")))
    found: list[FitChoice] = []
    reached = 0
    for key, way in offers:
        if not _applies(files, config, way) or (key == "plain" and found):
            continue
        context = _context_after(case, way)
        if context < min(LEAST, wanted) or (found and context <= reached):
            continue
        reached = max(reached, context)
        found.append(_choice(case, key, way, context))
    return tuple(found)


def largest_context(files: Files, config: Config, machine: Machine, most: int) -> int:
    """The longest context up to `most` tokens that fits with these settings; 0 when none does.

    Files that fit into memory must go on fitting beside the context. Where they do not anyway, a quarter of the memory
    is left to them.
    """

    def plan(context: int) -> MemoryPlan:
        return _offloaded(files, replace_value(config, "model.context", context), machine)

    good = _room(plan(min(LEAST, most)), machine)
    if good(plan(most)):
        return most
    low, high = 0, -(-most // PAD)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if good(plan(middle * PAD)) else (low, middle)
    context = low * PAD
    return context - context % 1024 if context >= 4096 else context


def less(machine: Machine, failed: MemoryPlan) -> Machine:
    """The machine as it must be when a plan that should have fitted did not: a fifth short of it."""
    ram = int(failed.ram * 0.8 / (1 - _RESERVE)) if not failed.vram or machine.ram is None else machine.ram
    devices = tuple(
        replace(device, free=min(device.free, int(device.free * failed.vram * 0.8 / max(machine.vram, 1))))
        for device in machine.devices
    )
    return replace(machine, ram=ram if machine.ram is None else min(ram, machine.ram), devices=devices)


def summary(found: Assessment) -> str:
    """What an assessment comes to, in a few words and numbers."""
    if found.state == "no":
        return f"does not fit at {found.plan.context:,} tokens: {found.numbers}"
    if found.state == "slow":
        return f"runs, slowly: larger than the memory that is free ({found.numbers})"
    layers = f", {found.plan.gpu_layers} of {found.plan.layers} layers on the GPU" if found.machine.devices else ""
    return f"fits at {found.plan.context:,} tokens{layers}: {found.numbers}"


def verdict(files: Files, config: Config, machine: Machine) -> str:
    """One short sentence for lists: does it fit with these settings, and if not, what would?"""
    settled = settle(files, config, machine)
    if settled is not None:
        return summary(settled.assessment)
    ways = " · ".join(choice.label for choice in choices(files, config, machine))
    return f"{summary(assess(files, config, machine))}; what fits: {ways or 'only a smaller quantisation'}"


def _free(size: int | None) -> str:
    return f"{human_size(size)} free" if size is not None else "an unknown amount of"


def _usable(size: int) -> int:
    return int(size * (1 - _RESERVE))


def _state(plan: MemoryPlan, machine: Machine) -> State:
    if plan.vram > _usable(machine.vram):
        return "no"
    if machine.ram is None:
        return "fits"
    taken = plan.ram + (plan.vram if machine.shared else 0)
    if taken > _usable(machine.ram):
        return "no"
    return "fits" if taken + plan.mapped <= _usable(machine.ram) else "slow"


def _room(smallest: MemoryPlan, machine: Machine) -> Callable[[MemoryPlan], bool]:
    """When a plan is good enough to be offered; see largest_context."""
    if _state(smallest, machine) != "slow":
        return lambda plan: _state(plan, machine) == "fits"
    most = machine if machine.ram is None else replace(machine, ram=int(machine.ram * _BESIDE_FILES))
    return lambda plan: _state(plan, most) != "no"


def _offloaded(files: Files, config: Config, machine: Machine) -> MemoryPlan:
    """The plan with as many layers on GPUs as are wanted, or as fit there."""
    wanted = config.model.gpu_layers
    drafter = files.drafter is not None and config.speculative.drafter_gpu_layers != 0

    def plan(layers: int, drafter_gpu: bool = drafter) -> MemoryPlan:
        return plan_memory(files, config, machine, gpu_layers=layers, drafter_gpu=drafter_gpu)

    every = len(files.main.shape.layers) + 1
    if not machine.devices:
        return plan(0)
    if isinstance(wanted, int):
        return plan(every if wanted < 0 else wanted)
    room = _usable(machine.vram)
    if plan(every).vram <= room:
        return plan(every)
    low, high = 0, every
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if plan(middle).vram <= room else (low, middle)
    return plan(low) if plan(low).vram <= room else plan(low, drafter_gpu=False)


def _resolved(config: Config, plan: MemoryPlan) -> Config:
    """The settings with numbers where words were; settings that were numbers stay as they are."""
    if config.model.gpu_layers == "auto":
        config = replace_value(config, "model.gpu_layers", plan.gpu_layers if plan.gpu_layers < plan.layers else -1)
        if plan.gpu_layers < plan.layers and not plan.drafter_gpu:
            config = replace_value(config, "speculative.drafter_gpu_layers", 0)
    return config


def _remarks(config: Config, found: Assessment) -> list[str]:
    plan, machine = found.plan, found.machine
    remarks = []
    if machine.devices and config.model.gpu_layers == "auto" and plan.gpu_layers < plan.layers:
        remarks.append(
            f"{plan.gpu_layers} of {plan.layers} layers are on the GPU, which has {_free(machine.vram)}; "
            "the rest is computed on the CPU."
        )
    if found.state == "slow" and machine.ram is not None:
        left = max(0, _usable(machine.ram) - plan.ram)
        remarks.append(
            f"The weights take {human_size(plan.mapped)}, and {human_size(left)} of memory is left for them: what does "
            "not fit is read from the disk again for every token, which is slow."
        )
    return remarks


def _advice(files: Files, config: Config, machine: Machine, plan: MemoryPlan) -> str:
    """What would keep the weights in memory."""
    context = largest_context(files, config, machine, plan.context)
    if LEAST <= context < plan.context:
        return f"With a context of {context:,} tokens (-c {context}) they would fit."
    return "A smaller quantisation would fit."


def _ways(files: Files, config: Config, machine: Machine, prefer: str) -> list[tuple[Step, ...]]:
    first: tuple[Step, ...] = ("offload",) if _pinned_to_gpu(files, config, machine) else ()
    ways = [(*first, *way) for way in ((), *_WAYS[prefer]) if _applies(files, config, way)]
    return list(dict.fromkeys(ways))


def _pinned_to_gpu(files: Files, config: Config, machine: Machine) -> bool:
    """Whether more layers are asked for than the GPU has room for."""
    if not machine.devices or config.model.gpu_layers == "auto":
        return False
    return _offloaded(files, config, machine).vram > _usable(machine.vram)


def _applies(files: Files, config: Config, way: Sequence[Step]) -> bool:
    """Whether there is anything to give up in each step."""
    full = config.model.cache_type_k in ("f16", "bf16") and config.model.cache_type_v in ("f16", "bf16")
    possible = {
        "offload": True,
        "cache": full
        and any(layer.keys for layer in files.main.shape.layers)
        and quantizable(files.main.shape, "q8_0"),
        "plain": files.draft_kind is not None or _snapshots_go(files),
    }
    return all(possible[step] for step in way)


def _snapshots_go(files: Files) -> bool:
    return files.kind != "none" and files.main.facts.snapshots


@dataclass(frozen=True, slots=True)
class _Case:
    """What is to be made to fit, into what."""

    files: Files
    config: Config
    machine: Machine

    def changes(self, way: Sequence[Step]) -> tuple[tuple[str, object], ...]:
        """Settings that these steps replace."""
        found: list[tuple[str, object]] = []
        for step in way:
            match step:
                case "offload":
                    found.append(("model.gpu_layers", "auto"))
                case "cache":
                    found += [("model.cache_type_k", "q8_0"), ("model.cache_type_v", "q8_0")]
                    found.append(("model.flash_attention", "on"))
                case "plain":
                    found += [("speculative.kind", self._plain_kind), ("speculative.drafter", "")]
        return tuple(found)

    @property
    def _plain_kind(self) -> str:
        # Copying text costs no memory, but taking it back on a recurrent model does.
        return "ngram" if self.files.main.facts.memory == "attention" else "none"

    def after(self, way: Sequence[Step], context: int | None = None) -> _Case:
        """The case when these steps are taken, and the context is so long."""
        config = self.config
        for key, value in self.changes(way):
            config = replace_value(config, key, value)
        if context is not None:
            config = replace_value(config, "model.context", context)
        files = replace(self.files, kind=self._plain_kind, drafter=None) if "plain" in way else self.files
        return replace(self, files=files, config=config)


def _context_after(case: _Case, way: Sequence[Step]) -> int:
    wanted = tokens_of(case.config.model, case.files.main.facts)
    after = case.after(way)
    return largest_context(after.files, after.config, case.machine, wanted)


def _choice(case: _Case, key: FitKey, way: Sequence[Step], context: int) -> FitChoice:
    after = case.after(way, context)
    found = assess(after.files, after.config, case.machine)
    drafted = case.files.draft_kind is not None
    who = ("no drafter" if "plain" in way else case.files.drafter_words) if drafted else ""
    small = "q8_0 cache" if "cache" in way else ""
    gpu = f"{found.plan.gpu_layers} of {found.plan.layers} layers on the GPU" if key == "offload" else ""
    label = ", ".join(filter(None, [who, small, gpu, f"context {context:,}"]))
    settings = (*case.changes(way), ("model.context", context))
    return FitChoice(key, label, found.numbers, settings, human_size(found.plan.total))


def _said_plain(files: Files) -> str:
    if files.draft_kind is None:
        return "Speculation was left out: the snapshots it needs do not fit."
    return f"The {files.drafter_words} {'were' if files.draft_kind == 'heads' else 'was'} left out to make room."


_SAID: dict[Step, Callable[[Files], str]] = {
    "offload": lambda _files: "Fewer layers were put on the GPU than asked for, because they do not fit there.",
    "cache": lambda _files: "The KV cache is kept as q8_0, with flash attention, to make room.",
    "plain": _said_plain,
}
