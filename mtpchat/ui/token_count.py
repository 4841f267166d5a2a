"""How many tokens would be sent, counted by the model's own tokenizer while nobody else wants the engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from textual.timer import Timer
from textual.widget import Widget

from mtpchat.commands.registry import is_command
from mtpchat.errors import MtpChatError
from mtpchat.events import Measured
from mtpchat.ui.chips import Written
from mtpchat.ui.work import start_work

_AFTER_S = 0.25
HOPELESS = 24
"""No text has so many letters per token: one with more of them than the context could hold is not even counted."""


@dataclass(frozen=True, slots=True)
class Pending:
    """What would be sent now.

    Attributes:
        tokens: of the new message with what it brings; None for more than the context could ever hold.
        whole: of the whole request, the chat and the template included; 0 when that is not known.
    """

    tokens: int | None
    whole: int = 0


class TokenCount:
    """Counts a moment after typing stops.

    Args:
        owner: a widget that lives as long as the app.
        measure: how much the chat with a message would take. Raises MtpChatError, e.g. while an answer runs.
        context: tokens that the model's memory holds; 0 while nothing is loaded or something runs.
        state: what the count depends on beside the text: chat, model.
        show: shows what was counted; None takes it away.
    """

    def __init__(
        self,
        owner: Widget,
        measure: Callable[[Written], Awaitable[Measured]],
        context: Callable[[], int],
        state: Callable[[], object],
        show: Callable[[Pending | None], None],
    ) -> None:
        self._owner = owner
        self._measure = measure
        self._context = context
        self._state = state
        self._show = show
        self._timer: Timer | None = None
        self._wanted = Written("")
        self._shown: Pending | None = None
        self._counted: tuple[Written, object] | None = None

    def follow(self, written: Written) -> None:
        """The text of the prompt is this now."""
        self._wanted = written
        context = self._context()
        if not context or not written.text.strip() or is_command(written.text):
            self.forget()
        elif len(written.text) > HOPELESS * context:
            self.forget()
            self._tell(Pending(None))
        elif (written, self._state()) != self._counted and self._owner.is_attached:
            self._stop()
            self._timer = self._owner.set_timer(_AFTER_S, self._begin)

    def forget(self) -> None:
        """What was counted does not hold any more, e.g. because an answer begins or the chat has changed."""
        self._stop()
        self._counted = None
        self._tell(None)

    def _begin(self) -> None:
        self._timer = None
        start_work(self._owner, partial(self._count, self._wanted), "tokens", exclusive=True)

    async def _count(self, written: Written) -> None:
        try:
            measured = await self._measure(written)
        except MtpChatError:  # something has begun meanwhile; what it tells about the context is newer
            return
        if written == self._wanted and self._context():
            self._counted = written, self._state()
            self._tell(Pending(measured.per_message[-1] if measured.per_message else 0, measured.prompt_tokens))

    def _tell(self, pending: Pending | None) -> None:
        if pending != self._shown:
            self._shown = pending
            self._show(pending)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
