"""Which files are offered, in which order, and how a walk ends on disks that have no end."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.attachments.gathering import MOST_OF_A_FOLDER, files_of, named_files, read_all
from mtpchat.attachments.mentions import Place
from mtpchat.attachments.ranking import best
from mtpchat.attachments.walk import Entry, list_folder, walk
from mtpchat.errors import AttachmentError


def plant(root: Path, *paths: str, text: str = "x") -> None:
    """Files, with the folders above them; a path that ends in / is an empty folder."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            (root / path).mkdir(exist_ok=True)
        else:
            (root / path).write_text(text)


def paths(entries: Iterable[Entry]) -> list[str]:
    return [one.path for one in entries]


def test_near_files_come_before_deep_ones_and_sizes_are_known(tmp_path: Path) -> None:
    plant(tmp_path, "b.md", "src/deep/er.py", "src/a.py", text="four")
    listing = walk(tmp_path)
    assert paths(listing.entries) == ["b.md", "src/", "src/a.py", "src/deep/", "src/deep/er.py"]
    assert listing.entries[0].size == 4
    assert listing.complete


def test_hidden_filled_and_textless_things_are_left_out(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", ".env", ".git/config", "node_modules/x.js", "__pycache__/a.pyc", "p.PNG", "m.gguf")
    assert paths(walk(tmp_path).entries) == ["a.py"]


def test_gitignore_is_minded_at_every_level(tmp_path: Path) -> None:
    plant(tmp_path, "a.log", "keep.log", "build/x.py", "src/b.log", "src/c.txt", "src/d.txt", "src/build.py")
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\nbuild/\n")
    (tmp_path / "src" / ".gitignore").write_text("/c.txt\n!b.log\n")
    assert paths(walk(tmp_path).entries) == ["keep.log", "src/", "src/b.log", "src/build.py", "src/d.txt"]


def test_rules_of_the_repository_above_hold_in_a_folder_of_it(tmp_path: Path) -> None:
    plant(tmp_path, ".git/info/exclude", "app/a.log", "app/b.tmp", "app/c.py", text="*.tmp\n")
    (tmp_path / ".gitignore").write_text("/app/*.log\n")
    assert paths(walk(tmp_path / "app").entries) == ["c.py"]


def test_inside_a_folder_that_is_left_out_everything_is_offered(tmp_path: Path) -> None:
    plant(tmp_path, ".git/HEAD", "build/x.py")
    (tmp_path / ".gitignore").write_text("build/\n")
    assert paths(walk(tmp_path / "build").entries) == ["x.py"]


def test_patterns_that_would_keep_a_computer_busy_are_passed_over(tmp_path: Path) -> None:
    plant(tmp_path, "a" * 200 + ".py", "b.log")
    (tmp_path / ".gitignore").write_text("a*a*a*a*a*a*a*a*a*a*a*a*b\n" + "x" * 5000 + "\n*.log\n")
    assert paths(walk(tmp_path).entries) == ["a" * 200 + ".py"]


def test_a_gitignore_that_is_no_text_leaves_nothing_out(tmp_path: Path) -> None:
    plant(tmp_path, "a.py")
    (tmp_path / ".gitignore").write_bytes(b"\xff\x00*.py")
    assert paths(walk(tmp_path).entries) == ["a.py"]


def test_circles_of_links_pipes_and_dangling_links_are_passed_over(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "src/")
    (tmp_path / "src" / "up").symlink_to(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    (tmp_path / "link.py").symlink_to(tmp_path / "a.py")
    os.mkfifo(tmp_path / "pipe")
    assert paths(walk(tmp_path).entries) == ["a.py", "link.py", "src/"]


def test_names_that_cannot_be_typed_are_not_offered(tmp_path: Path) -> None:
    plant(tmp_path, "a\nb.py", "c\x1b[2J.py", "d\u202ee.py", "ok.py")
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py"))).touch()
    assert paths(walk(tmp_path).entries) == ["ok.py"]


def test_a_walk_ends_at_its_limits_and_says_so(tmp_path: Path) -> None:
    plant(tmp_path, *(f"{letter}/{number}.py" for letter in "abc" for number in range(5)))
    few = walk(tmp_path, most_files=4)
    assert paths(few.entries) == ["a/", "b/", "c/", "a/0.py"]
    assert not few.complete
    ticks = count()
    short = walk(tmp_path, most_s=1.5, clock=lambda: float(next(ticks)))
    assert not short.complete
    assert paths(short.entries) == ["a/", "b/", "c/"]
    assert walk(tmp_path, cancelled=lambda: True).entries == ()


def test_a_folder_that_is_gone_or_may_not_be_read_is_empty(tmp_path: Path) -> None:
    assert walk(tmp_path / "gone").entries == ()
    assert list_folder(tmp_path / "gone").entries == ()


def test_one_folder_is_listed_with_hidden_files_on_request(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", ".env", "src/b.py")
    assert paths(list_folder(tmp_path).entries) == ["a.py", "src/"]
    assert paths(list_folder(tmp_path, hidden=True).entries) == [".env", "a.py", "src/"]


FOUND = [
    Entry(path) for path in ("docs/main.md", "src/", "src/main.py", "src/domain.py", "tests/test_main.py", "m/a/n.py")
]


def test_names_that_begin_with_the_letters_come_first() -> None:
    assert (
        paths(best(FOUND, "main", 9))
        == ["src/main.py", "docs/main.md", "tests/test_main.py", "src/domain.py", "m/a/n.py"][:4]
    )
    assert paths(best(FOUND, "src/", 9)) == ["src/", "src/main.py", "src/domain.py"]
    assert paths(best(FOUND, "tmn", 9)) == ["tests/test_main.py"]
    assert paths(best(FOUND, "MAIN.MD", 9)) == ["docs/main.md"]
    assert paths(best(FOUND, "", 1)) == ["src/"]
    assert best(FOUND, "zzz", 9) == []


def test_letters_that_could_be_anywhere_are_not_tried_everywhere() -> None:
    assert best([Entry("a" * 200)], "a" * 40 + "z", 9) == []
    assert best([Entry("a^]b-\\")], "a^]-\\", 9) != []


@given(st.lists(st.text("ab/", min_size=1, max_size=6).map(Entry)), st.text("abc/", max_size=4), st.integers(0, 5))
def test_what_is_ranked_holds_the_letters_in_their_order(entries: list[Entry], typed: str, most: int) -> None:
    found = best(entries, typed, most)
    assert len(found) <= most
    for one in found:
        rest = iter(one.path)
        assert all(letter in rest for letter in typed)
    if len(entries) <= most:
        assert all(one in found for one in entries if one.path == typed)


def test_each_file_goes_along_once_in_the_order_of_the_text(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "src/b.py", "src/c.py")
    place = Place(tmp_path, tmp_path)
    found = [one.attachment for one in read_all(named_files("@src/c.py then @src/ and @a.py, @src/c.py", place), 1)]
    assert [one.name for one in found] == ["src/c.py", "src/b.py", "a.py"]


def test_a_folder_with_too_many_files_or_none_is_refused(tmp_path: Path) -> None:
    plant(tmp_path, *(f"many/{number}.py" for number in range(MOST_OF_A_FOLDER + 1)), "none/.hidden")
    place = Place(tmp_path, tmp_path)
    with pytest.raises(AttachmentError, match="many/ has 26 files, and at most 25 of a folder go along"):
        named_files("@many/", place)
    with pytest.raises(AttachmentError, match="none/ has no files that could go along"):
        named_files("@none/", place)


def test_too_many_files_are_refused_before_one_is_read(tmp_path: Path) -> None:
    plant(tmp_path, *(f"{number}.py" for number in range(51)))
    with pytest.raises(AttachmentError, match="51 files are named, and at most 50 go along"):
        named_files(" ".join(f"@{number}.py" for number in range(51)), Place(tmp_path, tmp_path))


def test_a_file_that_was_asked_for_by_itself_must_be_there(tmp_path: Path) -> None:
    plant(tmp_path, "src/a b.py")
    place = Place(tmp_path, tmp_path)
    assert [one.name for one in files_of("src/a b.py", place)] == ["src/a b.py"]
    assert [one.name for one in files_of("src", place)] == ["src/a b.py"]
    with pytest.raises(AttachmentError, match=r"There is no file gone\.md"):
        files_of("gone.md", place)
