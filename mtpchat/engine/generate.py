"""One turn as a synchronous generator: read the prompt in chunks, then step, detokenise, stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest
from operator import itemgetter

from mtpchat.backend.protocol import Sampler, Tokenizer
from mtpchat.config import SamplingConfig
from mtpchat.engine.detokenize import Detokenizer
from mtpchat.engine.memory import Memory
from mtpchat.engine.prompt import RenderedPrompt, require_room
from mtpchat.engine.stop import StopStrings
from mtpchat.engine.tally import Tally
from mtpchat.engine.thinking import ThinkingSplitter, piece_with_markers
from mtpchat.errors import ContextFull, Interrupted, MtpChatError
from mtpchat.events import (
    Failed,
    Finished,
    FinishReason,
    Prefilling,
    SpeculationControl,
    StatsTick,
    TextDelta,
    TurnEvent,
)
from mtpchat.messages import Message
from mtpchat.report import SpeculationReport
from mtpchat.speculate.controller import Controller, Step
from mtpchat.stats import TurnStats

_CHUNK = 64
"""Tokens per decode while the prompt is read, where the decode itself can be interrupted. Always the same, so that the
same prompt is computed in the same shapes."""
_NEAR = 32
"""Tokens before the last message of the user within which an end of the memory is as good a place to come back to."""
_SPREAD = 2048
"""A memory that cannot be cut is remembered once in so many tokens of a long prompt, too."""
_CHUNK_S = 0.15
"""Longest a decode should take where it cannot be interrupted; the chunk grows and shrinks to fit."""
_SHOW_S = 0.05
"""Steps are counted, and their text is told, together: between two decodes each line of this program finds the
processor's caches full of the model, and takes several times as long as the next time at once."""
_NO_LIMIT = 1 << 30
_REPORT_S = 1.0
"""Least pause between two reports on speculation."""


@dataclass(slots=True)
class TextOut:
    """From tokens to text: whole characters, no stop strings, thoughts apart from the answer."""

    sampling: SamplingConfig
    tokenizer: Tokenizer
    prompt: RenderedPrompt
    reason: FinishReason | None = None
    answer: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    _count: int = 0
    _most: int = field(init=False)
    _ready: list[str] = field(default_factory=list)
    _raw: list[int] = field(default_factory=list)
    """Tokens whose text nobody needs yet: without stop strings the text of one says nothing about the next."""
    _bytes: Detokenizer = field(init=False)
    _stops: StopStrings = field(init=False)
    _splitter: ThinkingSplitter = field(init=False)

    def __post_init__(self) -> None:
        self._most = self.sampling.max_tokens if self.sampling.max_tokens > 0 else _NO_LIMIT
        self._bytes = Detokenizer(piece_with_markers(self.tokenizer))
        self._stops = StopStrings(self.sampling.stop)
        self._splitter = ThinkingSplitter(opened=self.prompt.opened_thinking, resumed=self.prompt.resumed)

    def halts(self, token: int) -> bool:
        """Take a token; True when it is the last one of the answer."""
        self._count += 1
        if token in self.tokenizer.eog:
            self.reason = "stop"
            return True
        if self._stops.none:
            self._raw.append(token)
        elif self._stopped_by(token):
            self.reason = "stop"
            return True
        if self._count == self._most:
            self.reason = "length"
            return True
        return False

    def _stopped_by(self, token: int) -> bool:
        text, stopped = self._stops.push(self._bytes.push(token))
        self._ready.append(text)
        return stopped

    @property
    def tokens_left(self) -> int:
        """How many tokens the answer may still have."""
        return self._most - self._count

    def deltas(self) -> list[TextDelta]:
        """What can be shown now."""
        return self._show("".join(self._taken()))

    def traced(self, origins: Sequence[str]) -> list[TextDelta]:
        """What can be shown now, told apart by who had guessed it.

        Text that several tokens make together, e.g. one character of many bytes, belongs to the last of them.

        Args:
            origins: for each token of the step the drafter that had guessed it, "" for the model's own.
        """
        pairs = zip_longest(self._taken(), origins, fillvalue="")
        return [
            delta
            for origin, run in groupby(pairs, itemgetter(1))
            for delta in self._show("".join(text for text, _ in run), origin)
        ]

    def _taken(self) -> list[str]:
        """Text of each token since the last time; a token that ends the generation has none."""
        raw, self._raw = self._raw, []
        taken, self._ready = self._ready + [self._bytes.push(token) for token in raw], []
        return taken

    def _show(self, text: str, drafted: str = "") -> list[TextDelta]:
        if not text:
            return []
        deltas = self._splitter.push(text)
        return self._keep([replace(delta, drafted=drafted) for delta in deltas] if drafted else deltas)

    def flush(self, *, cut: bool = False) -> list[TextDelta]:
        """What was held back, at the end.

        Args:
            cut: the answer may go on later; a character of which bytes are missing is then left to be said again.
        """
        held = "" if cut else self._bytes.flush()
        rest = "" if self._stops.stopped else self._stops.push(held)[0] + self._stops.flush()
        return self._keep(self._splitter.push(rest) + self._splitter.flush())

    def _keep(self, deltas: list[TextDelta]) -> list[TextDelta]:
        for delta in deltas:
            (self.answer if delta.channel == "answer" else self.thinking).append(delta.text)
        return deltas

    def message(self, *, complete: bool) -> Message:
        """What was said so far."""
        return Message("assistant", "".join(self.answer), "".join(self.thinking), complete)


@dataclass(slots=True)
class Turn:
    """One answer in the making.

    Attributes:
        choose: which kind of drafter a control asks for, among those loaded.
        chunk: tokens of the prompt per decode; 0: see _CHUNK and _CHUNK_S.
    """

    controller: Controller
    memory: Memory
    tokenizer: Tokenizer
    prompt: RenderedPrompt
    sampling: SamplingConfig
    sampler: Sampler
    control: Callable[[], SpeculationControl]
    cancelled: Callable[[], bool]
    choose: Callable[[SpeculationControl], str]
    why_not: Callable[[], str]
    clock: Callable[[], float]
    interruptible: bool = True
    chunk: int = 0
    _tally: Tally = field(init=False)
    _out: TextOut = field(init=False)
    _reported_at: float = float("-inf")
    _untold: list[tuple[Step, float]] = field(default_factory=list)
    _told_at: float = float("-inf")

    def events(self) -> Iterator[TurnEvent]:
        """Run the turn; see requests.Engine.turn."""
        self._out = TextOut(self.sampling, self.tokenizer, self.prompt)
        size = self.controller.target.capabilities.context
        first = TurnStats(prompt_tokens=len(self.prompt.tokens), context_size=size)
        self._tally = Tally(self.clock, first)
        try:
            require_room(len(self.prompt.tokens), size)
            yield from self._prefill(first)
            yield from self._decode()
        except Interrupted:
            yield from self._finish("cancelled")
        except MtpChatError as error:
            if not isinstance(error, ContextFull):
                self.memory.forget()  # memory and context may be out of step: the next turn reads everything again
            yield from self._tell(self.control())
            yield from self._out.flush(cut=True)
            partial = self._out.message(complete=False)
            said = partial if partial.content or partial.thinking else None
            yield Failed(error.message, error.hint, said, self._stats())
        except Exception:
            self.memory.forget()  # whatever it was: the next turn does not build on it
            raise

    def _prefill(self, first: TurnStats) -> Iterator[TurnEvent]:
        """Decode the prompt except its last token, which the first step takes."""
        tokens = self.prompt.tokens
        done = cached = self.memory.reuse(tokens)
        self._tally = Tally(self.clock, TurnStats(len(tokens), cached, context_size=first.context_size))
        end = len(tokens) - 1
        marks = self._marks(cached, end)
        began, size = self.clock(), min(self.chunk or _CHUNK, self.controller.target.capabilities.batch)
        while done < end:
            read = done - cached
            eta_s = (self.clock() - began) / read * (end - done) if read else None
            yield Prefilling(done, len(tokens), eta_s)
            chunk_began = self.clock()
            stop = min(done + size, end, *(mark for mark in marks if mark > done))
            self._read(done, stop)
            if stop in marks or stop // _SPREAD > done // _SPREAD:
                self.memory.keep_checkpoint()
            done = stop
            if not self.interruptible and not self.chunk:
                size = self._fit(size, self.clock() - chunk_began)
        self.sampler.reset(tokens)
        self._tally.prefilled()

    def _marks(self, cached: int, end: int) -> tuple[int, ...]:
        """Lengths at which the memory is to be remembered, if it is one that cannot be cut; `cached` is the first."""
        start = self.prompt.turn_start
        if 0 < cached <= start <= cached + _NEAR:
            self.memory.keep_checkpoint()  # a decode of its own for so few tokens costs more than reading them again
            start = 0
        return start, min(self.prompt.stable_length, end)

    def _read(self, start: int, stop: int) -> None:
        """Decode tokens start .. stop-1 of the prompt and show them to the drafters."""
        chunk = self.prompt.tokens[start:stop]
        rows = self.controller.target.decode(chunk, rows="none", interrupt=self.cancelled)
        self.controller.learn(start, chunk, rows, warm=self._kind() if self.control().mode != "off" else "none")
        if self.cancelled():
            raise Interrupted("Stopped.")

    def _fit(self, size: int, took_s: float) -> int:
        """A chunk that stays below the time in which a stop must be noticed."""
        most = self.controller.target.capabilities.batch
        if took_s > _CHUNK_S:
            return min(most, max(16, size // 2))
        return min(most, size * 2) if took_s < _CHUNK_S / 3 else size

    def _kind(self) -> str:
        return self.choose(self.control())

    def _decode(self) -> Iterator[TurnEvent]:
        controller, out, sampler, clock = self.controller, self._out, self.sampler, self.clock
        context, size = controller.context, controller.target.capabilities.context
        control, kind = self.control(), self._kind()
        while out.reason is None:
            if self.cancelled():
                raise Interrupted("Stopped.")
            if len(context) > size:
                out.reason = "context"
                break
            wanted = self.control()
            if wanted is not control:
                yield from self._tell(control)
                control, kind = wanted, self.choose(wanted)
            step = controller.step(sampler, control, kind, out.tokens_left, out.halts)
            now = clock()
            self._untold.append((step, now))
            if now - self._told_at >= _SHOW_S:
                yield from self._tell(control)
                self._told_at = now
        yield from self._finish(out.reason)

    def _tell(self, control: SpeculationControl) -> Iterator[TurnEvent]:
        """Count the steps since the last time, and give out their text."""
        steps, self._untold = self._untold, []
        if not steps:
            return
        self.controller.settle()
        for step, ended in steps:
            self._tally.stepped(step, self.controller.costs.plain_s, ended)
        origins = [origin for step, _ in steps for origin in step.origins]
        yield from self._out.traced(origins) if control.provenance else self._out.deltas()
        if self._tally.due():
            yield StatsTick(self._stats(), self._report(control))

    def _finish(self, reason: FinishReason) -> Iterator[TurnEvent]:
        yield from self._tell(self.control())
        yield from self._out.flush(cut=reason != "stop")
        self._tally.ended()
        notice = self.prompt.note
        if reason == "context":
            size = self.controller.target.capabilities.context
            notice = (
                f"The answer ends here because the context of {size:,} tokens is full. A larger one is set with -c;"
                " in a chat /context says how room is made, and /continue goes on."
            )
        elif reason == "length":
            notice = f"Stopped at the limit of {self.sampling.max_tokens:,} tokens."
        mask = self.controller.mask
        if mask is not None and not mask.complete:
            notice = f"{notice} The answer is not complete in the form that was asked for.".strip()
        message = self._out.message(complete=reason == "stop")
        yield Finished(message, self._stats(), reason, notice, self._look(done=reason != "cancelled"))

    def _report(self, control: SpeculationControl) -> SpeculationReport | None:
        """What the controller knows, if somebody looks, and not more often than an eye can follow."""
        now = self.clock()
        if not control.observe or now - self._reported_at < _REPORT_S:
            return None
        self._reported_at = now
        return self._look()

    def _look(self, *, done: bool = True) -> SpeculationReport:
        controller = self.controller
        if controller.fallback_reason or not done:  # then the drafter's memory and ours may be out of step
            return controller.report()
        waiting = controller.drafters[self._kind()].warm(controller.context, len(controller.context) - 1, 0)
        return replace(controller.report(), waiting=waiting)

    def _stats(self) -> TurnStats:
        control, costs = self.control(), self.controller.costs
        kind = self.choose(control)
        return self._tally.snapshot(
            kind=kind,
            mode="off" if kind == "none" else control.mode,
            plain_s=costs.plain_s,
            plain_age_s=costs.plain_age_s,
            used=self.controller.target.length,
            reason=self.controller.fallback_reason or self.why_not(),
        )
