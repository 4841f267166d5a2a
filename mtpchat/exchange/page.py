"""Chats as one HTML page that stands alone: no script, nothing fetched, light and dark as the reader has it.

Texts of a chat never become markup: answers are rendered from Markdown without raw HTML, links lead to the web or to
mail only, pictures stay links, and a policy in the page forbids the browser everything but its own style.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mtpchat.attachments.framing import printable_name
from mtpchat.exchange.coloured import coloured
from mtpchat.whole_chat import Node, WholeChat, model_of, shown, system_of

if TYPE_CHECKING:
    from markdown_it.token import Token

_WHO = {"user": "You", "assistant": "Answer", "system": "System"}
_LONGEST = 200_000
"""Answers of more letters than this are shown as they are: Markdown of such a length takes long."""
_SCHEMES = ("http", "https", "mailto")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CONTROL = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
_CONTROL |= dict.fromkeys((*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")
# Halves of surrogate pairs cannot be encoded, and a page must not have what is no character and never will be.
_NONE = re.compile(
    "[\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(at + 0xFFFE) + chr(at + 0xFFFF) for at in range(0, 0x110000, 0x10000))
    + "]"
)


def as_html(chats: Sequence[WholeChat]) -> str:
    """The page; more than one chat have a list of them at its top."""
    render = _renderer()
    title = _title(chats[0]) if len(chats) == 1 else f"{len(chats)} chats"
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>",
    ]
    if len(chats) > 1:
        links = (f'<li><a href="#chat-{at}">{_title(chat)}</a></li>' for at, chat in enumerate(chats, 1))
        parts.append(f"<nav><ol>\n{''.join(links)}\n</ol></nav>")
    parts += [_chat(chat, at, render) for at, chat in enumerate(chats, 1)]
    return "\n".join([*parts, "</body>\n</html>\n"])


def _chat(chat: WholeChat, number: int, render: Callable[[str], str]) -> str:
    nodes, system = shown(chat), system_of(chat)
    count = f"{len(nodes):,} message{'' if len(nodes) == 1 else 's'}"
    about = " · ".join(filter(None, (model_of(chat), _date(chat.updated), count)))
    parts = [f'<h1 id="chat-{number}">{_title(chat)}</h1>', f'<p class="about">{_text(about)}</p>']
    if system:
        said = f'<div class="said">{_text(system)}</div>'
        parts.append(f'<section class="system"><h2 class="who">System</h2>{said}</section>')
    parts += [_message(node, render) for node in nodes]
    return "<article>\n" + "\n".join(parts) + "\n</article>"


def _message(node: Node, render: Callable[[str], str]) -> str:
    parts = [f'<section class="{node.role}"><h2 class="who">{_WHO[node.role]}</h2>']
    if node.thinking:
        thoughts = _text(node.thinking.strip())
        parts.append(f'<details><summary>Thinking</summary><div class="thoughts">{thoughts}</div></details>')
    if node.role == "assistant":
        parts.append(f'<div class="answer">{render(node.content)}</div>')
    else:
        parts.append(f'<div class="said">{_text(node.content)}</div>')
    for file in node.attachments:
        name = _text(printable_name(file.name))
        parts.append(f"<details><summary>{name}</summary><pre><code>{_text(file.text)}</code></pre></details>")
    if not node.complete:
        parts.append('<p class="cut">stopped here</p>')
    return "\n".join([*parts, "</section>"])


def _renderer() -> Callable[[str], str]:
    """From the Markdown of an answer to HTML; line ends stay line ends, as in the chat."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = _is_harmless  # type: ignore[method-assign]
    parser.add_render_rule("fence", _code)
    parser.add_render_rule("code_block", _code)

    def render(markdown: str) -> str:
        if len(markdown) <= _LONGEST:
            with suppress(RecursionError):  # nested too deeply to be read as Markdown
                return str(parser.render(_clean(markdown)))
        return f'<div class="said">{_text(markdown)}</div>'

    return render


def _code(_renderer: object, tokens: Sequence[Token], at: int, _options: object, _env: Any) -> str:
    """A block of code below the name of its language."""
    language = tokens[at].info.split()[0] if tokens[at].info.split() else ""
    name = f'<div class="language">{_text(language)}</div>' if language else ""
    return f'<div class="code">{name}<pre><code>{coloured(_clean(tokens[at].content), language)}</code></pre></div>\n'


def _is_harmless(url: str) -> bool:
    try:
        return urlsplit(url).scheme in _SCHEMES
    except ValueError:
        return False


def _title(chat: WholeChat) -> str:
    return _text(" ".join(chat.title.split())) or "(no title)"


def _text(text: str) -> str:
    return html.escape(_clean(text))


def _clean(text: str) -> str:
    return _NONE.sub("\ufffd", text.replace("\r\n", "\n")).translate(_CONTROL)


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M") if seconds > 0 else ""
