"""The header names the form that answers have to follow, for as long as they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from mtpchat.structured.forms import AnswerForm
from mtpchat.ui.widgets.messages import ErrorBlock
from tests.ui.conftest import chat, chat_app, seen, settled
from tests.ui.fake_session import FakeSession


@pytest.fixture(autouse=True)
def schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pet.json").write_text('{"type": "object", "properties": {"name": {"type": "string"}}}')
    (tmp_path / "odd [bold].json").write_text('{"type": "string"}')
    (tmp_path / "bad.json").write_text('{"type": "integer", "multipleOf": 1009}')


async def say(pilot: Pilot[Any], text: str) -> str:
    """Send a line; gives the first lines of the screen then."""
    chat(pilot.app).prompt.load_text(text)
    await pilot.press("escape", "enter")
    await settled(pilot)
    return top(pilot.app)


def top(app: Any) -> str:
    """The first lines of the screen."""
    return " ".join(seen(app).splitlines()[:2])


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_the_header_names_the_form_until_it_is_off(size: tuple[int, int]) -> None:
    async with chat_app(FakeSession()).run_test(size=size) as pilot:
        await settled(pilot)
        assert "pet.json" in await say(pilot, "/json pet.json")
        assert "odd [bold].json" in await say(pilot, "/json odd [bold].json")
        assert ".json" not in await say(pilot, "/json off")


async def test_a_form_of_the_command_line_is_named_from_the_start() -> None:
    session = FakeSession()
    session.terms.form = AnswerForm("pet.json", "root ::= value")
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "pet.json" in top(app)


async def test_a_bad_schema_is_an_error_in_the_chat_with_its_place() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "bad.json" not in await say(pilot, "/json bad.json")
        assert chat(app).query(ErrorBlock)
        assert "#/multipleOf" in seen(app)
