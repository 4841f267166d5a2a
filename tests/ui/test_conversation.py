"""What a person does in a chat, and what the screen must answer."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from mtpchat.events import Failed, Finished, LoadFinished, Loading, Prefilling, StatsTick, TextDelta
from mtpchat.messages import Message
from mtpchat.ui.widgets.answer import Answer
from mtpchat.ui.widgets.growing import GrowingText
from mtpchat.ui.widgets.markdown import ChatMarkdown
from mtpchat.ui.widgets.messages import ErrorBlock, UserMessage
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FACTS, STATS, FakeSession, Pause, Step, says

SIZES = [(60, 20), (80, 24), (160, 48), (200, 60), (20, 8)]


@pytest.mark.parametrize("size", SIZES)
async def test_a_message_is_answered_at_every_size(size: tuple[int, int]) -> None:
    app = chat_app(FakeSession([says("It **flows**.")]))
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press(*"why", "enter")
        await settled(pilot)
        text = seen(app)
        if size[0] >= 60:
            assert "It flows." in text
            assert "why" in text
            assert "46.2 t/s · ×1.72 · 318 tokens · 7.1 s" in text


async def test_the_screen_survives_every_resize() -> None:
    app = chat_app(FakeSession([says("word " * 300)]))
    async with app.run_test(size=(160, 48)) as pilot:
        await settled(pilot)
        await pilot.press(*"why", "enter")
        await settled(pilot)
        for size in [*SIZES, (1, 1), (80, 24)]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert "t/s" in seen(app)


def _page(text: str) -> list[str]:
    """The visible chat without the scrollbar."""
    return [line[:70].rstrip() for line in text.split("\n")[1:15]]


async def test_a_reader_who_scrolled_up_stays_put() -> None:
    long = "".join(f"line {number}\n\n" for number in range(60))
    more, rest = Pause(), Pause()
    turn: list[Step] = [TextDelta(long), more, TextDelta("tail\n\n" * 20), rest, *says(long + "tail\n\n" * 20)[1:]]
    app = chat_app(FakeSession([turn]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: "line 59" in seen(app))
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        before, place = _page(seen(app)), chat(app).transcript.scroll_y
        more.gate.set()
        await until(pilot, lambda: "tail" in app.query_one(GrowingText).render().plain)
        assert chat(app).transcript.scroll_y == place
        rest.gate.set()
        await settled(pilot)
        assert chat(app).transcript.scroll_y == place
        assert _page(seen(app)) == before
        await pilot.press("ctrl+end")
        await until(pilot, lambda: "318 tokens" in seen(app))
        assert chat(app).transcript.follows


async def test_an_answer_is_followed_while_it_grows() -> None:
    turn = says("".join(f"line {number}\n\n" for number in range(80)))
    app = chat_app(FakeSession([turn]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        assert "318 tokens" in seen(app)


async def test_typing_while_the_model_loads_queues_the_prompt() -> None:
    loading = Pause()
    session = FakeSession([says("Hello.")], load=[Loading("model", 0.4, 6_700_000_000), loading, LoadFinished(FACTS)])
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, loading.reached.is_set)
        await pilot.press(*"hi", "enter")
        await pilot.pause()
        text = seen(app)
        assert "loading 40 % · 2.7/6.7 GB" in text
        assert "1 · hi" in text
        assert session.sent == []
        loading.gate.set()
        await settled(pilot)
        await until(pilot, lambda: "Hello." in seen(app))
        assert session.sent == ["hi"]
        assert "1 · hi" not in seen(app)


async def test_prompts_typed_during_an_answer_wait_their_turn_in_order() -> None:
    wait = Pause()
    session = FakeSession([[wait, *says("one")], says("two"), says("three")])
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for word in ("a", "b", "c"):
            await pilot.press(word, "enter")
        await pilot.pause()
        assert session.sent == ["a"]
        assert "1 · b" in seen(app)
        assert "2 · c" in seen(app)
        wait.gate.set()
        await until(pilot, lambda: len(session.messages) == 6)
        await settled(pilot)
        assert session.sent == ["a", "b", "c"]


async def test_escape_stops_the_answer_and_keeps_what_was_said() -> None:
    wait = Pause()
    session = FakeSession([[TextDelta("The beginning"), StatsTick(STATS), wait]])
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await until(pilot, wait.reached.is_set)
        await pilot.press("escape")
        await settled(pilot)
        text = seen(app)
        assert "The beginning" in text
        assert "stopped · " in text
        assert session.messages[-1] == Message("assistant", "The beginning", complete=False)
        await pilot.press(*"more", "enter")
        await settled(pilot)
        assert session.sent == ["hi", "more"]


async def test_escape_takes_waiting_prompts_back_into_the_prompt() -> None:
    wait = Pause()
    session = FakeSession([[wait]])
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("a", "enter", "b", "enter")
        await until(pilot, wait.reached.is_set)
        await pilot.press("escape")
        await settled(pilot)
        assert chat(app).prompt.text == "b"
        assert session.sent == ["a"]
        assert [entry.text for entry in app.query(UserMessage)] == ["a"]


async def test_a_stopped_answer_is_carried_on_in_place() -> None:
    wait = Pause()
    session = FakeSession([[TextDelta("Once upon"), wait], says(" a time.")])
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await until(pilot, wait.reached.is_set)
        await pilot.press("escape")
        await settled(pilot)
        await pilot.press(*"/continue", "enter")
        await settled(pilot)
        await until(pilot, lambda: "Once upon a time." in seen(app))
        assert len(app.query(Answer)) == 1


async def test_retry_replaces_the_answer() -> None:
    app = chat_app(FakeSession([says("first"), says("second")]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        await pilot.press(*"/retry", "enter")
        await settled(pilot)
        assert "second" in seen(app)
        assert "first" not in seen(app)


async def test_a_failed_turn_keeps_its_text_and_the_chat_goes_on() -> None:
    partial = Message("assistant", "half", complete=False)
    session = FakeSession(
        [[TextDelta("half"), Failed("The decode failed", "Try a smaller batch.", partial, STATS)], says("ok")]
    )
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        text = seen(app)
        for piece in ("half", "The decode failed", "Try a smaller batch."):
            assert piece in text
        await pilot.press(*"again", "enter")
        await settled(pilot)
        assert "ok" in seen(app)


async def test_an_exception_in_a_turn_becomes_an_error_in_the_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    session = FakeSession()

    def broken(_text: str, _attachments: object) -> None:
        raise ZeroDivisionError("[/] by zero")

    monkeypatch.setattr(session, "send", broken)
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        assert "[/] by zero" in seen(app)
        assert app.query(ErrorBlock)


async def test_a_failed_load_is_shown_and_prompts_wait() -> None:
    session = FakeSession(load=[Failed("No such file: /models/x.gguf", "/model PATH loads another.")])
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        text = seen(app)
        assert "No such file" in text
        assert "no model loaded" in text
        assert "mtpchat · no model" in text
        await pilot.press(*"hi", "enter")
        await pilot.pause()
        assert "No model is loaded" in seen(app)
        assert session.sent == []


async def test_escape_stops_a_load() -> None:
    loading = Pause()
    app = chat_app(FakeSession(load=[Loading("model", 0.1), loading]))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, loading.reached.is_set)
        await pilot.press("escape")
        await settled(pilot)
        assert "The load was stopped." in seen(app)


async def test_reading_the_prompt_shows_one_bar_with_the_time_left() -> None:
    wait = Pause()
    app = chat_app(
        FakeSession([[Prefilling(1830, 2944, 3.2), wait, *says("ok")]]),
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await until(pilot, wait.reached.is_set)
        assert "reading 1,830/2,944 tokens · 3 s left" in seen(app)
        wait.gate.set()
        await settled(pilot)
        assert "46.2 t/s  ×1.72" in seen(app)


@pytest.mark.timeout(10)
def test_quitting_does_not_wait_for_a_deaf_engine() -> None:
    session = FakeSession([[TextDelta("on and on"), Pause()]])
    app = chat_app(session)

    async def drive(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        session.deaf = True
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: "on and on" in seen(app))
        await pilot.press("escape")
        await pilot.press(*"/quit", "enter")

    app.run(headless=True, size=(80, 24), auto_pilot=drive)
    assert session.busy


async def test_a_chat_that_is_there_already_is_shown_at_the_start() -> None:
    session = FakeSession(config=STILL)
    session.messages = (Message("user", "old question"), Message("assistant", "old answer", "old thoughts"))
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        text = seen(app)
        assert "old question" in text
        assert "old answer" in text
        assert "▸ thought" in text


async def test_why_an_answer_ends_is_said() -> None:
    end = Finished(Message("assistant", "cut"), STATS, "length", "The answer reached max_tokens; /continue carries on.")
    app = chat_app(FakeSession([[TextDelta("cut"), end]]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        assert "/continue carries on." in seen(app)
        assert "ended at max_tokens" in seen(app)


async def test_a_long_chat_rests_out_of_sight_and_loses_nothing() -> None:
    session = FakeSession()
    for number in range(60):
        session.messages += (
            Message("user", f"question {number}"),
            Message("assistant", f"answer {number}\n\n- a\n- b\n"),
        )
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        transcript = chat(app).transcript
        await until(pilot, lambda: sum(one.display for one in app.query(ChatMarkdown)) < 30)
        height = transcript.max_scroll_y
        await pilot.press("ctrl+home")
        await until(pilot, lambda: "question 0" in seen(app) and "answer 0" in seen(app))
        assert transcript.max_scroll_y == height
        await pilot.press("ctrl+end")
        await until(pilot, lambda: "answer 59" in seen(app))
        assert transcript.max_scroll_y == height


async def test_the_keys_of_the_moment_are_shown() -> None:
    wait = Pause()
    app = chat_app(FakeSession([[wait, *says("ok")]]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "/ commands" in seen(app)
        await pilot.press(*"hi", "enter")
        await until(pilot, wait.reached.is_set)
        assert "esc stop" in seen(app)
        wait.gate.set()
        await settled(pilot)
        assert "esc stop" not in seen(app)
        assert "/ commands" in seen(app)
