"""States on disk: what comes back is what was put in, or nothing does."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpchat.errors import StorageError
from mtpchat.state_record import StateRecord
from mtpchat.store.state_writer import StateWriter
from mtpchat.store.states import Bytes, StateFolder

KEY, OTHER = "k" * 32, "o" * 32
ROOM = 1 << 30
fast = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def record(chat: str = "chat", key: str = KEY, tokens: int = 9, checkpoints: tuple[int, ...] = (4,)) -> StateRecord:
    return StateRecord(key, chat, np.arange(tokens, dtype=np.int32).tobytes(), checkpoints=checkpoints, read_s=0.01)


def parts(*sizes: int, seed: int = 1) -> list[Bytes]:
    draw = np.random.default_rng(seed)
    return [draw.integers(0, 256, size, np.uint8) for size in (sizes or (300, 40, 0, 60))]


def only(folder: StateFolder) -> Path:
    (file,) = folder.folder.glob("*.state")
    return file


@given(st.lists(st.integers(0, 9000), min_size=2, max_size=4), st.integers(1, 400))
@fast
def test_what_was_kept_comes_back_byte_for_byte(tmp_path: Path, sizes: list[int], tokens: int) -> None:
    folder = StateFolder(tmp_path, ROOM)
    kept = parts(tokens, *sizes, 5)
    points = tuple(range(1, len(kept) - 2)) if tokens > len(kept) else ()
    kept = kept[: 3 + len(points)]
    assert folder.write(record(tokens=tokens, checkpoints=points), kept)
    (found,) = folder.records(KEY)
    assert found.record.tokens().tolist() == list(range(tokens))
    back = folder.read(found.name)
    assert back is not None
    assert [section.tobytes() for section in back] == [section.tobytes() for section in kept]


@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
@fast
def test_a_file_with_any_byte_changed_is_refused_and_removed(tmp_path: Path, place: float, flip: int) -> None:
    folder = StateFolder(tmp_path, ROOM)
    folder.write(record(), parts())
    file = only(folder)
    content = bytearray(file.read_bytes())
    content[int(place * len(content))] ^= flip
    file.write_bytes(content)
    assert StateFolder(tmp_path, ROOM).read(file.name) is None
    assert not file.exists()
    assert not folder.records(KEY)


def test_every_single_byte_counts(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, ROOM)
    folder.write(record(), parts(20, 3, 2, 4))
    file = only(folder)
    content = file.read_bytes()
    for place in range(len(content)):
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert folder.read(file.name) is None, place
    file.write_bytes(content)
    assert folder.read(file.name) is not None


@given(cut=st.integers(1, 700), grown=st.booleans())
@fast
def test_a_file_that_was_cut_or_has_grown_is_refused(tmp_path: Path, cut: int, grown: bool) -> None:
    folder = StateFolder(tmp_path, ROOM)
    folder.write(record(), parts())
    file = only(folder)
    content = file.read_bytes()
    file.write_bytes(content + bytes(cut) if grown else content[: max(0, len(content) - cut)])
    assert not folder.records(KEY)
    assert folder.read(file.name) is None


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, ROOM)
    folder.write(record(), parts())
    file = only(folder)
    file.write_bytes(b"mtpst\0\0\0" + file.read_bytes()[8:])
    assert not folder.records(KEY)


@pytest.mark.parametrize(
    "content",
    [b"", b"x", b"mtpst\0\0\1", b"mtpst\0\0\1" + b"\xff" * 64, random.Random(5).randbytes(5000)],
    ids=["empty", "letter", "name", "name and nonsense", "nonsense"],
)
def test_a_file_that_is_no_state_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / f"{KEY}-0011223344556677.state"
    file.write_bytes(content)
    folder = StateFolder(tmp_path, ROOM)
    assert not folder.records(KEY)
    assert folder.read(file.name) is None


def test_states_of_another_key_are_not_found(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, ROOM)
    folder.write(record(key=OTHER), parts())
    assert not folder.records(KEY)
    only(folder).rename(tmp_path / f"{KEY}-0011223344556677.state")
    assert not folder.records(KEY), "the name alone says nothing"


def test_a_chat_has_one_state_per_key(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, ROOM)
    folder.write(record(), parts(seed=1))
    folder.write(record(tokens=12), parts(seed=2))
    folder.write(record(key=OTHER), parts(seed=3))
    assert [found.record.length for found in folder.records(KEY)] == [12]
    assert len(folder.records()) == 2


steps = st.lists(
    st.tuples(st.sampled_from(["write", "read", "forget"]), st.integers(0, 5), st.integers(1, 40)), max_size=25
)


@given(steps=steps, most=st.integers(2_000, 60_000))
@fast
def test_the_bound_holds_and_what_was_used_last_stays(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]], most: int
) -> None:
    folder = StateFolder(tmp_path_factory.mktemp("states"), most)
    expected: dict[int, int] = {}  # chat -> bytes, the one used last at the end
    for what, chat, size in steps:
        name = next((one.name for one in folder.records(KEY) if one.record.chat == str(chat)), "")
        assert bool(name) == (chat in expected)
        if what == "write":
            if folder.write(record(str(chat)), parts(size * 1000, 10, 0, 7)):
                expected.pop(chat, None)
                total = next(one.size for one in folder.records(KEY) if one.record.chat == str(chat))
                while sum(expected.values()) + total > most:
                    del expected[next(iter(expected))]
                expected[chat] = total
            else:
                assert size * 1000 + 500 > most
        elif what == "read" and name:
            assert folder.read(name) is not None
            expected[chat] = expected.pop(chat)
        elif what == "forget":
            other = StateFolder(folder.folder, most)
            assert other.forget(str(chat)) == (expected.pop(chat, None) is not None)
        found = folder.records(KEY)
        assert [int(one.record.chat) for one in found] == list(reversed(expected))
        assert sum(one.size for one in found) <= most


def test_no_more_than_a_tenth_of_the_free_disk_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 20_000})
    monkeypatch.setattr("mtpchat.store.states.shutil.disk_usage", lambda _place: usage)
    folder = StateFolder(tmp_path / "states", ROOM)
    assert folder.allowance() == 2_000
    assert not folder.write(record(), parts(3_000, 0, 0, 0))
    assert folder.write(record(), parts(1_000, 0, 0, 0))


_WRITER = """
import sys
from pathlib import Path
from tests.store.test_states import StateFolder, parts, record
folder = StateFolder(Path(sys.argv[1]), 1 << 30)
print("ready", flush=True)
for round in range(10_000):
    folder.write(record(str(round % 3), tokens=9 + round), parts(400_000, 9, 9, 9, seed=round))
"""


def test_a_writer_that_is_killed_leaves_no_harmed_file_and_no_litter(tmp_path: Path) -> None:
    place = tmp_path / "states"
    for number in range(6):
        writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(place)], stdout=subprocess.PIPE, cwd=_root())
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        _wait_for(lambda: any(place.glob("*.state")))
        deadline = time.monotonic_ns() + number * 7_000_000
        while time.monotonic_ns() < deadline:
            pass
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        folder = StateFolder(place, 1 << 30)
        found = folder.records()
        assert len(found) == len(list(place.glob("*.state"))), "a harmed file was there"
        assert all(folder.read(one.name) is not None for one in found)
    (place / ".left.0123.tmp").write_bytes(b"half")
    later = StateFolder(place, 1 << 30, now=lambda: time.time_ns() + 2 * 3600 * 10**9)
    later.write(record("last"), parts())
    assert not list(place.glob(".*.tmp"))


def test_instances_that_write_and_read_at_once_see_whole_states_only(tmp_path: Path) -> None:
    class Watched(StateFolder):
        harmed = 0

        def drop(self, name: str) -> None:
            Watched.harmed += 1
            super().drop(name)

    place = tmp_path / "states"
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(place)], stdout=subprocess.PIPE, cwd=_root())
        for _ in range(2)
    ]
    try:
        _wait_for(lambda: len(list(place.glob("*.state"))) == 3)
        folder, read = Watched(place, 1 << 30), 0
        while read < 40:
            for found in folder.records(KEY):
                back = folder.read(found.name)
                if back is None:
                    continue
                read += 1
                rounds = range(max(0, found.record.length - 40), found.record.length + 400)
                assert any((back[0][:64] == _drawn(round)).all() for round in rounds)
        assert not Watched.harmed
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            if writer.stdout is not None:
                writer.stdout.close()


@cache
def _drawn(round: int) -> Bytes:
    return parts(64, seed=round)[0]


def _root() -> Path:
    return Path(__file__).parents[2]


def _wait_for(what: Callable[[], bool]) -> None:
    while not what():
        os.sched_yield()


def test_the_draft_of_a_writer_at_work_is_left_alone(tmp_path: Path) -> None:
    draft = tmp_path / ".a.0123.tmp"
    draft.write_bytes(b"on its way")
    StateFolder(tmp_path, ROOM).write(record(), parts())
    assert draft.exists()


def test_files_that_another_instance_removes_are_simply_gone(tmp_path: Path) -> None:
    one, two = StateFolder(tmp_path, ROOM), StateFolder(tmp_path, ROOM)
    one.write(record(), parts())
    (found,) = two.records(KEY)
    assert one.clear() == 1
    assert two.read(found.name) is None
    assert not two.records(KEY)
    two.drop(found.name)


_TAKER = """
import os, sys
from pathlib import Path
from tests.store.test_states import StateFolder
folder = StateFolder(Path(sys.argv[1]), 1 << 30)
with folder.at_risk(folder.records()[0].name):
    os.kill(os.getpid(), 9)
"""


def test_a_state_that_ends_the_process_is_not_tried_again(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, ROOM)
    folder.write(record(), parts())
    with folder.at_risk(only(folder).name):
        assert not folder.records()
    assert folder.records()
    ended = subprocess.run([sys.executable, "-c", _TAKER, str(tmp_path)], cwd=_root(), check=False)
    assert ended.returncode < 0
    assert not folder.records()


def test_what_another_instance_kept_meanwhile_wins(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, ROOM)
    folder.write(record(), parts())
    with folder.at_risk(only(folder).name):
        StateFolder(tmp_path, ROOM).write(record(tokens=20), parts())
    assert [found.record.length for found in folder.records()] == [20]
    assert len(list(tmp_path.iterdir())) == 1


def test_only_the_user_may_read_what_a_model_remembers(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "states", ROOM)
    folder.write(record(), parts())
    assert folder.folder.stat().st_mode & 0o077 == 0
    assert only(folder).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_disk_that_refuses_is_told_once_and_leaves_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(_handle: int) -> None:
        raise OSError(number, os.strerror(number))

    writer = StateWriter(StateFolder(tmp_path, ROOM))
    with monkeypatch.context() as patch:
        patch.setattr("mtpchat.store.states.os.fsync", refuse)
        for _ in range(2):
            writer.write(record(), parts())
            writer.wait()
        words = writer.take_word()
        assert words.startswith("What the model remembers is not kept on disk: Cannot keep")
        assert not writer.take_word()
        assert not list(tmp_path.iterdir())
        with pytest.raises(StorageError):
            StateFolder(tmp_path, ROOM).write(record(), parts())
    writer.write(record(), parts())
    writer.wait()
    assert only(StateFolder(tmp_path, ROOM))


def test_a_writer_that_is_stopped_gives_up_cleanly(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, ROOM)
    assert not folder.write(record(), parts(), stopped=lambda: True)
    assert not list(tmp_path.iterdir())


def test_nothing_of_a_deleted_chat_comes_back(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, ROOM)
    folder.write(record(), parts())
    assert folder.forget("chat") == 1
    assert not folder.write(record(), parts())
    assert not list(tmp_path.iterdir())
    folder.allow("chat")
    assert folder.write(record(), parts())


def test_a_chat_that_is_forgotten_at_the_last_moment_of_writing_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = StateFolder(tmp_path, ROOM)
    replace = os.replace

    def forgotten_meanwhile(draft: Path, target: Path) -> None:
        folder.forget("chat")
        replace(draft, target)

    monkeypatch.setattr(os, "replace", forgotten_meanwhile)
    assert not folder.write(record(), parts())
    assert not list(tmp_path.iterdir())


def test_reading_can_be_given_up(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, ROOM)
    folder.write(record(), parts())
    assert folder.read(only(folder).name, lambda: True) is None
    assert only(folder).exists()
