"""The page of a chat is harmless whatever was said, and shows all of it."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import html5lib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.color import Color

from mtpchat.exchange import page as page_module
from mtpchat.exchange.coloured import coloured
from mtpchat.exchange.page import as_html
from mtpchat.messages import Attachment
from mtpchat.ui.contrast import READABLE, contrast
from mtpchat.whole_chat import MadeTurn, Node, WholeChat
from tests.exchange.trees import chats

OURS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "article",
    "section",
    "nav",
    "details",
    "summary",
    "div",
    "span",
}
CLASSES = re.compile(r"who|about|said|system|user|answer|assistant|cut|code|language|thoughts|[ckmsn]|g[id]|chat-\d+")
MARKDOWN = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "s"}
TABLES = {"hr", "br", "a", "table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "th": {"style"}, "td": {"style"}}
HOSTILE = [
    "<script>alert(1)</script>",
    "</div></section><img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVa\tScRiPt:alert(1))",
    "[a](data:text/html,x)",
    "[a](//evil.example)",
    "[a](file:///etc/passwd)",
    "<javascript:alert(1)>",
    "![p](https://evil.example/p.png)",
    '[a](https://x.example "t\\" onclick=alert(1)")',
    '```" onload=alert(1)\nx\n```',
    "```<b>\n</code></pre><b>\n```",
    "[a]: javascript:x\n[a]",
    "<!-- ",
    "]]>",
    "&lt;b&gt; &#60;b&#62; &amp;",
    "</style><b>",
    "| a | b |\n|:-|-:|\n| <b> | `|` |",
    "\u202eevil\x1b[2J\x00",
    "\ufffe\ufdd0\U0001ffff\ud800\x85\x9b",
    "\n\n  begins with empty lines",
]


class Reader(HTMLParser):
    """Refuses every tag, attribute and address that a page must not have."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.open: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in OURS | MARKDOWN | TABLES, tag
        self.inside |= tag == "body"
        for name, value in attrs:
            if name in ("class", "id") and CLASSES.fullmatch(value or ""):
                continue
            if tag in ("meta", "html") and not self.inside:
                continue
            assert name in ATTRIBUTES.get(tag, set()), (tag, name, value)
            assert name != "href" or re.match(r"https?:|mailto:|#chat-\d+$", value or ""), value
            assert name != "style" or re.fullmatch("text-align:(left|right|center)", value or ""), value
        if tag not in ("meta", "hr", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.text.append(data)


def read(page: str) -> str:
    """All that is shown; the page has been looked through."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert all(letter in "\n\t" or letter >= " " for letter in page)
    html5lib.HTMLParser(strict=True).parse(page)  # raises for whatever a browser would have to guess at
    return "".join(reader.text)


def chat(user: str, answer: str, thinking: str = "", file: str = "", title: str = "T") -> WholeChat:
    turn = MadeTurn("t", model_name=answer, system=user)
    nodes = (
        Node("a", "user", user, attachments=(Attachment(file, file),)),
        Node("b", "assistant", answer, "a", thinking, turns=(turn,)),
    )
    return WholeChat("chat", title, leaf="b", messages=nodes)


PIECES = (
    st.sampled_from(HOSTILE)
    | st.text(max_size=12)
    | st.sampled_from(["\n", "\n\n", "    ", "> ", "- ", "`", "[", "]("])
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


@settings(deadline=None, max_examples=200)
@given(TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)
def test_no_text_opens_a_tag_an_attribute_or_another_address(a: str, b: str, c: str, d: str, e: str) -> None:
    read(as_html([chat(a, b, c, d, e)]))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_one_by_one(text: str) -> None:
    read(as_html([chat(text, text, text, text, text)]))


@given(chats())
def test_what_people_said_is_shown_as_they_said_it(one: WholeChat) -> None:
    shown = re.findall(r"\w+", read(as_html([one])))
    assert all(word in shown for word in re.findall(r"\w+", one.title))


def test_a_page_stands_alone_and_has_what_was_said() -> None:
    answer = "Because **banks** erode:\n\n```python\nx = 1 < 2\n```\n\n[more](https://example.org/a?b=1&c=2)"
    page = as_html([chat("Why\n  <b>?", answer, "Physics & water.", "notes <1>")])
    assert "<strong>banks</strong>" in page
    assert '<div class="language">python</div><pre><code>x = <span class="m">1</span> &lt; ' in page
    assert '<a href="https://example.org/a?b=1&amp;c=2">more</a>' in page
    assert '<div class="said">Why\n  &lt;b&gt;?</div>' in page
    assert '<summary>Thinking</summary><div class="thoughts">Physics &amp; water.</div></details>' in page
    assert "<details><summary>notes &lt;1&gt;</summary><pre><code>notes &lt;1&gt;</code></pre></details>" in page
    assert "prefers-color-scheme: dark" in page
    assert "default-src 'none'" in page
    assert not re.search(r"<script|<link|<img|@import|url\(|https?:(?!//example)", page)


def test_pictures_stay_links_that_nobody_fetches_for_the_reader() -> None:
    page = as_html([chat("Q", "![a map](https://example.org/m.png)")])
    assert '!<a href="https://example.org/m.png">a map</a>' in page


def test_a_page_of_several_chats_begins_with_a_list_of_them() -> None:
    page = as_html([chat("Q", "A", title="One"), chat("Q", "A", title="<Two>")])
    assert '<li><a href="#chat-2">&lt;Two&gt;</a></li>' in page
    assert '<h1 id="chat-2">&lt;Two&gt;</h1>' in page


@pytest.mark.parametrize(
    "text", ["> " * 50_000, "`" * 1_000_000, "[" * 100_000, "- " * 20_000, "*a_ " * 40_000, "x" * 1_000_000]
)
def test_traps_for_readers_of_markdown_end_soon(text: str) -> None:
    assert read(as_html([chat("Q", text)]))


def test_a_policy_forbids_all_that_is_not_the_pages_own_style() -> None:
    page = as_html([chat("Q", "A")])
    tree = html5lib.parse(page, namespaceHTMLElements=False)
    (policy,) = [one.get("content") for one in tree.iter("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    head = next(iter(tree.iter("head")))
    assert [one.tag for one in head][:2] == ["meta", "meta"], "the policy stands before all that it is about"


def test_line_ends_of_an_answer_stay_line_ends_as_in_the_chat() -> None:
    assert "<p>one<br>two</p>" in as_html([chat("Q", "one\ntwo")]).replace("<br />\n", "<br>")


@given(st.text(max_size=200), st.sampled_from(["python", "c", "html", "diff", "sh", "json", "nobody knows", ""]))
def test_colours_change_nothing_in_the_code(code: str, language: str) -> None:
    shown = coloured(code, language)
    assert html.unescape(re.sub(r"</?span[^>]*>", "", shown)) == code
    assert set(re.findall(r"<[^>]*>", shown)) <= {"</span>", *(f'<span class="{one}">' for one in "ckmsn"), *GENERIC}


GENERIC = ('<span class="gi">', '<span class="gd">')


def test_both_schemes_of_colours_can_be_read() -> None:
    style = Path(page_module.__file__).with_name("page.css").read_text()
    schemes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = {name: Color.parse(value) for name, value in re.findall(r"--(\w+): (#\w+)", scheme)}
        texts = colours.keys() - {"paper", "well", "line"}
        low = {(text, ground) for text in texts for ground in ("paper", "well")
               if contrast(colours[text], colours[ground]) < READABLE}  # fmt: skip
        assert not low
        assert set(re.findall(r"var\(--(\w+)\)", style)) == colours.keys()
