"""What it takes to show more text does not depend on how much is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.screen import Screen
from textual.selection import Selection
from textual.widgets import Markdown
from textual.widgets._markdown import MarkdownBlock, MarkdownFence

from mtpchat.events import Finished, StatsTick, TextDelta
from mtpchat.messages import Message
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.light import LightLines, RawLines
from mtpchat.ui.widgets.answer import Answer
from mtpchat.ui.widgets.growing import GrowingText
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import STATS, FakeSession, Pause, Step

PARAGRAPH = (
    "A line of text with **bold** words that is long enough to take more than one row of the screen, number {0}.\n\n"
)
ITEM = "- item {0} with `code`\n"
DOCUMENT = """# Rivers

A river bends because **faster water** cuts the bank, while slower water drops its load. See `omega` for more, *please*.

1. A small bend sends the fastest thread of water to the outer bank, where it digs and digs until the bank falls.
2. The surface tilts.
   - inner one that is long enough to be wrapped onto another row of the screen, as here
   - inner two

3. That spiral carries sand.

## Code
Here is code:
```python
def bend(x):
    return x * 2
```
> The river is everywhere.
> Said somebody.

---

| omega | shape |
|---|---|
| 0.6 | nearly straight |

- Bullets
- *more* bullets

The end.
"""


@pytest.fixture
def layouts(monkeypatch: pytest.MonkeyPatch) -> list[Screen[Any]]:
    """Gets one entry per layout of a screen."""
    made: list[Screen[Any]] = []
    original = Screen._refresh_layout

    def counted(self: Screen[Any], *args: Any, **options: Any) -> None:
        made.append(self)
        original(self, *args, **options)

    monkeypatch.setattr(Screen, "_refresh_layout", counted)
    return made


async def quiet(pilot: Pilot[Any]) -> None:
    """Wait until nothing is left to be laid out or painted."""
    screen = pilot.app.screen
    for _ in range(3):
        await until(
            pilot,
            lambda: (
                not (
                    screen._layout_required
                    or screen._scroll_required
                    or screen._dirty_widgets
                    or screen._update_timer._active.is_set()
                )
            ),
        )


def in_steps(*texts: str) -> tuple[list[Step], list[Pause]]:
    """A turn that waits after each text."""
    pauses = [Pause() for _ in texts]
    steps: list[Step] = []
    for text, pause in zip(texts, pauses, strict=True):
        steps += [TextDelta(text), StatsTick(STATS), pause]
    return [*steps, Finished(Message("assistant", "".join(texts)), STATS, "stop")], pauses


async def begun(pilot: Pilot[Any], pauses: Sequence[Pause]) -> None:
    await settled(pilot)
    await pilot.press(*"hi", "enter")
    await until(pilot, pauses[0].reached.is_set)
    await quiet(pilot)


async def step(pilot: Pilot[Any], pauses: Sequence[Pause], number: int, shows: str) -> None:
    """Let the next text come and wait until it is shown and all is quiet."""
    app = pilot.app
    assert isinstance(app, MtpChatApp)
    pauses[number - 1].gate.set()
    await until(pilot, pauses[number].reached.is_set)
    await until(pilot, lambda: shows in seen(app))
    await quiet(pilot)


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_more_text_and_numbers_cause_one_layout(size: tuple[int, int], layouts: list[Screen[Any]]) -> None:
    texts = [PARAGRAPH.format(number) + ITEM.format(number) + "\n" for number in range(40)]
    turn, pauses = in_steps("".join(texts[:30]), *texts[30:])
    app = chat_app(FakeSession([turn], config=STILL))
    async with app.run_test(size=size) as pilot:
        await begun(pilot, pauses)
        for number in range(1, len(pauses)):
            layouts.clear()
            await step(pilot, pauses, number, f"item {number + 29}")
            assert len(layouts) == 1
            assert chat(app).transcript.follows


async def test_text_in_the_same_row_causes_no_layout(layouts: list[Screen[Any]]) -> None:
    turn, pauses = in_steps("One", " two", " three")
    app = chat_app(FakeSession([turn], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, pauses)
        layouts.clear()
        await step(pilot, pauses, 1, "One two")
        await step(pilot, pauses, 2, "One two three")
        assert not layouts


async def test_prose_that_closes_mounts_nothing() -> None:
    texts = [PARAGRAPH.format(0), PARAGRAPH.format(1), "## Head\n\n", *map(ITEM.format, range(5)), "\n> said\n\nend\n"]
    turn, pauses = in_steps(*texts)
    app = chat_app(FakeSession([turn], config=STILL))
    async with app.run_test(size=(80, 40)) as pilot:
        await begun(pilot, pauses)
        widgets = set(app.screen.query("*"))
        for number, text in enumerate(texts[1:], 1):
            await step(pilot, pauses, number, text.split()[-1].strip("`"))
            assert set(app.screen.query("*")) == widgets
        assert not app.query(MarkdownBlock)


async def test_only_code_and_tables_are_rendered_before_the_end() -> None:
    turn, pauses = in_steps(DOCUMENT)
    app = chat_app(FakeSession([turn], config=STILL))
    async with app.run_test(size=(80, 60)) as pilot:
        await begun(pilot, pauses)
        await until(pilot, lambda: "The end." in seen(app))
        documents = [one.source for one in app.query(Markdown) if one.source]
        assert [source.split("\n")[0] for source in documents] == ["```python", "| omega | shape |"]
        pauses[0].gate.set()
        await settled(pilot)
        assert [one.source for one in app.query(Markdown)] == [DOCUMENT]
        assert not app.query(GrowingText)


async def test_code_that_was_pushed_far_away_rests_and_is_there_again_when_scrolled_to() -> None:
    code = "```python\nfirst = 1\n```\n\n"
    lines = "".join(PARAGRAPH.format(number) for number in range(40))
    turn, pauses = in_steps(code, lines, lines)
    app = chat_app(FakeSession([turn], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, pauses)
        await step(pilot, pauses, 1, "number 39")
        before = chat(app).transcript.max_scroll_y
        pauses[1].gate.set()
        await until(
            pilot, lambda: chat(app).transcript.max_scroll_y > before and not app.query_one(MarkdownFence).display
        )
        await quiet(pilot)
        height = chat(app).transcript.max_scroll_y
        await pilot.press("ctrl+home")
        await until(pilot, lambda: "first = 1" in seen(app))
        await quiet(pilot)
        assert chat(app).transcript.max_scroll_y == height
        pauses[2].gate.set()
        await settled(pilot)
        assert "first = 1" in seen(app)


@pytest.mark.parametrize("size", [(60, 70), (80, 60), (160, 48)])
async def test_the_full_rendering_moves_nothing(size: tuple[int, int]) -> None:
    turn, pauses = in_steps(DOCUMENT[:400], DOCUMENT[400:])
    app = chat_app(FakeSession([turn], config=STILL))
    async with app.run_test(size=size) as pilot:
        await begun(pilot, pauses)
        await step(pilot, pauses, 1, "The end.")
        before = _body(seen(app))
        pauses[1].gate.set()
        await settled(pilot)
        await until(pilot, lambda: "318 tokens" in seen(app))
        assert _body(seen(app)) == before


def _body(screen: str) -> list[str]:
    """The answer's lines, without the scrollbar's column."""
    lines = [
        line[:-1].rstrip() if line.endswith(("▃", "▁", "▂", "▄", "▅", "▆", "▇")) else line
        for line in screen.split("\n")
    ]
    first = next(at for at, line in enumerate(lines) if line.strip() == "Rivers")
    last = next(at for at, line in enumerate(lines) if line.strip() == "The end.")
    return lines[first : last + 1]


async def test_an_answer_that_was_stopped_within_code_is_carried_on_there() -> None:
    stop = Pause()
    rest = "+ 1\n```\n\nDone.\n"
    session = FakeSession(
        [
            [TextDelta("See:\n\n- a\n- b\n\n```py\nx = 1 "), stop],
            [TextDelta(rest), second := Pause(), Finished(Message("assistant", rest), STATS, "stop")],
        ]
    )
    app = chat_app(session)
    async with app.run_test(size=(80, 30)) as pilot:
        await begun(pilot, [stop])
        await until(pilot, lambda: "x = 1" in seen(app))
        await pilot.press("escape")
        await settled(pilot)
        await pilot.press(*"/continue", "enter")
        await until(pilot, second.reached.is_set)
        await until(pilot, lambda: "Done." in seen(app))
        assert "x = 1 + 1" in seen(app)
        assert len(app.query(Answer)) == 1
        second.gate.set()
        await settled(pilot)
        assert "x = 1 + 1" in app.query_one(MarkdownFence).code


class Sheet(App[None]):
    """One growing text."""

    def __init__(self, text: GrowingText) -> None:
        super().__init__()
        self.text = text

    def compose(self) -> ComposeResult:
        yield self.text

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict.fromkeys(("mt-code", "mt-muted", "mt-line"), "white")


def rows(text: GrowingText) -> list[str]:
    """What is shown, without spaces at the ends."""
    return [text.render_line(y).text.rstrip() for y in range(text.size.height)]


@pytest.mark.parametrize("maker", [LightLines, RawLines])
@pytest.mark.parametrize("size", [1, 3, 17])
async def test_rows_do_not_depend_on_how_the_text_came(maker: Callable[[], Any], size: int) -> None:
    whole, pieces = GrowingText(maker()), GrowingText(maker())
    async with Sheet(whole).run_test(size=(40, 80)) as pilot:
        whole.write(DOCUMENT)
        await pilot.pause()
        wanted = rows(whole)
    async with Sheet(pieces).run_test(size=(40, 80)) as pilot:
        for closed, open_end in _cut(DOCUMENT, size):
            pieces.write(closed, open_end)
        await pilot.pause()
        assert rows(pieces) == wanted


def _cut(text: str, size: int) -> Iterator[tuple[str, str]]:
    """Whole lines, and the beginning of the next, as they are there after each few characters."""
    given = 0
    for end in range(size, len(text) + size, size):
        come = text[:end]
        whole = come.rfind("\n") + 1
        yield come[given:whole], come[whole:]
        given = whole


async def test_a_long_text_makes_rows_for_what_is_new_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = GrowingText(LightLines())
    async with Sheet(text).run_test(size=(40, 24)) as pilot:
        text.write("".join(PARAGRAPH.format(number) for number in range(500)))
        await quiet(pilot)
        text.write("", "and more ")
        await quiet(pilot)
        made: list[object] = []
        original = GrowingText._strip
        monkeypatch.setattr(GrowingText, "_strip", lambda *args: made.append(args) or original(*args))
        text.write("", "and more text")
        text.write("and more text\n", "again")
        await pilot.pause()
        assert len(made) <= 4
        assert rows(text)[-1].startswith("again")


async def test_another_width_wraps_the_text_anew() -> None:
    text = GrowingText(LightLines())
    async with Sheet(text).run_test(size=(40, 24)) as pilot:
        text.write("one two three four five six seven eight nine ten\n- a long item of a list that wraps\n")
        await pilot.pause()
        assert rows(text) == [
            "one two three four five six seven eight",
            "nine ten",
            "",
            "• a long item of a list that wraps",
        ]
        await pilot.resize_terminal(20, 24)
        await until(pilot, lambda: text.size.width == 20)
        assert rows(text)[-2:] == ["• a long item of a", "  list that wraps"]


async def test_code_that_grows_is_cut_at_the_edge_as_it_is_when_it_is_complete() -> None:
    line = "x" * 100
    turn, pauses = in_steps(f"```\n{line}\ny = 1\n", "```\n")
    app = chat_app(FakeSession([turn], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, pauses)
        await until(pilot, lambda: "y = 1" in seen(app))
        before = seen(app)
        pauses[0].gate.set()
        await until(pilot, lambda: bool(app.query(MarkdownFence)))
        await quiet(pilot)
        assert [row.replace("copy", "").rstrip() for row in seen(app).split("\n")] == before.split("\n")


async def test_text_that_grows_can_be_selected() -> None:
    text = GrowingText(LightLines())
    async with Sheet(text).run_test(size=(20, 24)) as pilot:
        text.write("one two three four five six\n- item\n", "open")
        await pilot.pause()
        assert text.get_selection(Selection(Offset(4, 0), Offset(6, 2))) == ("two three four five six\n\n• item", "\n")
        plain = [text.render_line(y) for y in range(text.size.height)]
        text.screen.selections = {text: Selection(Offset(4, 0), Offset(4, 2))}
        await pilot.pause()
        marked = [text.render_line(y) for y in range(text.size.height)]
        assert [row.text for row in marked] == [row.text for row in plain]
        assert [one != other for one, other in zip(marked, plain, strict=True)] == [True, True, False, True, False]


async def test_marks_of_text_that_grows_come_and_go() -> None:
    turn: list[Step] = [
        TextDelta("First ", drafted="mtp"),
        TextDelta("line.\n\n```\nx\n```\n\nLast", drafted=""),
        stop := Pause(),
    ]
    app = chat_app(FakeSession([turn], config=STILL))
    async with app.run_test(size=(80, 30)) as pilot:
        await begun(pilot, [stop])
        await until(pilot, lambda: "Last" in seen(app))
        for shows in (True, False, True):
            await pilot.press("f3")
            await until(pilot, lambda shows=shows: _is_marked(app) is shows)
            assert "Last" in seen(app)
            assert "First line." in seen(app)


def _is_marked(app: MtpChatApp) -> bool:
    return any("underline" in str(span.style) for text in app.query(GrowingText) for span in text.render().spans)
