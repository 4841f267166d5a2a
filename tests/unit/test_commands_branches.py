"""/edit, /retry, /amend, /undo, /redo, /fork and /branch: what they ask the screen for, and what they refuse."""

from __future__ import annotations

import pytest

from mtpchat.commands.base import EditMessage, ShowChat, ShowPage, StartTurn
from mtpchat.commands.registry import complete, is_command
from mtpchat.config import SamplingConfig
from mtpchat.messages import Message
from tests.command_fakes import FakeContext, refuse, say, talk


@pytest.fixture
def context() -> FakeContext:
    return FakeContext()


def rows(context: FakeContext, line: str) -> list[str]:
    return [row.insert for row in complete(context, line)]


def branched(context: FakeContext) -> None:
    """Two prompts; the first has one answer, the second two, the last of which is the user's wording."""
    context.session.arrange(messages=talk("one", "two"))
    context.session.amend(3, "two, said better")


def test_edit_takes_the_last_prompt_or_the_one_that_is_numbered(context: FakeContext) -> None:
    assert "prompt" in refuse(context, "/edit")
    context.session.arrange(messages=talk("one", "two"))
    assert say(context, "/edit").effect == EditMessage(2)
    assert say(context, "/edit 1").effect == EditMessage(0)
    assert say(context, "/edit about three").effect == EditMessage(2, "about three")
    assert say(context, "/edit 1 about three").effect == EditMessage(0, "about three")
    for number in ("3", "0", "9" * 5000):
        assert "the last one is 2" in refuse(context, f"/edit {number}").casefold()
    assert rows(context, "/edit ") == ["/edit 2 ", "/edit 1 "]


def test_texts_of_commands_may_have_several_lines(context: FakeContext) -> None:
    context.session.arrange(messages=talk("one", "two"))
    for line, index, text in (
        ("/edit 1\nabout\n\nthree", 0, "about\n\nthree"),
        ("/edit about\nthree", 2, "about\nthree"),
        ("/amend 1 better\nso", 1, "better\nso"),
    ):
        assert is_command(line)
        effect = say(context, line).effect
        assert effect == (EditMessage(index, text) if "edit" in line else ShowChat(stay_at=index))
    assert context.session.messages[1].content == "better\nso"
    assert is_command("/system Be brief.\nBe kind.")
    say(context, "/system Be brief.\nBe kind.")
    assert context.session.system == "Be brief.\nBe kind."


def test_prompts_that_got_no_answer_are_counted(context: FakeContext) -> None:
    context.session.arrange(messages=(Message("user", "lost"), *talk("one")))
    assert say(context, "/edit 2").effect == EditMessage(1)
    assert say(context, "/amend 2").effect == EditMessage(2)
    assert "answer 1" in refuse(context, "/amend 1 better")


def test_retry_takes_settings_for_one_answer(context: FakeContext) -> None:
    refuse(context, "/retry")
    context.session.arrange(messages=talk("one", "two"))
    before = context.session.config
    assert say(context, "/retry").effect == StartTurn("retry")
    assert say(context, "/regenerate 1").effect == StartTurn("retry", 0)
    hot = SamplingConfig(temperature=0.9, seed=7)
    assert say(context, "/retry temperature=0.9 seed=7").effect == StartTurn("retry", None, hot, 7)
    effect = say(context, "/retry 1 top-k=5").effect
    assert effect == StartTurn("retry", 0, SamplingConfig(top_k=5))
    assert context.session.config == before


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/retry temprature=1", "temperature"),
        ("/retry temperature=hot", "temperature"),
        ("/retry temperature=-1", "temperature"),
        ("/retry quickly", "temperature=0.9"),
        ("/retry 9", "last one is 2"),
    ],
)
def test_retry_says_what_is_wrong_with_a_setting(context: FakeContext, line: str, told: str) -> None:
    context.session.arrange(messages=talk("one", "two"))
    assert told in refuse(context, line).replace("The last", "the last")


def test_settings_of_retry_are_completed_one_after_the_other(context: FakeContext) -> None:
    context.session.arrange(messages=talk("one"))
    assert "/retry temperature=" in rows(context, "/retry te")
    assert "/retry 1 " in rows(context, "/retry ")
    more = rows(context, "/retry temperature=1 s")
    assert "/retry temperature=1 seed=" in more
    assert "/retry temperature=1 temperature=" not in rows(context, "/retry temperature=1 ")


def test_amend_puts_an_answer_differently_beside_the_first(context: FakeContext) -> None:
    refuse(context, "/amend nothing")
    context.session.arrange(messages=talk("one", "two"))
    reply = say(context, "/amend 1 uno")
    assert reply.effect == ShowChat(stay_at=1)
    assert "2 of 2" in reply.text
    assert [one.content for one in context.session.messages] == ["about one", "uno"]
    say(context, "/branch 1")
    assert context.session.messages == talk("one", "two")
    assert say(context, "/amend").effect == EditMessage(3)


def test_undo_and_redo_go_back_and_forth(context: FakeContext) -> None:
    refuse(context, "/redo")
    context.session.arrange(messages=talk("one", "two"))
    say(context, "/undo")
    say(context, "/undo")
    assert context.session.messages == ()
    say(context, "/redo")
    assert context.session.messages == talk("one")
    assert say(context, "/redo").effect == ShowChat(brought_back=True)
    assert context.session.messages == talk("one", "two")
    refuse(context, "/redo")


def test_branch_lists_and_shows_versions(context: FakeContext) -> None:
    context.session.arrange(messages=talk("one"))
    assert "/edit" in refuse(context, "/branch")
    branched(context)
    page = say(context, "/branch").effect
    assert isinstance(page, ShowPage)
    assert "two, said better" in page.markdown
    assert "`/branch 1`" in page.markdown
    assert rows(context, "/branch ") == ["/branch 1", "/branch 2"]
    assert say(context, "/branch 1").effect == ShowChat(stay_at=3)
    assert context.session.messages == talk("one", "two")
    say(context, "/branch 2 answer 2")
    assert context.session.messages[-1].content == "two, said better"


@pytest.mark.parametrize(
    "line", ["/branch 3", "/branch 0", "/branch 2", "/branch x", "/branch 1 prompt 1", "/branch 1 x 2"]
)
def test_branch_refuses_what_is_no_other_version(context: FakeContext, line: str) -> None:
    branched(context)
    refuse(context, line)


def test_a_version_in_the_middle_is_named_by_its_message(context: FakeContext) -> None:
    context.session.arrange(messages=talk("one", "two"))
    context.session.amend(1, "uno")
    context.session.walk(1, -1)
    context.session.amend(3, "dos")
    assert "/branch 2 answer 1" in rows(context, "/branch ")
    say(context, "/branch 2 answer 1")
    assert [one.content for one in context.session.messages] == ["about one", "uno"]


def test_without_kept_chats_there_is_no_fork(context: FakeContext) -> None:
    context.session.arrange(messages=talk("one"))
    assert "lost" in refuse(context, "/fork")


@pytest.mark.parametrize(("argument", "copied"), [("", 4), (" 2", 4), (" 1", 2)])
def test_fork_goes_on_in_a_copy(context: FakeContext, argument: str, copied: int) -> None:
    archive = context.session._talk.chronicle.archive
    archive.keeps = True  # type: ignore[misc]
    context.session.arrange(messages=talk("one", "two"))
    reply = say(context, f"/fork{argument}")
    assert f"{copied} messages" in reply.text
    assert context.session.messages == talk("one", "two")[:copied]
    assert context.session.title.endswith("(fork)")
