"""Whether a plan fits into the machine's memory, decided before loading, and what happens when llama.cpp disagrees."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config
from mtpchat.errors import DoesNotFit, LoadCancelled, ModelError
from mtpchat.fitting import FitChoice
from mtpchat.gguf.choice import DrafterChoice
from mtpchat.gguf.header import Header
from mtpchat.gguf.memory_fit import Settled, assess, choices, less, settle, step_down
from mtpchat.gguf.memory_plan import Files, Machine, MemoryPlan, read_files

_RAN_OUT = re.compile(r"out of memory|(failed|unable) to allocate|cannot allocate|bad_alloc|not enough memory", re.I)
_MOST_STEPS = 4
"""So often a smaller plan is tried after one that should have fitted did not."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What is to be loaded, with nothing left open.

    Attributes:
        plan: its settings hold numbers where the user's held words.
        sentences: what was filled in or given up.
        files / memory: what the plan was made from, and what it would take.
        steps: how often memory ran out although it should not have.
    """

    plan: LoadPlan
    choice: DrafterChoice
    sentences: tuple[str, ...]
    files: Files
    memory: MemoryPlan
    machine: Machine
    steps: int = 0

    @property
    def gpu_layers(self) -> int:
        """Layers of the model on GPUs; -1 is all of them."""
        layers = self.plan.config.model.gpu_layers
        return layers if isinstance(layers, int) else self.memory.gpu_layers


class Fitting:
    """Makes plans fit, with consent.

    Args:
        machine: what is free now.
    """

    def __init__(self, machine: Callable[[], Machine]) -> None:
        self._machine = machine

    def settle(self, header: Header, choice: DrafterChoice, plan: LoadPlan) -> Fitted:
        """Fill in what the settings leave open; without room, go down as the user prefers, or ask.

        Raises:
            DoesNotFit: with choices.
        """
        files, machine = read_files(header, choice), self._machine()
        settled = settle(files, plan.config, machine)
        if settled is None:
            settled = self._step_down(files, plan.config, machine, "")
        return _fitted(plan, choice, settled, machine)

    def shrink(self, fitted: Fitted, error: ModelError) -> Fitted:
        """The next smaller step after llama.cpp ran out of memory all the same.

        Raises:
            ModelError: `error` itself, if it is about something else; DoesNotFit: with choices, without consent.
        """
        ran_out = not isinstance(error, (DoesNotFit, LoadCancelled)) and _RAN_OUT.search(error.message)
        if not ran_out or fitted.steps >= _MOST_STEPS:
            raise error
        machine = less(fitted.machine, fitted.memory)
        said = f"Memory ran out while loading ({error.message.rstrip('.')})."
        settled = self._step_down(fitted.files, fitted.plan.config, machine, said)
        again = _fitted(fitted.plan, fitted.choice, settled, machine)
        return replace(again, sentences=(*fitted.sentences, said, *again.sentences), steps=fitted.steps + 1)

    @staticmethod
    def _step_down(files: Files, config: Config, machine: Machine, why: str) -> Settled:
        prefer = config.model.prefer
        settled = step_down(files, config, machine, prefer) if prefer != "ask" else None
        if settled is not None:
            return settled
        ways = choices(files, config, machine)
        found = assess(files, config, machine)
        drafter = f" with {_named(files)}" if files.draft_kind else ""
        name = files.main.facts.path.name
        message = why or (
            f"{name}{drafter} does not fit into memory at a context of {found.plan.context:,} tokens: "
            f"it needs {found.numbers}."
        )
        raise DoesNotFit(message, choices=ways, hint=_hint(ways))


def _named(files: Files) -> str:
    return f"its {files.drafter_words}" if files.draft_kind == "heads" else f"the {files.drafter_words}"


def _hint(ways: tuple[FitChoice, ...]) -> str:
    """What fits, and how to say so on a command line."""
    if not ways:
        return "Nothing smaller fits either: take a smaller model or quantisation, or close other programs."
    flags = {"speed": "--prefer speed", "context": "--prefer context", "cache": "-ctk q8_0 -ctv q8_0 -fa on"}
    flags |= {"offload": "-ngl auto", "plain": "--prefer context"}
    return "What fits: " + "; ".join(f"{way.label} ({flags[way.key]}{_context_flag(way)})" for way in ways) + "."


def _context_flag(way: FitChoice) -> str:
    return f" -c {dict(way.settings)['model.context']}" if way.key in ("cache", "offload") else ""


def _fitted(plan: LoadPlan, choice: DrafterChoice, settled: Settled, machine: Machine) -> Fitted:
    files = settled.files
    if files.kind != choice.kind:
        reason = "the drafter does not fit into memory beside the context"
        what = "n-gram" if files.kind == "ngram" else "plain decoding"
        sentence = f"{what}, because {reason}"
        choice = replace(choice, kind=files.kind, path=None, facts=None, sentence=sentence, reason=reason)
        plan = replace(plan, kind=files.kind, drafter="")
    plan = replace(plan, config=settled.config)
    return Fitted(plan, choice, settled.sentences, files, settled.assessment.plan, machine)
