"""What holds for one chat: the settings unless something else was chosen for it, and what of it the model reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import msgspec

from mtpchat.chats import ChatOptions
from mtpchat.config import Config, Overflow, SamplingConfig, ThinkingLevel
from mtpchat.config_schema import template_values
from mtpchat.engine.conversation import Conversation
from mtpchat.engine.overflow import Cut, turn_starts
from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.room import Fitted, Measure, fitted, without
from mtpchat.events import Measured
from mtpchat.messages import Attachment, Message
from mtpchat.structured.forms import ANY_FORM, AnswerForm

_ANY = "off"


class ChatTerms:
    """The terms of the chat that is going on.

    Args:
        settings: those in force, and the system message.
        measure: tells how much of the context a request would take.

    Attributes:
        given: form of the answers in chats for which no other was chosen.
    """

    def __init__(self, talk: Conversation, settings: Callable[[], tuple[Config, str]], measure: Measure) -> None:
        self._talk = talk
        self._settings = settings
        self._measure = measure
        self.given = ANY_FORM

    @property
    def options(self) -> ChatOptions:
        """What was chosen for this chat alone."""
        return self._talk.options

    def choose(self, **options: object) -> None:
        """Choose something for this chat alone, by the names of ChatOptions; it is kept with the chat."""
        self._talk.choose(msgspec.structs.replace(self.options, **options))

    @property
    def overflow(self) -> Overflow:
        """What is done when the chat does not fit into the context any more."""
        return cast(Overflow, self.options.overflow) or self._settings()[0].chats.overflow

    @property
    def thinking(self) -> ThinkingLevel:
        """Whether, or how much, the model is asked to think."""
        return cast(ThinkingLevel, self.options.thinking) or self._settings()[0].model.thinking

    @property
    def form(self) -> AnswerForm:
        """What answers have to look like."""
        chosen = self.options
        if not chosen.form:
            return self.given
        return ANY_FORM if chosen.form == _ANY else AnswerForm(chosen.form, chosen.grammar)

    def choose_form(self, form: AnswerForm | None) -> None:
        """Choose the form of answers for this chat; None is any."""
        self.choose(form=form.name if form else _ANY, grammar=form.grammar if form else "")

    @property
    def unread(self) -> range:
        """Places of the messages that the model does not read any more; none once nothing is to be left out."""
        start = self.options.read_from if self.overflow == "drop" else 0
        starts = turn_starts([message.role for message in self._talk.messages]) if start else []
        return range(starts[1], start) if start in starts[1:] else range(0)

    def request(
        self,
        seed: int = 0,
        sampling: SamplingConfig | None = None,
        *,
        continue_last: bool = False,
        further: Sequence[Message] = (),
    ) -> TurnRequest:
        """What would be asked of the engine now, whether or not there is room for it.

        Args:
            sampling: settings for this answer alone; None is those of the chat.
            further: what would be said behind the branch that is shown.
        """
        config, system = self._settings()
        head = (Message("system", system),) if system.strip() else ()
        return TurnRequest(
            messages=(*head, *self._talk.messages, *further),
            sampling=msgspec.structs.replace(sampling or config.sampling, seed=seed),
            continue_last=continue_last,
            template_options=tuple(template_values(config.model, self.thinking).items()),
            thinking=self.thinking,
            keep_thinking=config.chats.keep_thinking,
            grammar=self.form.grammar,
        )

    async def measure(self, text: str = "", attachments: Sequence[Attachment] = ()) -> Measured:
        """How much of the context the chat takes, with a message that would be sent now if there is one.

        What was left out is counted as left out. Raises as EngineService.measure does.
        """
        further = [Message("user", text, attachments=tuple(attachments))] if text.strip() or attachments else []
        request, unread = self.request(further=further), self.unread
        if unread:
            request = replace(request, messages=without(request.messages, Cut(unread.start, unread.stop)))
        return await self._measure(request)

    async def fit(self, request: TurnRequest) -> Fitted:
        """What of a request there is room for; remembered, so that the next turn leaves out the same.

        Raises:
            ContextFull, EngineError, TemplateError: see `fitted`.
        """
        fit = await fitted(request, self.overflow, self.options.read_from, self._measure)
        self.choose(read_from=fit.cut.start if fit.cut.count else 0)
        return fit

    async def weigh(self, attachments: Sequence[Attachment]) -> tuple[int, ...]:
        """Tokens of each file's text. Raises EngineError while busy or without a model."""
        files = tuple(Message("user", "", attachments=(one,)) for one in attachments)
        return (await self._measure(TurnRequest(files, self._settings()[0].sampling))).attached
