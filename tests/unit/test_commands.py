"""Slash commands as a whole: finding them, refusing mistakes, completing, and the program's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.commands import registry
from mtpchat.commands.base import ChangeTheme, ChooseTheme, Quit, Reply, ShowPage
from mtpchat.commands.registry import all_commands, command_table, complete, dispatch, is_command
from mtpchat.config import Config, PathsConfig, SamplingConfig
from tests.command_fakes import FACTS, ArrangedSession, FakeContext, refuse, say, talk


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeContext:
    monkeypatch.chdir(tmp_path)
    return FakeContext()


@given(st.text(max_size=40), st.booleans())
def test_no_line_a_user_can_type_makes_dispatch_raise(line: str, busy: bool) -> None:
    reply = dispatch(FakeContext(ArrangedSession(busy=busy)), f"/{line}")
    assert reply.level in {"info", "error"}


@given(st.sampled_from(all_commands()), st.text(max_size=30))
def test_no_argument_a_user_can_type_makes_dispatch_or_complete_raise(one: registry.Command, argument: str) -> None:
    context = FakeContext(ArrangedSession(messages=talk("an answer")))
    if not one.name.startswith("export"):
        assert isinstance(dispatch(context, f"/{one.name} {argument}"), Reply)
    for row in complete(context, f"/{one.name} {argument}"):
        assert row.insert.startswith(f"/{one.name} ")


def test_unknown_command_names_the_nearest_one(context: FakeContext) -> None:
    assert refuse(context, "/drft 3") == "There is no command /drft. Did you mean /draft?"


def test_command_unlike_any_other_points_to_help(context: FakeContext) -> None:
    assert "/help" in refuse(context, "/zzzzqqq")


@pytest.mark.parametrize(("line", "wanted"), [("/mtp onn", "on"), ("/spec ngrams", "ngram"), ("/theme papr", "paper")])
def test_unknown_argument_names_the_nearest_one(context: FakeContext, line: str, wanted: str) -> None:
    assert refuse(context, line).endswith(f"Did you mean {wanted}?")


def test_command_without_argument_refuses_one(context: FakeContext) -> None:
    assert "no argument" in refuse(context, "/clear everything")


def test_commands_that_change_the_conversation_wait_for_the_answer(context: FakeContext) -> None:
    context.session.arrange(busy=True)
    context.session.arrange(messages=talk("an answer"))
    for one in all_commands():
        if not one.while_busy:
            text = refuse(context, f"/{one.name} x" if one.takes_argument else f"/{one.name}")
            assert "wait" in text
            assert "Esc" in text
    assert {"retry", "continue", "undo", "clear", "model", "drafter"} <= {
        c.name for c in all_commands() if not c.while_busy
    }


def test_fault_in_a_command_becomes_an_error_reply_and_is_logged(
    context: FakeContext, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def explode() -> None:
        raise ZeroDivisionError("so there")

    monkeypatch.setattr(context.session, "clear", explode)
    reply = dispatch(context, "/clear")
    assert reply.level == "error"
    assert "so there" in reply.text
    assert caplog.records[0].exc_info is not None


def test_names_and_aliases_are_unique_and_summaries_fit_one_line() -> None:
    names = [name for one in all_commands() for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names))
    for one in all_commands():
        assert one.usage.startswith(f"/{one.name}")
        assert 0 < len(one.summary) <= 60
        assert "\n" not in one.summary


def test_registering_a_name_twice_is_refused() -> None:
    all_commands()
    with pytest.raises(ValueError, match="/help"):
        registry.command("help", "again")(lambda _context, _argument: Reply())


def test_table_has_one_row_for_each_command_and_no_broken_cell() -> None:
    lines = command_table().splitlines()
    assert len(lines) == len(all_commands()) + 2
    assert all(line.replace("\\|", "").count("|") == 3 for line in lines)


def test_readme_shows_the_table_of_commands_that_the_program_has() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert command_table() in readme


def test_slash_alone_lists_every_command(context: FakeContext) -> None:
    assert [row.label for row in complete(context, "/")] == [f"/{one.name}" for one in all_commands()]


def test_menu_of_names_narrows_to_what_was_typed(context: FakeContext) -> None:
    rows = complete(context, "/dr")
    assert [row.insert for row in rows] == ["/draft ", "/drafter "]
    assert complete(context, "/qui")[0].insert == "/quit"


@pytest.mark.parametrize("line", ["", "hello", "hello /mtp", "/mtp on\n", "/nonsense x"])
def test_text_that_is_no_command_has_no_menu(context: FakeContext, line: str) -> None:
    assert complete(context, line) == []


def test_draft_offers_the_depths_this_model_can_do(context: FakeContext) -> None:
    assert [row.label for row in complete(context, "/draft ")] == ["auto", "1", "2", "3", "4", "1-4"]
    context.session.arrange(facts=replace(FACTS, depth_limit=2))
    assert [row.label for row in complete(context, "/draft ")] == ["auto", "1", "2", "1-2"]
    context.session.arrange(facts=replace(FACTS, depth_limit=None))
    assert [row.label for row in complete(context, "/draft ")] == ["auto", "1", "2", "3", "4", "1-6"]


def test_every_completion_without_a_path_can_be_dispatched(context: FakeContext) -> None:
    context.session.arrange(seed=7)
    for name in ("mtp", "draft", "theme", "seed", "help"):
        for row in complete(context, f"/{name} "):
            say(context, row.insert)
    for key in complete(context, "/set "):
        for row in complete(context, key.insert):
            say(context, row.insert)


def test_models_complete_from_the_models_folder_and_here(context: FakeContext, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    (shelf / "big").mkdir(parents=True)
    (shelf / "Alpha.gguf").write_bytes(b"x" * 2500)
    (shelf / "notes.txt").touch()
    (shelf / "big" / "beta.GGUF").touch()
    (tmp_path / "here.gguf").touch()
    context.session.config = Config(paths=PathsConfig(models=str(shelf)))
    labels = [row.label for row in complete(context, "/model ")]
    assert labels == ["Alpha.gguf", "here.gguf", "big/", "shelf/"]
    assert complete(context, "/model al")[0].summary == "2.5 kB"
    assert [row.insert for row in complete(context, "/model big/")] == ["/model big/beta.GGUF"]
    assert [row.label for row in complete(context, f"/model {shelf}/A")] == [f"{shelf}/Alpha.gguf"]
    assert complete(context, "/drafter n")[0].label == "none"


@pytest.mark.parametrize("argument", ["~nobody-of-that-name/", "no/such/folder/", "\0/", "a" * 5000 + "/"])
def test_impossible_paths_complete_to_nothing(context: FakeContext, argument: str) -> None:
    assert complete(context, f"/model {argument}") == []


def test_set_lists_shows_and_changes_samplers(context: FakeContext) -> None:
    page = say(context, "/set").effect
    assert isinstance(page, ShowPage)
    assert all(f"`{name}`" in page.markdown for name in SamplingConfig.__struct_fields__)
    say(context, "/set top-k 20")
    assert context.session.config.sampling.top_k == 20
    assert "20" in say(context, "/set top_k").text
    assert "top_k" in refuse(context, "/set topk 20")
    refuse(context, "/set top_k many")


def test_seed_is_fixed_and_freed(context: FakeContext) -> None:
    say(context, "/seed 42")
    assert context.session.config.sampling.seed == 42
    assert "42" in say(context, "/seed").text
    say(context, f"/seed {2**63 - 1}")
    assert context.session.config.sampling.seed == 2**63 - 1, "as large as the settings take"
    assert "must be" in refuse(context, f"/seed {2**63}")
    say(context, "/seed random")
    assert context.session.config.sampling.seed == -1
    context.session.arrange(seed=99)
    assert "99" in say(context, "/seed").text
    refuse(context, "/seed -5")


def test_theme_is_checked_before_it_is_changed(context: FakeContext) -> None:
    assert say(context, "/theme Paper").effect == ChangeTheme("paper")
    assert say(context, "/theme").effect == ChooseTheme()
    assert "Did you mean paper?" in refuse(context, "/theme papre")


def test_config_shows_the_settings_in_force(context: FakeContext) -> None:
    say(context, "/set top_k 17")
    page = say(context, "/config").effect
    assert isinstance(page, ShowPage)
    assert "top_k = 17" in page.markdown
    assert "/nowhere/config.toml" in page.markdown


def test_help_lists_all_or_explains_one(context: FakeContext) -> None:
    assert say(context, "/help").effect == ShowPage("Commands", command_table())
    assert "/draft N | MIN-MAX | auto" in say(context, "/help /draft").text
    assert "draft" in refuse(context, "/help drafd")


@pytest.mark.parametrize("line", ["/quit", "/exit", "/q", "/QUIT"])
def test_quit_works_at_any_time(context: FakeContext, line: str) -> None:
    context.session.arrange(busy=True)
    assert say(context, line).effect == Quit()


@pytest.mark.parametrize("text", ["exit", " quit\n", ":q"])
def test_the_words_that_leave_other_programs_leave_this_one(context: FakeContext, text: str) -> None:
    assert is_command(text)
    assert isinstance(dispatch(context, text).effect, Quit)
    assert not is_command(f"{text.strip()} the loop")


@pytest.mark.parametrize("line", ["/set temp 0.5", "/set temperature=0.5", "/set temp = 0.5"])
def test_set_takes_the_beginning_of_a_name_and_an_equals_sign(context: FakeContext, line: str) -> None:
    assert say(context, line).text.startswith("temperature is 0.5")
    assert refuse(context, "/set top_ 1").startswith('There is no sampler "top_"')
