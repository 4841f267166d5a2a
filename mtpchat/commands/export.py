"""Chats as files: Markdown and HTML to read, JSON to go on working with, JSONL to train with."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mtpchat.attachments.framing import fence_for, printable_name
from mtpchat.errors import CommandError
from mtpchat.messages import Attachment, Message
from mtpchat.paths import ensure_dir
from mtpchat.whole_chat import WholeChat, model_of, said_in, shown, system_of

FORMS = {".md": "md", ".markdown": "md", ".json": "json", ".jsonl": "jsonl", ".html": "html", ".htm": "html"}
"""Suffix of a file -> format."""
SUFFIXES = tuple(FORMS)
_TOLD = ".md, .json, .jsonl or .html"


@dataclass(frozen=True, slots=True)
class Exported:
    """A branch as it is read. `model`, `system` and the `title` that was given are "" when there is none."""

    model: str
    system: str
    messages: tuple[Message, ...]
    title: str = ""


def form_of(path: Path) -> str:
    """The format of a file by its suffix: "md", "json", "jsonl" or "html". Raises CommandError for another suffix."""
    form = FORMS.get(path.suffix.casefold())
    if form is None:
        raise CommandError(f"No format is known for {path.name}", hint=f"The name ends in {_TOLD}.")
    return form


def render(form: str, chats: Sequence[WholeChat]) -> str:
    """The text of a file with these chats: all branches in JSON, the one that is shown in the other formats."""
    match form:
        case "json":
            from mtpchat.exchange.own import as_json

            return as_json(chats)
        case "jsonl":
            from mtpchat.exchange.share_gpt import as_lines

            return as_lines(chats)
        case "html":
            from mtpchat.exchange.page import as_html

            return as_html(chats)
        case _:
            return "\n".join(as_markdown(_shown(chat)) for chat in chats)


def place_for(path: Path, *, replace: bool, hints: tuple[str, str]) -> None:
    """Make sure that an export may be written there; nothing is replaced and no folder made unasked.

    Args:
        replace: also where there is a file, or no folder yet.
        hints: what says how to do it all the same: where there is a file, and where there is no folder.

    Raises:
        CommandError: there is a file, or no folder.
        StorageError: the folder cannot be made.
    """
    if os.path.isdir(path):
        raise CommandError(f"{path} is a folder", hint=f"As in: {path / 'chat.md'}")
    if os.path.lexists(path) and not replace:
        raise CommandError(f"{path} exists already", hint=hints[0])
    if not os.path.isdir(path.parent):
        if not replace:
            raise CommandError(f"There is no folder {path.parent}", hint=hints[1])
        ensure_dir(path.parent)


def _shown(chat: WholeChat) -> Exported:
    title = " ".join(chat.title.split()) if chat.named else ""
    return Exported(model_of(chat), system_of(chat), tuple(map(said_in, shown(chat))), title)


def as_markdown(chat: Exported) -> str:
    """A heading for each message; thinking folds away; an answer that was cut off says so."""
    about = f"Chat with {chat.model}" if chat.model else "Chat"
    parts = [f"# {chat.title}\n\n{about}" if chat.title else f"# {about}"]
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
