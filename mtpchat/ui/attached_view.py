"""Files of a message as one line each, and what the prompt would send as one line below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from mtpchat.gguf.cursor import human_size
from mtpchat.messages import Attachment
from mtpchat.ui import format as numbers
from mtpchat.ui.safe_text import safe_line

SIGN = "▤"
_BYTES_PER_TOKEN = 4
"""A rule of thumb for what nobody has counted yet; figures made with it have a ~."""
_SHOWN_FILES = 6


@dataclass(frozen=True, slots=True)
class Preview:
    """What the prompt would send.

    Attributes:
        files: name and bytes of each file.
        tokens: of all of them together; None when nobody has counted.
        context: tokens that the model's memory holds, 0 when that is not known.
        note: how a file was read, when that is worth a word.
        trouble: why it cannot be sent as it is, or "".
        needed: tokens of all that would be read, the chat included; None when nobody has counted.
        missing: of words that look like files and stay text, a sentence each.
    """

    files: tuple[tuple[str, int], ...] = ()
    tokens: int | None = None
    context: int = 0
    note: str = ""
    trouble: str = ""
    needed: int | None = None
    missing: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to say."""
        return not (self.files or self.trouble or self.missing)


def size_of(size: int) -> str:
    """`3.1 kB`."""
    return human_size(size).replace(" bytes", " B")


def text_size(attachment: Attachment) -> int:
    """Bytes of its text."""
    return len(attachment.text.encode("utf-8", "replace"))


def about_tokens(size: int) -> str:
    """`~800 tokens`, roughly what so many bytes of text take."""
    tokens = max(1, size // _BYTES_PER_TOKEN)
    return f"~{numbers.count(tokens)} token{'s' if tokens != 1 else ''}"


def file_lines(attachments: Sequence[Attachment], tokens: Sequence[int | None] = ()) -> Content:
    """`▤ notes.md · 3.1 kB · 812 tokens`, a line for each file of a message; many are told by their number.

    Args:
        tokens: of each file, as far as they were counted.
    """
    lines = [
        _file_line(one, tokens[at] if at < len(tokens) else None) for at, one in enumerate(attachments[:_SHOWN_FILES])
    ]
    rest = attachments[_SHOWN_FILES:]
    if rest:
        size = sum(map(text_size, rest))
        lines.append(Content(f"{SIGN} {len(rest)} more · {size_of(size)} · {about_tokens(size)}"))
    return Content("\n").join(lines)


def _file_line(attachment: Attachment, tokens: int | None) -> Content:
    size = text_size(attachment)
    count = _counted(tokens) if tokens is not None else about_tokens(size)
    return Content(f"{SIGN} {safe_line(attachment.name)} · {size_of(size)} · {count}")


def preview_content(preview: Preview, width: int) -> Content:
    """The line under the prompt, for so many cells; "" when nothing would go along."""
    if preview.trouble:
        trouble = Content.styled(f"{SIGN} {safe_line(preview.trouble)}", "$mt-warning")
        return trouble.truncate(max(width, 0), ellipsis=True)
    if not preview.files:
        missing = Content.styled(f"{SIGN} {safe_line(_missing(preview, width - 2))}", "$mt-warning")
        return missing.truncate(max(width, 0), ellipsis=True) if preview.missing else Content()
    names = [f"{safe_line(name)} {size_of(size)}" for name, size in preview.files]
    total = sum(size for _name, size in preview.files)
    whole = f"{names[0]}" if len(names) == 1 else f"{len(names)} files {size_of(total)}"
    heads = [" · ".join(names), whole] if len(names) <= _SHOWN_FILES else [whole]
    tails = _tails(preview)
    for tail in tails:
        for head in heads:
            line = Content.assemble(Content.styled(f"{SIGN} {head}", "$mt-muted"), tail)
            if line.cell_length <= width:
                return line
    room = max(width - tails[-1].cell_length - 2, 8)
    head_line = Content.styled(whole, "$mt-muted").truncate(room, ellipsis=True)
    line = Content.assemble(Content.styled(f"{SIGN} ", "$mt-muted"), head_line, tails[-1])
    return line.truncate(max(width, 0), ellipsis=True)


def _tails(preview: Preview) -> list[Content]:
    """What is said behind the names, the longest first."""
    total = sum(size for _name, size in preview.files)
    words = about_tokens(total) if preview.tokens is None else _counted(preview.tokens)
    line = Content.styled(f" · {words}", "$mt-muted")
    excess = _excess(preview, total // _BYTES_PER_TOKEN if preview.tokens is None else preview.tokens)
    if excess:
        return [Content.assemble(line, Content.styled(f" · {one}", "$mt-warning")) for one in excess]
    if preview.missing:
        told = (_missing(preview, 10_000), preview.missing[0], preview.missing[0].partition("; ")[0])
        return [Content.assemble(line, Content.styled(f" · {safe_line(one)}", "$mt-warning")) for one in told]
    noted = Content.assemble(line, Content.styled(f" · {safe_line(preview.note)}", "$mt-muted"))
    return [noted, line] if preview.note else [line]


def _missing(preview: Preview, width: int) -> str:
    """What stays text: all of it, or as much as has room."""
    whole = " · ".join(preview.missing)
    return whole if len(whole) <= width or not preview.missing else preview.missing[0]


def _excess(preview: Preview, tokens: int) -> tuple[str, ...]:
    """What to say when it is more than the model can read at once, the longest first."""
    if not preview.context:
        return ()
    holds = f"the context holds {preview.context:,}"
    if tokens >= preview.context:
        return f"{holds}: send a part, or set a larger -c", f"{holds}: send a part", "too large"
    if preview.needed is not None and preview.needed >= preview.context:
        with_chat = f"with the chat {preview.needed:,}"
        return f"{with_chat}, {holds}: /compact, or a larger -c", f"{with_chat}: /compact", "context full"
    return ()


def _counted(tokens: int) -> str:
    return f"{tokens:,} token{'s' if tokens != 1 else ''}"
