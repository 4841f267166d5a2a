"""What the engine can be asked, and the synchronous engine behind the thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import KeepThinking, SamplingConfig, ThinkingLevel
from mtpchat.events import Measured, ModelFacts, SpeculationControl, TurnEvent, Worked
from mtpchat.messages import Message


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One answer to be generated.

    Attributes:
        messages: the conversation, system message first if there is one. The last one is the user's, or, with
            `continue_last`, the assistant's incomplete answer that is to be carried on.
        sampling: how to choose tokens; its seed is >= 0 here (the session has drawn one).
        continue_last: carry on the last message instead of starting a new one.
        template_options: passed to the chat template, e.g. {"enable_thinking": False}; they go before `thinking`.
        thinking: whether, or how much, to think, in whatever words the template knows for it.
        grammar: GBNF that the answer, without its thoughts, has to follow; "" for none.
        keep_thinking: which earlier thoughts go into the prompt.
    """

    messages: tuple[Message, ...]
    sampling: SamplingConfig
    continue_last: bool = False
    template_options: tuple[tuple[str, object], ...] = ()
    chat: str = ""
    thinking: ThinkingLevel = "auto"
    keep_thinking: KeepThinking = "auto"
    grammar: str = ""


class Engine(Protocol):
    """Everything that happens on the engine thread, without knowing about threads."""

    def load(
        self, plan: LoadPlan, progress: Callable[[str, float, int], None], cancelled: Callable[[], bool]
    ) -> ModelFacts:
        """Replace what is loaded. Raises ModelError or DrafterError; then nothing is loaded."""
        ...

    def turn(
        self, request: TurnRequest, control: Callable[[], SpeculationControl], cancelled: Callable[[], bool]
    ) -> Iterator[TurnEvent]:
        """Generate one answer. `control` and `cancelled` are read before every step. Ends with Finished or Failed.

        Ordinary faults become Failed; only programming errors raise.
        """
        ...

    def measure(self, request: TurnRequest, cancelled: Callable[[], bool]) -> Measured:
        """How much of the context a request would take, without decoding anything.

        Raises:
            EngineError, TemplateError: no model, or the template refuses.
            Interrupted: `cancelled` became True.
        """
        ...

    def rest(self, cancelled: Callable[[], bool]) -> None:
        """Nothing was wanted for a while: time for what can be done ahead. Ends soon once `cancelled` is True."""
        ...

    def close(self) -> None:
        """Free everything native."""
        ...


Progress = Callable[[str, int, int], None]
"""Told what was done last, how many parts are done, and of how many; see events.Working."""

Task = Callable[[Engine, Progress, Callable[[], bool]], Worked]
"""A job over the loaded model that is no turn, e.g. verifying it. It runs on the engine thread and leaves the engine
ready for the next turn, however it ends. Its last argument is polled; once that is True it is to end soon, with what it
has. May raise MtpChatError."""
