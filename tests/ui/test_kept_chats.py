"""Kept chats on the screen: the list, opening one, titles, and what is said when they cannot be saved."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from mtpchat.chats import Change, ChatLine, Glimpse, Hit, KeptChat, Passage, Said
from mtpchat.config import ChatsConfig
from mtpchat.errors import CommandError, StorageError
from mtpchat.paths import history_file
from mtpchat.ui.chats_screen import ChatsScreen
from mtpchat.whole_chat import Taken, WholeChat
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, Pause, says

LINE = ChatLine(1, "cafe11111111", "Rivers [red]and[/] | lakes", 0.0, 0.0, 2)
KEPT = KeptChat(LINE, (Said("a", "", "user", "Why do rivers meander?"), Said("b", "a", "assistant", "Because.")))


class FakeArchive:
    """Knows one chat."""

    keeps = True

    def __init__(self, fault: StorageError | None = None) -> None:
        self.tell: Callable[[str], None] = lambda sentence: None
        self.opened: list[str] = []
        self.fault = fault
        self.kept = KEPT

    def put(self, change: Change) -> None:
        raise AssertionError("the fake session keeps nothing")

    def listen(self, tell: Callable[[str], None]) -> None:
        self.tell = tell

    async def recent(self, limit: int, *, deleted: bool = False) -> Sequence[ChatLine]:
        if self.fault is not None:
            raise self.fault
        return [] if deleted else [LINE]

    async def find(self, text: str, limit: int, *, deleted: bool = False) -> Sequence[Hit]:
        return []

    async def glimpse(self, chat: str, text: str = "") -> Glimpse:
        return Glimpse(LINE, tuple(Passage(said.role, said.content) for said in KEPT.path))

    async def whole(self, chat: str) -> WholeChat:
        raise CommandError("No chat is wanted whole here")

    async def take_in(self, chat: WholeChat) -> Taken:
        raise AssertionError("the fake session keeps nothing")

    async def open(self, reference: str) -> KeptChat:
        self.opened.append(reference)
        if reference not in {"", "1", "cafe"}:
            raise CommandError(f"There is no chat {reference!r}", hint="The list: /chats")
        return self.kept


@pytest.fixture
def archive() -> FakeArchive:
    return FakeArchive()


def session_with(archive: FakeArchive, *turns: str) -> FakeSession:
    session = FakeSession([says(turn) for turn in turns], config=STILL)
    session.archive = archive
    return session


async def test_chats_shows_a_screen_on_which_titles_are_text(archive: FakeArchive) -> None:
    app = chat_app(session_with(archive))
    async with app.run_test(size=(110, 30)) as pilot:
        await settled(pilot)
        await chat(app).run_command("/chats")
        await until(pilot, lambda: "Why do rivers meander?" in seen(app))
        assert isinstance(app.screen, ChatsScreen)
        assert "Rivers [red]and[/] | lakes" in seen(app)


async def test_a_chat_that_is_opened_stands_on_the_screen_and_goes_on(archive: FakeArchive) -> None:
    session = session_with(archive, "They still do.")
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await chat(app).run_command("/chats 1")
        await until(pilot, lambda: "Why do rivers meander?" in seen(app) and "2 messages" in seen(app))
        assert len(session.messages) == 2
        await pilot.press(*"and?", "enter")
        await settled(pilot)
        assert "They still do." in seen(app)


@pytest.mark.parametrize("complete", [True, False])
async def test_a_chat_that_was_left_in_mid_answer_says_how_to_go_on_with_it(
    archive: FakeArchive, complete: bool
) -> None:
    question, answer = KEPT.path
    archive.kept = KeptChat(LINE, (question, msgspec.structs.replace(answer, complete=complete)))
    app = chat_app(session_with(archive))
    async with app.run_test(size=(110, 24)) as pilot:
        await settled(pilot)
        await chat(app).run_command("/chats 1")
        await until(pilot, lambda: "2 messages" in seen(app))
        assert ("/continue carries it on" in seen(app)) is not complete


@pytest.mark.parametrize(("width", "told"), [(100, True), (80, True), (60, False)])
async def test_the_empty_prompt_tells_of_chats_that_are_kept_where_there_is_room(
    archive: FakeArchive, width: int, told: bool
) -> None:
    app = chat_app(session_with(archive))
    async with app.run_test(size=(width, 24)) as pilot:
        await settled(pilot)
        assert ("^O your chats" in seen(app)) is told


async def test_the_empty_prompt_of_chats_that_are_not_kept_tells_of_none() -> None:
    app = chat_app(FakeSession([], config=STILL))
    async with app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        assert "Ask anything" in seen(app)
        assert "your chats" not in seen(app)


@pytest.mark.parametrize("resume", ["", "cafe"])
async def test_the_app_may_begin_with_a_kept_chat(archive: FakeArchive, resume: str) -> None:
    app = chat_app(session_with(archive), resume=resume)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: "Why do rivers meander?" in seen(app))
        await until(pilot, lambda: chat(app).session.facts is not None)
        assert archive.opened == [resume]


async def test_a_chat_that_is_not_there_is_said_and_the_model_is_loaded_all_the_same(archive: FakeArchive) -> None:
    session = session_with(archive, "Hi.")
    app = chat_app(session, resume="nowhere")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: session.facts is not None)
        await settled(pilot)
        assert "There is no chat" in seen(app)
        await pilot.press(*"hello", "enter")
        await settled(pilot)
        assert "Hi." in seen(app)


async def test_nothing_is_read_at_a_plain_start(archive: FakeArchive) -> None:
    app = chat_app(session_with(archive))
    async with app.run_test() as pilot:
        await settled(pilot)
        assert archive.opened == []


async def test_trouble_is_shown_from_any_thread(archive: FakeArchive) -> None:
    app = chat_app(session_with(archive))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        thread = threading.Thread(target=archive.tell, args=("The disk is full [/] somewhere.",))
        thread.start()
        await until(pilot, lambda: "The disk is full [/] somewhere." in seen(app))
        thread.join()


async def test_a_list_that_cannot_be_read_says_why_in_its_place() -> None:
    app = chat_app(session_with(FakeArchive(StorageError("Chats cannot be read", hint="Mend it."))))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await chat(app).run_command("/chats")
        await until(pilot, lambda: "Chats cannot be read" in seen(app) and "Mend it." in seen(app))


async def test_without_an_archive_there_are_no_chats_to_show() -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await chat(app).run_command("/chats")
        await until(pilot, lambda: "not kept" in seen(app))


async def test_the_list_can_be_looked_at_while_an_answer_comes(archive: FakeArchive) -> None:
    pause = Pause()
    session = FakeSession([[pause, *says("Done.")]], config=STILL)
    session.archive = archive
    app = chat_app(session)
    async with app.run_test(size=(110, 30)) as pilot:
        await settled(pilot)
        await pilot.press(*"hello", "enter")
        await until(pilot, pause.reached.is_set)
        await chat(app).run_command("/chats")
        await until(pilot, lambda: isinstance(app.screen, ChatsScreen))
        await pilot.press("escape")
        pause.gate.set()
        await settled(pilot)
        assert "Done." in seen(app)


async def test_a_title_is_shown_and_changed(archive: FakeArchive) -> None:
    session = session_with(archive)
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await chat(app).run_command("/title Rivers  and\tlakes")
        assert session.title == "Rivers and lakes"
        session.rename("Lakes")
        await chat(app).run_command("/title")
        await until(pilot, lambda: "Title: Lakes" in seen(app))
        assert "Rivers" not in seen(app)  # the same command once more replaces its line


@pytest.mark.parametrize("save", [True, False])
async def test_what_is_not_to_be_kept_is_not_in_the_file_of_prompts_either(save: bool) -> None:
    session = FakeSession([says("Hi.")], config=msgspec.structs.replace(STILL, chats=ChatsConfig(save=save)))
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"secret", "enter")
        await settled(pilot)
    path = Path(history_file())
    assert (path.exists() and "secret" in path.read_text()) is save


@pytest.mark.parametrize("resume", [None, "", "nowhere"])
async def test_first_words_stand_below_the_chat_that_is_resumed(archive: FakeArchive, resume: str | None) -> None:
    session = session_with(archive)
    app = chat_app(session, resume=resume, first_words="The last run ended [/]abruptly.")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: session.facts is not None)
        await settled(pilot)
        assert "The last run ended [/]abruptly." in seen(app)
        assert ("Why do rivers meander?" in seen(app)) == (resume == "")


async def test_a_message_that_is_edited_is_let_go_of_when_another_chat_is_opened(archive: FakeArchive) -> None:
    session = session_with(archive, "One.", "Two.")
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"first", "enter")
        await settled(pilot)
        await pilot.press(*"unsent", "tab", "K", "e")
        await until(pilot, lambda: chat(app).prompt.text == "first")
        await chat(app).run_command("/chats 1")
        await until(pilot, lambda: "Why do rivers meander?" in seen(app))
        assert not chat(app).prompt.border_title
        assert "first" not in chat(app).prompt.text
        await pilot.press(*"more", "enter")
        await settled(pilot)
        assert session.sent[-1].endswith("more"), "a new message, not another version of an old one"
        assert len(session.messages) == 4


async def test_a_search_counts_in_the_chat_that_is_shown(archive: FakeArchive) -> None:
    session = session_with(archive, "A river, and another river.")
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        await pilot.press("ctrl+f", *"river")
        await until(pilot, lambda: "1/2" in seen(app))
        await chat(app).run_command("/chats 1")
        await until(pilot, lambda: "Why do rivers meander?" in seen(app))
        await until(pilot, lambda: "1/1" in seen(app))


async def test_the_header_says_what_the_chat_is_called(archive: FakeArchive) -> None:
    app = chat_app(session_with(archive))
    async with app.run_test(size=(110, 30)) as pilot:
        await settled(pilot)
        await chat(app).run_command("/chats 1")
        await until(pilot, lambda: seen(app).splitlines()[1].rstrip().endswith("Rivers [red]and[/] | lakes"))
        await chat(app).run_command("/title Lakes")
        await until(pilot, lambda: seen(app).splitlines()[1].rstrip().endswith("Lakes"))


async def test_the_same_words_in_another_chat_have_figures_of_their_own(archive: FakeArchive) -> None:
    session = session_with(archive, "Because.")
    session.chat_id = "here00000000"
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"Why do rivers meander?", "enter")
        await settled(pilot)
        assert "318 tokens" in seen(app)
        await chat(app).run_command("/chats 1")
        await until(pilot, lambda: "Rivers [red]and[/]" in seen(app))
        assert "Because." in seen(app)
        await until(pilot, lambda: "318 tokens" not in seen(app))
