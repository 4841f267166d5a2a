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
from urllib.parse import urlsplit

from mtpchat.attachments.framing import printable_name
from mtpchat.whole_chat import Node, WholeChat, model_of, shown, system_of

_WHO = {"user": "You", "assistant": "Answer", "system": "System"}
_LONGEST = 200_000
"""Answers of more letters than this are shown as they are: Markdown of such a length takes long."""
_SCHEMES = ("http", "https", "mailto")
_CONTROL = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
_CONTROL |= dict.fromkeys((*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")
_HALF = re.compile("[\ud800-\udfff]")
_STYLE = """\
:root { color-scheme: light dark;
  --ink: #1f2328; --dim: #656d76; --paper: #fff; --code: #f3f4f6; --line: #d8dee4; --you: #0b6bcb; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dde3ea; --dim: #8b949e; --paper: #14171b; --code: #1f242b; --line: #343b44; --you: #6cb6ff; }
}
body { margin: 0 auto; max-width: 46rem; padding: 2rem 1.2rem 6rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 2.5rem 0 .2rem; }
h2.who { font-size: .85rem; margin: 2rem 0 .4rem; color: var(--dim); }
.user > h2.who { color: var(--you); }
.about, .cut, summary, nav { color: var(--dim); font-size: .9rem; }
.said, .system, pre { white-space: pre-wrap; unicode-bidi: plaintext; }
.answer { unicode-bidi: isolate; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem .9rem;
  overflow-x: auto;  white-space: pre; }
pre, code { font: .875rem/1.5 ui-monospace, Consolas, Menlo, monospace; }
.answer h1 { font-size: 1.25rem; margin-top: 1.4rem; }
:not(pre) > code { background: var(--code); border-radius: .25rem; padding: .1rem .3rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left; }
blockquote { border-left: 3px solid var(--line); margin-left: 0; padding-left: 1rem; color: var(--dim); }
details { border-left: 3px solid var(--line); padding-left: 1rem; margin: .6rem 0; }
details > div { white-space: pre-wrap; color: var(--dim); }
a { color: var(--you); }
@media print { body { max-width: none; } pre { white-space: pre-wrap; } }
"""


def as_html(chats: Sequence[WholeChat]) -> str:
    """The page; more than one chat have a list of them at its top."""
    render = _renderer()
    title = _text(" ".join(chats[0].title.split())) if len(chats) == 1 else f"{len(chats)} chats"
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{title}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>",
    ]
    if len(chats) > 1:
        links = (f'<li><a href="#chat-{at}">{_title(chat)}</a></li>' for at, chat in enumerate(chats, 1))
        parts.append(f"<nav><ol>\n{''.join(links)}\n</ol></nav>")
    parts += [_chat(chat, at, render) for at, chat in enumerate(chats, 1)]
    return "\n".join([*parts, "</body>\n</html>\n"])


def _chat(chat: WholeChat, number: int, render: Callable[[str], str]) -> str:
    about = [model_of(chat), _date(chat.updated)]
    system = system_of(chat)
    parts = [
        f'<h1 id="chat-{number}">{_title(chat)}</h1>',
        f'<p class="about">{_text(" · ".join(filter(None, about)))}</p>',
    ]
    if system:
        parts.append(f'<section><h2 class="who">System</h2><div class="system">{_text(system)}</div></section>')
    parts += [_message(node, render) for node in shown(chat)]
    return "<article>\n" + "\n".join(parts) + "\n</article>"


def _message(node: Node, render: Callable[[str], str]) -> str:
    parts = [f'<section class="{node.role}"><h2 class="who">{_WHO[node.role]}</h2>']
    if node.thinking:
        parts.append(f"<details><summary>Thinking</summary><div>{_text(node.thinking.strip())}</div></details>")
    if node.role == "assistant":
        parts.append(f'<div class="answer">{render(node.content)}</div>')
    else:
        parts.append(f'<div class="said">{_text(node.content)}</div>')
    for file in node.attachments:
        name = _text(printable_name(file.name))
        parts.append(f"<details><summary>{name}</summary><pre>{_text(file.text)}</pre></details>")
    if not node.complete:
        parts.append('<p class="cut">stopped here</p>')
    return "\n".join([*parts, "</section>"])


def _renderer() -> Callable[[str], str]:
    """From the Markdown of an answer to HTML."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = _is_harmless  # type: ignore[method-assign]

    def render(markdown: str) -> str:
        if len(markdown) <= _LONGEST:
            with suppress(RecursionError):  # nested too deeply to be read as Markdown
                return str(parser.render(_clean(markdown)))
        return f'<div class="said">{_text(markdown)}</div>'

    return render


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
    return _HALF.sub("\ufffd", text.replace("\r\n", "\n")).translate(_CONTROL)


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M") if seconds > 0 else ""
