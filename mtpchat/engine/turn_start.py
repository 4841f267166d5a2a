"""Where in a prompt the last message of the user begins, for memories that cannot be cut anywhere.

All before that place stays as it is when the message is put differently, also where a template shows earlier answers
without their thoughts. Templates are not taken apart for it: two texts of the same conversation, told apart by one
character, say where that character stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mtpchat.engine.requests import TurnRequest
from mtpchat.errors import MtpChatError


def before_last_message(request: TurnRequest, stable: str, write: Callable[[TurnRequest], str]) -> str:
    """What of `stable` does not depend on what the last message of the user says.

    Args:
        stable: the conversation without a generation prompt.
        write: the same for another request.

    Returns:
        "" where that cannot be told, or where it is the first message of all.
    """
    messages = request.messages[:-1] if request.continue_last else request.messages
    if len(messages) < 2 or messages[-1].role != "user":
        return ""
    last = messages[-1]
    mark = "1" if last.content.lstrip().startswith("0") else "0"
    other = replace(request, messages=(*messages[:-1], replace(last, content=mark + last.content)), continue_last=False)
    try:
        return stable[: _shared(stable, write(other))]
    except MtpChatError:
        return ""


def _shared(one: str, other: str) -> int:
    """Length of the longest beginning that both have, in few comparisons of slices."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least
