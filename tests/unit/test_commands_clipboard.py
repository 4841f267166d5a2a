"""/copy, and the code blocks that it finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.commands.base import CopyText
from mtpchat.commands.clipboard import amount
from mtpchat.commands.code_blocks import CodeBlock, code_blocks
from mtpchat.commands.page import fenced
from mtpchat.commands.registry import complete
from mtpchat.messages import Message
from tests.command_fakes import FakeContext, refuse, say, talk

CODE = "see\n```python\nfirst\n```\nand\n~~~\nsecond [b]\n\n~~~\nend"


@pytest.fixture
def context() -> FakeContext:
    return FakeContext()


def copied(context: FakeContext, line: str) -> str:
    effect = say(context, line).effect
    assert isinstance(effect, CopyText)
    return effect.text


def test_copy_takes_the_last_answer_or_its_last_code_block(context: FakeContext) -> None:
    refuse(context, "/copy")
    context.session.arrange(messages=talk("no code"))
    refuse(context, "/copy code")
    context.session.arrange(messages=talk(CODE))
    assert copied(context, "/copy") == CODE
    assert copied(context, "/copy code") == "second [b]\n"
    assert say(context, "/copy").text == "Copied the last answer: 10 lines"


def test_copy_takes_the_answer_to_a_numbered_prompt(context: FakeContext) -> None:
    context.session.arrange(messages=(*talk("one", "two"), Message("user", "three")))
    assert copied(context, "/copy 1") == "one"
    assert copied(context, "/copy 2") == "two"
    assert "no answer" in refuse(context, "/copy 3")
    assert "3 prompts" in refuse(context, "/copy 4")
    refuse(context, "/copy 0")
    refuse(context, "/copy 1 2")
    refuse(context, "/copy everything")


def test_copy_takes_a_numbered_code_block_of_the_latest_answer_with_code(context: FakeContext) -> None:
    context.session.arrange(messages=talk(CODE, "no code"))
    assert copied(context, "/copy code 1") == "first"
    assert copied(context, "/copy code 2") == "second [b]\n"
    assert "1 to 2" in refuse(context, "/copy code 3")
    refuse(context, "/copy code one")


def test_copy_takes_the_whole_chat(context: FakeContext) -> None:
    refuse(context, "/copy chat")
    context.session.arrange(messages=talk("one", "two"))
    text = copied(context, "/copy chat")
    assert [text.index(part) for part in ("about one", "one", "about two")] == sorted(
        text.index(part) for part in ("about one", "one", "about two")
    )


def test_the_menu_offers_prompts_by_number_and_blocks_by_what_they_are(context: FakeContext) -> None:
    context.session.arrange(messages=talk(CODE, "two"))
    assert [row.label for row in complete(context, "/copy ")] == ["code", "chat", "2", "1"]
    rows = complete(context, "/copy code ")
    assert [row.label for row in rows] == ["code 1", "code 2"]
    assert rows[0].summary == "python · 5 characters · first"


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=20), max_size=6)
)
def test_any_text_in_a_code_block_comes_out_as_it_went_in(lines: list[str]) -> None:
    text = "\n".join(lines).rstrip()
    assert [block.code for block in code_blocks(f"before\n\n{fenced(text, 'x')}\n\nafter")] == [text]


def test_code_in_lists_and_quotations_is_found_without_what_stands_before_it() -> None:
    text = "1. do\n\n   ```sh\n   ls -l\n     inner\n   ```\n\n> ```\n> quoted\n> ```\n"
    assert [(block.language, block.code) for block in code_blocks(text)] == [("sh", "ls -l\n  inner"), ("", "quoted")]


def test_code_block_without_end_goes_on_to_the_end() -> None:
    assert [block.code for block in code_blocks("```\na\n``\nb")] == ["a\n``\nb"]


def test_inline_code_does_not_open_a_block() -> None:
    assert code_blocks("``` not a fence ```\ntext") == []


@pytest.mark.parametrize(
    ("info", "code", "name"),
    [
        ('python title="tool.py"', "x", "tool.py"),
        ("js filename=src/app.js", "x", "app.js"),
        ("python", "# src/main.py\nprint()", "main.py"),
        ("c", "/* a.c */\nint x;", "a.c"),
        ("python", "# prints a line\nprint()", ""),
        ("python", "print()", ""),
        ('python title="../../.bashrc"', "x", ""),
        ("python title=/etc/passwd.d/..", "x", ""),
        ("", "", ""),
    ],
)
def test_a_block_may_name_its_file_but_never_a_folder(info: str, code: str, name: str) -> None:
    assert CodeBlock(info, code).own_name == name


@given(st.text(), st.text())
def test_no_name_that_a_block_gives_itself_leads_anywhere(info: str, code: str) -> None:
    name = CodeBlock(info, code).own_name
    assert not name.startswith(".")
    assert not set(name) & set('/\\:\0\n"')


@pytest.mark.parametrize("text", ['{"name": "Puppy"}', "\n[1,\n 2]\n", '{"code": "```\\nx\\n```"}'])
def test_an_answer_that_is_json_as_a_whole_is_one_block(text: str) -> None:
    assert code_blocks(text) == [CodeBlock("json", text.strip())]


@pytest.mark.parametrize("text", ["{}{}", "[link] and [more]", "{a}", '"text"', "7", "[" * 100_000 + "]" * 100_000])
def test_what_only_looks_like_json_is_no_code(text: str) -> None:
    assert code_blocks(text) == []


def test_amounts_are_lines_or_the_characters_of_one() -> None:
    assert [amount(text) for text in ("a\nb\n", "abc", "x", "")] == [
        "2 lines",
        "3 characters",
        "1 character",
        "0 characters",
    ]
