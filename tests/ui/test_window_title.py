"""The terminal's title: what the chat is about, as it changes, and the one from before at the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config import Config, UiConfig
from mtpchat.ui.window_title import WindowTitle
from tests.ui.conftest import MODEL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, says

REMEMBER, RECALL, END = "\x1b[22;2t", "\x1b[23;2t", "\x1b\\"


@pytest.fixture(autouse=True)
def xterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")


def test_a_title_is_written_when_it_changes_and_the_one_before_comes_back() -> None:
    sent: list[str] = []
    title = WindowTitle(sent.append, wanted=True)
    title.restore()
    for words in ("", "Rivers", "Rivers", ""):
        title.show(words)
    title.restore()
    title.restore()
    assert sent == [
        f"{REMEMBER}\x1b]2;mtpchat{END}",
        f"\x1b]2;Rivers · mtpchat{END}",
        f"\x1b]2;mtpchat{END}",
        f"\x1b]2;{END}{RECALL}",
    ]
    assert title.undo == sent[-1]


@pytest.mark.parametrize(("wanted", "terminal"), [(False, "xterm"), (True, "linux"), (True, "dumb")])
def test_a_title_that_nobody_wants_or_can_see_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, wanted: bool, terminal: str
) -> None:
    monkeypatch.setenv("TERM", terminal)
    sent: list[str] = []
    title = WindowTitle(sent.append, wanted=wanted)
    title.show("Rivers")
    title.restore()
    assert sent == []
    assert title.undo == ""


@given(st.text(max_size=200))
def test_whatever_a_chat_is_called_is_one_harmless_string(words: str) -> None:
    sent: list[str] = []
    WindowTitle(sent.append, wanted=True).show(words)
    (whole,) = sent
    inside = whole.removeprefix(f"{REMEMBER}\x1b]2;").removesuffix(END)
    assert inside.isprintable() or not set(inside) & {chr(code) for code in (*range(32), *range(127, 160))}
    assert len(inside) <= 90


async def test_the_header_and_the_window_follow_the_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(WindowTitle, "show", lambda _self, title: shown.append(title))
    session = FakeSession([says("Rivers bend.")], config=Config(model=MODEL, ui=UiConfig(reduced_motion=True)))
    app = chat_app(session)
    async with app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        assert shown == [""]
        session.rename("Why do rivers meander?")
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        await until(pilot, lambda: "Why do rivers meander?" in seen(app).splitlines()[0])
        await until(pilot, lambda: shown[-1] == "Why do rivers meander?")
        assert chat(app).header.region.y == 0
