"""A conversation as a file: Markdown to read, JSON to go on working with."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from pathlib import Path

from mtpchat import __version__
from mtpchat.attachments.framing import fence_for, printable_name
from mtpchat.errors import CommandError
from mtpchat.messages import Attachment, Message

SUFFIXES = (".md", ".markdown", ".json")


@dataclass(frozen=True, slots=True)
class Exported:
    """What goes into the file. `model` and `system` are "" when there is none."""

    model: str
    system: str
    messages: tuple[Message, ...]


def render(path: Path, chat: Exported) -> str:
    """The text of the file, by the suffix of `path`. Raises CommandError for another suffix."""
    suffix = path.suffix.casefold()
    if suffix == ".json":
        return as_json(chat)
    if suffix in SUFFIXES:
        return as_markdown(chat)
    raise CommandError(f"No format is known for {path.name}", hint=f"the name ends in {', '.join(SUFFIXES)}.")


def as_json(chat: Exported) -> str:
    """One object: program, version, model, system and messages (role, content, thinking, complete, attachments)."""
    content = {
        "program": "mtpchat",
        "version": __version__,
        "model": chat.model,
        "system": chat.system,
        "messages": [_as_object(one) for one in chat.messages],
    }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _as_object(one: Message) -> dict[str, object]:
    said = {"role": one.role, "content": one.content, "thinking": one.thinking, "complete": one.complete}
    files = [{"name": file.name, "text": file.text} for file in one.attachments]
    return {**said, "attachments": files} if files else said


def as_markdown(chat: Exported) -> str:
    """A heading for each message; thinking folds away; an answer that was cut off says so."""
    parts = [f"# Chat with {chat.model}" if chat.model else "# Chat"]
    if chat.system:
        parts.append(f"## System\n\n{chat.system}")
    parts.extend(_section(one) for one in chat.messages)
    return "\n\n".join(parts) + "\n"


def _section(one: Message) -> str:
    parts = [{"user": "## You", "assistant": "## Answer", "system": "## System"}[one.role]]
    if one.thinking:
        parts.append(f"<details><summary>Thinking</summary>\n\n{one.thinking.strip()}\n\n</details>")
    parts.append(one.content.strip("\n"))
    parts.extend(_file(file) for file in one.attachments)
    if not one.complete:
        parts.append("*(stopped here)*")
    return "\n\n".join(parts)


def _file(file: Attachment) -> str:
    """A file that folds away; its name cannot be taken for HTML, nor its text for the end of the block."""
    fence, end = fence_for(file.text), "" if file.text.endswith("\n") else "\n"
    name = html.escape(printable_name(file.name), quote=False)
    return f"<details><summary>{name}</summary>\n\n{fence}\n{file.text}{end}{fence}\n\n</details>"
