"""An answer while it comes in, and what of it belongs into the conversation."""

from __future__ import annotations

from dataclasses import replace

from mtpchat.config import SamplingConfig
from mtpchat.events import Finished, TextDelta
from mtpchat.messages import Message


class Answer:
    """An answer while it comes in.

    Args:
        seed: what it is drawn with.
        sampling: settings for this answer alone, or None for those of the chat.
        begun: the unfinished message that it carries on.
        back_to: leaf of the branch to return to if nothing is said; None stays where the question was asked.

    Attributes:
        kept: it is part of the conversation already.
        model: what the model that says it calls itself, or "".
    """

    def __init__(
        self,
        seed: int,
        sampling: SamplingConfig | None = None,
        *,
        begun: Message | None = None,
        back_to: str | None = None,
    ) -> None:
        self.seed, self.sampling, self.begun, self.back_to = seed, sampling, begun, back_to
        self.kept = False
        self.model = ""
        self._content = [begun.content] if begun is not None else []
        self._thinking = [begun.thinking] if begun is not None else []
        self._finished: Message | None = None

    def add(self, delta: TextDelta) -> None:
        (self._content if delta.channel == "answer" else self._thinking).append(delta.text)

    def finish(self, event: Finished) -> Message:
        """The whole message; a continued one is put together from its deltas, since the engine knows only its part."""
        message = event.message
        if self.begun is not None:
            message = replace(self._so_far(), complete=message.complete)
        self._finished = message
        return message

    def partial(self) -> Message | None:
        """What was said so far, or None."""
        message = self._so_far()
        return message if message.content or message.thinking else None

    def result(self) -> Message | None:
        """What belongs into the conversation, or None when nothing was said."""
        done = self._finished
        if done is not None and (done.complete or done.content or done.thinking):
            return done
        return self.partial()

    def _so_far(self) -> Message:
        return Message("assistant", "".join(self._content), "".join(self._thinking), complete=False)
