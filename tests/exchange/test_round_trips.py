"""What goes out comes in again: whole trees in our own format, every word of the shown branch in the others."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpchat.exchange import own, share_gpt
from mtpchat.exchange.findings import Found
from mtpchat.exchange.intake import findings
from mtpchat.store import reading, search
from mtpchat.store.database import open_database, transaction
from mtpchat.store.taking_in import take_in
from mtpchat.whole_chat import WholeChat, shown
from tests.exchange.trees import chats

AT = 1_700_000_000.0


def found(text: str) -> list[WholeChat]:
    taken = list(findings(text.encode(), AT))
    assert all(isinstance(one, Found) for one in taken), taken
    return [one.chat for one in taken if isinstance(one, Found)]


@given(chats())
def test_our_own_json_is_the_same_out_and_in(chat: WholeChat) -> None:
    assert found(own.as_json([chat])) == [chat]


@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=4, unique=True).flatmap(
        lambda names: st.tuples(*(chats(f"chat{name}") for name in names))
    )
)
def test_several_chats_are_one_array(several: tuple[WholeChat, ...]) -> None:
    text = own.as_json(several)
    assert len(json.loads(text)) == len(several)
    assert found(text) == list(several)
    assert found("".join(own.as_json([chat]) for chat in several)) == list(several)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(chats())
def test_a_chat_that_was_kept_again_is_the_same_chat(tmp_path: Path, chat: WholeChat) -> None:
    with closing(open_database(tmp_path / f"{abs(hash(chat.title))}-{len(list(tmp_path.iterdir()))}.db")) as connection:
        with transaction(connection, durable=False):
            search.prepare(connection)
        for messages in (len(chat.messages), 0):
            with transaction(connection, durable=False):
                assert take_in(connection, chat).messages == messages
        (again,) = found(json.dumps(reading.whole(connection, chat.id)))
    assert again.messages == chat.messages
    assert (again.id, again.leaf, again.options, again.pinned) == (chat.id, chat.leaf, chat.options, chat.pinned)
    assert (again.created, again.updated) == (chat.created, chat.updated)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@given(chats())
def test_share_gpt_keeps_every_word_of_the_shown_branch(chat: WholeChat) -> None:
    (again,) = found(share_gpt.as_lines([chat]))
    there = words(" ".join(f"{node.thinking} {node.content}" for node in again.messages))
    for node in shown(chat):
        texts = [node.thinking, node.content, *(file.text for file in node.attachments)]
        assert all(word in there for text in texts for word in words(text))
    assert len(share_gpt.as_lines([chat]).splitlines()) == 1


@given(chats())
def test_a_share_gpt_line_that_is_read_twice_brings_the_same_ids(chat: WholeChat) -> None:
    line = share_gpt.as_lines([chat])
    assert found(line) == found(line)


def test_thoughts_come_back_as_thoughts() -> None:
    line = {"conversations": [{"from": "human", "value": "Q"}, {"from": "gpt", "value": "<think>\nHm.\n</think>\n\nA"}]}
    (chat,) = found(json.dumps(line))
    assert [(node.thinking, node.content) for node in chat.messages] == [("", "Q"), ("Hm.", "A")]
