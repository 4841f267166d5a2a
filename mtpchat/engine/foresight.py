"""What drafters would have guessed at each place of a text that is known: for bounds on what guessing can bring.

The text is decoded token by token, as plain decoding does, and at each place every drafter is asked for a whole draft,
which is compared with how the text goes on and never used. So a place inside an accepted run is known as well as one
where a round began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mtpchat.config import SamplingConfig
from mtpchat.engine.probe import Probe
from mtpchat.engine.prompt import RenderedPrompt
from mtpchat.errors import EngineError
from mtpchat.speculate.base import NO_DRAFT, Draft, Drafter
from mtpchat.speculate.controller import Controller


@dataclass(frozen=True, slots=True)
class Foresight:
    """For each token of a text: how many guesses a drafter would have made there, how many of them were right, and
    the draft itself."""

    made: tuple[int, ...]
    right: tuple[int, ...]
    drafts: tuple[Draft, ...] = ()


def foresee(
    probe: Probe, prompt: RenderedPrompt, said: Sequence[int], sampling: SamplingConfig, most: Mapping[str, int]
) -> dict[str, Foresight]:
    """Ask drafters at each place of an answer.

    Args:
        said: tokens of the answer to `prompt`.
        sampling: how the answer was sampled, its seed included: guesses may be drawn with its noise.
        most: for each kind of drafter to ask, the longest draft.

    Returns:
        By kind, in the order of `most`. The memory is empty afterwards.

    Raises:
        EngineError, DrafterError: a decode failed, or there is no such drafter now.
    """
    controller = probe.controller
    asked = {kind: _ready(controller, kind, limit) for kind, limit in most.items()}
    found: dict[str, list[tuple[Draft, int]]] = {kind: [] for kind in most}
    probe.memory.forget()
    probe.guessing.begin(sampling, max(0, sampling.seed))
    try:
        context = list(prompt.tokens)
        for start in range(0, len(context) - 1, probe.chunk):
            _decode(probe, asked, context[start : min(start + probe.chunk, len(context) - 1)], start)
        for at, token in enumerate(said):
            room = controller.target.capabilities.context - len(context) - 1
            for kind, (drafter, limit) in asked.items():
                found[kind].append(_guess(drafter, context, min(limit, room), said[at:]))
            _decode(probe, asked, context[-1:], len(context) - 1)
            context.append(token)
    finally:
        probe.memory.forget()
    return {kind: _foresight(pairs) for kind, pairs in found.items()}


def _foresight(pairs: Sequence[tuple[Draft, int]]) -> Foresight:
    drafts = tuple(draft for draft, _ in pairs)
    return Foresight(tuple(len(draft.tokens) for draft in drafts), tuple(right for _, right in pairs), drafts)


def _ready(controller: Controller, kind: str, limit: int) -> tuple[Drafter, int]:
    if kind not in controller.drafters:
        raise EngineError(f"There is no drafter of kind {kind} in this context.", hint="Speculation may be off.")
    return controller.drafters[kind], min(limit, controller.depth_limit(kind))


def _decode(probe: Probe, asked: Mapping[str, tuple[Drafter, int]], tokens: Sequence[int], start: int) -> None:
    rows = probe.loaded.target.decode(tokens, rows="last")
    for drafter, _ in asked.values():
        drafter.observe(start, tokens, rows)


def _guess(drafter: Drafter, context: Sequence[int], limit: int, truth: Sequence[int]) -> tuple[Draft, int]:
    """The guesses that were made, and how many of them come true one after the other."""
    if limit < 1:
        return NO_DRAFT, 0
    draft = drafter.propose(context, lambda made: len(made) < limit)
    guesses = draft.tokens[:limit]
    right = 0
    for guess, token in zip(guesses, truth, strict=False):
        if guess != token:
            break
        right += 1
    return Draft(guesses, draft.confidences[:limit]), right
