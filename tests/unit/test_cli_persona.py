"""--persona on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpchat.cli_flags import parse_arguments
from mtpchat.cli_help import help_page
from mtpchat.cli_persona import chosen_persona
from mtpchat.errors import ConfigError, PresetError
from mtpchat.paths import config_dir
from mtpchat.presets.personas import follow_chat, read_personas, shown_name
from tests.command_fakes import ArrangedSession


def dressed(*argv: str) -> ArrangedSession:
    arguments = parse_arguments([*argv])
    session = ArrangedSession()
    chosen_persona(arguments.persona, Path("/nowhere"), arguments.flags)(session)
    return session


def test_a_persona_holds_from_the_first_answer_on() -> None:
    session = dressed("--persona", "Coder", "-p", "x")
    assert shown_name(session) == "coder"
    assert session.config.sampling.temperature == 0.2
    assert "programmer" in session.terms.request().messages[0].content


def test_flags_win_over_the_persona() -> None:
    assert dressed("--persona", "coder", "--temp", "0.9").config.sampling.temperature != 0.2
    with pytest.raises(ConfigError, match="two system messages"):
        dressed("--persona", "coder", "-sys", "x")


def test_none_is_none() -> None:
    assert shown_name(dressed("-p", "x")) == ""


def test_a_typing_mistake_is_told_before_anything_is_loaded() -> None:
    with pytest.raises(PresetError) as caught:
        dressed("--persona", "codr")
    assert caught.value.hint == "Did you mean coder?"


def test_it_also_holds_for_a_chat_that_is_gone_on_with() -> None:
    session = dressed("--persona", "coder")
    session.system = "what the kept chat had"
    session.terms.choose(persona="")
    follow_chat(session, lambda: read_personas(Path("/nowhere")))
    assert shown_name(session) == "coder"
    assert session.terms.options.persona == "coder"


def test_help_tells_where_ones_own_files_go() -> None:
    page = help_page(["help"])
    assert str(config_dir() / "prompts") in page
    assert str(config_dir() / "personas") in page
