"""What was said: the conversation as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text that a message brings along, e.g. a file. `name` is what people and the model call it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes:
        role: who speaks.
        content: the text, without the thinking.
        thinking: what stood between the thinking tags, or "".
        complete: False for an answer that was stopped or ran out of room; it can be continued.
        attachments: what goes to the model together with the text.
    """

    role: Role
    content: str
    thinking: str = ""
    complete: bool = True
    attachments: tuple[Attachment, ...] = ()
