"""What is loaded, seen from inside: for measuring and for proving losslessness, never for a chat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtpchat.backend.protocol import Floats, LoadedModel, Sampler
from mtpchat.config import SamplingConfig
from mtpchat.engine.memory import Memory
from mtpchat.engine.prompt import ChatPrompt, RenderedPrompt
from mtpchat.engine.requests import TurnRequest
from mtpchat.speculate.controller import Controller
from mtpchat.speculate.guessing import Guessing

_CHUNK = 64
"""The prompt is read in the pieces in which a turn reads it, so that it is computed in the same shapes."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A view of the loaded model between turns; valid until the next load."""

    loaded: LoadedModel
    controller: Controller
    memory: Memory
    prompt: ChatPrompt
    guessing: Guessing
    prompt_chunk: int = 0

    @property
    def chunk(self) -> int:
        """Tokens per decode while a prompt is read."""
        return min(self.prompt_chunk or _CHUNK, self.loaded.target.capabilities.batch)

    @property
    def context(self) -> tuple[int, ...]:
        """Prompt and answer of the last turn, as tokens."""
        return tuple(self.controller.context)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of drafter that can draft here, without "none"."""
        return tuple(kind for kind in self.controller.drafters if kind != "none" and self.depth_limit(kind) > 0)

    def depth_limit(self, kind: str) -> int:
        """Most guesses that one step can verify with this kind."""
        return self.controller.depth_limit(kind)

    def encode(self, request: TurnRequest) -> RenderedPrompt:
        """The prompt of a turn. Raises TemplateError or EngineError."""
        return self.prompt.encode(request)

    def piece(self, token: int) -> str:
        """A token as text for people; control tokens by name."""
        return self.loaded.tokenizer.piece(token, special=True).decode("utf-8", "replace")

    def sampler(self, sampling: SamplingConfig, seed: int) -> Sampler:
        """A sampler of the kind that turns use; the caller closes it."""
        return self.loaded.make_sampler(sampling, seed)

    def logits_after(
        self,
        prompt: RenderedPrompt,
        said: Sequence[int],
        width: int = 1,
        *,
        interrupt: Callable[[], bool] | None = None,
    ) -> Floats:
        """Logits behind a prompt and what was said, computed anew from an empty memory, without any drafter.

        Args:
            said: tokens of the answer.
            width: tokens per decode of the answer; 1 is plain decoding, k + 1 the shape of a step that verifies k
                guesses. Rounding differs with it, and nothing else may.
            interrupt: see TargetModel.decode.

        Returns:
            A copy, shape (n_vocab,). The memory is empty afterwards.

        Raises:
            EngineError: the decode failed; Interrupted: it was given up.
        """
        target = self.loaded.target
        self.memory.forget()
        try:
            self._read(prompt, interrupt)
            rest = [prompt.tokens[-1], *said]
            first = len(rest) % width or width  # so that the last decode has the full width where there is room
            start, stop = 0, first
            while stop < len(rest):
                target.decode(rest[start:stop], rows="none", interrupt=interrupt)
                start, stop = stop, stop + width
            rows = target.decode(rest[start:], rows="last", interrupt=interrupt)
            return rows.logits(rows.count - 1).copy()
        finally:
            self.memory.forget()

    def _read(self, prompt: RenderedPrompt, interrupt: Callable[[], bool] | None) -> None:
        """Decode all of the prompt but its last token."""
        end, done = len(prompt.tokens) - 1, 0
        while done < end:
            stop = min(done + self.chunk, end)
            if done < prompt.stable_length < stop:
                stop = prompt.stable_length
            self.loaded.target.decode(prompt.tokens[done:stop], rows="none", interrupt=interrupt)
            done = stop
