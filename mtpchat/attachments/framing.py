"""How a message with files reads for the model: each file in a fence of its own below its name, then what was said.

The files come first, because what is asked is answered best right behind the question. A fence is longer than every run
of backticks inside, so that no file can end its own; names are one line of printable characters. What remains, the
texts of control tokens, is shielded like all that people write, see engine/literal.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from mtpchat.messages import Attachment, Message

_SHORTEST_FENCE = 3
_RUNS = re.compile("`+")


def fence_for(text: str) -> str:
    """Backticks that can stand around `text`: more than there are in a row within it, and three at least."""
    longest = max((len(run) for run in _RUNS.findall(text)), default=0)
    return "`" * max(_SHORTEST_FENCE, longest + 1)


def printable_name(name: str) -> str:
    """A name on one line: control characters, marks of writing direction and half characters become U+FFFD."""
    return "".join(char if char.isprintable() else "\ufffd" for char in name)


def framed(attachment: Attachment) -> str:
    """A file as the model reads it."""
    fence = fence_for(attachment.text)
    end = "" if attachment.text.endswith("\n") or not attachment.text else "\n"
    return f"File: {printable_name(attachment.name)}\n{fence}\n{attachment.text}{end}{fence}"


def with_files(content: str, attachments: Sequence[Attachment]) -> str:
    """What is said, with the files above it."""
    return "\n\n".join([*map(framed, attachments), content] if content else map(framed, attachments))


def spelled_out(message: Message) -> Message:
    """The message with its files in its text."""
    if not message.attachments:
        return message
    return replace(message, content=with_files(message.content, message.attachments), attachments=())
