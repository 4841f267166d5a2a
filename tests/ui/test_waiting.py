"""Prompts that wait: shown, edited in their place, cancelled one by one, and never overtaken."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.pilot import Pilot

from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.chips import Written
from mtpchat.ui.waiting import Job, WaitingLine
from mtpchat.ui.widgets.waiting_list import WaitingList
from tests.ui.conftest import chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, Pause, says


class Busy:
    """An app whose first answer waits for the test."""

    def __init__(self) -> None:
        self.pause = Pause()
        self.session = FakeSession([[self.pause, *says("first")]])
        self.app = chat_app(self.session)

    async def begin(self, pilot: Pilot[Any], *prompts: str) -> None:
        await settled(pilot)
        for text in ("zero", *prompts):
            await pilot.press(*text, "enter")
        await until(pilot, self.pause.reached.is_set)

    async def end(self, pilot: Pilot[Any]) -> None:
        self.pause.gate.set()
        await settled(pilot)


def listed(app: MtpChatApp) -> str:
    return app.screen_stack[0].query_one(WaitingList).render().plain


async def test_waiting_prompts_are_listed_above_the_prompt_until_they_are_sent() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "one", "two")
        lines = seen(busy.app).splitlines()
        place = next(at for at, line in enumerate(lines) if line.startswith("  1 · one"))
        assert lines[place + 1].startswith("  2 · two")
        assert lines[place + 2].startswith("╭")
        await busy.end(pilot)
        assert busy.session.sent == ["zero", "one", "two"]
        assert not busy.app.screen_stack[0].query_one(WaitingList).display


async def test_up_takes_the_newest_back_and_enter_puts_it_in_its_place() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "one", "two", "three")
        await pilot.press("up")
        assert chat(busy.app).prompt.text == "three"
        await pilot.press("up")
        assert chat(busy.app).prompt.text == "two"
        assert "2 · being edited" in listed(busy.app)
        await pilot.press("x", "enter")
        await pilot.pause()
        assert [one.text for one in chat(busy.app).turns.line.prompts] == ["one", "twox", "three"]
        await busy.end(pilot)
        assert busy.session.sent == ["zero", "one", "twox", "three"]


async def test_down_behind_the_newest_leaves_the_line_as_it_was() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "one", "two")
        await pilot.press("up", "up", "down")
        assert chat(busy.app).prompt.text == "two"
        await pilot.press("down")
        assert chat(busy.app).prompt.text == ""
        assert not chat(busy.app).turns.line.holds


async def test_a_prompt_that_is_being_edited_is_not_sent_and_not_overtaken() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "one", "two")
        await pilot.press("up", "up")
        await busy.end(pilot)
        assert busy.session.sent == ["zero"]
        await pilot.press("!", "enter")
        await settled(pilot)
        await until(pilot, lambda: len(busy.session.sent) == 3)
        assert busy.session.sent == ["zero", "one!", "two"]


async def test_escape_leaves_a_prompt_that_is_being_edited_as_it_was() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "one")
        await pilot.press("up", "x", "escape")
        await pilot.pause()
        assert chat(busy.app).prompt.text == ""
        await busy.end(pilot)
        await until(pilot, lambda: busy.session.sent == ["zero", "one"])


async def test_escape_while_idle_lets_the_line_go_on() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "one")
        await pilot.press("up")
        await busy.end(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: busy.session.sent == ["zero", "one"])


async def test_delete_in_an_empty_prompt_cancels_one_after_the_other() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "one", "two")
        await pilot.press("delete")
        assert [one.text for one in chat(busy.app).turns.line.prompts] == ["one"]
        await pilot.press("ctrl+d", "delete")
        await busy.end(pilot)
        assert busy.session.sent == ["zero"]


async def test_a_waiting_prompt_that_is_emptied_is_cancelled() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "a", "b")
        await pilot.press("up", "backspace", "enter")
        await busy.end(pilot)
        assert busy.session.sent == ["zero", "a"]


async def test_the_mouse_cancels_and_edits() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "one", "two")
        width = busy.app.screen.query_one(WaitingList).size.width
        await pilot.click(WaitingList, offset=(width + 1, 0))
        await until(pilot, lambda: len(chat(busy.app).turns.line) == 1)
        await pilot.click(WaitingList, offset=(5, 0))
        await until(pilot, lambda: chat(busy.app).prompt.text == "two")


async def test_escape_takes_all_back_without_losing_what_was_being_typed() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "one", "two")
        await pilot.press(*"new", "escape")
        await settled(pilot)
        assert chat(busy.app).prompt.text == "one\n\ntwo\n\nnew"
        assert busy.session.sent == ["zero"]


async def test_a_long_line_shows_its_first_and_its_newest() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, *"abcdefg")
        assert [line.split("✕")[0].rstrip() for line in listed(busy.app).splitlines()] == [
            "1 · a",
            "2 · b",
            "… 4 more · /queue",
            "7 · g",
        ]
        await pilot.resize_terminal(60, 18)
        await pilot.pause()
        assert [line.split("✕")[0].rstrip() for line in listed(busy.app).splitlines()] == ["… 6 more · /queue", "7 · g"]


moves = st.lists(st.sampled_from(["add", "next", "up", "down", "put", "drop", "release"]), max_size=40)


@given(moves)
def test_whatever_is_done_the_order_is_that_of_coming_and_nothing_is_lost(steps: list[str]) -> None:
    line, sent, dropped, added = WaitingLine(), list[str](), list[str](), list[str]()
    for step in steps:
        match step:
            case "add":
                added.append(str(len(added)))
                line.add(Job("send", Written(added[-1])))
            case "next":
                job = line.next()
                sent += [job.written.text] if job else []
            case "up" | "down":
                line.take_beside(-1 if step == "up" else 1)
            case "put":
                held = line.held
                line.put_back(line.prompts[held] if held is not None else Written("x"))
            case "drop":
                dropped += [line.drop(len(line.prompts)).text] if line.prompts else []
            case _:
                line.release()
    waiting = [one.text for one in line.prompts]
    assert sorted([*sent, *dropped, *waiting], key=int) == added
    assert [*sent, *waiting] == sorted([*sent, *waiting], key=int)


async def test_the_line_of_keys_says_what_can_be_done_with_prompts_that_wait() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "one")
        await until(pilot, lambda: "↑ edit the newest   del cancel it" in seen(busy.app))
        await pilot.press("x")
        await until(pilot, lambda: "cancel it" not in seen(busy.app))
        await pilot.press("backspace", "up")
        await until(pilot, lambda: "⏎ back into its place   esc leave it as it was" in seen(busy.app))
        await pilot.press("escape")
        await until(pilot, lambda: "edit the newest" in seen(busy.app))


async def test_a_command_puts_a_prompt_that_is_being_edited_back_as_it_was() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "one", "two")
        await pilot.press("up", "ctrl+u", *"/queue drop 1", "enter")
        await until(pilot, lambda: [one.text for one in chat(busy.app).turns.line.prompts] == ["two"])
        await pilot.press(*"/queue edit 1", "enter")
        await until(pilot, lambda: chat(busy.app).prompt.text == "two")
        await pilot.press("!", "enter")
        await until(pilot, lambda: [one.text for one in chat(busy.app).turns.line.prompts] == ["two!"])


async def test_a_command_that_has_to_wait_says_so() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot)
        await pilot.press(*"/undo", "enter")
        await until(pilot, lambda: "/undo has to wait until the answer is finished" in seen(busy.app))


async def test_a_folded_paste_stays_folded_in_the_line_and_is_sent_whole() -> None:
    busy, paste = Busy(), "\n".join(f"line {number}" for number in range(25))
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot)
        await pilot.press(*"see ")
        chat(busy.app).prompt.post_message(events.Paste(paste))
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert "1 · see ⟦25 lines⟧" in listed(busy.app)
        await pilot.press("up")
        assert chat(busy.app).prompt.text == "see ⟦paste 1: 25 lines⟧"
        await pilot.press("enter")
        await busy.end(pilot)
        await until(pilot, lambda: busy.session.sent == ["zero", f"see {paste}"])
        await settled(pilot)
        await pilot.press("up")
        assert chat(busy.app).prompt.text == "see ⟦paste 1: 25 lines⟧"


async def test_a_line_that_stands_still_says_so_and_goes_on_with_enter() -> None:
    busy = Busy()
    async with busy.app.run_test(size=(80, 24)) as pilot:
        await busy.begin(pilot, "one", "two")
        chat(busy.app).turns.line.paused = True
        await until(pilot, lambda: "not sent yet" in seen(busy.app))
        await busy.end(pilot)
        assert busy.session.sent == ["zero"]
        await pilot.press("enter")
        await until(pilot, lambda: busy.session.sent == ["zero", "one", "two"])
        assert "not sent yet" not in seen(busy.app)
