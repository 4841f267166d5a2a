"""What a model says is shown as it is, readable, and without harm."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from textual.widgets._markdown import MarkdownBlock, MarkdownFence

from mtpchat.events import StatsTick, TextDelta
from mtpchat.ui.widgets.thinking import Thinking
from tests.ui.conftest import STILL, chat_app, seen, settled, until
from tests.ui.fake_session import STATS, FakeSession, Pause, Step, says


@pytest.mark.parametrize(
    "text",
    [
        "[red]x[/]",
        "[/]",
        "[[",
        "]][/red]",
        "[bold",
        "[@click=app.exit]x[/]",
        "a [link=x]b[/link]",
        "<b>raw</b>",
        "&#27;[31m",
    ],
)
async def test_markup_in_an_answer_is_shown_as_it_is(text: str) -> None:
    stop = Pause()
    app = chat_app(FakeSession([[TextDelta(f"{text}"), TextDelta(" end"), stop, *says(f"{text} end")[1:]]]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: "end" in seen(app))
        assert "end" in seen(app)
        stop.gate.set()
        await settled(pilot)
        shown = text.replace("&#27;", "\ufffd")
        assert f"{shown} end" in seen(app)


async def test_markup_in_tables_code_thinking_and_messages_is_harmless() -> None:
    text = "| [/] | b |\n|---|---|\n| [red]c[/] | d |\n\n```[/]\n[/x]\n```\n\n# [/] head\n\n[t](javascript:x)\n"
    app = chat_app(FakeSession([says(text, thinking="[/] [x")]))
    async with app.run_test(size=(80, 40)) as pilot:
        await settled(pilot)
        await pilot.press(*"[/]", "enter")
        await settled(pilot)
        screen = seen(app)
        for piece in ("[red]c[/]", "[/x]", "[/] head"):
            assert piece in screen
        app.query_one(Thinking).action_unfold()
        for y in range(0, 30, 2):
            await pilot.hover(offset=(12, y))
        await pilot.pause()
        assert "[/] [x" in seen(app)


async def test_escape_bytes_of_an_answer_never_reach_the_terminal() -> None:
    nasty = "a\x1b[2Jb\x07c\x9b31md\re &#13; `\x1b]0;x\x07`\n\n```\n\x1b[H\n```\n"
    app = chat_app(FakeSession([says(nasty, thinking="\x1b[2J")]))
    async with app.run_test(size=(80, 30)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        app.query_one(Thinking).action_unfold()
        await pilot.pause()
        strips = app.screen._compositor.render_strips(app.size)
        painted = "".join(segment.text for strip in strips for segment in strip)
        assert not [c for c in painted if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0]
        assert "␛[2J" in painted


async def test_single_line_ends_stay_line_ends() -> None:
    app = chat_app(FakeSession([says("roses are red\nviolets are blue")]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        assert "  roses are red\n  violets are blue" in seen(app)


async def test_code_is_highlighted_and_can_be_copied() -> None:
    app = chat_app(FakeSession([says("```python\nimport this\n```\n")]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        assert any("mt-keyword" in str(span.style) for span in app.query_one(MarkdownFence)._highlighted_code.spans)
        row = next(y for y, line in enumerate(seen(app).split("\n")) if line.rstrip().endswith("copy"))
        await pilot.click(offset=(seen(app).split("\n")[row].index("copy") + 1, row))
        await pilot.pause()
        assert app.clipboard == "import this"


async def test_an_answer_shows_its_finished_blocks_while_it_still_grows() -> None:
    wait = Pause()
    app = chat_app(FakeSession([[TextDelta("# Head\n\nfirst **bold**\n\nsecond `co"), wait]]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: "second" in seen(app))
        text = seen(app)
        assert "first bold" in text
        assert "second `co" in text
        assert not app.query(MarkdownBlock)


async def test_thinking_is_one_line_that_folds_and_opens() -> None:
    wait, more = Pause(), Pause()
    turn: list[Step] = [
        TextDelta("deep thought", "thinking"),
        StatsTick(replace(STATS, output_tokens=214)),
        wait,
        *says("42", thinking="deep thought")[1:2],
        more,
        *says("42", thinking="deep thought")[2:],
    ]
    app = chat_app(FakeSession([turn]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: "▸ thinking 0 s · 214 tokens" in seen(app))
        assert "deep thought" not in seen(app)
        wait.gate.set()
        await until(pilot, lambda: "▸ thought for 0 s · 214 tokens" in seen(app))
        more.gate.set()
        await settled(pilot)
        app.query_one(Thinking).focus()
        await pilot.press("enter")
        assert "deep thought" in seen(app)
        await pilot.click(Thinking)
        assert "deep thought" not in seen(app)


async def test_thinking_can_be_wanted_open_or_hidden() -> None:
    for view, shown in (("open", True), ("hidden", False)):
        config = msgspec.structs.replace(STILL, ui=msgspec.structs.replace(STILL.ui, show_thinking=view))
        app = chat_app(FakeSession([says("42", thinking="deep thought")], config=config))
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot)
            await pilot.press(*"hi", "enter")
            await settled(pilot)
            assert ("deep thought" in seen(app)) is shown
            assert ("thought" in seen(app)) is shown


async def test_a_language_without_end_leaves_room_for_the_word_copy() -> None:
    app = chat_app(FakeSession([says(f"```{'x' * 300}\nimport this\n```\n")]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        head = next(line for line in seen(app).split("\n") if "xxx" in line)
        assert head.rstrip().endswith("… copy")


@pytest.mark.parametrize("width", [40, 60, 80])
async def test_a_remark_in_passing_is_shown_with_all_its_lines(width: int) -> None:
    words = "Something is wrong with a long explanation that needs more room than one line of the screen has"
    app = chat_app(FakeSession())
    async with app.run_test(size=(width, 20), notifications=True) as pilot:
        await settled(pilot)
        app.notify(words, title="Theme left out", markup=False)
        await until(pilot, lambda: "Theme left out" in seen(app))
        shown = " ".join(line.partition("▌")[2].strip() for line in seen(app).split("\n")).split()
        assert shown == f"Theme left out {words}".split()


async def test_before_leaving_numbers_that_do_not_fit_are_left_out_whole() -> None:
    app = chat_app(FakeSession([says("Yes.")]))
    async with app.run_test(size=(60, 18)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "once more to quit" in seen(app))
        assert "…" not in seen(app).split("\n")[-1]
