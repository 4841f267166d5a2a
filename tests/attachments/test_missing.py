"""Words that look like files and are none: told with the file that was meant, and nothing said about all the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.attachments.gathering import files_of
from mtpchat.attachments.mentions import Place, find_mentions
from mtpchat.attachments.missing import Folders, missing_files
from mtpchat.attachments.walk import Listing
from mtpchat.errors import AttachmentError
from tests.attachments.test_walk import plant


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A small project, and a file outside of it."""
    root = tmp_path / "project"
    plant(root, "src/seed.py", "src/deep/tree.rs", "notes.md", "docs/guide.md")
    plant(tmp_path, "outside.txt")
    return Place(root, tmp_path)


def told(text: str, place: Place, *, typing: bool = False) -> list[str]:
    """A sentence for each word that stays text."""
    found = find_mentions(text, place)
    return [one.sentence for one in missing_files(text, found, place, Folders(place), typing=typing)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("what does @src/sed.py do", "no file src/sed.py: stays text; did you mean seed.py?"),
        ("(@src/sed.py:10-20)?", "no file src/sed.py: stays text; did you mean seed.py?"),
        ("is @seed.py right", "no file seed.py: stays text; did you mean src/seed.py?"),
        ("@scr/deep/tree.rs!", "no file scr/deep/tree.rs: stays text; did you mean src/deep/tree.rs?"),
        ("@Notes.MD, please", "no file Notes.MD: stays text; did you mean notes.md?"),
        ('@"my notes.md" and', "no file my notes.md: stays text; did you mean notes.md?"),
        ("@../outsid.txt is", "no file ../outsid.txt: stays text; did you mean outside.txt?"),
        ("@~/outsid.txt is", "no file ~/outsid.txt: stays text; did you mean outside.txt?"),
        ("@src/nothing here", "no file src/nothing: stays text"),
        ("@quite-another.toml here", "no file quite-another.toml: stays text"),
        ("@scr/ here", "no folder scr/: stays text; did you mean src/?"),
        ("@src here", "src is a folder: stays text; @src/ takes its files"),
        ("@notes.md/ here", "notes.md/ is no folder: stays text; @notes.md is the file"),
        ("@src/seed.py:12:5 is wrong", "no file src/seed.py:12:5: stays text; lines are named as in src/seed.py:10-40"),
        ("@src/seed.py#L3-L9 is", "no file src/seed.py#L3-L9: stays text; lines are named as in src/seed.py:10-40"),
    ],
)
def test_what_looks_like_a_file_is_told_with_what_helps(text: str, sentence: str, place: Place) -> None:
    assert told(text, place) == [sentence]


@pytest.mark.parametrize(
    "text",
    [
        "me@example.org, @example.org and @ada",
        "@property @x.setter @dataclass(frozen=True) @pytest.mark.parametrize @app.route('/seed.py')",
        "@types/node, @angular/core and @org/team",
        "import x from '@scope/pkg/file.js'",
        "@@ -1,3 +1,4 @@",
        "@media (min-width: 3em) @param x.y @. @.. @~ @...",
        "```\n@src/sed.py\n```",
        "~~~ py\n@sed.py\nno end",
        "@notes.md and @src/seed.py:1 and @src/",
    ],
)
def test_addresses_decorators_people_packages_and_code_are_no_files(text: str, place: Place) -> None:
    assert told(text, place) == []


@pytest.mark.parametrize("end", range(1, len("@src/sed.py")))
def test_nothing_is_said_while_a_path_may_still_go_on(end: int, place: Place) -> None:
    assert told("@src/sed.py"[:end], place, typing=True) == []


def test_a_path_that_has_come_to_its_end_is_told_while_typing(place: Place) -> None:
    assert told("see @src/sed.py", place, typing=True) == told("see @src/sed.py", place) != []
    assert told("see @note.m", place, typing=True) != told("see @notes.m", place, typing=True) == []
    assert told("@src ", place, typing=True) != told("@src", place, typing=True) == []


def test_one_word_is_told_once_and_of_many_a_few(place: Place) -> None:
    assert len(told("@a.py @a.py", place)) == 1
    assert len(told(" ".join(f"@{number}.py" for number in range(9)), place)) == 3


@pytest.mark.parametrize("typed", ["seed.py", "src/sed.py", "scr/seed.py:3-4"])
def test_a_path_that_was_given_as_such_is_refused_with_the_one_that_is_like_it(typed: str, place: Place) -> None:
    with pytest.raises(AttachmentError, match="There is no file") as refused:
        files_of(typed, place)
    assert refused.value.hint == "Did you mean src/seed.py?"


def test_folders_are_looked_through_again_only_after_a_while(place: Place) -> None:
    now = [0.0]
    folders = Folders(place, lambda: now[0])
    before = folders("")
    plant(place.folder, "new.py")
    assert folders("") == before
    now[0] = 60.0
    assert len(folders("").entries) == len(before.entries) + 1


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('@"/. `~#:1py'), max_size=60))
def test_any_text_can_be_judged(text: str) -> None:
    nowhere = Place(Path("/nowhere"), Path("/nowhere"))
    found = find_mentions(text, nowhere, lambda _path: None)
    for typing in (False, True):
        for one in missing_files(text, found, nowhere, lambda _folder: Listing(), lambda _path: None, typing=typing):
            assert one.sentence
