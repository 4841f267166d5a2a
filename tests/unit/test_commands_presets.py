"""/prompt and /persona."""

from __future__ import annotations

from pathlib import Path

from mtpchat.commands.base import FillPrompt, ShowPage
from mtpchat.commands.registry import complete, is_command
from tests.command_fakes import FakeContext, refuse, say


def arranged(tmp_path: Path, kind: str = "prompts", **files: str) -> FakeContext:
    (tmp_path / kind).mkdir()
    for name, text in files.items():
        (tmp_path / kind / f"{name}.toml").write_text(text)
    return FakeContext(config_path=str(tmp_path / "config.toml"))


def test_a_template_is_filled_with_what_follows_its_name(tmp_path: Path) -> None:
    context = arranged(tmp_path, ask='text = "\\nAbout {input} for {whom}\\n"')
    assert say(context, "/prompt ask rivers").effect == FillPrompt("About {input} for {whom}", "rivers", ("whom",))
    assert say(context, "/prompt Ask").effect == FillPrompt("About {input} for {whom}", "", ("input", "whom"))


def test_input_of_several_lines_stays_as_it_is(tmp_path: Path) -> None:
    context = arranged(tmp_path, ask='text = "{input}"')
    assert is_command("/prompt ask def f():\n    return 1\n")
    assert say(context, "/prompt ask def f():\n    return 1").effect == FillPrompt("{input}", "def f():\n    return 1")
    assert say(context, "/prompt ask\na  b\n").effect == FillPrompt("{input}", "a  b")
    assert not is_command("/undo\nthis")


def test_input_for_a_template_without_a_place_for_it_stands_below(tmp_path: Path) -> None:
    context = arranged(tmp_path, ask='text = "Say it."')
    assert say(context, "/prompt ask rivers").effect == FillPrompt("Say it.\n\n{input}", "rivers")


def test_templates_are_completed_with_their_descriptions(tmp_path: Path) -> None:
    context = arranged(tmp_path, ask='text = "{input}"\ndescription = "asks"', bye='text = "bye"')
    rows = {row.insert: row.summary for row in complete(context, "/prompt ")}
    assert rows["/prompt ask "] == "asks"
    assert "/prompt bye" in rows
    assert "/prompt explain " in rows


def test_the_list_says_where_ones_own_files_go_and_which_are_broken(tmp_path: Path) -> None:
    context = arranged(tmp_path, bad='txt = "a"')
    page = say(context, "/prompt").effect
    assert isinstance(page, ShowPage)
    assert str(tmp_path / "prompts") in page.markdown
    assert "line 1: txt is not a key" in page.markdown
    assert "line 1: txt is not a key" in refuse(context, "/prompt bad")


def test_a_template_may_bring_a_system_message_and_sampling(tmp_path: Path) -> None:
    context = arranged(tmp_path, ask='text = "{input}"\nsystem = "Be brief."\n[sampling]\ntemperature = 0.1')
    reply = say(context, "/prompt ask x")
    assert "system message, temperature 0.1" in reply.text
    assert context.session.system == "Be brief."
    assert context.session.config.sampling.temperature == 0.1
    say(context, "/persona none")
    assert context.session.system == ""


def test_a_persona_holds_until_none(tmp_path: Path) -> None:
    context = arranged(tmp_path, "personas", loud='system = "LOUD"\nthinking = false\ndescription = "loud"')
    assert "thinking off" in say(context, "/persona loud").text
    assert context.session.system == "LOUD"
    page = say(context, "/persona").effect
    assert isinstance(page, ShowPage)
    assert "in force" in page.markdown
    assert say(context, "/persona none").text == "loud is gone, from the next answer on"
    assert say(context, "/persona none").text == "No persona is in force"
    assert "Did you mean tutor" in refuse(context, "/persona tutr")


def test_personas_are_completed(tmp_path: Path) -> None:
    context = arranged(tmp_path, "personas")
    assert {"/persona coder", "/persona none"} <= {row.insert for row in complete(context, "/persona ")}
