"""A chat that is opened again is as it was left: ways, settings of single answers, who said what."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from mtpchat.chats import Deleted, KeptChat
from mtpchat.config import Config, SamplingConfig
from mtpchat.engine.compact import compacted
from mtpchat.engine.session import Session
from mtpchat.events import ModelFacts
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.purging import purge
from mtpchat.store.schema import MIGRATIONS, migrate
from mtpchat.whole_chat import model_of
from tests.engine.test_chronicle import kept, say, stopped
from tests.fakes import FakeEngine, Gate

OWN = SamplingConfig(temperature=1.5, top_k=7, max_tokens=40, stop=("END", "\udc80"))


async def again(session: Session, store: ChatStore) -> Session:
    """Another session that goes on with the chat, as after a restart."""
    chat = await store.open(session.chat_id)
    assert isinstance(chat, KeptChat)
    other = Session(session._service, session.config, archive=store)
    other.resume(chat)
    return other


def contents(session: Session) -> list[str]:
    return [one.content for one in session.messages]


async def test_a_cut_answer_with_settings_of_its_own_goes_on_with_them(tmp_path: Path) -> None:
    gate = Gate()
    engine = FakeEngine("First.", "One two three.", "four.")
    async with kept(tmp_path, engine) as (session, store):
        await say(session.send("Hello?"))
        engine._step = gate
        await stopped(session, gate, session.retry(None, OWN, 11))
        gate.open()
        reopened = await again(session, store)
        await say(reopened.continue_last())
        own = msgspec.structs.replace(OWN, seed=11)
        assert engine.requests[1].sampling == own
        half_characters_are_never_said = msgspec.structs.replace(own, stop=("END",))
        assert engine.requests[2].sampling == half_characters_are_never_said
        reopened = await again(reopened, store)
        assert reopened.seed == 11


async def test_a_cut_answer_with_the_settings_of_the_chat_goes_on_with_those_of_now(tmp_path: Path) -> None:
    gate = Gate()
    engine = FakeEngine("One two.", "three.", step=gate)
    async with kept(tmp_path, engine, config=Config(sampling=SamplingConfig(max_tokens=3))) as (session, store):
        await stopped(session, gate, session.send("Hello?"))
        gate.open()
        seed = session.seed
        reopened = await again(session, store)
        reopened.set_sampling("max_tokens", "0")
        await say(reopened.continue_last())
        assert (engine.requests[1].sampling.max_tokens, engine.requests[1].sampling.seed) == (0, seed)


async def test_walking_leads_where_it_led_before(tmp_path: Path) -> None:
    engine = FakeEngine("First.", "Second.", "Third.", "Other first.")
    async with kept(tmp_path, engine) as (session, store):
        await say(session.send("one"))
        await say(session.send("two"))
        await say(session.edit(2, "zwei"))
        session.walk(2, -1)
        session.undo()
        await say(session.retry(0))
        reopened = await again(session, store)
        reopened.walk(1, -1)
        assert contents(reopened) == ["one", "First."], "the second prompt had been taken back"
        reopened.redo()
        assert contents(reopened) == ["one", "First.", "two", "Second."], "which is not the newest"
        reopened.walk(1, 1)
        reopened = await again(reopened, store)
        reopened.walk(1, -1)
        assert contents(reopened) == ["one", "First.", "two", "Second."]


async def test_exports_name_the_model_that_said_it(tmp_path: Path) -> None:
    engine = FakeEngine("First.", "Second.")
    async with kept(tmp_path, engine) as (session, store):
        await say(session.load())
        await say(session.send("one"))
        reopened = await again(session, store)
        engine.facts = ModelFacts("other", "/other.gguf", "fake", "none", "no drafter")
        await say(reopened.load())
        await say(reopened.send("two"))
        turns = {node.content: node.turns for node in reopened.whole().messages}
        assert [turns[said][0].model_name for said in ("First.", "Second.")] == ["fake", "other"]
        reopened.amend(3, "Mine.")
        (mine,) = (node for node in reopened.whole().messages if node.content == "Mine.")
        assert mine.turns[0].model_name == "", "these are nobody's words but the user's"
        assert model_of(reopened.whole()) == "fake"


async def test_going_back_from_a_summary_leads_to_the_branch_it_was_made_of(tmp_path: Path) -> None:
    engine = FakeEngine("First.", "Second.")
    async with kept(tmp_path, engine) as (session, store):
        await say(session.send("one"))
        await say(session.edit(0, "eins"))
        session.walk(0, -1)
        session.begin_anew(compacted(session.messages, 2, "They counted."))
        assert session.siblings(0) == (3, 3)
        reopened = await again(session, store)
        assert reopened.without(1)
        assert contents(reopened) == ["one", "First."]


async def test_how_answers_were_made_that_stay_behind_a_summary_is_known_of_them_there(tmp_path: Path) -> None:
    gate = Gate()
    engine = FakeEngine("First.", "One two.", "three.")
    async with kept(tmp_path, engine) as (session, store):
        await say(session.send("one"))
        engine._step = gate
        await stopped(session, gate, session.send("two"))
        gate.open()
        seed = session.seed
        session.begin_anew(compacted(session.messages, 2, "They counted."))
        assert (session.seed, session.figures(3) is not None) == (seed, True)
        reopened = await again(session, store)
        assert reopened.seed == seed
        await say(reopened.continue_last())
        assert engine.requests[-1].sampling.seed == seed


OLD_CHAT = """
INSERT INTO chat (id, title, created, updated, leaf) VALUES ('abcd', 'Old', 1, 2, 'a1');
INSERT INTO message (id, chat_id, parent_id, role, content, created, complete) VALUES
    ('q', 'abcd', NULL, 'user', 'Q', 1, 1), ('a1', 'abcd', 'q', 'assistant', 'A1', 1, 1),
    ('a2', 'abcd', 'q', 'assistant', 'A2', 1, 1), ('r', 'abcd', 'a2', 'user', 'R', 1, 1),
    ('b1', 'abcd', 'r', 'assistant', 'B1', 1, 1), ('b2', 'abcd', 'r', 'assistant', 'B2', 1, 1)
"""


async def test_a_chat_of_an_older_file_leads_to_the_newest_until_a_way_was_taken(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "chats.db", isolation_level=None)) as older:
        migrate(older, MIGRATIONS[:3])
        older.executescript(OLD_CHAT)
    async with kept(tmp_path, FakeEngine()) as (session, store):
        session.resume(await store.open("abcd"))
        assert contents(session) == ["Q", "A1"]
        session.walk(1, 1)
        assert contents(session) == ["Q", "A2", "R", "B2"]
        session.walk(3, -1)
        session.walk(1, -1)
        reopened = await again(session, store)
        assert contents(reopened) == ["Q", "A1"]
        reopened.walk(1, 1)
        assert contents(reopened) == ["Q", "A2", "R", "B1"]
        chat = await store.open("abcd")
        assert set(chat.shown) == {"a1", "b1", "b2"}


async def test_of_a_chat_that_is_gone_for_good_no_way_is_left(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeEngine("First.", "Second.")) as (session, store):
        await say(session.send("one"))
        await say(session.retry())
        session.walk(1, -1)
        chat = session.chat_id
        store.put(Deleted(chat, 1.0))

        def gone(connection: sqlite3.Connection) -> tuple[int, int]:
            ways = "SELECT count(*) FROM shown"
            before = connection.execute(ways).fetchone()[0]
            assert list(purge(connection, [chat])) == [chat]
            return before, connection.execute(ways).fetchone()[0]

        assert store.ask(gone).result(20) == (3, 0)
