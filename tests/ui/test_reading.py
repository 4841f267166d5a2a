"""The chat as a place to act in: marking, jumping, folding, copying, and walking among alternatives."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import Screen

from mtpchat.config import Config
from mtpchat.messages import Message
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.widgets.entry import Entry
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, Pause, says
from tests.ui.tree_session import TreeSession, talk

LONG = "".join(f"line {number}\n\n" for number in range(40))
CODE = "See:\n\n```python\none = 1\ntwo = 2\n```\n\nand\n\n```sh\nls\n```\n"
VI = Config(model=STILL.model, ui=msgspec.structs.replace(STILL.ui, vi=True))


def reading(session: FakeSession) -> MtpChatApp:
    return chat_app(session)


def turns_of(count: int) -> TreeSession:
    texts = [text for number in range(count) for text in (f"prompt {number}", f"answer {number}\n\n{LONG}")]
    return TreeSession(talk(*texts), config=STILL)


async def in_chat(pilot: Pilot[Any], *keys: str) -> None:
    """Go to the chat and press keys."""
    await settled(pilot)
    await pilot.press("tab", *keys)
    await pilot.pause()


def marked(app: MtpChatApp) -> Entry:
    entry = chat(app).transcript.marked
    assert entry is not None
    return entry


def told(app: MtpChatApp) -> str:
    """What was said in passing."""
    return "\n".join(note.message for note in app._notifications)


def top_line(app: MtpChatApp) -> str:
    return seen(app).split("\n")[chat(app).transcript.region.y].strip()


async def test_tab_goes_to_the_chat_and_marks_the_last_message() -> None:
    app = reading(TreeSession(talk("one", "first answer", "two", "second answer"), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot)
        assert marked(app).source == "second answer"
        line = next(line for line in seen(app).split("\n") if "second answer" in line)
        assert line.lstrip().startswith("▎")
        assert "y copy" in seen(app)


async def test_brackets_jump_from_prompt_to_prompt_and_bring_it_to_the_top() -> None:
    app = reading(turns_of(4))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "[")
        assert marked(app).source == "prompt 3"
        await pilot.press("[", "[")
        await pilot.pause()
        assert marked(app).source == "prompt 1"
        assert top_line(app).startswith("▎ You")
        await pilot.press("]")
        await pilot.pause()
        assert marked(app).source == "prompt 2"
        assert "prompt 2" in seen(app)
        assert "answer 1" not in seen(app)


async def test_capital_j_and_k_stop_at_every_message() -> None:
    app = reading(turns_of(3))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "g", "J", "J")
        assert [marked(app).index] == [2]
        await pilot.press("K")
        await pilot.pause()
        assert marked(app).index == 1
        assert top_line(app).startswith("▎ answer 0")


async def test_behind_the_last_message_the_end_is_shown_and_followed_again() -> None:
    app = reading(turns_of(2))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "K", "K", "J", "J", "J", "J")
        await until(pilot, lambda: chat(app).transcript.follows)


async def test_a_mark_that_was_scrolled_away_gives_way_to_what_is_in_view() -> None:
    app = reading(turns_of(4))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "g", "[")
        await pilot.press("G", "y")
        await until(pilot, lambda: app.clipboard.startswith("answer 3"))


async def test_a_click_marks_and_a_letter_acts_on_it() -> None:
    app = reading(TreeSession(talk("one", "first answer", "two", "second answer"), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        row = next(at for at, line in enumerate(seen(app).split("\n")) if "first answer" in line)
        await pilot.click(offset=(10, row))
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard == "first answer")
        assert "Copied 12 characters" in told(app)


async def test_marking_causes_no_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    app = reading(TreeSession(talk("one", "answer", "two", "answer"), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot)
        made: list[object] = []
        original = Screen._refresh_layout
        monkeypatch.setattr(
            Screen, "_refresh_layout", lambda self, *a, **o: made.append(self) or original(self, *a, **o)
        )
        await pilot.press("K", "K", "J")
        await until(pilot, lambda: marked(app).index == 2)
        await pilot.pause()
        assert made == []


async def test_a_mark_has_its_own_column_painted_and_nothing_else() -> None:
    app = reading(TreeSession(talk("one", "answer"), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for entry in chat(app).transcript.entries:
            entry._exchange_repaint_regions()
            entry.set_marked(True)
            assert entry._exchange_repaint_regions() == {Region(0, 0, 1, entry.outer_size.height)}


async def test_the_mark_is_gone_while_one_types_and_back_in_the_chat() -> None:
    app = reading(TreeSession(talk("one", "answer"), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot)
        assert "▎" in seen(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "▎" not in seen(app)
        await pilot.press("tab")
        await pilot.pause()
        assert "▎" in seen(app)


async def test_code_is_copied_block_by_block() -> None:
    app = reading(TreeSession(talk("one", CODE), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "c")
        await until(pilot, lambda: app.clipboard == "one = 1\ntwo = 2")
        assert "Copied block 1 of 2: 2 lines" in told(app)
        await pilot.press("c")
        await until(pilot, lambda: app.clipboard == "ls")
        await pilot.press("c")
        await until(pilot, lambda: app.clipboard == "one = 1\ntwo = 2")


async def test_the_word_copy_above_code_copies_it() -> None:
    app = reading(TreeSession(talk("one", CODE), config=STILL))
    async with app.run_test(size=(80, 30)) as pilot:
        await settled(pilot)
        row, line = next((at, line) for at, line in enumerate(seen(app).split("\n")) if "python" in line)
        await pilot.click(offset=(line.index("copy") + 1, row))
        await until(pilot, lambda: app.clipboard == "one = 1\ntwo = 2")
        assert "Copied 2 lines" in told(app)


async def test_a_message_without_code_says_so() -> None:
    app = reading(TreeSession(talk("one", "no code"), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "c")
        assert "There is no code in this message" in told(app)


async def test_the_whole_chat_is_copied() -> None:
    app = reading(TreeSession(talk("one", "first", "two", "second"), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "Y")
        await until(pilot, lambda: "second" in app.clipboard)
        assert [word in app.clipboard for word in ("one", "first", "two")] == [True] * 3


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_a_long_answer_folds_and_opens_again(size: tuple[int, int]) -> None:
    app = reading(TreeSession(talk("one", LONG), config=STILL))
    async with app.run_test(size=size) as pilot:
        await in_chat(pilot, "z")
        await until(pilot, lambda: "… 72 more lines" in seen(app))
        assert "line 3" in seen(app)
        assert "line 4" not in seen(app)
        height = chat(app).transcript.max_scroll_y
        await pilot.press("z")
        await until(pilot, lambda: chat(app).transcript.max_scroll_y > height)
        assert "more lines" not in seen(app)


async def test_a_click_on_the_line_of_a_folded_answer_opens_it() -> None:
    app = reading(TreeSession(talk("one", LONG), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "z")
        await until(pilot, lambda: "… 72 more lines" in seen(app))
        row = next(at for at, line in enumerate(seen(app).split("\n")) if "more lines" in line)
        await pilot.click(offset=(6, row))
        await until(pilot, lambda: "more lines" not in seen(app))


async def test_a_long_prompt_is_shown_whole_and_short_again() -> None:
    text = "\n".join(f"line {number}" for number in range(60))
    app = reading(TreeSession(talk(text, "answer"), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "K")
        assert marked(app).folded
        await pilot.press("z", "G")
        await until(pilot, lambda: "line 59" in seen(app))
        await pilot.press("K", "z")
        await until(pilot, lambda: marked(app).folded)


async def test_a_short_message_is_not_folded() -> None:
    app = reading(TreeSession(talk("one", "answer"), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "z")
        assert "too short to be folded" in told(app)


async def test_an_entry_that_rests_far_away_can_be_folded_and_copied() -> None:
    app = reading(turns_of(12))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        first = chat(app).transcript.entries[1]
        await until(pilot, lambda: not first.whole)
        await pilot.press("tab", "g")
        await pilot.press("J", "z")
        await until(pilot, lambda: first.folded and "more lines" in seen(app))
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard.startswith("answer 0"))


def forked() -> TreeSession:
    session = TreeSession(talk("one", "first", "two", "second"), config=STILL)
    session.branch(1, talk("one", "other first")[1:])
    return session


async def test_alternatives_stand_below_an_answer_and_keys_walk_through_them() -> None:
    app = reading(forked())
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot)
        assert "‹ 2/2 ›" in seen(app)
        await pilot.press("h")
        await until(pilot, lambda: "‹ 1/2 ›" in seen(app))
        assert "second" in seen(app)
        assert marked(app).source == "first"
        await pilot.press("h")
        await until(pilot, lambda: "no other one" in told(app))
        await pilot.press("l")
        await until(pilot, lambda: "other first" in seen(app))
        assert "second" not in seen(app)


async def test_the_arrows_of_a_prompt_can_be_clicked() -> None:
    session = TreeSession(talk("one", "first"), config=STILL)
    session.branch(0, talk("one, put differently", "another"))
    app = reading(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.click(offset=place_of(app, "‹"))
        await until(pilot, lambda: "‹ 1/2 ›" in seen(app) and "first" in seen(app))
        await pilot.click(offset=place_of(app, "›"))
        await until(pilot, lambda: "put differently" in seen(app))


def place_of(app: MtpChatApp, sign: str) -> tuple[int, int]:
    return next((line.index(sign), at) for at, line in enumerate(seen(app).split("\n")) if sign in line)


async def test_walking_leaves_what_stands_before_untouched() -> None:
    app = reading(forked())
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "K")
        first = chat(app).transcript.entries[0]
        await pilot.press("J", "h")
        await until(pilot, lambda: "‹ 1/2 ›" in seen(app))
        assert chat(app).transcript.entries[0] is first
        assert [one.index for one in chat(app).transcript.entries] == [0, 1, 2, 3]


async def test_a_fork_keeps_everything_up_to_the_marked_message() -> None:
    session = TreeSession(talk("one", "first", "two", "second"), config=STILL)
    app = reading(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "K", "K", "F")
        await until(pilot, lambda: session.called == ["fork 1"])
        await until(pilot, lambda: "A new chat from here on" in seen(app))
        assert "second" not in seen(app)


async def test_numbers_of_prompts_and_places_go_on_as_one_talks() -> None:
    wait = Pause()
    session = FakeSession([says("first"), [wait, *says("second")]], config=STILL)
    app = reading(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"one", "enter")
        await settled(pilot)
        await pilot.press(*"two", "enter")
        await until(pilot, wait.reached.is_set)
        wait.gate.set()
        await settled(pilot)
        entries = chat(app).transcript.entries
        assert [one.index for one in entries] == [0, 1, 2, 3]
        assert [one.source for one in entries] == [one.content for one in session.messages]
        assert "You  2" in seen(app)


async def test_letters_that_are_no_keys_are_typed() -> None:
    app = reading(TreeSession(talk("one", "answer"), config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot, "w")
        assert chat(app).prompt.text == "w"
        assert chat(app).prompt.has_focus


async def test_vi_goes_to_the_chat_with_escape_and_back_with_i() -> None:
    app = reading(TreeSession(talk("one", "answer"), config=VI))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("w", "escape")
        await pilot.pause()
        assert chat(app).prompt.has_focus
        await pilot.press("backspace", "escape")
        await pilot.pause()
        assert chat(app).transcript.has_focus
        await pilot.press("escape", "w")
        await pilot.pause()
        assert chat(app).prompt.text == ""
        await pilot.press("i", "w")
        await pilot.pause()
        assert chat(app).prompt.text == "w"


async def test_a_message_that_is_no_part_of_the_chat_is_only_read() -> None:
    session = TreeSession(talk("one", "answer"), config=STILL)
    app = reading(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await in_chat(pilot)
        session.messages = (Message("user", "something else"),)
        await pilot.press("F")
        await until(pilot, lambda: "not part of the chat" in told(app))
        assert session.called == []


@pytest.mark.parametrize("text", ["\n".join(["same"] * 200) + "\n\nWhat is it?\n", "x\n" * 41])
async def test_a_long_prompt_shows_its_end_and_how_much_is_between(text: str) -> None:
    app = reading(TreeSession(talk(text, "first"), config=STILL))
    async with app.run_test(size=(80, 48)) as pilot:
        await settled(pilot)
        shown = [line.strip() for line in seen(app).splitlines()]
        marker = next(line for line in shown if "more lines" in line)
        hidden = int(marker.split()[1])
        said = text.rstrip().splitlines()
        at = shown.index(marker)
        assert shown[at + 1 : at + 4] == [*said[-3:]]
        assert shown[at - 12 : at] == said[:12]
        assert 12 + hidden + 3 == len(said)
