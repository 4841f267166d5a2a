"""What stands below the rendered part of an answer while it grows, at a price that depends on what is new.

Prose grows in one widget. Only code and tables are made into Markdown before the end, each by itself when it closes;
prose after one of them goes on in a widget of its own.
"""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widget import Widget

from mtpchat.ui.blocks import BlockSplitter, code_parts
from mtpchat.ui.light import LightLines, RawLines
from mtpchat.ui.long_lines import bounded
from mtpchat.ui.provenance import Marks
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.widgets.growing import GrowingText, GrowingVertical
from mtpchat.ui.widgets.markdown import ChatMarkdown, CodeHead


class OpenCode(GrowingVertical):
    """Code that still grows, on the ground that it will have when it is complete."""

    def __init__(self) -> None:
        super().__init__()
        self._head = CodeHead("")
        self._body = GrowingText(RawLines(), classes="open-text")
        self._taken = 0

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._body

    def show(self, text: str, offset: int, marks: Marks | None) -> None:
        """Show code so far, its fence included.

        Args:
            offset: where it begins in the answer.
            marks: guessed text to be marked.
        """
        language, code = code_parts(text)
        if not self._taken:
            self._head.show(safe_line(language))
            self._body.restart(RawLines(offset + len(text) - len(code), marks, cut=True))
        end = code.rfind("\n", self._taken) + 1
        self._body.write(code[self._taken : end], code[max(end, self._taken) :])
        self._taken = max(end, self._taken)


class OpenEnd:
    """The growing end of an answer.

    Args:
        answer: the widget that it stands in, at the end.
    """

    def __init__(self, answer: Widget) -> None:
        self._answer = answer
        self._pieces: list[Widget] = []
        self._prose: GrowingText | None = None
        self._code: OpenCode | None = None
        self.begin(0)

    @property
    def blocks(self) -> list[ChatMarkdown]:
        """Code and tables that are complete."""
        return [piece for piece in self._pieces if isinstance(piece, ChatMarkdown)]

    def begin(self, offset: int) -> None:
        """Text will come that begins at `offset` of the answer."""
        self._offset = self._settled = offset
        self._text = ""
        self._splitter = BlockSplitter()

    async def write(self, text: str, marks: Marks | None) -> None:
        """Add text and show it.

        Args:
            marks: guessed text to be marked; positions are those of the answer.
        """
        self._text += text
        prose = ""
        for piece in self._splitter.feed(text):
            if piece.kind == "prose":
                prose = piece.text
                continue
            await self._write_prose(prose, "", marks)
            prose = ""
            await self._add_block(piece.text, marks)
        open_end, in_code = self._splitter.open, self._splitter.in_code
        await self._write_prose(prose, "" if in_code else open_end, marks)
        if in_code:
            await self._show_code(open_end, marks)

    async def show_anew(self, marks: Marks | None) -> None:
        """Show all of it with other marks."""
        text, offset = self._text, self._offset
        await self.clear()
        self.begin(offset)
        await self.write(text, marks)

    async def clear(self) -> None:
        """Take all of it away."""
        pieces, self._pieces = self._pieces, []
        self._prose = self._code = None
        await self._answer.remove_children(pieces)
        self.begin(0)

    async def _write_prose(self, settled: str, open_end: str, marks: Marks | None) -> None:
        if self._prose is None and (settled + open_end).strip():
            self._prose = GrowingText(LightLines(self._settled, marks))
            await self._add(self._prose)
        self._settled += len(settled)
        if self._prose is not None:
            self._prose.write(settled, open_end)

    async def _add_block(self, text: str, marks: Marks | None) -> None:
        """Code or a table that is complete."""
        await self._end_prose()
        if self._code is not None:
            await self._drop(self._code)
            self._code = None
        block = ChatMarkdown()
        block.marks, block.begins_at = marks, self._settled
        self._settled += len(text)
        await self._add(block)
        await block.append(bounded(text))

    async def _show_code(self, text: str, marks: Marks | None) -> None:
        if self._code is None:
            await self._end_prose()
            self._code = OpenCode()
            await self._add(self._code)
        self._code.show(text, self._settled, marks)

    async def _end_prose(self) -> None:
        prose, self._prose = self._prose, None
        if prose is None:
            return
        if prose.has_lines:
            prose.end()
        else:
            await self._drop(prose)

    async def _add(self, piece: Widget) -> None:
        self._pieces.append(piece)
        await self._answer.mount(piece)

    async def _drop(self, piece: Widget) -> None:
        self._pieces.remove(piece)
        await piece.remove()
