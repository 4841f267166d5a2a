"""Templates in the prompt, and who answers in the header."""

from __future__ import annotations

from pathlib import Path

from textual import events

from tests.ui.conftest import chat, chat_app, seen, settled
from tests.ui.fake_session import FakeSession


def template(folder: Path, name: str, text: str) -> None:
    (folder / "prompts").mkdir(exist_ok=True)
    (folder / "prompts" / f"{name}.toml").write_text(text)


async def test_tab_goes_through_the_fields_of_a_template(config_folder: Path) -> None:
    template(config_folder, "ask", 'text = "{a} and {input}\\nand {b}, {a}"')
    session = FakeSession()
    app = chat_app(session, config_path=str(config_folder / "config.toml"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"/prompt ask X", "enter")
        await pilot.pause()
        prompt = chat(app).prompt
        assert prompt.text == "{a} and X\nand {b}, {a}"
        assert prompt.selected_text == "{a}"
        await pilot.press(*"one", "tab")
        assert prompt.selected_text == "{b}"
        await pilot.press(*"two", "tab", *"three", "enter")
        await settled(pilot)
        assert session.sent == ["one and X\nand two, three"]


async def test_enter_leads_to_a_field_that_was_forgotten_and_then_sends_it_as_it_is(config_folder: Path) -> None:
    template(config_folder, "ask", 'text = "about {topic}"')
    session = FakeSession()
    app = chat_app(session, config_path=str(config_folder / "config.toml"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"/prompt ask", "enter", "end", *"!")
        await pilot.press("enter")
        await settled(pilot)
        assert session.sent == []
        assert chat(app).prompt.selected_text == "{topic}"
        await pilot.press("enter")
        await settled(pilot)
        assert session.sent == ["about {topic}!"]


async def test_a_pasted_input_stays_folded_in_the_template(config_folder: Path) -> None:
    template(config_folder, "ask", 'text = "look: {input} and {b}"')
    paste = "\n".join(f"a {{b}} {number}" for number in range(40))
    session = FakeSession()
    app = chat_app(session, config_path=str(config_folder / "config.toml"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"/prompt ask ")
        chat(app).prompt.post_message(events.Paste(paste))
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert chat(app).prompt.text == "look: ⟦paste 1: 40 lines⟧ and {b}"
        assert chat(app).prompt.selected_text == "{b}"
        await pilot.press("c", "enter")
        await settled(pilot)
        assert session.sent == [f"look: {paste} and c"]


async def test_the_header_says_who_answers(config_folder: Path) -> None:
    app = chat_app(FakeSession(), config_path=str(config_folder / "config.toml"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"/persona tutor", "enter")
        await pilot.pause()
        assert "MTP · tutor" in seen(app).splitlines()[0]
        await pilot.press(*"/persona none", "enter")
        await pilot.pause()
        assert "tutor" not in seen(app).splitlines()[0]
