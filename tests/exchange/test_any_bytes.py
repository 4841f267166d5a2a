"""Whatever the bytes are: chats, or an error that says where; nothing else, and soon."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.errors import ExchangeError
from mtpchat.exchange import own
from mtpchat.exchange.elements import Damaged, elements
from mtpchat.exchange.findings import Finding, Found, Skipped
from mtpchat.exchange.intake import findings
from mtpchat.exchange.page import as_html
from mtpchat.store import search
from mtpchat.store.database import open_database, transaction
from mtpchat.store.taking_in import take_in
from mtpchat.whole_chat import WholeChat
from tests.exchange.test_llama_cli import FILE, OLDER, TERMINAL
from tests.exchange.test_other_programs import CHATGPT, MESSAGES, OPEN_WEBUI
from tests.exchange.trees import chats

AT = 1_700_000_000.0
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(10**400)
NAMES = st.sampled_from(
    ["id", "title", "messages", "mapping", "message", "parent", "children", "author", "role", "content", "parts"]
) | st.sampled_from(
    ["from", "value", "conversations", "chat", "history", "currentId", "parentId", "leaf", "turns", "stats", "created"]
)
VALUES = st.recursive(
    LEAVES | st.sampled_from(["user", "assistant", "system", "mtpchat", "text"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=5),
    max_leaves=30,
)
GOOD = [json.dumps(one, indent=1) for one in (CHATGPT, OPEN_WEBUI, MESSAGES, [CHATGPT, OPEN_WEBUI])]
GOOD += [FILE, TERMINAL, OLDER]


def read(data: bytes) -> list[WholeChat]:
    """The chats; everything else that happens must be an ExchangeError with a hint."""
    found, error = until_error(data)
    assert error is None or (error.message and error.hint)
    assert all(one.line >= 1 and one.why for one in found if isinstance(one, Skipped))
    taken = [one.chat for one in found if isinstance(one, Found)]
    for chat in taken:
        keep(chat)
    return taken


def until_error(data: bytes) -> tuple[list[Finding], ExchangeError | None]:
    found: list[Finding] = []
    try:
        found += findings(data, AT)
    except ExchangeError as error:
        return found, error
    return found, None


def keep(chat: WholeChat) -> None:
    """A chat that was read can be kept, exported and read again."""
    with closing(open_database(DATABASE[0])) as connection, transaction(connection, durable=False):
        search.prepare(connection)
        connection.execute("DELETE FROM chat")
        take_in(connection, chat)
    assert as_html([chat])
    (again,) = findings(own.as_json([chat]).encode(), AT)
    assert isinstance(again, Found)
    assert again.chat == chat


DATABASE: list[Path] = []


@pytest.fixture(autouse=True, scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> None:
    DATABASE[:] = [tmp_path_factory.mktemp("kept") / "chats.db"]


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    read(data)


@settings(deadline=None, max_examples=300)
@given(VALUES)
def test_any_values(value: object) -> None:
    read(json.dumps(value).encode())
    read(json.dumps([value]).encode())


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(GOOD), st.data())
def test_good_files_that_were_damaged(text: str, data: st.DataObject) -> None:
    raw = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=6))
        if not raw:
            break
    read(bytes(raw))


@settings(deadline=None)
@given(chats(), st.data())
def test_a_file_that_was_cut_off_gives_the_chats_before_and_names_the_line(
    chat: WholeChat, data: st.DataObject
) -> None:
    whole = own.as_json([chat])
    cut = data.draw(st.integers(1, len(whole) - 3))
    found, error = until_error((whole + whole[:cut]).encode())
    assert [one.chat for one in found if isinstance(one, Found)] == [chat]
    assert error is not None
    assert error.key == str(whole.count("\n") + 1)
    assert "line" in error.message


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"messages":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"a": "' + b"\\" * 300_001,
        b'{"a": ' + b"9" * 100_000 + b"}",
        b"{" + b" " * 300_000 + b"}",
        b'{"a": 1}' + b"," * 300_000,
        b"> " * 100_000,
        b"> a\n" * 50_000,
        b"User:\n" * 50_000,
        b"x\b" * 100_000,
        b"> q\n\x1b]" + b"\x1b[" * 50_000,
        b"> q\n[Start thinking]" * 20_000,
        b"> q\n\n[Start thinking]" + b"\n" * 300_000,
        b"> q\n\n[ Prompt: " + b"1 t/s | Generation: " * 20_000,
        b'{"a": 1}\n' * 50_000,
        b'{"chat": {"messages": [{"role": "assistant", "content": "<details '
        + b'type=\\"reasoning\\"' * 20_000
        + b'"}]}}',
    ],
)
def test_traps_end_soon(data: bytes) -> None:
    read(data)


def test_elements_are_found_without_reading_what_is_in_them() -> None:
    data = b'\xef\xbb\xbf [ {"a": "}]\\"{"}, [1, [2]] , {} ]\n{"b": {}} {"c": []}'
    found = [(data[one.begin : one.end], one.array) for one in elements(data)]
    assert found == [(b'{"a": "}]\\"{"}', 1), (b"[1, [2]]", 1), (b"{}", 1), (b'{"b": {}}', 0), (b'{"c": []}', 0)]
    for bad, line in ((b"{}\nx {}", 2), (b'["a"]', 1), (b"[\n\n1]", 3), (b"{}\n{}\n]", 3), (b"{}\n[{}", 2)):
        with pytest.raises(Damaged) as damaged:
            list(elements(bad))
        assert damaged.value.line == line, bad


def test_skipped_parts_say_why() -> None:
    (skipped,) = findings(b'{"leaf": "x", "id": "abcd", "messages": []}', AT)
    assert isinstance(skipped, Skipped)
    assert "not there" in skipped.why
