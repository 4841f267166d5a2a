"""`@path` in a text: what is a file, what stays text, and how paths are spelled so that they are found again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.attachments.dropped import dropped_mentions
from mtpchat.attachments.gathering import as_mentions, named_files
from mtpchat.attachments.mentions import Kind, Place, begun_mention, find_mentions, spelled
from mtpchat.errors import AttachmentError

PLACE = Place(Path("/srv/project"), Path("/users/ada"))
NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\u2028\u2029")
    | st.sampled_from("\"' \\@`.,;:!?)"),
    min_size=1,
    max_size=12,
).filter(lambda name: name not in (".", "..") and not name.startswith("~"))
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters='@"`\\'), max_size=20)


def only(*paths: str) -> object:
    """A disk with nothing on it but these; a folder's path ends in /."""

    def kind(path: Path) -> Kind | None:
        if f"{path}/" in paths:
            return "folder"
        return "file" if str(path) in paths else None

    return kind


def named(text: str, *paths: str) -> list[str]:
    kind = only(*(path if path[0] == "/" else f"/srv/project/{path}" for path in paths))
    return [text[one.start : one.end] for one in find_mentions(text, PLACE, kind)]  # type: ignore[arg-type]


@given(PATHS, WORDS, WORDS)
def test_a_path_as_it_is_spelled_is_found_again_anywhere(path: str, before: str, after: str) -> None:
    mention = spelled(path)
    assert mention is not None
    text = f"{before} {mention} {after}"
    found = find_mentions(text, PLACE, only(f"/srv/project/{path}"))  # type: ignore[arg-type]
    assert [(one.typed, text[one.start : one.end]) for one in found] == [(path, mention)]


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('@"\\ `.'), max_size=60))
def test_any_text_can_be_searched_and_mentions_are_places_in_it(text: str) -> None:
    end = 0
    for one in find_mentions(text, PLACE, lambda _path: "file"):
        assert text[one.start] == "@"
        assert end <= one.start < one.end <= len(text)
        end = one.end


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_where_nothing_lies_on_the_disk_everything_is_text(text: str) -> None:
    assert find_mentions(text, PLACE, lambda _path: None) == []


def test_mail_addresses_decorators_and_code_are_no_files() -> None:
    text = "me@notes.md, @property, a@b, `@notes.md`, @@notes.md, x@/etc/hosts, @ notes.md"
    assert named(text, "notes.md", "b", "/etc/hosts") == []


def test_files_are_found_at_any_place() -> None:
    text = '(@a.py) @b.py, and @c.py! Is it @d/e.py? See "@a.py" or [@b.py]: @c.py\'s end.\n@a.py'
    found = named(text, "a.py", "b.py", "c.py", "d/e.py")
    assert found == ["@a.py", "@b.py", "@c.py", "@d/e.py", "@a.py", "@b.py", "@a.py"]


def test_punctuation_belongs_to_a_name_that_has_it() -> None:
    assert named("@what? and @what?", "what?") == ["@what?", "@what?"]
    assert named("@what?", "what") == ["@what"]
    assert named("@a...", "a") == ["@a"]


def test_quotes_and_escapes_hold_spaces() -> None:
    assert named('read @"my notes.md" now', "my notes.md") == ['@"my notes.md"']
    assert named(r"read @my\ notes.md now", "my notes.md") == [r"@my\ notes.md"]
    assert named("read @my notes.md now", "my notes.md") == []


def test_home_root_and_parents_are_followed() -> None:
    found = find_mentions("@~/a @/b @../c", PLACE, lambda _path: "file")
    assert [str(one.path) for one in found] == ["/users/ada/a", "/b", "/srv/project/../c"]


def test_a_folder_is_meant_with_a_slash_at_its_end_only() -> None:
    assert named("@src @src/ @src/.", "src/") == ["@src/", "@src/"]
    assert named("@a/", "a") == []


def test_a_name_that_cannot_be_asked_for_stays_text(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    place = Place(tmp_path, tmp_path)
    assert find_mentions("@loop @" + "x" * 5000 + " @" + "y/" * 3000 + ' @"a\x00b"', place) == []


def test_devices_and_pipes_are_named_so_that_their_refusal_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    place = Place(tmp_path, tmp_path)
    assert [one.kind for one in find_mentions("@/dev/zero @pipe", place)] == ["file", "file"]


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("@", ""),
        ("see @sr", "sr"),
        ("see @src/ma", "src/ma"),
        ('see @"my no', "my no"),
        (r"see @my\ no", "my no"),
        ("(@a", "a"),
        ("mail me@sr", None),
        ("see @a ", None),
        ('see @"a" ', None),
        ("see `@a", None),
        ("@@a", None),
        ("", None),
    ],
)
def test_the_mention_that_is_being_typed_is_the_one_before_the_cursor(line: str, typed: str | None) -> None:
    begun = begun_mention(line)
    assert (begun.typed if begun else None) == typed
    assert begun is None or line[begun.start] == "@"


@given(PATHS)
def test_what_is_spelled_is_a_begun_mention_until_it_ends(path: str) -> None:
    mention = spelled(path)
    assert mention is not None
    begun = begun_mention("x " + (mention[:-1] if mention.startswith('@"') else mention))
    assert begun is not None
    assert (begun.start, begun.typed) == (2, path)


def dropped(paste: str, *paths: str) -> str | None:
    return dropped_mentions(paste, PLACE, only(*paths))  # type: ignore[arg-type]


def test_dropped_paths_become_mentions_however_the_terminal_spells_them() -> None:
    file = "/data/my notes.md"
    for paste in (
        "'/data/my notes.md' ",
        '"/data/my notes.md"',
        r"/data/my\ notes.md ",
        "/data/my notes.md\n",
        "file:///data/my%20notes.md",
        "file://localhost/data/my%20notes.md\r\n",
        "'file:///data/my%20notes.md'",
    ):
        assert dropped(paste, file) == '@"/data/my notes.md" ', paste


def test_several_dropped_paths_and_folders_become_mentions() -> None:
    files = ("/srv/project/a.py", "/users/ada/b c", "/data/")
    expected = '@a.py @"~/b c" @/data/ '
    assert dropped("/srv/project/a.py '/users/ada/b c' /data", *files) == expected
    assert dropped("/srv/project/a.py\n/users/ada/b c\n/data\n", *files) == expected


def test_a_paste_that_is_anything_else_stays_as_it_is() -> None:
    files = ("/data/a", "/srv/project/a.py")
    for paste in (
        "",
        "a.py",
        "/data/b",
        "/data/a /data/b",
        "look at /data/a",
        "/data/a is it",
        "'/data/a",
        "file:///b",
    ):
        assert dropped(paste, *files) is None, paste
    assert dropped("/data/a " * 100, *files) is None
    assert dropped("file://elsewhere/data/a", *files) is None


@given(PATHS.map(lambda path: f"/data/{path}").filter(lambda path: path == path.strip()))
def test_a_dropped_path_is_the_mention_that_finds_it(path: str) -> None:
    path = str(Path(path))
    mention = dropped(path, path)
    assert mention is not None
    assert [str(one.path) for one in find_mentions(mention, PLACE, only(path))] == [path]  # type: ignore[arg-type]


def test_files_that_are_named_at_the_start_are_mentioned_as_they_would_be_typed(tmp_path: Path) -> None:
    names = ["plain.py", "two words.txt", 'a "quote".md', "sub"]
    for name in names[:3]:
        (tmp_path / name).write_text("text")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "in.txt").write_text("text")
    place = Place(tmp_path, tmp_path)
    text = as_mentions(names, place)
    assert [one.name for one in named_files(text, place)] == [*names[:3], "sub/in.txt"]
    assert as_mentions([], place) == ""
    with pytest.raises(AttachmentError, match="no file nowhere"):
        as_mentions(["nowhere.txt"], place)
