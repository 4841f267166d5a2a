"""Exports hold the files that messages brought along, and no file breaks out of its place in them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mtpchat.commands.export import Exported, as_markdown, render
from mtpchat.exchange.share_gpt import as_object
from mtpchat.messages import Attachment, Message
from mtpchat.whole_chat import Node, WholeChat

PIECES = st.sampled_from(["`", "```", "~~~", "\n", "</details>", "\n\n## You\n"])
LETTERS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
TEXTS = st.lists(PIECES | LETTERS, max_size=12).map("".join)


def exported(*files: Attachment) -> Exported:
    return Exported("Tiny", "", (Message("user", "Why?", attachments=files), Message("assistant", "So.")))


def test_json_holds_name_and_text() -> None:
    node = Node("u", "user", "Why?", attachments=(Attachment("notes.md", "Rivers\x1b bend."),))
    read = json.loads(render("json", [WholeChat("chat", messages=(node,))]))
    assert read["messages"][0]["attachments"] == [{"name": "notes.md", "text": "Rivers\x1b bend."}]


def test_markdown_folds_a_file_away_below_what_was_said() -> None:
    text = as_markdown(exported(Attachment("<b>.md", "Rivers bend.")))
    file = "<details><summary>&lt;b&gt;.md</summary>\n\n```\nRivers bend.\n```\n\n</details>"
    assert f"## You\n\nWhy?\n\n{file}\n\n## Answer" in text


@given(TEXTS, TEXTS)
def test_a_reader_of_markdown_sees_each_file_as_one_block(name: str, text: str) -> None:
    tokens = MarkdownIt().parse(as_markdown(exported(Attachment(name, text))))
    shown = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    assert [one.content.removesuffix("\n") for one in tokens if one.type == "fence"] == [shown.removesuffix("\n")]
    headings = [tokens[at + 1].content for at, one in enumerate(tokens) if one.type == "heading_open"]
    assert headings == ["Chat with Tiny", "You", "Answer"]


def test_training_tools_get_the_files_as_the_model_read_them() -> None:
    nodes = (
        Node("u", "user", "Why?", attachments=(Attachment("a.md", "Rivers bend."),)),
        Node("a", "assistant", "So.", "u"),
    )
    exported = as_object(WholeChat("chat", leaf="a", messages=nodes))
    assert exported["conversations"] == [
        {"from": "human", "value": "File: a.md\n```\nRivers bend.\n```\n\nWhy?"},
        {"from": "gpt", "value": "So."},
    ]


def test_markdown_begins_with_the_title_that_was_given() -> None:
    said = (Node("u", "user", "Why?"),)
    named = render("md", [WholeChat("chat", "The  lighthouse\nnovel", named=True, messages=said)])
    assert named.startswith("# The lighthouse novel\n\nChat\n\n## You")
    assert render("md", [WholeChat("chat", "Why?", messages=said)]).startswith("# Chat\n\n## You")
