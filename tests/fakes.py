"""Doubles that are as strict as what they stand for."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mtpchat.backend.protocol import LoadPlan
from mtpchat.engine.requests import TurnRequest
from mtpchat.errors import Interrupted, LoadCancelled
from mtpchat.events import (
    Channel,
    Finished,
    Measured,
    ModelFacts,
    Prefilling,
    SpeculationControl,
    StatsTick,
    TextDelta,
    TurnEvent,
)
from mtpchat.messages import Message
from mtpchat.stats import TurnStats

CONTROL = (
    "<|im_start|>",
    "<|im_end|>",
    "<s>",
    "</s>",
    "<|begin_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[INST]",
    "[/INST]",
    "<|channel|>",
    "<|message|>",
    "<|start|>",
    "<|end|>",
)
USER_DEFINED = ("<think>", "</think>")


class FakeTokenizer:
    """Bytes are tokens 0..255; then come control tokens, then user-defined ones, which are parsed and shown always.

    Args:
        bos / eos: texts of control tokens, or "".
        adds_bos: what the vocabulary says about itself.
        space_prefix: put a space before every text that does not follow a control token, as SentencePiece does.
    """

    def __init__(
        self,
        *,
        bos: str = "",
        eos: str = "<|im_end|>",
        adds_bos: bool = False,
        control: Sequence[str] = CONTROL,
        user_defined: Sequence[str] = USER_DEFINED,
        space_prefix: bool = False,
    ) -> None:
        self.bos_text, self.eos_text, self.adds_bos = bos, eos, adds_bos
        self._control = dict(zip(control, range(256, 256 + len(control)), strict=True))
        first = 256 + len(control)
        self._user_defined = dict(zip(user_defined, range(first, first + len(user_defined)), strict=True))
        self._texts = {token: text for text, token in (self._control | self._user_defined).items()}
        self.n_vocab = first + len(user_defined)
        self.eog = frozenset({self._control[eos]}) if eos else frozenset()
        self._space_prefix = space_prefix

    def token(self, text: str) -> int:
        """Id of a control or user-defined token."""
        return (self._control | self._user_defined)[text]

    def encode(self, text: str, *, special: bool = True, add_bos: bool = False) -> list[int]:
        """See mtpchat.backend.protocol.Tokenizer."""
        known = self._user_defined | (self._control if special else {})
        out = [self.token(self.bos_text)] if add_bos and self.bos_text else []
        separators = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        after_token = True
        for part in re.split(f"({separators})", text) if separators else [text]:
            if part in known:
                out.append(known[part])
                after_token = True
            elif part:
                prefix = b" " if self._space_prefix and after_token else b""
                out.extend(prefix + part.encode())
                after_token = False
        return out

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """See mtpchat.backend.protocol.Tokenizer. An id outside the vocabulary is refused."""
        if not 0 <= token < self.n_vocab:
            raise ValueError(f"token {token} is not in the vocabulary of {self.n_vocab}")
        if token < 256:
            return bytes([token])
        text = self._texts[token]
        return text.encode() if special or text in self._user_defined else b""

    def text(self, tokens: Sequence[int]) -> str:
        """What the tokens say, control tokens included."""
        return b"".join(self.piece(token, special=True) for token in tokens).decode()


class Gate:
    """A place where the engine thread waits until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._opened = threading.Event()

    def open(self) -> None:
        """Let the engine pass, now and later."""
        self._opened.set()

    def hold(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Wait for `open`, or for a cancel if the engine would look at it there; gives up after half a minute."""
        self.reached.set()
        for _ in range(15_000):
            if self._opened.wait(0.002) or cancelled():
                return


class FakeEngine:
    """An engine that says what it was told to say.

    Args:
        replies: one per turn, the last one for ever: a text, a pair (thinking, text), or an exception to raise after
            the first piece of text.
        facts: what a load returns; an exception is raised instead.
        prefill / step / load / measure: gates at these places, where the engine looks at a cancel.
        native_step / turn_end / shutdown: gates where it does not, like in a native call.
    """

    def __init__(
        self,
        *replies: str | tuple[str, str] | Exception,
        facts: ModelFacts | Exception | None = None,
        prefill: Gate | None = None,
        step: Gate | None = None,
        native_step: Gate | None = None,
        load: Gate | None = None,
        turn_end: Gate | None = None,
        shutdown: Gate | None = None,
        measure: Gate | None = None,
    ) -> None:
        self.replies = list(replies or ("Hello there.",))
        self.facts = facts if facts is not None else ModelFacts("fake", "/fake.gguf", "fake", "none", "no drafter")
        self._prefill, self._step, self._native_step = prefill, step, native_step
        self._load, self._turn_end, self._shutdown, self._measure = load, turn_end, shutdown, measure
        self.requests: list[TurnRequest] = []
        self.controls: list[SpeculationControl] = []
        self.plans: list[LoadPlan] = []
        self.threads: set[int] = set()
        self.overlapped = False
        self.closed = False
        self._in_turn = threading.Lock()

    def gate_prefill(self, gate: Gate) -> None:
        """Hold the prefill of the turns to come."""
        self._prefill = gate

    def load(
        self, plan: LoadPlan, progress: Callable[[str, float, int], None], cancelled: Callable[[], bool]
    ) -> ModelFacts:
        """See mtpchat.engine.requests.Engine."""
        self.threads.add(threading.get_ident())
        self.plans.append(plan)
        progress("fake.gguf", 0.5, 100)
        _hold(self._load, cancelled)
        if cancelled():
            raise LoadCancelled("The load was stopped.")
        if isinstance(self.facts, Exception):
            raise self.facts
        progress("fake.gguf", 1.0, 100)
        return self.facts

    def turn(
        self, request: TurnRequest, control: Callable[[], SpeculationControl], cancelled: Callable[[], bool]
    ) -> Iterator[TurnEvent]:
        """See mtpchat.engine.requests.Engine."""
        self.overlapped |= not self._in_turn.acquire(blocking=False)
        try:
            yield from self._answer(request, control, cancelled)
            _hold(self._turn_end)
        finally:
            self._in_turn.release()

    def measure(self, request: TurnRequest, cancelled: Callable[[], bool]) -> Measured:
        """See mtpchat.engine.requests.Engine. Each word is a token, and so is each message's role."""
        self.threads.add(threading.get_ident())
        _hold(self._measure, cancelled)
        if cancelled():
            raise Interrupted("The measuring was given up.")
        context = self.facts.context_size if isinstance(self.facts, ModelFacts) else 0
        attached = tuple(sum(len(one.text.split()) for one in said.attachments) for said in request.messages)
        words = tuple(len(said.content.split()) + more for said, more in zip(request.messages, attached, strict=True))
        return Measured(sum(words) + len(words), context, words, attached)

    def rest(self, cancelled: Callable[[], bool]) -> None:
        """See mtpchat.engine.requests.Engine."""
        self.threads.add(threading.get_ident())

    def close(self) -> None:
        """See mtpchat.engine.requests.Engine."""
        _hold(self._shutdown)
        self.closed = True

    def _answer(
        self, request: TurnRequest, control: Callable[[], SpeculationControl], cancelled: Callable[[], bool]
    ) -> Iterator[TurnEvent]:
        self.threads.add(threading.get_ident())
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        thinking, text = (
            reply if isinstance(reply, tuple) else ("", "Half an" if isinstance(reply, Exception) else reply)
        )
        yield Prefilling(0, 10)
        _hold(self._prefill, cancelled)
        if not cancelled():
            yield Prefilling(10, 10)
        said = {"thinking": "", "answer": ""}
        stats = TurnStats(prompt_tokens=10, prefill_s=0.1)
        pieces: list[tuple[Channel, str]] = [("thinking", word) for word in re.findall(r"\S+\s*|\s+", thinking)]
        pieces += [("answer", word) for word in re.findall(r"\S+\s*|\s+", text)]
        for channel, piece in pieces:
            if cancelled():
                break
            self.controls.append(control())
            said[channel] += piece
            stats = replace(stats, output_tokens=stats.output_tokens + 1, steps=stats.steps + 1, decode_s=1.0)
            yield TextDelta(piece, channel)
            yield StatsTick(stats)
            if isinstance(reply, Exception):
                raise reply
            _hold(self._step, cancelled)
            _hold(self._native_step)
        done = said["answer"] == text
        message = Message("assistant", said["answer"], said["thinking"], complete=done)
        yield Finished(message, stats, "stop" if done else "cancelled")


def _hold(gate: Gate | None, cancelled: Callable[[], bool] = lambda: False) -> None:
    if gate is not None:
        gate.hold(cancelled)
