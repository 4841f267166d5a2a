"""What is measured and verified: something that answers prompts and lets its logits be looked at."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from mtpchat.backend.protocol import Floats, Sampler
from mtpchat.bench.prompts import Prompt
from mtpchat.config import ModelConfig, SamplingConfig
from mtpchat.config_schema import template_values
from mtpchat.engine.engine import ChatEngine
from mtpchat.engine.foresight import Foresight, foresee
from mtpchat.engine.requests import TurnRequest
from mtpchat.errors import EngineError, Interrupted
from mtpchat.events import Failed, Finished, FinishReason, SpeculationControl
from mtpchat.messages import Message
from mtpchat.report import SpeculationReport
from mtpchat.stats import TurnStats


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        prompt: tokens of the rendered prompt.
        tokens: tokens of the answer, the end-of-generation token included.
        text: what they say, thoughts first.
    """

    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    text: str
    stats: TurnStats
    reason: FinishReason


class Subject(Protocol):
    """Something that answers."""

    def ask(self, prompt: Prompt, control: SpeculationControl, sampling: SamplingConfig) -> Answer:
        """Answer once. Raises EngineError when that fails."""
        ...

    def logits_after(self, prompt: Prompt, said: Sequence[int], width: int = 1) -> Floats:
        """Logits behind prompt and answer, computed anew and without speculation; see Probe.logits_after."""
        ...

    def prompt_tokens(self, prompt: Prompt) -> tuple[int, ...]:
        """The rendered prompt."""
        ...

    def piece(self, token: int) -> str:
        """A token as text for people."""
        ...

    def sampler(self, sampling: SamplingConfig, seed: int) -> Sampler:
        """A sampler like that of the answers; the caller closes it."""
        ...


class EngineSubject:
    """The loaded model of an engine.

    Args:
        model: its settings for the chat template are those that a chat has.
        cancelled: polled before every step, and by decodes that can be given up: then Interrupted is raised.
    """

    def __init__(
        self, engine: ChatEngine, model: ModelConfig | None = None, *, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        self._engine = engine
        self._options = tuple(template_values(model or ModelConfig()).items())
        self._thinking = (model or ModelConfig()).thinking
        self._cancelled = cancelled

    def ask(self, prompt: Prompt, control: SpeculationControl, sampling: SamplingConfig) -> Answer:
        """See Subject.ask."""
        events = deque(self._engine.turn(self._request(prompt, sampling), lambda: control, self._cancelled), maxlen=1)
        last = events.pop() if events else None
        if isinstance(last, Failed):
            raise EngineError(f"{prompt.name}: {last.message}", hint=last.hint)
        if self._cancelled():
            raise Interrupted("Stopped.")
        if not isinstance(last, Finished):
            raise EngineError(f"{prompt.name}: the answer did not end")
        context, length = self._engine.probe().context, last.stats.prompt_tokens
        text = last.message.thinking + last.message.content
        return Answer(context[:length], context[length:], text, last.stats, last.reason)

    def apart(self, name: str) -> None:
        """Answer from now on with what `name` has learnt, from an empty memory; see ChatEngine.learn_apart."""
        self._engine.learn_apart(name)

    def logits_after(self, prompt: Prompt, said: Sequence[int], width: int = 1) -> Floats:
        """See Subject.logits_after."""
        probe = self._engine.probe()
        request = self._request(prompt, SamplingConfig())
        return probe.logits_after(probe.encode(request), said, width, interrupt=self._cancelled)

    def foresee(
        self, prompt: Prompt, said: Sequence[int], sampling: SamplingConfig, most: Mapping[str, int]
    ) -> dict[str, Foresight]:
        """What drafters would have guessed at each place of an answer; see mtpchat.engine.foresight."""
        probe, request = self._engine.probe(), self._request(prompt, sampling)
        return foresee(probe, probe.encode(request), said, request.sampling, most)

    def depth_limit(self, kind: str) -> int:
        """Most guesses that one step can verify with this kind."""
        return self._engine.probe().depth_limit(kind)

    def report(self) -> SpeculationReport:
        """What was learnt so far under the name in force; see apart."""
        return self._engine.probe().controller.report()

    def prompt_tokens(self, prompt: Prompt) -> tuple[int, ...]:
        """See Subject.prompt_tokens."""
        return self._engine.probe().encode(self._request(prompt, SamplingConfig())).tokens

    def piece(self, token: int) -> str:
        """See Subject.piece."""
        return self._engine.probe().piece(token)

    def sampler(self, sampling: SamplingConfig, seed: int) -> Sampler:
        """See Subject.sampler."""
        return self._engine.probe().sampler(sampling, seed)

    def _request(self, prompt: Prompt, sampling: SamplingConfig) -> TurnRequest:
        system = (Message("system", prompt.system),) if prompt.system.strip() else ()
        return TurnRequest(
            messages=(*system, *prompt.before, Message("user", prompt.text)),
            sampling=msgspec.structs.replace(sampling, seed=max(0, sampling.seed)),
            template_options=self._options,
            thinking=self._thinking,
        )
