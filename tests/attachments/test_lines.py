"""`@a.py:10-40`: lines of a file, as they are typed, read, named and refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.attachments.gathering import as_mentions, files_of, named_files, read_all
from mtpchat.attachments.lines import Lines, begun_lines, count_lines, split_lines
from mtpchat.attachments.mentions import Mention, Place, find_mentions
from mtpchat.errors import AttachmentError

PLACE = Place(Path("/srv"), Path("/users/ada"))
TEXTS = st.lists(st.sampled_from(["", "a", "b\x0cc", "d\u2028"]), max_size=9).map("\n".join)


def found(text: str, *files: str) -> list[Mention]:
    there = {f"/srv/{name}" for name in files}
    return find_mentions(text, PLACE, lambda path: "file" if str(path) in there else None)


def lines_in(text: str, *files: str) -> list[tuple[str, str]]:
    return [
        (text[one.start : one.end], one.lines.suffix if one.lines is not None else "") for one in found(text, *files)
    ]


@pytest.mark.parametrize(
    ("text", "mention", "lines"),
    [
        ("@a.py:10-40", "@a.py:10-40", ":10-40"),
        ("see @a.py:10.", "@a.py:10", ":10"),
        ("@a.py:10- and on", "@a.py:10-", ":10-"),
        ("(@a.py:3)", "@a.py:3", ":3"),
        ("@a.py:3: error", "@a.py:3", ":3"),
        ("@a.py: error", "@a.py", ""),
        ('@"b c.py":1-2, please', '@"b c.py":1-2', ":1-2"),
        ('@"b c.py:7"', '@"b c.py:7"', ":7"),
        (r"@b\ c.py:7", r"@b\ c.py:7", ":7"),
        ('@"b c.py":5pm', '@"b c.py"', ""),
        ("@x:1", "@x:1", ""),
    ],
)
def test_lines_are_found_behind_a_path(text: str, mention: str, lines: str) -> None:
    assert lines_in(text, "a.py", "b c.py", "x:1") == [(mention, lines)]


@pytest.mark.parametrize("text", ["@a.py:1-2-3", "@a.py:x", "@gone.py:3", "@:3", "@a.py:1234567890"])
def test_what_names_no_lines_of_a_file_stays_text(text: str) -> None:
    assert lines_in(text, "a.py") == []


@given(st.integers(1, 10**9 - 1), st.one_of(st.none(), st.integers(1, 10**9 - 1)))
def test_lines_are_read_as_they_are_written(first: int, last: int | None) -> None:
    lines = Lines(first, last)
    assert split_lines(f"a:b.py{lines.suffix}") == ("a:b.py", lines)
    assert begun_lines(f"a:b.py{lines.suffix}") == ("a:b.py", lines.suffix[1:])


@given(TEXTS, st.data())
def test_a_text_in_parts_is_the_whole_text(text: str, data: st.DataObject) -> None:
    count = count_lines(text)
    if not count:
        with pytest.raises(AttachmentError):
            Lines(1, None).of(text, "a", Path("a"))
        return
    at = data.draw(st.integers(1, count))
    rest = Lines(at + 1, None).of(text, "a", Path("a")) if at < count else ""
    assert Lines(1, at).of(text, "a", Path("a")) + rest == text
    assert Lines(1, None).of(text, "a", Path("a")) == text
    assert Lines(at, at).share(count) == f"1 of {count} lines"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
    (tmp_path / "b c.py").write_bytes(b"one\r\ntwo")
    (tmp_path / "a.py:2").write_text("really called so")
    return Place(tmp_path, tmp_path)


def read(text: str, place: Place) -> list[tuple[str, str]]:
    return [(one.attachment.name, one.attachment.text) for one in read_all(named_files(text, place), 1)]


def test_only_those_lines_go_along_under_a_name_that_says_so(place: Place) -> None:
    assert read('@a.py:2-3 @a.py:1 @"b c.py":2- @a.py:2-3 @a.py', place) == [
        ("a.py:2-3", "two\nthree\n"),
        ("a.py:1", "one\n"),
        ("b c.py:2-", "two"),
        ("a.py", "one\ntwo\nthree\n"),
    ]


def test_a_file_that_is_really_called_so_comes_first(place: Place) -> None:
    assert read("@a.py:2", place) == [("a.py:2", "really called so")]


def test_a_part_says_how_much_of_the_file_it_is(place: Place) -> None:
    (part,) = read_all(named_files("@a.py:2-3", place), 1)
    assert part.note == "2 of 3 lines"


@pytest.mark.parametrize(
    ("mention", "why", "hint"),
    [
        ("@a.py:4", "a.py has 3 lines, 4 goes beyond the end", ""),
        ("@a.py:3-9", "a.py has 3 lines, 3-9 goes beyond the end", ":3- takes all from there on."),
        ("@a.py:3-1", "a.py:3-1 names no lines", "They count from 1, the smaller number first."),
        ("@a.py:0-1", "a.py:0-1 names no lines", "They count from 1, the smaller number first."),
    ],
)
def test_lines_that_are_not_there_are_refused_in_a_sentence(place: Place, mention: str, why: str, hint: str) -> None:
    with pytest.raises(AttachmentError) as refused:
        read_all(named_files(mention, place), 1)
    assert refused.value.message.removesuffix(".") == why
    assert refused.value.hint == hint


def test_paths_that_were_given_as_such_may_have_lines(place: Place) -> None:
    assert [one.name for one in files_of("b c.py:1", place)] == ["b c.py:1"]
    assert read(as_mentions(["b c.py:1", "a.py:2"], place), place) == [
        ("b c.py:1", "one\n"),
        ("a.py:2", "really called so"),
    ]
    with pytest.raises(AttachmentError, match=r"There is no file gone\.py:1"):
        files_of("gone.py:1", place)
