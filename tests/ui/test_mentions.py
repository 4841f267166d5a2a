"""The menu of files that @ opens, and files that are dropped onto the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from mtpchat.attachments.mentions import Place
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.mentions import Mentions
from tests.attachments.test_walk import plant
from tests.ui.conftest import chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a few files."""
    plant(tmp_path, "notes.md", "src/main.py", "src/river.py", "my docs/read me.md", ".env", text="x" * 4000)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def labels(app: MtpChatApp) -> list[str]:
    return [row.label for row in chat(app).menu.rows]


async def write(pilot: Pilot[object], text: str) -> None:
    """Type a text, and wait until the files are known."""
    app = pilot.app
    assert isinstance(app, MtpChatApp)
    prompt = chat(app).prompt
    names = {" ": "space", "@": "at", ":": "colon", "-": "minus", ".": "full_stop", "/": "slash"}
    for letter in text:
        await pilot.press(names.get(letter, letter))
    await until(pilot, lambda: not prompt._mentions._looking)


async def test_an_at_anywhere_opens_the_menu_and_letters_narrow_it(place: Path) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await write(pilot, "what does @")
        assert labels(app) == ["notes.md", "src/", "my docs/", "src/main.py", "src/river.py", "my docs/read me.md"]
        assert "4.0 kB · ~1.0k tokens" in seen(app)
        await write(pilot, "riv")
        assert labels(app) == ["src/river.py"]


@pytest.mark.parametrize("key", ["enter", "tab"])
async def test_enter_and_tab_take_a_file_and_send_nothing(place: Path, key: str) -> None:
    session = FakeSession()
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await write(pilot, "see @riv")
        await pilot.press(key)
        await write(pilot, "please")
        assert chat(app).prompt.text == "see @src/river.py please"
        assert not chat(app).menu.is_open
        assert session.sent == []


async def test_a_file_in_the_middle_leaves_what_stands_around_it(place: Path) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await write(pilot, "a  b")
        await pilot.press("left", "left")
        await write(pilot, "@not")
        await pilot.press("tab")
        assert chat(app).prompt.text == "a @notes.md  b"


async def test_folders_are_gone_into_and_offered_as_a_whole(place: Path) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await write(pilot, "@src")
        await pilot.press("tab")
        assert chat(app).prompt.text == "@src/"
        assert labels(app) == ["src/", "src/main.py", "src/river.py"]
        assert "all 2 files · 8.0 kB" in seen(app)
        await pilot.press("enter")
        assert chat(app).prompt.text == "@src/ "


async def lines_offered(pilot: Pilot[object], typed: str) -> list[tuple[str, str, str]]:
    """Rows of the menu behind the colon of a file."""
    await write(pilot, typed)
    menu = chat(pilot.app).menu
    await until(pilot, lambda: any("line" in row.summary for row in menu.rows))
    return [(row.insert, row.label, row.summary) for row in menu.rows]


@pytest.mark.parametrize(
    ("typed", "row"),
    [
        ("@poem.md:", ("@poem.md:1-", "poem.md:", "12 lines; lines 10, 10-40 or 10-")),
        ("@poem.md:3", ("@poem.md:3 ", "poem.md:3", "1 of 12 lines")),
        ("@poem.md:3-", ("@poem.md:3- ", "poem.md:3-", "10 of 12 lines")),
        ("@poem.md:3-5", ("@poem.md:3-5 ", "poem.md:3-5", "3 of 12 lines")),
        ("@poem.md:3-99", ("@poem.md:3-99", "poem.md:3-99", "12 lines, this goes beyond the end")),
        ("@./poem.md:3", ("@./poem.md:3 ", "./poem.md:3", "1 of 12 lines")),
    ],
)
async def test_the_menu_says_what_lines_of_a_file_are_meant(place: Path, typed: str, row: tuple[str, str, str]) -> None:
    plant(place, "poem.md", text="a line\n" * 12)
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        assert await lines_offered(pilot, typed) == [row]


async def test_tab_takes_lines_and_enter_sends_them(place: Path) -> None:
    plant(place, "poem.md", text="".join(f"line {number}\n" for number in range(1, 13)))
    app = chat_app(session := FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await lines_offered(pilot, "@poem.md:2-3")
        await pilot.press("tab")
        assert chat(app).prompt.text == "@poem.md:2-3 "
        await until(pilot, lambda: "▤ poem.md:2-3" in seen(app))
        assert "2 of 12 lines" in seen(app)
        await pilot.press("enter")
        await settled(pilot)
    assert [(one.name, one.text) for one in session.messages[0].attachments] == [("poem.md:2-3", "line 2\nline 3\n")]


async def test_a_file_that_is_really_called_so_is_offered_as_such(place: Path) -> None:
    plant(place, "poem.md", "poem.md:1")
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await write(pilot, "@poem.md:1")
        assert "poem.md:1" not in labels(app)  # it is typed in full already
        assert not any("of 1 line" in row.summary for row in chat(app).menu.rows)


async def test_names_with_spaces_are_quoted_from_the_folder_on(place: Path) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await write(pilot, "@docs")
        await pilot.press("tab")
        assert chat(app).prompt.text == '@"my docs/'
        await write(pilot, "read")
        await pilot.press("tab")
        assert chat(app).prompt.text == '@"my docs/read me.md" '


async def test_hidden_files_home_and_root_are_found_when_they_are_asked_for(place: Path) -> None:
    plant(Path.home(), "letter.txt")
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        for typed, found in (("@.e", ".env"), ("@~/let", "~/letter.txt"), (f"@{place}/no", f"{place}/notes.md")):
            chat(app).prompt.load_text("")
            chat(app).prompt.insert(typed[:-2])
            await write(pilot, typed[-2:])
            await until(pilot, lambda: chat(app).menu.is_open)
            await pilot.press("tab")
            assert chat(app).prompt.text == f"@{found} "


async def test_enter_sends_what_is_written_out_or_matches_nothing_but_spread_letters(place: Path) -> None:
    session = FakeSession()
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        for text in ("see @notes.md", "thanks @nts", "mail me@notes.md", "@"):
            await write(pilot, text)
            await pilot.press("enter")
            await settled(pilot)
        assert session.sent == ["see @notes.md", "thanks @nts", "mail me@notes.md", "@"]


async def test_escape_closes_the_menu_and_the_next_letter_opens_it_again(place: Path) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await write(pilot, "@ri")
        await pilot.press("escape")
        assert not chat(app).menu.is_open
        await write(pilot, "v")
        assert labels(app) == ["src/river.py"]
        await pilot.press("home")
        assert not chat(app).menu.is_open


async def test_a_slash_command_has_its_own_menu(place: Path) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await write(pilot, "/system @no")
        assert "notes.md" not in labels(app)


async def drop(pilot: Pilot[object], text: str) -> None:
    app = pilot.app
    assert isinstance(app, MtpChatApp)
    app.post_message(events.Paste(text))
    await pilot.pause()


async def test_dropped_files_become_mentions(place: Path) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await write(pilot, "see")
        await drop(pilot, f"'{place}/notes.md' '{place}/my docs/read me.md'")
        assert chat(app).prompt.text == 'see @notes.md @"my docs/read me.md" '


async def test_a_pasted_text_or_a_path_for_a_command_stays_as_it_is(place: Path) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await drop(pilot, "notes.md")
        assert chat(app).prompt.text == "notes.md"
        chat(app).prompt.load_text("")
        await write(pilot, "/model ")
        await drop(pilot, f"{place}/notes.md")
        assert chat(app).prompt.text == f"/model {place}/notes.md"


async def test_hostile_names_are_shown_and_taken_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "[red]x[blink].md", "ok.md")
    (tmp_path / "evil\x1b[2J.md").touch()
    monkeypatch.chdir(tmp_path)
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await write(pilot, "@")
        assert labels(app) == ["ok.md", "[red]x[blink].md"]
        assert "[red]x[blink].md" in seen(app)
        await pilot.press("down", "down", "enter")
        assert chat(app).prompt.text == '@"[red]x[blink].md" '


def test_a_list_is_made_anew_when_it_has_grown_old(tmp_path: Path) -> None:
    now = [0.0]
    told: list[bool] = []
    mentions = Mentions(Place(tmp_path, tmp_path), lambda: told.append(True), lambda: now[0])

    def offered() -> list[str]:
        mentions.offer("@", 40)
        while mentions._looking:
            pass
        offer = mentions.offer("@", 40)
        return [row.label for row in offer.rows] if offer else []

    plant(tmp_path, "a.md")
    assert offered() == ["a.md"]
    plant(tmp_path, "b.md")
    assert offered() == ["a.md"]
    now[0] = 60.0
    assert offered() == ["a.md", "b.md"]
    assert told == [True, True]
