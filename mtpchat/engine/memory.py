"""Reusing what the model has already read: only the new suffix of a prompt is decoded.

The controller's context says what is in the target's memory, so tokens are compared, never text. Memories that can be
cut anywhere are cut. Recurrent states and sliding windows cannot: for them a few checkpoints are kept (checkpoints.py),
taken where later prompts are likely to agree: before the last message of the user, and before the generation prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtpchat.engine.checkpoints import thinned
from mtpchat.engine.prompt import reusable_prefix
from mtpchat.errors import RollbackImpossible
from mtpchat.speculate.controller import Controller


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a memory that cannot be cut can be brought back to: a state, and how many tokens it was taken at."""

    length: int
    state: bytes


class Memory:
    """What the target remembers, and how to come back to it."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._checkpoints: list[Checkpoint] = []

    def reuse(self, prompt: Sequence[int]) -> int:
        """Cut the memory to the longest part that `prompt` begins with, and make `prompt` the context.

        At least the last token of the prompt is left to be decoded.

        Returns:
            How many tokens of the prompt are in memory.
        """
        controller, target = self._controller, self._controller.target
        shared = reusable_prefix(controller.context[: target.length], prompt)
        shared = self._cut(min(shared, len(prompt) - 1))
        for drafter in controller.drafters.values():
            wanted = drafter.rollback(shared)
            if wanted < shared and target.capabilities.deep_rollback:
                # One token more to decode gives the drafter the hidden state it goes on from.
                target.rollback(wanted)
                shared = wanted
        self._checkpoints = [point for point in self._checkpoints if point.length <= shared]
        controller.context[:] = prompt
        return shared

    def reach(self, prompt: Sequence[int]) -> int:
        """How many tokens of a prompt `reuse` would find in memory; changes nothing."""
        target = self._controller.target
        shared = reusable_prefix(self._controller.context[: target.length], prompt)
        shared = min(shared, len(prompt) - 1)
        if shared == target.length or target.capabilities.deep_rollback:
            return shared
        return max((point.length for point in self._checkpoints if point.length <= shared), default=0)

    @property
    def checkpoints(self) -> Sequence[Checkpoint]:
        """What the memory can be brought back to now, the shortest first."""
        return sorted(self._checkpoints, key=lambda point: point.length)

    @property
    def checkpoint_bytes(self) -> int:
        """Bytes of all of them."""
        return sum(len(point.state) for point in self._checkpoints)

    def take_over(self, tokens: Sequence[int], checkpoints: Sequence[Checkpoint]) -> None:
        """The target's memory was filled from outside: it holds these tokens now, and these are its checkpoints."""
        self._controller.context[:] = tokens
        self._checkpoints = list(checkpoints)

    def _cut(self, length: int) -> int:
        """Bring the target's memory to `length` tokens, or as near below as it can be; returns where it is."""
        target = self._controller.target
        try:
            target.rollback(length)
            return length
        except RollbackImpossible:
            point = max((p for p in self._checkpoints if p.length <= length), key=lambda p: p.length, default=None)
        if point is None:
            target.clear()
            return 0
        try:
            target.restore(point.state, point.length)
        except RollbackImpossible:
            return 0
        return point.length

    def keep_checkpoint(self) -> None:
        """Remember the present state if this kind of memory needs it."""
        target = self._controller.target
        if any(point.length == target.length for point in self._checkpoints):
            return
        state = target.checkpoint()
        if state is None:
            return
        self._checkpoints = thinned([*self._checkpoints, Checkpoint(target.length, state)])

    def forget(self) -> None:
        """Start from nothing, after a failure that left memory and context out of step."""
        controller = self._controller
        controller.target.clear()
        controller.context.clear()
        self._checkpoints.clear()
        for drafter in controller.drafters.values():
            drafter.close()
