"""Prompt templates and personas: files of the user's own, broken ones included, and what they change."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.errors import PresetError
from mtpchat.presets.personas import follow_chat, put_on, read_personas, shown_name, take_off
from mtpchat.presets.templates import read_templates
from tests.command_fakes import ArrangedSession


def own(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_those_that_ship_are_whole(tmp_path: Path) -> None:
    templates, personas = read_templates(tmp_path), read_personas(tmp_path)
    assert {"explain", "review", "summarise"} <= set(templates.found)
    assert {"coder", "editor", "tutor"} <= set(personas.found)
    assert not templates.failures
    assert not personas.failures
    assert all(one.description for one in [*templates.found.values(), *personas.found.values()])
    assert all("input" in one.fields for one in templates.found.values())


def test_a_file_of_ones_own_takes_the_place_of_one_that_ships(tmp_path: Path) -> None:
    own(tmp_path / "prompts", "x.toml", 'name = "Explain"\ntext = "{input}, briefly"\n')
    found = read_templates(tmp_path).found
    assert found["explain"].text == "{input}, briefly"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('text = "a"\nsystm = "b"\n', "line 2: systm is not a key"),
        ('description = "a"\n', "text is missing"),
        ('description = 3\ntext = "a"\n', "line 1: description: Expected `str`"),
        ('text = "a"\n\n[sampling]\ntemperature = -1\n', "line 4: sampling.temperature must be"),
        ('text = "a"\n[sampling]\ntemprature = 1\n', "line 3: sampling.temprature is not a setting"),
        ('text = "a\n', "line 1"),
        ('text = "  "\n', "line 1: text is empty"),
        ('name = "two words"\ntext = "a"\n', 'line 1: "two words" is no name'),
        ("text = 1\n" * 2, "Cannot overwrite"),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_costs_only_itself(tmp_path: Path, text: str, says: str) -> None:
    path = own(tmp_path / "prompts", "mine.toml", text)
    own(tmp_path / "prompts", "good.toml", 'text = "a"\n')
    shelf = read_templates(tmp_path)
    (failure,) = shelf.failures
    assert says in failure.message
    assert str(path) in failure.message
    assert "good" in shelf.found
    with pytest.raises(PresetError) as caught:
        shelf.get("mine", "prompt template")
    assert caught.value is failure


def test_a_file_that_is_no_text_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "picture.toml").write_bytes(b"\x89PNG\xff\x00")
    (tmp_path / "prompts" / "folder.toml").mkdir()
    assert len(read_templates(tmp_path).failures) == 2


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    own(tmp_path / "prompts", "mine.toml", 'text = "one"\n')
    assert read_templates(tmp_path).found["mine"].text == "one"
    own(tmp_path / "prompts", "mine.toml", 'text = "two"\n')
    assert read_templates(tmp_path).found["mine"].text == "two"


def test_an_unknown_name_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(PresetError) as caught:
        read_templates(tmp_path).get("explian", "prompt template")
    assert caught.value.hint == "Did you mean explain?"


@given(st.text(max_size=200))
def test_any_file_is_read_or_refused_with_a_sentence(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("config")
    (folder / "prompts").mkdir()
    (folder / "prompts" / "mine.toml").write_text(text, "utf-8", errors="replace")
    shelf = read_templates(folder)
    assert ("mine" in shelf.found) != bool(shelf.failures)


LOUD = """
system = "Be loud."
thinking = false
[sampling]
temperature = 1.5
top_k = 7
"""


def test_taking_a_persona_off_brings_back_all_that_it_had_changed(tmp_path: Path) -> None:
    own(tmp_path / "personas", "loud.toml", LOUD)
    session = ArrangedSession()
    session.system = "Mine."
    before = session.config
    put_on(session, "loud", read_personas(tmp_path).get("loud", "persona"))
    assert (session.system, session.config.sampling.temperature, session.config.sampling.top_k) == ("Be loud.", 1.5, 7)
    assert session.terms.thinking == "off"
    assert shown_name(session) == session.terms.options.persona == "loud"
    take_off(session)
    assert (session.config, session.system, session.terms.thinking) == (before, "Mine.", "auto")
    assert shown_name(session) == session.terms.options.persona == ""


def test_what_was_changed_since_stays_when_a_persona_goes(tmp_path: Path) -> None:
    own(tmp_path / "personas", "loud.toml", LOUD)
    session = ArrangedSession()
    put_on(session, "loud", read_personas(tmp_path).get("loud", "persona"))
    session.set_sampling("temperature", "0.1")
    session.system = "Another."
    assert shown_name(session) == ""
    take_off(session)
    assert session.config.sampling.temperature == 0.1
    assert session.config.sampling.top_k == ArrangedSession().config.sampling.top_k
    assert session.system == "Another."


def test_one_persona_after_another_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    own(tmp_path / "personas", "loud.toml", LOUD)
    shelf = read_personas(tmp_path)
    session = ArrangedSession()
    put_on(session, "loud", shelf.get("loud", "persona"))
    put_on(session, "tutor", shelf.get("Tutor", "persona"))
    assert session.config.sampling == ArrangedSession().config.sampling
    assert session.terms.thinking == "auto"


def test_a_new_chat_goes_on_with_the_persona(tmp_path: Path) -> None:
    own(tmp_path / "personas", "loud.toml", LOUD)
    session = ArrangedSession()
    put_on(session, "loud", read_personas(tmp_path).get("loud", "persona"))
    session.clear()
    follow_chat(session, lambda: read_personas(tmp_path))
    assert session.terms.options.persona == "loud"
    assert session.terms.thinking == "off"
    assert session.config.sampling.temperature == 1.5


def test_a_kept_chat_brings_its_persona_and_one_without_takes_it_off(tmp_path: Path) -> None:
    own(tmp_path / "personas", "loud.toml", LOUD)
    shelf = read_personas(tmp_path)
    session = ArrangedSession()
    session.terms.choose(persona="loud", thinking="high")
    session.system = "Be loud, as the file said then."
    follow_chat(session, lambda: shelf)
    assert session.config.sampling.temperature == 1.5
    assert session.system == "Be loud, as the file said then."
    assert session.terms.thinking == "high"
    session.clear()
    session._talk.chronicle._chat = "another"
    session.system = ""
    follow_chat(session, lambda: shelf)
    assert session.config.sampling == ArrangedSession().config.sampling
    assert session.persona is None


def test_a_persona_that_is_gone_leaves_the_kept_chat_as_it_is(tmp_path: Path) -> None:
    session = ArrangedSession()
    session.terms.choose(persona="gone")
    session.system = "Kept."
    follow_chat(session, lambda: read_personas(tmp_path))
    assert session.system == "Kept."
    assert session.persona is None
