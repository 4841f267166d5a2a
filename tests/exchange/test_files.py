"""Files of chats on the disk: mapped, unpacked from archives, and refused kindly."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpchat.errors import ExchangeError
from mtpchat.exchange import files
from mtpchat.exchange.files import opened
from mtpchat.exchange.findings import Found
from mtpchat.exchange.intake import findings
from tests.exchange.test_other_programs import CHATGPT


def titles(path: Path) -> list[str]:
    with opened(path) as data:
        return [one.chat.title for one in findings(data, 0.0) if isinstance(one, Found)]


def archive(**members: object) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
        for name, value in members.items():
            out.writestr(name.replace("__", "-") + ".json", json.dumps(value))
    return packed.getvalue()


def test_the_archive_of_chatgpt_need_not_be_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    other = {**CHATGPT, "conversation_id": "c-2", "title": "Otters"}
    path.write_bytes(archive(user={"id": 1}, conversations=[CHATGPT]))
    assert titles(path) == ["Rivers"]
    path.write_bytes(archive(conversations__000=[CHATGPT], conversations__001=[other]))
    assert titles(path) == ["Rivers", "Otters"]


def test_other_archives_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(archive(user={"id": 1}))
    with pytest.raises(ExchangeError, match=r"no conversations\.json"):
        titles(path)
    path.write_bytes(archive(conversations=[CHATGPT])[:-30])
    with pytest.raises(ExchangeError, match="unpacked"):
        titles(path)
    monkeypatch.setattr(files, "_MOST_UNPACKED", 100)
    path.write_bytes(archive(conversations=[CHATGPT]))
    with pytest.raises(ExchangeError, match="too large"):
        titles(path)


def test_what_is_no_file_is_refused_and_nobody_waits(tmp_path: Path) -> None:
    (tmp_path / "empty.json").touch()
    os.mkfifo(tmp_path / "pipe")
    for name in ("empty.json", "pipe", ".", "nothing.json", "x\0"):
        with pytest.raises(ExchangeError) as refused:
            titles(tmp_path / name)
        assert refused.value.hint


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_archives_end_in_chats_or_an_error(tmp_path: Path, data: st.DataObject) -> None:
    raw = bytearray(archive(conversations=[CHATGPT]))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(4, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "x.zip"
    path.write_bytes(raw)
    try:
        found = titles(path)
    except ExchangeError:
        found = []
    assert found in ([], ["Rivers"]) or len(found) == 1


def test_a_file_can_be_let_go_of_in_the_middle_of_a_chat(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps([CHATGPT, CHATGPT | {"conversation_id": "other"}]))
    with opened(file) as data:
        chats = findings(data, 0.0)
        first = next(chats)
    assert 0 < first.end < file.stat().st_size
    chats.close()  # type: ignore[attr-defined]


def test_each_chat_says_how_far_the_file_has_been_read_with_it(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps([CHATGPT, 7 * [0], CHATGPT | {"conversation_id": "other"}]))
    with opened(file) as data:
        ends = [one.end for one in findings(data, 0.0)]
    assert ends == sorted(set(ends))
    assert ends[-1] == file.stat().st_size - 1
