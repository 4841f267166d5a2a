"""Framed files can be taken apart again, and no file can leave its frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mtpchat.attachments.framing import fence_for, framed, printable_name, with_files
from mtpchat.config import SamplingConfig
from mtpchat.engine.prompt import ChatPrompt
from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.template import NAMED_TEMPLATES
from mtpchat.messages import Attachment, Message
from tests import chat_templates as wild
from tests.fakes import CONTROL, FakeTokenizer

TEMPLATES = {
    "qwen3": wild.QWEN3,
    "llama3": wild.LLAMA3,
    "gemma": wild.GEMMA,
    "mistral": wild.MISTRAL,
    "parts": wild.PARTS_ONLY,
    "drops-system": wild.DROPS_SYSTEM,
    **{f"named-{name}": source for name, source in NAMED_TEMPLATES.items()},
}
PIECES = st.sampled_from(["```", "````", "~~~", "\n", " ", "File: x\n", "a", "é", "\x1b[2J", "\u202e", "`", *CONTROL])
TEXTS = st.lists(PIECES | st.text(st.characters(exclude_categories=["Cs"]), max_size=3), max_size=12).map("".join)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
FILES = st.lists(st.builds(Attachment, NAMES, TEXTS), max_size=3)


def taken_apart(text: str, count: int) -> tuple[str, list[Attachment]]:
    """What `with_files` put together; only a line end at the end of a file cannot be told."""
    files = []
    for _ in range(count):
        match = re.match(r"File: ([^\n]*)\n(`{3,})\n", text)
        assert match
        end = re.compile(rf"^{match[2]}(?:\n\n|\Z)", re.MULTILINE).search(text, match.end())
        assert end
        files.append(Attachment(match[1], text[match.end() : end.start()]))
        text = text[end.end() :]
    return text, files


def with_line_end(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"


@given(TEXTS, FILES)
def test_what_was_framed_can_be_taken_apart_again(content: str, files: list[Attachment]) -> None:
    said, found = taken_apart(with_files(content, files), len(files))
    assert said == content
    assert found == [Attachment(printable_name(one.name), with_line_end(one.text)) for one in files]


@given(TEXTS)
def test_a_reader_of_markdown_sees_one_block_with_the_whole_file(text: str) -> None:
    blocks = [one for one in MarkdownIt().parse(framed(Attachment("notes.md", text))) if one.type == "fence"]
    shown = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")  # as Markdown reads any text
    assert [one.content for one in blocks] == [with_line_end(shown)]


@given(TEXTS)
def test_a_fence_is_longer_than_every_run_of_backticks_inside(text: str) -> None:
    fence = fence_for(text)
    assert set(fence) == {"`"}
    assert len(fence) >= 3
    assert fence not in text


def test_files_stand_above_what_is_said() -> None:
    files = (Attachment("a.py", "x = 1"), Attachment("b.md", "use ```x```\n"))
    assert with_files("Why?", files) == ("File: a.py\n```\nx = 1\n```\n\nFile: b.md\n````\nuse ```x```\n````\n\nWhy?")
    assert with_files("", files[:1]) == "File: a.py\n```\nx = 1\n```"
    assert with_files("Why?", ()) == "Why?"


def rendered(template: str | None, message: Message) -> tuple[list[int], str]:
    """The control tokens of a prompt, and its text."""
    tokenizer = FakeTokenizer(bos="<s>", eos="</s>", adds_bos=True)
    conversation = (Message("system", "Be brief."), message, Message("assistant", "Yes."), Message("user", "More."))
    prompt = ChatPrompt(template, tokenizer, lambda: datetime(2024, 2, 29))
    done = prompt.encode(TurnRequest(conversation, SamplingConfig(seed=1)))
    control = [token for token in done.tokens if token >= 256 and not tokenizer.piece(token)]
    return control, done.text


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
@given(files=st.lists(st.builds(Attachment, NAMES, TEXTS), min_size=1, max_size=2))
def test_no_file_changes_the_structure_of_the_prompt(template: str, files: Sequence[Attachment]) -> None:
    harmless, _text = rendered(template, Message("user", "Why?"))
    control, text = rendered(template, Message("user", "Why?", attachments=tuple(files)))
    assert control == harmless
    assert with_files("Why?", files) in text


def test_without_a_template_the_files_are_part_of_the_message() -> None:
    _control, text = rendered(None, Message("user", "Why?", attachments=(Attachment("a.py", "x = 1"),)))
    assert "<|im_start|>user\nFile: a.py\n```\nx = 1\n```\n\nWhy?<|im_end|>" in text
