"""Reading chats: lists, one branch, the whole tree, words."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from mtpchat.chats import ChatLine, ChatOptions, Figures, Hit, KeptChat, Said
from mtpchat.errors import CommandError
from mtpchat.stats import TurnStats
from mtpchat.store import depths, places, search
from mtpchat.store.attached import files_of
from mtpchat.store.runs import journalled
from mtpchat.whole_chat import WholeChat

_LEAF = """
    coalesce((SELECT id FROM message AS last WHERE last.id = chat.leaf),
             (SELECT id FROM message AS late WHERE late.chat_id = chat.id ORDER BY number DESC LIMIT 1))
"""
"""Where the branch ends that is shown; where everything was taken back, it is the newest one's."""
_COLUMNS = f"""
    chat.id, title, created, updated,
    coalesce((SELECT depth FROM message WHERE message.id = chat.leaf), {depths.COUNTED.format(leaf=_LEAF)}),
    pinned, deleted_at IS NOT NULL,
    coalesce((SELECT model_name FROM
        (SELECT id, number FROM message WHERE chat_id = chat.id ORDER BY number DESC LIMIT 4) AS late
        CROSS JOIN turn ON turn.message_id = late.id ORDER BY number DESC LIMIT 1), ''),
    renamed != 0
"""
_LINES = f"""
SELECT 0, {_COLUMNS} FROM chat WHERE deleted_at IS NULL
ORDER BY pinned DESC, coalesce(used, updated) DESC, id LIMIT ? OFFSET ?
"""
_DELETED = f"SELECT 0, {_COLUMNS} FROM chat WHERE deleted_at IS NOT NULL ORDER BY deleted_at DESC, id LIMIT ?"
_LINE = f"SELECT 0, {_COLUMNS} FROM chat WHERE id = ?"
_FEWEST_LETTERS = 4
_END_OF_TIME = 253_000_000_000.0
"""Seconds until the year 9987, which dates on the screen can show."""


def recent(connection: sqlite3.Connection, limit: int, offset: int = 0) -> list[ChatLine]:
    """Chats that are not deleted: pinned ones first, then those that were used last."""
    rows = connection.execute(_LINES, (limit, offset))
    return [_line((number, *row[1:])) for number, row in enumerate(rows, offset + 1)]


def deleted(connection: sqlite3.Connection, limit: int) -> list[ChatLine]:
    """Chats that were deleted and are still there, the latest deletion first. They have no number."""
    return [_line(row) for row in connection.execute(_DELETED, (limit,))]


def resolve(connection: sqlite3.Connection, reference: str) -> str:
    """The id of a chat.

    Args:
        reference: a number of up to three digits is a place in the list, "" the last chat that was used; anything else
            is an id or its beginning, at least four letters of it. Deleted chats are found by their id.

    Raises:
        CommandError: none, or more than one.
    """
    word = reference.strip().casefold()
    if not word:
        last = connection.execute(
            "SELECT id FROM chat WHERE deleted_at IS NULL ORDER BY coalesce(used, updated) DESC LIMIT 1"
        )
        found = [row[0] for row in last]
        if not found:
            raise CommandError("No chat has been saved yet")
        return str(found[0])
    if word.isascii() and word.isdecimal() and len(word) < _FEWEST_LETTERS:
        rows = recent(connection, 1, int(word) - 1) if int(word) else []
        if not rows:
            raise CommandError(f"There is no chat number {int(word)}", hint="The list: /chats, or mtpchat chats list")
        return rows[0].id
    pattern = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    found = [
        row[0] for row in connection.execute("SELECT id FROM chat WHERE id LIKE ? ESCAPE '\\' LIMIT 2", (pattern,))
    ]
    if len(word) < _FEWEST_LETTERS or not found:
        raise CommandError(f"There is no chat {reference.strip()!r}", hint="The list: /chats, or mtpchat chats list")
    if len(found) > 1:
        raise CommandError(f"More than one chat begins with {word!r}", hint="Type more of it.")
    return str(found[0])


def line(connection: sqlite3.Connection, reference: str) -> ChatLine:
    """What a list says about one chat, without its number. Raises CommandError as `resolve` does."""
    return _line(connection.execute(_LINE, (resolve(connection, reference),)).fetchone())


def load(connection: sqlite3.Connection, reference: str) -> KeptChat:
    """A chat with all its branches. Raises CommandError as `resolve` does."""
    chat = resolve(connection, reference)
    kept = glance(connection, chat)
    nodes = _tree(connection, chat, kept.path)
    return msgspec.structs.replace(kept, nodes=nodes, made=_made(connection, chat), shown=_shown(connection, chat))


def _made(connection: sqlite3.Connection, chat: str) -> dict[str, Figures]:
    """How each answer was generated the last time."""
    turns = connection.execute(
        "SELECT message_id, seed, coalesce(reason, ''), stats, model_name, CASE WHEN own THEN sampling ELSE '' END"
        " FROM turn JOIN message ON message.id = message_id WHERE chat_id = ? ORDER BY turn.rowid",
        (chat,),
    )
    return {
        answer: Figures(seed, reason, _stats(stats), _as_text(model), _sampling(sampling))
        for answer, seed, reason, stats, model, sampling in turns
    }


def _sampling(text: str) -> dict[str, object]:
    """Settings by name; none where a byte has changed on the disk."""
    try:
        return msgspec.json.decode(text, type=dict[str, object]) if text else {}
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return {}


def _shown(connection: sqlite3.Connection, chat: str) -> tuple[str, ...]:
    """Messages that the branch has ended with, in the order in which that was last so."""
    query = "SELECT message_id FROM shown JOIN message ON message.id = message_id WHERE chat_id = ?"
    return tuple(row[0] for row in connection.execute(f"{query} ORDER BY shown.number", (chat,)))


def _stats(text: str | None) -> TurnStats | None:
    """Counters of a turn; those of another version that do not fit are not known."""
    try:
        return msgspec.json.decode(text, type=TurnStats) if text else None
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None


def glance(connection: sqlite3.Connection, chat: str) -> KeptChat:
    """A chat with the branch that is shown, alone."""
    line = _line(connection.execute(_LINE, (chat,)).fetchone())
    path = _branch(connection, chat)
    answers = [said.id for said in reversed(path) if said.role == "assistant"]
    query = "SELECT system, seed FROM turn WHERE message_id = ? ORDER BY rowid DESC LIMIT 1"
    turns = (connection.execute(query, (answer,)).fetchone() for answer in answers)
    last = next(turns, None)
    told = last or next((turn for turn in turns if turn), None)  # answers of the user's wording have no turn
    (options,) = connection.execute("SELECT options FROM chat WHERE id = ?", (chat,)).fetchone()
    chosen = _options(options)
    return KeptChat(line, path, told[0] if told else "", last[1] if last else None, options=chosen)


def _options(text: str) -> ChatOptions:
    """Choices of a chat; those of another version that do not fit are as if they had not been made."""
    try:
        return msgspec.json.decode(text, type=ChatOptions)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return ChatOptions()


def _tree(connection: sqlite3.Connection, chat: str, path: Sequence[Said]) -> tuple[Said, ...]:
    """All messages in the order in which they came, without answers of which not a word has."""
    rows = connection.execute(
        "SELECT id, coalesce(parent_id, ''), role, content, thinking, created, complete, attachments FROM message"
        " WHERE chat_id = ? ORDER BY number",
        (chat,),
    ).fetchall()
    shown = {said.id for said in path}
    nodes = [_said(connection, row) for row in rows]
    return tuple(one for one in nodes if one.complete or one.content or one.thinking or one.id in shown)


_BRANCH = f"""
WITH RECURSIVE branch (id, parent_id, above) AS (
    SELECT message.id, message.parent_id, 0 FROM chat JOIN message ON message.id = {_LEAF} WHERE chat.id = ?1
    UNION ALL
    SELECT message.id, message.parent_id, above + 1 FROM message JOIN branch ON message.id = branch.parent_id
    LIMIT 1000000
)
SELECT message.id, coalesce(message.parent_id, ''), role, content, thinking, created, complete, attachments
FROM branch JOIN message ON message.id = branch.id ORDER BY above DESC
"""


def _branch(connection: sqlite3.Connection, chat: str) -> tuple[Said, ...]:
    """Messages from the first to the leaf. Where everything was taken back, it is the newest message's branch."""
    path = [_said(connection, row) for row in connection.execute(_BRANCH, (chat,)).fetchall()]
    while path and not (path[-1].complete or path[-1].content or path[-1].thinking):
        path.pop()  # an answer of which not a word had come when the process ended
    return tuple(path)


def _said(connection: sqlite3.Connection, row: Sequence[Any]) -> Said:
    message, parent, role, content, thinking, created, complete, attachments = row
    content, thinking = _as_text(content), _as_text(thinking)
    if not complete:
        more, more_thinking = journalled(connection, message)
        content, thinking = content + more, thinking + more_thinking
    return Said(message, parent, role, content, thinking, created, bool(complete), files_of(_as_text(attachments)))


def _as_text(value: object) -> str:
    """A text; where a byte has changed on the disk SQLite may take one for something else."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def whole(connection: sqlite3.Connection, chat: str) -> dict[str, object]:
    """Everything that is known of a chat, all its branches included, as values for JSON."""
    kept = glance(connection, resolve(connection, chat))
    line = kept.line
    rows = connection.execute(
        "SELECT id, coalesce(parent_id, ''), role, content, thinking, created, complete, attachments FROM message"
        " WHERE chat_id = ? ORDER BY number",
        (line.id,),
    ).fetchall()
    turns = _turns(connection, line.id)
    return {
        "id": line.id,
        "title": line.title,
        "created": line.created,
        "updated": line.updated,
        "pinned": line.pinned,
        "deleted": line.deleted,
        "named": line.named,
        "leaf": kept.path[-1].id if kept.path else None,
        "options": msgspec.to_builtins(kept.options),
        "messages": [_message(_said(connection, row), turns) for row in rows],
    }


def whole_chat(connection: sqlite3.Connection, reference: str) -> WholeChat:
    """`whole` as a value. Raises CommandError as `resolve` does."""
    return msgspec.convert(whole(connection, reference), WholeChat)


def _message(said: Said, turns: dict[str, list[dict[str, object]]]) -> dict[str, object]:
    return {
        "id": said.id,
        "parent": said.parent or None,
        "role": said.role,
        "content": said.content,
        "thinking": said.thinking,
        "created": said.created,
        "complete": said.complete,
        "attachments": [{"name": one.name, "text": one.text} for one in said.attachments],
        "turns": turns.get(said.id, []),
    }


def _turns(connection: sqlite3.Connection, chat: str) -> dict[str, list[dict[str, object]]]:
    """How each answer was made: id of the message -> its turns, the first one first."""
    turns: dict[str, list[dict[str, object]]] = {}
    for turn in connection.execute(
        "SELECT message_id, turn.id, started, ended, model, model_name, drafter, kind, machine, sampling, seed, system,"
        " stats, reason FROM turn JOIN message ON message.id = message_id WHERE chat_id = ? ORDER BY turn.rowid",
        (chat,),
    ):
        turns.setdefault(turn[0], []).append(_turn(turn[1:]))
    return turns


def _turn(row: Sequence[Any]) -> dict[str, object]:
    made = ("id", "started", "ended", "model", "model_name", "drafter", "kind", "machine")
    turn: dict[str, object] = dict(
        zip((*made, "sampling", "seed", "system", "stats", "finish_reason"), row, strict=True)
    )
    turn["sampling"] = _json(row[8])
    turn["stats"] = _json(row[11]) if row[11] else None
    return turn


def _json(text: str) -> object:
    """A value; None for what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def find(connection: sqlite3.Connection, text: str, limit: int, *, deleted: bool = False) -> list[Hit]:
    """Chats with all words of `text` in their title or in one message and its files, the best first.

    Raises StorageError without FTS5.
    """
    return [_hit(connection, one, text) for one in search.find(connection, text, limit, deleted=deleted)]


def _hit(connection: sqlite3.Connection, match: search.Match, text: str) -> Hit:
    line = _line(connection.execute(_LINE, (match.chat,)).fetchone())
    marks = places.places(line.title, text)
    row = connection.execute(
        "SELECT id, role, content, attachments FROM message WHERE number = ?", (match.number,)
    ).fetchone()
    if row is None:
        return Hit(line, "", "user", "", match.count, marks)
    message, role, content, attachments = row
    file = places.best_file(files_of(attachments), text) if match.in_files else None
    snippet = places.snippet(content if file is None else file.text, text)
    return Hit(line, message, role, snippet, match.count, marks, "" if file is None else file.name)


def earlier_texts(connection: sqlite3.Connection, most_letters: int) -> list[str]:
    """What was said in chats that are not deleted, the newest last, up to so many letters in all."""
    texts: list[str] = []
    for (content,) in connection.execute(
        "SELECT content FROM message JOIN chat ON chat.id = chat_id WHERE deleted_at IS NULL AND content != ''"
        " ORDER BY message.number DESC"
    ):
        texts.append(content[:most_letters])
        most_letters -= len(content)
        if most_letters <= 0:
            break
    return texts[::-1]


def last_asked(connection: sqlite3.Connection, limit: int) -> list[KeptChat]:
    """The latest chats in which something was asked; of those that came to a question in the same way, one."""
    found: dict[tuple[str, ...], KeptChat] = {}
    for (chat,) in connection.execute(
        "SELECT id FROM chat WHERE deleted_at IS NULL ORDER BY coalesce(used, updated) DESC, id"
    ):
        kept = glance(connection, chat)
        asked = [at for at, said in enumerate(kept.path) if said.role == "user" and said.content.strip()]
        if asked:
            found.setdefault((kept.system, *(said.content for said in kept.path[: asked[-1] + 1])), kept)
        if len(found) == limit:
            break
    return list(found.values())


def _line(row: Sequence[Any]) -> ChatLine:
    number, chat, title, created, updated, messages, pinned, is_deleted, model, named = row
    flags, times = (bool(pinned), bool(is_deleted)), (_as_time(created), _as_time(updated))
    return ChatLine(number, chat, _as_text(title), *times, messages, *flags, _as_text(model), bool(named))


def _as_time(value: object) -> float:
    """Seconds since 1970; the beginning of time for what is none, so that a list can be shown."""
    return value if isinstance(value, (int, float)) and 0 <= value < _END_OF_TIME else 0.0
