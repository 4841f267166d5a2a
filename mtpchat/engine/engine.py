"""The synchronous engine: what is loaded, and one turn after another. Knows nothing of threads or screens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from mtpchat.backend.protocol import Backend, LoadedModel, LoadPlan
from mtpchat.config import SamplingConfig, ThinkingLevel
from mtpchat.engine.answer_mask import release, sampler_for
from mtpchat.engine.generate import Turn
from mtpchat.engine.kept_state import Mind, StateKeeper
from mtpchat.engine.measuring import Measurer
from mtpchat.engine.memory import Memory
from mtpchat.engine.probe import Probe
from mtpchat.engine.prompt import ChatPrompt, RenderedPrompt
from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.template import choose_template
from mtpchat.engine.weight import Weight
from mtpchat.errors import EngineError, MtpChatError
from mtpchat.events import Failed, Finished, Measured, ModelFacts, SpeculationControl, TurnEvent
from mtpchat.speculate.base import Drafter, Parts, strategies
from mtpchat.speculate.controller import Controller
from mtpchat.speculate.costs import CPU_SLOPE, GPU_SLOPE
from mtpchat.speculate.guessing import Guessing
from mtpchat.speculate.learned import Lessons, Setup, fingerprint

NEAR_TIE = 2
"""Strict mode: a tie is near within so many times the farthest that rounding was seen to move two likely words against
each other, which is about four times what it moves one of them."""


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
    weight: Weight
    measurer: Measurer
    drafters: dict[str, Drafter] = field(default_factory=dict)
    setup: Setup | None = None
    sampling: SamplingConfig | None = None

    def is_off(self, control: SpeculationControl) -> bool:
        """Whether the user wants no speculation at all."""
        return control.mode == "off" or (control.kind or self.kind) == "none"

    def fit_drafters(self) -> None:
        """Leave out drafters that read what the target's context does not have now."""
        ballast, draft = self.loaded.ballast, self.loaded.draft
        blind = ballast is not None and ballast.shed and draft is not None and draft.hidden_width > 0
        self.controller.drafters = {
            kind: drafter for kind, drafter in self.drafters.items() if not blind or kind != self.loaded.draft_kind
        }

    def why_not(self, control: SpeculationControl) -> str:
        """Why speculation does not run although it is asked for, or ""."""
        ballast = self.loaded.ballast
        if ballast is not None and ballast.shed and not self.is_off(control):
            return self.weight.why_not or "speculation begins with the next answer, which makes the context anew"
        return self.fallback_reason


def _forget(_model: str) -> None:
    """For engines that nobody keeps a record of."""


class ChatEngine:
    """The Engine of requests.py over a Backend.

    Args:
        backend: loads models; owned from now on.
        clock: seconds, monotonic.
        lessons: what was learnt in earlier runs, or None to begin anew each time.
        earlier: texts of the user's other chats, the newest last; asked for at a load, if speculative.ngram_history is
            set.
        used: told the path of each model that was loaded.
        keeper: keeps what a model remembers of a chat for the next time, if that is wanted.
    """

    def __init__(
        self,
        backend: Backend,
        clock: Callable[[], float] = time.perf_counter,
        lessons: Lessons | None = None,
        earlier: Callable[[], Sequence[str]] = tuple,
        used: Callable[[str], None] = _forget,
        *,
        keeper: StateKeeper | None = None,
    ) -> None:
        self._backend = backend
        self._lessons = lessons
        self._earlier = earlier
        self._used = used
        self._keeper = keeper
        self._clock = clock
        self._live: _Live | None = None
        self._plan: LoadPlan | None = None
        self._apart: dict[str, _Live] = {}
        self._epsilon: float | None = None

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
        self._epsilon = None if plan.config.speculative.strict else 0.0
        self._recall(plan, self._live)
        if self._keeper is not None:
            self._keeper.attach(Mind(loaded, self._live.controller, self._live.memory), plan.config.chats.keep_state)
        self._used(loaded.path)
        return self._facts(plan)

    def _recall(self, plan: LoadPlan, live: _Live) -> None:
        """Begin with what was learnt about this model and drafter on this machine."""
        if self._lessons is None or not plan.config.speculative.learn:
            return
        model, loaded = plan.config.model, live.loaded
        files = fingerprint(loaded.path), fingerprint(loaded.drafter_path) or loaded.draft_kind
        live.setup = Setup(*files, model.threads, loaded.gpu_layers)
        self._lessons.recall(live.setup, live.controller.costs, live.controller.adaptive.calibration)

    def _remember(self, live: _Live, *, last: bool = False) -> None:
        """Keep what was learnt, now and then and at the end; never inside a step."""
        if self._lessons is not None and live.setup is not None and (last or self._lessons.due()):
            controller = live.controller
            self._lessons.note(live.setup, len(controller.context), controller.costs, controller.adaptive.calibration)
            self._lessons.save()

    def _enliven(self, plan: LoadPlan, loaded: LoadedModel, weight: Weight | None = None) -> _Live:
        settings = plan.config.speculative
        weight = weight or Weight(loaded, settings.off_rebuild)
        template = choose_template(plan.config.model.chat_template, loaded.chat_template)
        prompt = ChatPrompt(template, loaded.tokenizer, marks_turns=not loaded.target.capabilities.deep_rollback)
        guessing = Guessing(settings.draft_sampling, vocabulary=loaded.tokenizer.n_vocab)
        texts = self._earlier() if settings.ngram_history else ()
        earlier = [loaded.tokenizer.encode(text, special=False) for text in texts]
        parts = Parts(loaded.draft, loaded.draft_kind, settings, guessing, earlier)
        built = {kind: strategy.build(parts) for kind, strategy in strategies().items()}
        drafters: dict[str, Drafter] = {kind: drafter for kind, drafter in built.items() if drafter is not None}
        controller = Controller(
            loaded.target,
            drafters,
            self._clock,
            p_min=settings.p_min,
            policy=settings.policy,
            accept_threshold=settings.accept_threshold,
            combine=settings.combine,
            # Where a decode can be given up, it runs on the CPU, and rows are dear.
            slope=CPU_SLOPE if loaded.target.capabilities.interruptible else GPU_SLOPE,
        )
        reason = loaded.fallback_reason
        kind = loaded.draft_kind or "ngram"
        if plan.kind == "none":
            kind = "none"
        elif loaded.target.capabilities.why_no_draft:
            kind, reason = "none", loaded.target.capabilities.why_no_draft
        measurer = Measurer(prompt, loaded.tokenizer, loaded.target.capabilities.context)
        live = _Live(loaded, prompt, controller, Memory(controller), kind, reason, guessing, weight, measurer, drafters)
        live.fit_drafters()
        return live

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
            warnings=(*loaded.warnings, *_thinking_warning(plan.config.model.thinking, live.prompt.switch.levels)),
            thinking=live.prompt.switch.levels,
            gpu=not loaded.target.capabilities.interruptible,
            gpu_layers=loaded.gpu_layers,
            suggestion=loaded.suggestion,
        )

    def _loaded(self) -> _Live:
        if self._live is None:
            raise EngineError("No model is loaded.", hint="/model lists what is there.")
        return self._live

    def probe(self) -> Probe:
        """What is loaded, seen from inside. Raises EngineError when nothing is."""
        live = self._loaded()
        return Probe(live.loaded, live.controller, live.memory, live.prompt, live.guessing, self._prompt_chunk)

    @property
    def _prompt_chunk(self) -> int:
        return self._plan.config.model.prompt_chunk if self._plan is not None else 0

    def learn_apart(self, name: str) -> None:
        """Go on over the same model with drafters and a controller of that name's own, and with an empty memory.

        What one of them learns about costs and acceptance does not reach the others, so that they can be measured side
        by side. "" is the one that a load begins with. Raises EngineError when nothing is loaded.
        """
        live = self._loaded()
        live.memory.forget()
        if name not in self._apart and self._plan is not None:
            self._apart[name] = self._enliven(self._plan, live.loaded, live.weight)
        self._live = self._apart[name]
        self._live.memory.forget()

    def forget_apart(self, name: str) -> None:
        """Drop what was learnt under that name, and go on with what a load begins with, from an empty memory."""
        if self._live is None:
            return
        self.learn_apart("")
        if name:
            self._apart.pop(name, None)

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
        self._mind_sampling(live, request.sampling)
        live.controller.retry_broken()
        said = self._prepare(live, control())
        if isinstance(said, Failed):
            yield said
            return
        events = self._answer(live, prompt, request, control, cancelled, notice=said)
        yield from self._keeper.around(request.chat, prompt.tokens, events, cancelled) if self._keeper else events

    def rest(self, cancelled: Callable[[], bool]) -> None:
        """See Engine.rest."""
        if self._keeper is not None:
            self._keeper.rest(cancelled)

    def measure(self, request: TurnRequest, cancelled: Callable[[], bool]) -> Measured:
        """See Engine.measure."""
        live = self._loaded()
        return live.measurer.measure(request, cancelled)

    def _prepare(self, live: _Live, control: SpeculationControl) -> str | Failed:
        """Bring the context into the state that the turn needs; a sentence about what was done, "" for nothing."""
        try:
            live.controller.epsilon = self._near_tie(live.loaded)
        except MtpChatError as error:
            return Failed(
                f"Strict mode cannot be prepared: {error.message}", "Leave out --strict (speculative.strict)."
            )
        try:
            return self._settle_weight(live, off=live.is_off(control))
        except MtpChatError as error:
            self._unload()
            return Failed(f"The model's context is lost: {error.message}", "/model loads it again.")

    def _answer(
        self,
        live: _Live,
        prompt: RenderedPrompt,
        request: TurnRequest,
        control: Callable[[], SpeculationControl],
        cancelled: Callable[[], bool],
        *,
        notice: str,
    ) -> Iterator[TurnEvent]:
        live.guessing.begin(request.sampling, max(0, request.sampling.seed))
        try:
            sampler = sampler_for(request, prompt, live.loaded, live.controller)
        except MtpChatError as error:
            yield Failed(error.message, error.hint)
            return
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
                why_not=lambda: live.why_not(control()),
                clock=self._clock,
                interruptible=live.loaded.target.capabilities.interruptible,
                chunk=self._prompt_chunk,
            )
            for event in turn.events():
                yield _with_notice(event, notice)
        finally:
            sampler.close()
            release(live.controller)
            self._remember(live)

    def _near_tie(self, loaded: LoadedModel) -> float:
        """How close two tokens are, in logits, that rounding could exchange; 0 without strict mode. Measured once."""
        if self._epsilon is None:
            self._epsilon = NEAR_TIE * loaded.rounding() if loaded.rounding is not None else 0.0
        return self._epsilon

    def _settle_weight(self, live: _Live, *, off: bool) -> str:
        """Make the target's context anew if speculation was switched; returns a sentence about it, or "".

        Raises:
            ModelError, DrafterError: see Weight.change.
        """
        if not live.weight.wants_change(off=off):
            return ""
        had_read = live.loaded.target.length > 0
        live.memory.forget()
        sentence = live.weight.change(off=off)
        for each in self._apart.values():
            each.fit_drafters()
        return f"{sentence.rstrip('.')}; the chat is read again." if had_read else sentence

    @staticmethod
    def _mind_sampling(live: _Live, sampling: SamplingConfig) -> None:
        """Acceptance hangs on how tokens are chosen: what was learnt under other settings counts for less."""
        live.controller.adaptive.begin_text()
        calibration, before = live.controller.adaptive.calibration, live.sampling
        calibration.at_temperature(sampling.temperature)
        if before is not None and _shape(before) != _shape(sampling):
            calibration.fade()
        live.sampling = sampling

    def _unload(self) -> None:
        live, self._live = self._live, None
        live = self._apart.get("", live)
        self._apart = {}
        if live is not None:
            self._remember(live, last=True)
            if self._keeper is not None:
                self._keeper.detach()
            live.loaded.close()

    def close(self) -> None:
        """See Engine.close."""
        self._unload()
        if self._keeper is not None:
            self._keeper.close()
        self._backend.close()


def _thinking_warning(wanted: ThinkingLevel, known: Sequence[ThinkingLevel]) -> tuple[str, ...]:
    """A sentence when the settings ask for something that the template cannot be told."""
    if wanted == "auto" or wanted in known:
        return ()
    instead = f"it knows {', '.join(known)}" if known else "it has no switch for it"
    return (
        f'model.thinking = "{wanted}" has no effect: the chat template of this model cannot be told so; {instead}.',
    )


def _with_notice(event: TurnEvent, sentence: str) -> TurnEvent:
    """The event that ends a turn with one more sentence to show."""
    if not sentence or not isinstance(event, Finished):
        return event
    return replace(event, notice=f"{event.notice} {sentence}".strip())


def _shape(sampling: SamplingConfig) -> tuple[float, ...]:
    """What else than the temperature forms the distribution that tokens are drawn from."""
    return (
        sampling.top_k,
        sampling.top_p,
        sampling.min_p,
        sampling.repeat_penalty,
        sampling.presence_penalty,
        sampling.frequency_penalty,
    )


def _choose(live: _Live, wanted: SpeculationControl) -> str:
    """The kind of drafter for a control, among those that are loaded and usable."""
    kind = wanted.kind or live.kind
    usable = kind in live.controller.drafters and (kind == "none" or live.controller.depth_limit(kind) > 0)
    return kind if usable else "none"
