"""Windows that are open at once do not write over each other's unsent text, and nobody's is lost with its window."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mtpchat.ui import draft_slot
from mtpchat.ui.chips import Written
from mtpchat.ui.drafts import Draft, Drafts

WINDOW = """
import sys
from pathlib import Path
from mtpchat.ui.chips import Written
from mtpchat.ui.drafts import Draft, Drafts
drafts = Drafts(Path(sys.argv[1]))
drafts.put("", Draft(Written("of the other window")))
drafts.write_out()
print("written", flush=True)
sys.stdin.read()
"""


def write(window: Drafts, text: str) -> None:
    window.put("", Draft(Written(text)))
    window.write_out()


def left(folder: Path, name: str, text: str, age: float) -> None:
    """A draft of a window that is gone."""
    path = folder / f"{name}.json"
    path.write_text(f'{{"text": "{text}"}}')
    os.utime(path, (age, age))


def files(folder: Path) -> dict[str, str]:
    """Names and beginnings of what lies there."""
    return {path.name: path.read_text()[:40] for path in sorted(folder.iterdir()) if path.suffix == ".json"}


def test_two_windows_have_a_draft_each(tmp_path: Path) -> None:
    one, other = Drafts(tmp_path), Drafts(tmp_path)
    for window in (one, other):
        assert not window.read("")
    write(one, "first")
    write(other, "second")
    write(one, "first, longer")
    assert one.read("").written == Written("first, longer")
    assert other.read("").written == Written("second")


def test_whoever_opens_next_gets_what_a_closed_window_left_and_only_that(tmp_path: Path) -> None:
    one, other = Drafts(tmp_path), Drafts(tmp_path)
    write(one, "first")
    write(other, "second")
    other.close()
    third, fourth = Drafts(tmp_path), Drafts(tmp_path)
    assert third.read("").written == Written("second")
    assert not fourth.read("")
    write(third, "")
    assert list(files(tmp_path)) == ["new.json"]


def test_each_window_takes_over_one_the_latest_first(tmp_path: Path) -> None:
    left(tmp_path, "new", "older", 1.0)
    left(tmp_path, "new-7", "newer", 2.0)
    windows = [Drafts(tmp_path) for _ in range(3)]
    assert [window.read("").written.text for window in windows] == ["newer", "older", ""]


def test_a_window_that_has_begun_writes_over_nothing_that_was_left_since(tmp_path: Path) -> None:
    window = Drafts(tmp_path)
    assert not window.read("")
    left(tmp_path, "new", "left meanwhile", 1.0)
    window.put("", Draft())
    window.write_out()
    write(window, "mine")
    assert files(tmp_path)["new.json"] == '{"text": "left meanwhile"}'
    assert window.read("").written == Written("mine")


def test_a_killed_window_lets_go_of_its_draft_and_a_living_one_does_not(tmp_path: Path) -> None:
    window = subprocess.Popen(
        [sys.executable, "-c", WINDOW, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert window.stdout is not None
        assert window.stdout.readline() == "written\n"
        assert not Drafts(tmp_path).read("")
        window.send_signal(signal.SIGKILL)
        window.wait()
        assert Drafts(tmp_path).read("").written == Written("of the other window")
    finally:
        window.kill()
        window.communicate()


def test_a_window_that_leaves_in_order_leaves_no_lock(tmp_path: Path) -> None:
    window = Drafts(tmp_path)
    write(window, "mine")
    assert len(list(tmp_path.iterdir())) == 2
    window.close()
    assert [path.name for path in tmp_path.iterdir()] == ["new.json"]


def test_a_window_without_unsent_text_creates_nothing(tmp_path: Path) -> None:
    window = Drafts(tmp_path / "drafts")
    assert not window.read("")
    window.put("", Draft())
    window.write_out()
    window.close()
    assert not (tmp_path / "drafts").exists()


def test_where_there_are_no_locks_windows_share_as_they_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_slot, "lock", lambda _descriptor: False)
    write(Drafts(tmp_path), "mine")
    assert list(files(tmp_path)) == ["new.json"]


def test_windows_that_open_and_close_at_once_never_share(tmp_path: Path) -> None:
    shared: list[str] = []
    open_now: set[str] = set()
    guard = threading.Lock()

    def live() -> None:
        for _ in range(20):
            slot = draft_slot.DraftSlot(tmp_path)
            name = slot.begin()
            with guard:
                shared.extend([name] if name in open_now else [])
                open_now.add(name)
            with guard:
                open_now.discard(name)
            slot.release()

    threads = [threading.Thread(target=live) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared == []
