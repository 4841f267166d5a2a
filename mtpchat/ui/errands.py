"""Shows a job over the loaded model: one line that changes, then what came of it, with a page where there is one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, assert_never

from textual.content import Content

from mtpchat.events import Failed, Worked, Working
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.widgets.messages import ErrorBlock, Notice
from mtpchat.ui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from mtpchat.events import JobEvent


class Errands:
    """The view of such jobs.

    Args:
        show_page: shows title and Markdown.
    """

    def __init__(self, transcript: Transcript, show_page: Callable[[str, str], None]) -> None:
        self._transcript = transcript
        self._show_page = show_page

    async def follow(self, command: str, events: AsyncIterator[JobEvent]) -> None:
        """Show one job from its beginning to its end."""
        line = Notice("waiting for the engine", command=command)
        await self._transcript.add(line)
        self._transcript.to_end()
        async for event in events:
            match event:
                case Working(what, done, total):
                    _say(line, command, f"{done:,} of {total:,}{f' · {what}' if what else ''} · Esc stops")
                case Worked(said, title, page, warning):
                    _say(line, command, said)
                    line.set_class(warning, "-warning")
                    if page:
                        self._show_page(title, page)
                case Failed(message, hint):
                    _say(line, command, "ended early")
                    await self._transcript.add(ErrorBlock(message, hint))
                case _:
                    assert_never(event)


def _say(line: Notice, command: str, text: str) -> None:
    if line.is_attached:
        line.grow(Content.assemble(Content.styled(safe_line(command), "$foreground"), "  ", safe_line(text)))
