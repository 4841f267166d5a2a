"""Marks of guessed text are where the text is, and nowhere but on the screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content
from textual.widgets._markdown import MarkdownFence, MarkdownParagraph

from mtpchat.events import Finished, TextDelta
from mtpchat.messages import Message
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.light import light_content
from mtpchat.ui.provenance import KINDS, Marks, places, style_of, underline_piece
from mtpchat.ui.widgets.answer import Answer
from mtpchat.ui.widgets.growing import GrowingText
from mtpchat.ui.widgets.thinking import Thinking
from tests.ui.conftest import STILL, chat, chat_app, settled, until
from tests.ui.fake_session import STATS, FakeSession, Pause, Step

_RUNS = st.lists(st.tuples(st.text("ab \n", max_size=6), st.sampled_from(["", *KINDS])), max_size=12)


def marks_of(runs: list[tuple[str, str]]) -> Marks:
    marks = Marks()
    for text, kind in runs:
        marks.add(len(text), kind)
    return marks


def marked(content: Content) -> dict[str, str]:
    """Kind to the text that is marked as guessed by it."""
    found: dict[str, str] = {}
    for kind in KINDS:
        spans = [span for span in content.spans if str(span.style) == style_of(kind)]
        if spans:
            found[kind] = "|".join(content.plain[span.start : span.end] for span in spans)
    return found


@given(_RUNS)
def test_each_position_knows_who_had_guessed_it(runs: list[tuple[str, str]]) -> None:
    wanted = [kind for text, kind in runs for _ in text]
    marks = marks_of(runs)
    assert [marks.at(position) for position in range(len(wanted))] == wanted
    assert marks.at(len(wanted)) == ""
    assert bool(marks) == any(wanted)


@given(_RUNS)
def test_marking_changes_no_character(runs: list[tuple[str, str]]) -> None:
    text = "".join(text for text, _ in runs)
    content = underline_piece(Content(text), text, 0, marks_of(runs))
    assert content.plain == text
    for kind in KINDS:
        visible = "".join(t for t, k in runs if k == kind).split()
        assert "".join(marked(content).get(kind, "").replace("|", "").split()) == "".join(visible)


@given(st.text(max_size=60), st.text(max_size=60))
def test_alignment_never_goes_back_and_never_invents(shown: str, source: str) -> None:
    found = [place for place in places(shown, source) if place >= 0]
    assert found == sorted(set(found))
    assert all(shown[at] == source[place] for at, place in enumerate(places(shown, source)) if place >= 0)


def test_signs_of_markdown_do_not_shift_the_marks() -> None:
    source = "# **Bold** and [link](https://example.com/a/b) &amp; `code` end"
    marks = Marks()
    for part, kind in ((source[:2], ""), ("**Bold**", "mtp"), (" and ", ""), ("[link]", "draft")):
        marks.add(len(part), kind)
    rest = source[len("# **Bold** and [link]") :]
    marks.add(len(rest) - 3, "")
    marks.add(3, "ngram")
    content = underline_piece(Content("Bold and link & code end"), source, 0, marks)
    assert marked(content) == {"mtp": "Bold", "draft": "link", "ngram": "end"}


def test_the_open_block_is_marked_below_its_own_styles() -> None:
    source = "see **this** now"
    marks = marks_of([("see ", ""), ("**this**", "mtp"), (" now", "")])
    content = underline_piece(light_content(source), source, 0, marks)
    assert content.plain == "see this now"
    assert marked(content) == {"mtp": "this"}


@pytest.mark.parametrize("kind", ["agreed", "something new"])
def test_an_unknown_source_has_a_colour_too(kind: str) -> None:
    assert style_of(kind) == style_of("ngram")


TEXT = "The *river* bends.\n\n```python\nbend = 1\n```\n\nIt is [cut](x)."
PARTS = (
    ("The *ri", ""),
    ("ver* bends", "mtp"),
    (".\n\n```python\nbend", ""),
    (" = 1\n", "ngram"),
    ("```\n\nIt is ", ""),
)


def turn(*ends: Step) -> list[Step]:
    deltas: list[Step] = [TextDelta(text, drafted=kind) for text, kind in PARTS]
    return [TextDelta("hm, ", "thinking"), TextDelta("yes", "thinking", "draft"), *deltas, *ends]


REST: list[Step] = [
    TextDelta("[cut](x).", drafted="mtp"),
    Finished(Message("assistant", TEXT, "hm, yes"), STATS, "stop"),
]


def shown(app: MtpChatApp) -> list[dict[str, str]]:
    """What is marked in the paragraphs and code blocks of the answer."""
    answer = app.query_one(Answer)
    found = [marked(block._content) for block in answer.query(MarkdownParagraph)]
    return found + [marked(block._highlighted_code) for block in answer.query(MarkdownFence)]


def growing(app: MtpChatApp) -> list[GrowingText]:
    """The texts of the answer that still grow."""
    return [text for text in app.query_one(Answer).query(GrowingText) if not text.has_class("thoughts")]


ALL = [{"mtp": "ver bends"}, {"mtp": "cut."}, {"ngram": "= 1"}]


async def test_guessed_text_is_marked_as_it_comes_and_when_it_is_done() -> None:
    pause = Pause()
    app = chat_app(FakeSession([turn(pause, *REST)], config=STILL))
    async with app.run_test(size=(80, 30)) as pilot:
        await settled(pilot)
        await pilot.press("f3", *"hi", "enter")
        await until(pilot, lambda: bool(app.query(MarkdownFence)))
        assert shown(app) == [ALL[2]]
        assert [marked(text.render()) for text in growing(app)] == [ALL[0], {}]
        pause.gate.set()
        await settled(pilot)
        assert shown(app) == ALL
        app.query_one(Thinking).action_unfold()
        assert marked(app.query_one(Thinking).query_one(GrowingText).render()) == {"draft": "yes"}


async def test_marks_come_and_go_with_the_key_and_stay_out_of_copies() -> None:
    app = chat_app(FakeSession([turn(*REST)], config=STILL))
    async with app.run_test(size=(80, 30)) as pilot:
        await settled(pilot)
        await pilot.press("f3", *"hi", "enter")
        await settled(pilot)
        await pilot.press("f3")
        await until(pilot, lambda: shown(app) == [{}, {}, {}])
        await pilot.press("f3")
        await until(pilot, lambda: shown(app) == ALL)
        await chat(app).run_command("/copy")
        assert app.clipboard == TEXT
        app.choose_theme("paper")
        await pilot.pause()
        assert shown(app) == ALL


async def test_marks_return_when_the_chat_is_drawn_anew() -> None:
    app = chat_app(FakeSession([turn(*REST)], config=STILL))
    async with app.run_test(size=(80, 30)) as pilot:
        await settled(pilot)
        await pilot.press("f3", *"hi", "enter")
        await settled(pilot)
        await chat(app).presenter.show_chat(chat(app).session.messages)
        await until(pilot, lambda: shown(app) == ALL)


async def test_without_the_view_nothing_is_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("aligned although nobody looks")

    monkeypatch.setattr("mtpchat.ui.widgets.markdown.places", refuse)
    app = chat_app(FakeSession([turn(*REST)], config=STILL))
    async with app.run_test(size=(80, 30)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        assert shown(app) == [{}, {}, {}]
