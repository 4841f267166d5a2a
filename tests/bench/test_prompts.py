"""Prompt files: what ships is complete, and a bad file is explained."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.bench.prompts import OWN, builtin, from_conversations, read, select
from mtpchat.bench.subject import EngineSubject
from mtpchat.errors import ConfigError
from mtpchat.messages import Message
from tests.models import TinyModel
from tests.native.talk import talk

CLASSES = {"code", "chat", "summarise", "edit", "reasoning", "creative"}


def test_every_class_has_several_prompts_in_both_languages() -> None:
    assert {prompt.group for prompt in builtin()} == CLASSES
    for group in CLASSES:
        own = [prompt for prompt in builtin() if prompt.group == group]
        assert {prompt.language for prompt in own} == {"en", "zh"}
        assert len(own) >= 3


def test_builtin_prompts_are_small_enough_for_a_small_context() -> None:
    assert max(len(prompt.text) for prompt in builtin()) < 1500
    assert all(prompt.text == prompt.text.strip() for prompt in builtin())


def test_a_text_file_holds_one_prompt_per_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes("\ufeffFirst [one]\r\n\r\n  第二  \r\n".encode())
    assert [(one.name, one.text, one.group) for one in read(path)] == [
        ("line-1", "First [one]", OWN),
        ("line-3", "第二", OWN),
    ]


def test_jsonl_and_toml_say_the_same(tmp_path: Path) -> None:
    lines, table = tmp_path / "a.jsonl", tmp_path / "a.toml"
    lines.write_text('"plain"\n{"text": "two", "class": "code", "name": "n", "language": "en", "system": "s"}\n')
    table.write_text(
        '[[prompt]]\ntext = "plain"\n'
        '[[prompt]]\ntext = "two"\nclass = "code"\nname = "n"\nlanguage = "en"\nsystem = "s"\n'
    )
    first, second = read(lines), read(table)
    assert [one.text for one in first] == [one.text for one in second] == ["plain", "two"]
    assert first[1] == second[1]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.txt", b"\n \n", "there is no prompt in it"),
        ("a.txt", b"caf\xe9", "is not UTF-8"),
        ("a.jsonl", b'{"text": "x"}\n{"text": ', "line 2 is not JSON"),
        ("a.jsonl", b'{"txt": "x"}', 'line 1 has the unknown key "txt"'),
        ("a.jsonl", b"17", "line 1 must be a table with a text, not 17"),
        ("a.jsonl", b'{"text": ["x"]}', "line 1 needs a text for text"),
        ("a.jsonl", b'{"class": "code"}', "line 1 has no text"),
        ("a.jsonl", b'{"text": "x", "name": "n"}\n{"text": "y", "name": "n"}', 'two prompts are called "n"'),
        ("a.toml", b"[[prompt]\n", "is not valid TOML"),
        ("a.toml", b'prompt = "x"', "has no [[prompt]]"),
        ("a.toml", b'[[prompt]]\ntext = " "', "prompt 1 has no text"),
    ],
)
def test_a_bad_file_is_named_with_its_place(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert str(path) in caught.value.message
    assert complaint in caught.value.message
    assert caught.value.hint


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read(tmp_path / "none.toml")


def test_a_class_a_language_or_a_name_selects() -> None:
    assert {one.group for one in select(builtin(), ["code"])} == {"code"}
    assert {one.language for one in select(builtin(), ["zh"])} == {"zh"}
    assert [one.name for one in select(builtin(), ["edit-json"])] == ["edit-json"]
    assert select(builtin(), []) == builtin()


def test_an_unknown_class_names_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        select(builtin(), ["coed"])
    assert "code" in caught.value.hint


SYSTEM, ASKED, SAID = Message("system", "Be brief."), Message("user", "Why?"), Message("assistant", "So.", "hm")


def test_a_conversation_is_asked_up_to_its_last_question() -> None:
    again = Message("user", "And then?")
    found = from_conversations([(SYSTEM, ASKED, SAID, again, SAID), (), (ASKED,), (SYSTEM, SAID)])
    assert [(one.name, one.text, one.system, one.before) for one in found] == [
        ("chat-1", "And then?", "Be brief.", (ASKED, SAID)),
        ("chat-3", "Why?", "", ()),
    ]
    assert {one.group for one in found} == {"chats"}


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=6), st.integers(0, 200))
def test_what_came_before_is_cut_at_a_question_to_the_room_there_is(said: list[tuple[str, str]], room: int) -> None:
    messages = [one for ask, answer in said for one in (Message("user", ask), Message("assistant", answer))]
    (whole,) = from_conversations([[*messages, ASKED]])
    (cut,) = from_conversations([[*messages, ASKED]], room=room)
    kept = len(cut.before)
    assert cut.before == whole.before[len(whole.before) - kept :]
    assert not kept or cut.before[0].role == "user"

    def size(count: int) -> int:
        return sum(len(one.content.encode("utf-8", "replace")) for one in (*whole.before[-count:], ASKED))

    assert not kept or size(kept) <= room
    assert kept == len(whole.before) or size(kept + 2) > room


def test_what_was_said_before_is_part_of_the_prompt(dense_random: TinyModel) -> None:
    whole, alone = from_conversations([(SYSTEM, ASKED, SAID, Message("user", "Go on."))]), Message("user", "Go on.")
    with talk(dense_random.path) as talking:
        subject = EngineSubject(talking.engine)
        read_again = subject.prompt_tokens(whole[0])
        assert len(read_again) > len(subject.prompt_tokens(from_conversations([(SYSTEM, alone)])[0]))
        text = talking.engine.probe().loaded.tokenizer
        shown = b"".join(text.piece(token, special=True) for token in read_again).decode()
        assert all(one in shown for one in ("Be brief.", "Why?", "So.", "Go on."))
