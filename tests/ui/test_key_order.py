"""Keys that come in one lump, as they do over a slow line, act in the order in which they were pressed."""

from __future__ import annotations

from typing import Any

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from mtpchat.ui.widgets.cluster_input import ClusterInput
from tests.ui.conftest import chat, chat_app, settled
from tests.ui.fake_session import FakeSession

LUMPS = [
    ("abc<backspace><backspace>xy", "axy"),
    ("ab<left>x<home>y<end>z", "yaxbz"),
    ("one two<ctrl+w>x", "one x"),
    ("ab<left><delete>c<ctrl+u>d", "d"),
    ("ab<ctrl+a><ctrl+k>c", "c"),
]


def keys(lump: str) -> list[events.Key]:
    """`ab<left>` as keys."""
    found = list[events.Key]()
    while lump:
        name, rest = lump[1:].split(">", 1) if lump[0] == "<" else (lump[0], lump[1:])
        is_letter, lump = len(name) == 1, rest
        found.append(events.Key("space" if name == " " else name, name if is_letter else None))
    return found


async def all_through(pilot: Pilot[Any]) -> None:
    """Wait until what was posted, and what came of it, has been handled."""
    for _ in range(20):
        await pilot.pause()


@pytest.mark.parametrize(("lump", "text"), LUMPS)
async def test_keys_of_the_prompt_wait_for_nobody(lump: str, text: str) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        for key in keys(lump):
            app.post_message(key)
        await all_through(pilot)
        assert chat(app).prompt.text == text


class _Field(App[None]):
    def compose(self) -> ComposeResult:
        yield ClusterInput()


@pytest.mark.parametrize(("lump", "text"), LUMPS)
async def test_keys_of_a_field_wait_for_nobody(lump: str, text: str) -> None:
    app = _Field()
    async with app.run_test() as pilot:
        for key in keys(lump):
            app.post_message(key)
        await all_through(pilot)
        assert app.query_one(ClusterInput).value == text
