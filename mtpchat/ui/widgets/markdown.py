"""Markdown as a chat needs it: nothing vanishes, nothing is guessed, nothing reaches the terminal that should not.

Raw HTML is shown as it was written, single line ends stay line ends, pictures become their address, and what an
entity such as `&#13;` decodes to is made harmless like all other text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pygments.token import Token as _T  # type: ignore[import-untyped]
from textual import on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.await_remove import AwaitRemove
from textual.content import Content
from textual.highlight import HighlightTheme, highlight
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Label, Markdown
from textual.widgets._markdown import MarkdownBlock, MarkdownFence

from mtpchat.commands.clipboard import amount
from mtpchat.one_line import short
from mtpchat.ui.cells import padded
from mtpchat.ui.provenance import Marks, places, underlined
from mtpchat.ui.safe_text import safe_line, safe_text
from mtpchat.ui.widgets.growing import Growing
from mtpchat.ui.widgets.table import ChatTable, inner_blocks

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token


_COPY = "copy"
_TOLD = 120
"""Letters of an address in a sentence."""
_AT_ONCE = 2
"""Blocks that are made in one go, about 10 ms, or 20 for a list."""


def chat_parser() -> MarkdownIt:
    """The parser for everything that is shown."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    parser.core.ruler.push("chat", _settle_tokens)
    return parser


def _settle_tokens(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in ("fence", "code_block"):
            token.content = safe_text(token.content)
        for child in token.children or ():
            _settle(child)


def _settle(token: Token) -> None:
    if token.type == "softbreak":
        token.type = "hardbreak"
    elif token.type == "image":
        address = str(token.attrs.get("src", ""))
        words = safe_line(token.content)
        token.type, token.content = "text", f"{words} ({address})" if words else address
    elif token.type == "link_open":
        token.attrs["href"] = safe_line(str(token.attrs.get("href", "")))
    token.content = safe_text(token.content)


class CodeTheme(HighlightTheme):
    """Code in few colours, all of them the theme's."""

    STYLES = {  # noqa: RUF012  declared by the base class
        _T.Comment: "$mt-muted italic",
        _T.Keyword: "$mt-keyword",
        _T.Operator.Word: "$mt-keyword",
        _T.Literal.Number: "$mt-number",
        _T.Literal.String: "$mt-string",
        _T.Name.Function: "$mt-name",
        _T.Name.Class: "$mt-name bold",
        _T.Name.Decorator: "$mt-name",
        _T.Name.Tag: "$mt-keyword",
        _T.Name.Attribute: "$mt-name",
        _T.Name.Constant: "$mt-number",
        _T.Keyword.Constant: "$mt-number",
        _T.Generic.Heading: "bold",
        _T.Generic.Inserted: "$mt-gain",
        _T.Generic.Deleted: "$mt-loss",
    }


class CodeBlock(Growing, MarkdownFence):
    """Code on a ground of its own, with its language and a word to copy it."""

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:
        """Colours by the language that the fence names; without one, none: a guess is slow and often wrong."""
        return highlight(code, language=language.partition(" ")[0] or "text", theme=CodeTheme, tab_size=4)

    marks: tuple[list[int], Marks] | None = None
    """Where each character of the code stands in the answer, and what of that had been guessed."""

    def underline(self, where: list[int], marks: Marks) -> None:
        """Mark what had been guessed, also when the theme changes."""
        self.marks = where, marks
        self._highlighted_code = underlined(self._highlighted_code, where, marks)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.marks is not None:
            self.underline(*self.marks)
            self.set_content(self._highlighted_code)

    def _copy_context(self, block: MarkdownBlock) -> None:
        super()._copy_context(block)
        if isinstance(block, CodeBlock):
            self.marks = block.marks

    def compose(self) -> ComposeResult:
        yield CodeHead(safe_line(self.lexer).partition(" ")[0], self.code)
        yield CodeText(self._highlighted_code, id="code-content", expand=True, markup=False)


class CodeText(Growing, Label):
    """The lines of a code block."""


class CodeHead(Growing, Widget):
    """The line above code: its language at the left, `copy` at the right."""

    def __init__(self, language: str, code: str = "") -> None:
        super().__init__()
        self._language = language
        self._code = code

    def show(self, language: str) -> None:
        """Name another language."""
        if language != self._language:
            self._language = language
            self.refresh()

    def render(self) -> Content:
        """The line for the width there is."""
        room = max(self.content_size.width - len(_COPY) - 1, 1)
        language = Content(self._language or "text").truncate(room, ellipsis=True)
        if not self._code:
            return language
        return Content.assemble(
            padded(language, room + 1), Content(_COPY).stylize(Style.from_meta({"@click": "copy_code"}))
        )

    def action_copy_code(self) -> None:
        """Put the block's code on the clipboard."""
        self.app.copy_to_clipboard(self._code)
        self.app.notify(f"Copied {amount(self._code)}", timeout=2, markup=False)


class ChatMarkdown(Growing, Markdown):
    """A document from a model. Links are never opened by themselves: a click copies the address."""

    BLOCKS = {  # noqa: RUF012  declared by the base class
        **Markdown.BLOCKS,
        "fence": CodeBlock,
        "code_block": CodeBlock,
        "table_open": ChatTable,
    }
    BULLETS = ["• ", "◦ ", "▪ "]  # noqa: RUF012  declared by the base class

    def __init__(self, text: str | None = None, *, classes: str | None = None) -> None:
        super().__init__(text, classes=classes, parser_factory=chat_parser, open_links=False)
        self.marks: Marks | None = None
        """Guessed text that is to be marked from the next update on; positions are those of the answer."""
        self.begins_at = 0
        """Where the source begins in the answer."""
        self._first_line = 0

    def update(self, markdown: str) -> AwaitComplete:
        self._first_line = 0
        return super().update(markdown)

    def append(self, markdown: str) -> AwaitComplete:
        self._first_line = self._last_parsed_line
        self._settle_blocks()
        return super().append(markdown)

    async def fill(self, markdown: str) -> None:
        """Show a document that is not shown yet, a few blocks at a time: the screen is not kept waiting."""
        self._theme, self._first_line = self.app.theme, 0
        self._markdown = markdown
        async with self.lock:
            tokens = await asyncio.get_running_loop().run_in_executor(None, chat_parser().parse, markdown)
            batch: list[MarkdownBlock] = []
            for block in self._parse_markdown(tokens):
                batch.append(block)
                if len(batch) == _AT_ONCE:
                    await self.mount_all(batch)
                    batch.clear()
                    await asyncio.sleep(0)
            if batch:
                await self.mount_all(batch)
        lines = markdown.splitlines()
        self._last_parsed_line = len(lines) - (1 if lines and lines[-1] else 0)

    def empty(self) -> None:
        """Let go of all blocks; `fill` brings them back."""
        self.call_later(self._forget, self.remove_children())

    async def _forget(self, removing: AwaitRemove) -> None:
        """Textual keeps what it last displayed and arranged here, and all that hangs on it, until it is asked again."""
        await removing
        _ = self._nodes.displayed_and_visible
        self._clear_arrangement_cache()

    def _settle_blocks(self) -> None:
        """Blocks that are neither first nor last, and will never be, need no new styles for each one that comes.

        Textual styles every block again whose rules look at its place: in a long answer that took more time than all
        painting together.
        """
        for block in self.children[1:-2]:
            block._has_order_style = False

    def _parse_markdown(self, tokens: Iterable[Token]) -> Iterator[MarkdownBlock]:
        marks = self.marks
        if marks is None:
            yield from super()._parse_markdown(tokens)
            return
        lines = self.source.split("\n")
        offset, line = self.begins_at, 0
        for block in super()._parse_markdown(tokens):
            first, last = (number + self._first_line for number in block.source_range)
            offset += sum(len(text) + 1 for text in lines[line:first])
            line = first
            _underline(block, "\n".join(lines[first:last]), offset, marks)
            yield block

    @on(Markdown.LinkClicked)
    def _copy_link(self, event: Markdown.LinkClicked) -> None:
        event.stop()
        self.app.copy_to_clipboard(event.href)
        self.app.notify(f"Link copied: {short(safe_text(event.href), _TOLD)}", timeout=3, markup=False)


def _underline(block: MarkdownBlock, source: str, offset: int, marks: Marks) -> None:
    """Mark guessed text in a block that is not on the screen yet, and in those inside it."""
    at = 0
    for leaf in (block, *inner_blocks(block)):
        content = leaf._highlighted_code if isinstance(leaf, CodeBlock) else leaf._content
        if not content.plain:
            continue
        if isinstance(leaf, CodeBlock) and source[at:].lstrip(" >").startswith(("```", "~~~")):
            at = source.find("\n", at) + 1
        found = places(content.plain, source, at)
        at = max([at, *(place + 1 for place in found)])
        where = [place + offset if place >= 0 else -1 for place in found]
        if isinstance(leaf, CodeBlock):
            leaf.underline(where, marks)
        else:
            leaf.set_content(underlined(content, where, marks))
