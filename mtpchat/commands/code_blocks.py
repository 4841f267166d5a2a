"""Code in an answer: found as it is shown, in lists and quotations, too, and called as its author meant it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_NAMED = re.compile(r"""(?:title|file|filename|name)\s*[=:]\s*["']?([^"'\s,}]+)""")
_COMMENTED = re.compile(r"\s*(?:#|//|--|;|%|/\*|<!--)\s*([\w./\\-]+\.\w{1,8})\s*(?:\*/|-->)?\s*$")
_PLAIN_NAME = re.compile(r"\w[\w.-]{0,80}\Z")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One block.

    Attributes:
        info: what stands behind the opening fence: the language, and what else its author had to say.
        code: the lines between the fences, without the last line end.
    """

    info: str
    code: str

    @property
    def language(self) -> str:
        """The language it names, or ""."""
        return self.info.split()[0].split("{")[0].split(":")[0].casefold() if self.info.strip() else ""

    @property
    def lines(self) -> int:
        """How many there are."""
        return self.code.count("\n") + 1

    @property
    def own_name(self) -> str:
        """The file's name that the block gives itself, behind the fence or in a comment at its top, or "".

        A name, never a path: an answer must not choose where on the disk something is written.
        """
        found = _NAMED.search(self.info) or _COMMENTED.match(self.code.partition("\n")[0])
        name = found[1].replace("\\", "/").rpartition("/")[2] if found else ""
        return name if _PLAIN_NAME.match(name) else ""


def code_blocks(markdown: str) -> list[CodeBlock]:
    """All code blocks of a text, in order; one that is not closed goes on to the end (CommonMark 4.5).

    A text that is JSON as a whole, as answers held to a schema are, is one block.
    """
    if _is_json(markdown):
        return [CodeBlock("json", markdown.strip())]
    if not any(sign in markdown for sign in ("```", "~~~", "    ", "\t")):
        return []
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark", {"html": False}).parse(markdown)
    return [
        CodeBlock(token.info.strip(), token.content.removesuffix("\n"))
        for token in tokens
        if token.type in ("fence", "code_block")
    ]


def _is_json(text: str) -> bool:
    """Whether all of it is an object or a list."""
    if not (text.lstrip()[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
