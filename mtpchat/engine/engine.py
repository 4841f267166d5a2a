"""The synchronous engine: what is loaded, and one turn after another. Knows nothing of threads or screens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mtpchat.backend.protocol import Backend, LoadedModel, LoadPlan
from mtpchat.engine.generate import Turn
from mtpchat.engine.memory import Memory
from mtpchat.engine.probe import Probe
from mtpchat.engine.prompt import ChatPrompt
from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.template import choose_template
from mtpchat.errors import EngineError, MtpChatError
from mtpchat.events import Failed, ModelFacts, SpeculationControl, TurnEvent
from mtpchat.speculate.base import Drafter, Parts, strategies
from mtpchat.speculate.controller import Controller
from mtpchat.speculate.guessing import Guessing


@dataclass(slots=True)
class _Live:
    """A loaded model with everything that remembers."""

    loaded: LoadedModel
    prompt: ChatPrompt
    controller: Controller
    memory: Memory
    kind: str
    fallback_reason: str
    guessing: Guessing
    temperature: float = -1.0


class ChatEngine:
    """The Engine of requests.py over a Backend.

    Args:
        backend: loads models; owned from now on.
        clock: seconds, monotonic.
    """

    def __init__(self, backend: Backend, clock: Callable[[], float] = time.perf_counter) -> None:
        self._backend = backend
        self._clock = clock
        self._live: _Live | None = None
        self._plan: LoadPlan | None = None
        self._apart: dict[str, _Live] = {}

    def load(
        self, plan: LoadPlan, progress: Callable[[str, float, int], None], cancelled: Callable[[], bool]
    ) -> ModelFacts:
        """See Engine.load."""
        self._unload()
        loaded = self._backend.load(plan, progress, cancelled)
        try:
            self._live = self._enliven(plan, loaded)
        except BaseException:
            loaded.close()
            raise
        self._plan, self._apart = plan, {"": self._live}
        return self._facts(plan)

    def _enliven(self, plan: LoadPlan, loaded: LoadedModel) -> _Live:
        settings = plan.config.speculative
        template = choose_template(plan.config.model.chat_template, loaded.chat_template)
        prompt = ChatPrompt(template, loaded.tokenizer)
        guessing = Guessing(settings.draft_sampling)
        parts = Parts(loaded.draft, loaded.draft_kind, settings, guessing)
        built = {kind: strategy.build(parts) for kind, strategy in strategies().items()}
        drafters: dict[str, Drafter] = {kind: drafter for kind, drafter in built.items() if drafter is not None}
        controller = Controller(loaded.target, drafters, self._clock, settings.p_min)
        reason = loaded.fallback_reason
        kind = loaded.draft_kind or "ngram"
        if plan.kind == "none":
            kind = "none"
        elif loaded.target.capabilities.why_no_draft:
            kind, reason = "none", loaded.target.capabilities.why_no_draft
        return _Live(loaded, prompt, controller, Memory(controller), kind, reason, guessing)

    def _facts(self, plan: LoadPlan) -> ModelFacts:
        live = self._loaded()
        loaded, controller = live.loaded, live.controller
        usable = tuple(kind for kind in controller.drafters if kind == "none" or controller.depth_limit(kind) > 0)
        return ModelFacts(
            name=loaded.name,
            path=loaded.path,
            architecture=loaded.architecture,
            kind=live.kind,
            choice=loaded.choice,
            available=usable,
            drafter=loaded.drafter_path,
            context_size=loaded.target.capabilities.context,
            depth_limit=controller.depth_limit(live.kind),
            depth_reason=controller.depth_reason(live.kind),
            fallback_reason=live.fallback_reason,
            warnings=loaded.warnings,
        )

    def _loaded(self) -> _Live:
        if self._live is None:
            raise EngineError("No model is loaded.", hint="/model PATH loads one.")
        return self._live

    def probe(self) -> Probe:
        """What is loaded, seen from inside. Raises EngineError when nothing is."""
        live = self._loaded()
        return Probe(live.loaded, live.controller, live.memory, live.prompt)

    def learn_apart(self, name: str) -> None:
        """Go on over the same model with drafters and a controller of that name's own, and with an empty memory.

        What one of them learns about costs and acceptance does not reach the others, so that they can be measured side
        by side. "" is the one that a load begins with. Raises EngineError when nothing is loaded.
        """
        live = self._loaded()
        live.memory.forget()
        if name not in self._apart and self._plan is not None:
            self._apart[name] = self._enliven(self._plan, live.loaded)
        self._live = self._apart[name]
        self._live.memory.forget()

    def turn(
        self, request: TurnRequest, control: Callable[[], SpeculationControl], cancelled: Callable[[], bool]
    ) -> Iterator[TurnEvent]:
        """See Engine.turn."""
        try:
            live = self._loaded()
            prompt = live.prompt.encode(request)
        except MtpChatError as error:
            yield Failed(error.message, error.hint)
            return
        self._mind_temperature(live, request.sampling.temperature)
        live.controller.retry_broken()
        seed = max(0, request.sampling.seed)
        live.guessing.begin(request.sampling, seed)
        sampler = live.loaded.make_sampler(request.sampling, seed)
        try:
            turn = Turn(
                controller=live.controller,
                memory=live.memory,
                tokenizer=live.loaded.tokenizer,
                prompt=prompt,
                sampling=request.sampling,
                sampler=sampler,
                control=control,
                cancelled=cancelled,
                choose=lambda wanted: _choose(live, wanted),
                why_not=lambda: live.fallback_reason,
                clock=self._clock,
                interruptible=live.loaded.target.capabilities.interruptible,
            )
            yield from turn.events()
        finally:
            sampler.close()

    @staticmethod
    def _mind_temperature(live: _Live, temperature: float) -> None:
        """Acceptance depends on the temperature: what was learnt at another one counts for less."""
        if live.temperature >= 0 and abs(live.temperature - temperature) > 0.2:
            live.controller.adaptive.fade()
        live.temperature = temperature

    def _unload(self) -> None:
        live, self._live = self._live, None
        self._apart = {}
        if live is not None:
            live.loaded.close()

    def close(self) -> None:
        """See Engine.close."""
        self._unload()
        self._backend.close()


def _choose(live: _Live, wanted: SpeculationControl) -> str:
    """The kind of drafter for a control, among those that are loaded and usable."""
    kind = wanted.kind or live.kind
    usable = kind in live.controller.drafters and (kind == "none" or live.controller.depth_limit(kind) > 0)
    return kind if usable else "none"
