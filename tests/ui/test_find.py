"""Finding words in a chat: what matches, and that every match is shown wherever it rests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from mtpchat.events import TextDelta
from mtpchat.messages import Message
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.find import MOST, Match, find, nearest_from
from mtpchat.ui.widgets.messages import UserMessage
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, Pause
from tests.ui.tree_session import TreeSession, talk

ANSWER = """# Rivers

A river **bends** because of the *needle* in it, number {0}, and `code with needle{0}` and more words that go on
for more than a row.

- first item
- second item with a Needle

| a | b |
|---|---|
| x | needle{0} in a table |

```python
def needle_{0}():
    return "needle"
```

> quoted needle
"""


@given(st.lists(st.text(alphabet="abAB \n[]()", max_size=30), max_size=5), st.text(alphabet="abAB []()", max_size=4))
def test_each_match_is_the_query_and_none_is_left_out(texts: list[str], query: str) -> None:
    smart = query == query.lower()
    same = (lambda text: text.lower()) if smart else (lambda text: text)
    words = query.split()
    for match in find(texts, query):
        assert same(texts[match.entry][match.start : match.end]).split() == [same(word) for word in words]
    if len(words) == 1:
        assert len(find(texts, query)) == sum(same(text).count(same(words[0])) for text in texts) or len(words[0]) > 1


def test_capitals_matter_only_when_some_are_typed() -> None:
    texts = ["Needle needle NEEDLE"]
    assert len(find(texts, "needle")) == 3
    assert len(find(texts, "Needle")) == 1


def test_words_are_found_across_the_end_of_a_line() -> None:
    assert find(["one two\nthree"], "two three") == [Match(0, 4, 13)]


@pytest.mark.parametrize("query", ["", "  ", "\t"])
def test_nothing_is_found_for_nothing(query: str) -> None:
    assert find(["some text"], query) == []


def test_matches_beyond_what_anybody_walks_through_are_not_counted() -> None:
    assert len(find(["a" * 20000], "a")) == MOST


def test_the_search_begins_where_one_reads_and_goes_around_the_end() -> None:
    matches = [Match(1, 0, 1), Match(3, 0, 1)]
    assert [nearest_from(matches, entry) for entry in range(5)] == [0, 0, 1, 1, 0]


def long_chat(count: int = 30) -> TreeSession:
    texts = [text for number in range(count) for text in (f"prompt {number}", ANSWER.format(number))]
    return TreeSession(talk(*texts), config=STILL)


async def asked(pilot: Pilot[Any], words: str) -> None:
    await settled(pilot)
    await pilot.press("ctrl+f", *words)
    await pilot.pause()


def selected(app: MtpChatApp) -> str:
    return (app.screen.get_selected_text() or "").strip()


def row_of_selection(app: MtpChatApp) -> int:
    """Where on the screen the match stands."""
    (widget, _selection) = next(iter(app.screen.selections.items()))
    return widget.region.y - chat(app).transcript.region.y


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_every_match_of_a_long_chat_is_shown_and_marked(size: tuple[int, int]) -> None:
    app = chat_app(long_chat(3))
    async with app.run_test(size=size) as pilot:
        await asked(pilot, "needle")
        bar = chat(app).reading.find_bar
        for _ in range(3 * 7):
            await until(pilot, lambda: selected(app).lower() == "needle")
            count = seen(app).split("/21")[0].split()[-1]
            match = bar._matches[int(count) - 1]
            entry = chat(app).transcript.marked
            assert entry is not None
            assert entry.index == match.entry
            marked = next(iter(app.screen.selections.values()))
            assert marked is not None
            await pilot.press("enter")
            await pilot.pause()
        assert "/21" in seen(app)


async def test_a_match_far_from_the_view_comes_into_it() -> None:
    app = chat_app(long_chat())
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot, "needle_3()")
        await until(pilot, lambda: "def needle_3():" in seen(app))
        assert "1/1" in seen(app)
        assert selected(app) == "needle_3()"


async def test_what_is_not_there_is_said() -> None:
    app = chat_app(long_chat(2))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot, "nowhere")
        assert "no match" in seen(app)
        assert selected(app) == ""


async def test_escape_closes_the_bar_and_leads_back_to_the_prompt() -> None:
    app = chat_app(long_chat(2))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot, "needle")
        place = chat(app).transcript.scroll_y
        await pilot.press("escape")
        await pilot.pause()
        assert chat(app).prompt.has_focus
        assert not chat(app).reading.find_bar.is_open
        assert chat(app).transcript.scroll_y == place
        assert not app.screen.selections


async def test_slash_in_the_chat_finds_and_n_goes_on_from_there() -> None:
    app = chat_app(long_chat(3))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("tab", "g", "/", *"needle", "enter")
        await pilot.pause()
        assert chat(app).transcript.has_focus
        await until(pilot, lambda: "1/21" in seen(app))
        await pilot.press("n", "n")
        await until(pilot, lambda: "3/21" in seen(app))
        await pilot.press("N")
        await until(pilot, lambda: "2/21" in seen(app))
        await pilot.press("escape")
        await pilot.pause()
        assert chat(app).transcript.has_focus
        assert not chat(app).reading.find_bar.is_open
        await pilot.press("n")
        await until(pilot, lambda: "3/21" in seen(app))
        assert chat(app).transcript.has_focus


async def test_a_match_in_the_hidden_part_of_a_long_prompt_unfolds_it() -> None:
    text = "".join(f"line {number}\n" for number in range(300)) + "the needle"
    app = chat_app(TreeSession(talk(text, "answer"), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "more lines" in seen(app)
        await asked(pilot, "needle")
        await until(pilot, lambda: "the needle" in seen(app))
        assert not app.query_one(UserMessage).folded


async def test_a_match_in_an_answer_that_grows_is_found() -> None:
    wait = Pause()
    session = FakeSession([[TextDelta("One\n\n```\nneedle = 1\n```\n\nand a needle\n\nend"), wait]], config=STILL)
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        session.messages = (Message("user", "hi"),)
        await pilot.press(*"hi", "enter")
        await until(pilot, wait.reached.is_set)
        await until(pilot, lambda: "end" in seen(app))
        await pilot.press("ctrl+f", *"needle")
        await until(pilot, lambda: "1/2" in seen(app))
        await until(pilot, lambda: selected(app) == "needle")
        await pilot.press("enter")
        await until(pilot, lambda: "2/2" in seen(app))
        wait.gate.set()


async def test_hostile_words_are_only_words() -> None:
    app = chat_app(TreeSession(talk("[red]x[/] \x1b[31m (a|b)*", "answer"), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot, "[red]")
        assert "1/1" in seen(app)
        await pilot.press(*["backspace"] * 5, *"(a|b)*")
        await until(pilot, lambda: selected(app) == "(a|b)*")
