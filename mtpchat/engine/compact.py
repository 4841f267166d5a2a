"""A summary in place of the older part of a chat, written by the model itself.

The question is asked behind the very messages that it is about, so that what the model has read of them is reused. What
does not fit at once is summarised part after part, each together with the summary of what came before. The chat then
goes on as a branch: the question, the summary as its answer, and the last turns as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import msgspec

from mtpchat.config import ThinkingLevel
from mtpchat.engine.overflow import turn_starts
from mtpchat.engine.requests import Engine, Progress, TurnRequest
from mtpchat.engine.room import sizes_of
from mtpchat.errors import CommandError, ContextFull, EngineError
from mtpchat.events import Failed, Finished, Prefilling, SpeculationControl, TextDelta, Worked
from mtpchat.messages import Message

QUESTION = (
    "Summarise our conversation so far, in its language, so that you can go on from the summary alone. Keep what was"
    " asked, decided and found out, names, numbers and code that is still needed, and what is open. Notes only."
)
_KEPT = 0.3
"""Part of the context that the turns which stay may take, if the user does not say how many."""
_MOST_SUMMARY, _SUMMARY = 1024, 0.2


@dataclass(slots=True)
class Compaction:
    """One summary in the making; `task` is a job for the engine thread, the rest is read when it has ended,
    `reading` at any time.

    Attributes:
        request: the whole chat as it would be sent.
        control: what is wanted of speculation.
        keep: how many of the last turns stay as they are; None: as many as go into a part of the context.
        start: place of the first message that stays, the system message not counted; 0 before it is known.
        summary: what the model has written.
        reading: how far the model has read what it is asked about; None while it does not read.
        whole / taken: tokens of the chat now, and with the summary instead; of `context`.
    """

    request: TurnRequest
    control: Callable[[], SpeculationControl]
    thinking: ThinkingLevel = "auto"
    keep: int | None = None
    start: int = 0
    summary: str = ""
    reading: Prefilling | None = None
    whole: int = 0
    taken: int = 0
    context: int = 0

    @property
    def said(self) -> Sequence[Message]:
        """The chat without the system message."""
        messages = self.request.messages
        return messages[1:] if messages and messages[0].role == "system" else messages

    def task(self, engine: Engine, progress: Progress, cancelled: Callable[[], bool]) -> Worked:
        """Write the summary: see requests.Task. `progress` is given the text so far, the part, and of how many.

        Raises:
            CommandError: there is nothing older than what stays.
            EngineError: the model could not answer.
        """
        context, sizes = self._sizes(engine, cancelled)
        self.start = split(self.said, sizes, int(context * _KEPT), self.keep)
        parts = rounds(self.said[: self.start], sizes, self._room(context, sizes))
        text = ""
        for number, part in enumerate(parts):
            text = self._ask(engine, self._part(text, part, context), _counted(progress, number, len(parts)), cancelled)
            if cancelled():
                return Worked("stopped")
        self.taken = engine.measure(self._after(text), cancelled).prompt_tokens
        self.summary = text
        return Worked(text)

    @property
    def outcome(self) -> str:
        """A sentence about what taking the summary would bring."""
        stays = len(self.said) - self.start
        what = "the last message stays as it is" if stays == 1 else f"the last {stays} messages stay as they are"
        what = what if stays else "nothing else stays"
        sizes = f"With it {self.taken:,} of {self.context:,} tokens, now {self.whole:,}"
        worth = "" if self.taken < self.whole else ": it makes no room"
        older = "1 message" if self.start == 1 else f"{self.start} messages"
        return f"It stands for {older}; {what}. {sizes}{worth}. The chat as it was stays beside it."

    def _after(self, summary: str) -> TurnRequest:
        head = self.request.messages[: len(self.request.messages) - len(self.said)]
        return replace(self.request, messages=(*head, *compacted(self.said, self.start, summary)))

    def _sizes(self, engine: Engine, cancelled: Callable[[], bool]) -> tuple[int, list[int]]:
        measured = engine.measure(self.request, cancelled)
        self.whole, self.context = measured.prompt_tokens, measured.context
        return measured.context, sizes_of(measured, len(self.said))[1]

    def _room(self, context: int, sizes: Sequence[int]) -> int:
        """Tokens of older messages that one question can be about."""
        head = len(self.request.messages) - len(self.said)
        system = len(self.request.messages[0].content) // 3 if head else 0
        return context - 2 * _summary_tokens(context) - len(QUESTION) // 3 - system if context else sum(sizes)

    def _part(self, text: str, part: Sequence[Message], context: int) -> TurnRequest:
        head = self.request.messages[: len(self.request.messages) - len(self.said)]
        before = summary_messages(text) if text else ()
        longest = (_summary_tokens(context) if context else _MOST_SUMMARY) * (1 if self.thinking == "off" else 2)
        sampling = msgspec.structs.replace(self.request.sampling, max_tokens=longest, stop=())
        options = dict(self.request.template_options) | ({"enable_thinking": False} if self.thinking == "off" else {})
        return replace(
            self.request,
            grammar="",
            messages=(*head, *before, *part, Message("user", QUESTION)),
            sampling=sampling,
            template_options=tuple(options.items()),
            thinking=self.thinking,
            continue_last=False,
        )

    def _ask(
        self, engine: Engine, request: TurnRequest, show: Callable[[str], None], cancelled: Callable[[], bool]
    ) -> str:
        said: list[str] = []
        show("")
        for event in engine.turn(request, self.control, cancelled):
            match event:
                case Prefilling():
                    self.reading = event
                    show("")
                case TextDelta(text, "answer"):
                    self.reading = None
                    said.append(text)
                    show("".join(said))
                case Failed(message, hint):
                    raise EngineError(message, hint=hint)
                case Finished():
                    said = [event.message.content]
                case _:
                    pass
        text = "".join(said).strip()
        if not text and not cancelled():
            raise EngineError("The model has written no summary.", hint="/compact asks it once more.")
        return text


def split(said: Sequence[Message], sizes: Sequence[int], room: int, keep: int | None) -> int:
    """Place of the first message that stays.

    Args:
        room: tokens that the turns which stay may take, if `keep` does not say how many.

    Raises:
        CommandError: nothing would be left to summarise.
    """
    starts = turn_starts([message.role for message in said])
    if keep is None:
        fits = (at for at in starts[1:] if sum(sizes[at:]) <= room)
        start = next(fits, starts[-1] if starts else 0)
    else:
        start = starts[-keep] if 0 < keep <= len(starts) else len(said) if keep == 0 else 0
    if start == 0:
        raise CommandError("There is nothing older to summarise", hint="/compact 0 summarises all of the chat.")
    return start


def rounds(older: Sequence[Message], sizes: Sequence[int], room: int) -> list[Sequence[Message]]:
    """The older messages in parts that can be read at once, cut between turns.

    Raises:
        ContextFull: a single turn is too large for that.
    """
    starts = [*turn_starts([message.role for message in older]), len(older)]
    parts: list[Sequence[Message]] = []
    begin = 0
    for start, end in pairwise(starts):
        if sum(sizes[start:end]) > room:
            raise ContextFull(
                f"One turn of this chat takes {sum(sizes[start:end]):,} tokens, too many to be summarised.",
                hint="/context drop leaves it out; a larger context is set with -c.",
            )
        if sum(sizes[begin:end]) > room:
            parts.append(older[begin:start])
            begin = start
    parts.append(older[begin:])
    return parts


def summary_messages(summary: str) -> tuple[Message, Message]:
    """A summary as part of a conversation: the question and its answer."""
    return Message("user", QUESTION), Message("assistant", summary)


def compacted(said: Sequence[Message], start: int, summary: str) -> tuple[Message, ...]:
    """The conversation with a summary in place of what came before `start`."""
    return (*summary_messages(summary), *said[start:])


def _summary_tokens(context: int) -> int:
    return max(min(int(context * _SUMMARY), _MOST_SUMMARY), 1)


def _counted(progress: Progress, done: int, total: int) -> Callable[[str], None]:
    return lambda text: progress(text, done + 1, total)
