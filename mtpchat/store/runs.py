"""Which message the text of a run belongs to: several instances may carry on one and the same answer at a time.

A run is one attempt at an answer (`TurnBegun.turn`). `message.writer` names the run by which a message grows, and no
other run adds to it. Whoever carries an answer on takes it over if it reads as it did when the run began; otherwise,
and for a run whose message was taken over before it had said more, a version is made beside it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from mtpchat.chats import Said, TurnBegun

_BESIDE = "."
"""Between the id of a message and that of the run for which a version of it was made."""


def enter(connection: sqlite3.Connection, begun: TurnBegun) -> str:
    """Find the message for a run that has just begun: its answer, or a version of it. Within a transaction.

    The answer is there already, if only as an empty message; the run is not yet among the turns.
    """
    answer, thinking = map(writable, begun.so_far or ("", ""))
    unfinished = connection.execute(
        "SELECT id FROM message WHERE complete = 0 AND (id = ?1 OR id BETWEEN ?1 || ?2 AND ?1 || ?2 || '~')"
        " ORDER BY number",
        (begun.answer, _BESIDE),
    ).fetchall()
    for (message,) in unfinished:
        if text_of(connection, message) == (answer, thinking):
            take_over(connection, message, begun.turn)
            return str(message)
    return _beside(connection, begun.answer, begun.turn, answer, thinking)


def take_over(connection: sqlite3.Connection, message: str, writer: str) -> None:
    """Let a message grow by another run from now on; the one that was at it keeps what it has said until now."""
    answer, thinking = text_of(connection, message)
    connection.execute(
        "UPDATE turn SET left_answer = ?, left_thinking = ? WHERE ended IS NULL"
        " AND id = (SELECT writer FROM message WHERE id = ?)",
        (len(answer), len(thinking), message),
    )
    connection.execute("UPDATE message SET writer = ? WHERE id = ?", (writer, message))


def turn_out(connection: sqlite3.Connection, message: str, writer: str) -> None:
    """Let a message have a text that no run has said; what a run has in the journal goes into a version beside it."""
    (before,) = connection.execute("SELECT writer FROM message WHERE id = ?", (message,)).fetchone()
    if any(journalled(connection, message)):
        beside = _beside(connection, message, before, *text_of(connection, message))
        connection.execute("UPDATE turn SET message_id = ? WHERE id = ?", (beside, before))
        connection.execute("DELETE FROM journal WHERE message_id = ?", (message,))
    take_over(connection, message, writer)


def message_of(connection: sqlite3.Connection, turn: str, answer: str) -> str:
    """The message that a run adds to from now on.

    Args:
        turn: id of the run; one that is not known adds to `answer`.
    """
    row = connection.execute(
        "SELECT message_id, writer, left_answer, left_thinking FROM turn JOIN message ON message.id = message_id"
        " WHERE turn.id = ?",
        (turn,),
    ).fetchone()
    if row is None:
        return answer
    message, writer, answer_length, thinking_length = row
    if writer in (turn, ""):
        return str(message)
    said, thought = text_of(connection, message)
    beside = _beside(connection, message, turn, said[:answer_length], thought[:thinking_length])
    connection.execute("UPDATE turn SET message_id = ? WHERE id = ?", (beside, turn))
    return beside


def is_over(connection: sqlite3.Connection, turn: str) -> bool:
    """Whether the end of a run has been written before, and its message is another run's by now."""
    row = connection.execute(
        "SELECT 1 FROM turn JOIN message ON message.id = message_id"
        " WHERE turn.id = ? AND ended IS NOT NULL AND writer NOT IN (turn.id, '')",
        (turn,),
    ).fetchone()
    return row is not None


def as_kept(connection: sqlite3.Connection, chat: str, path: Sequence[Said]) -> tuple[Said, ...]:
    """A path as it is in the file: where a version was made beside an answer, the one that reads like this path's.

    The instance for which it was made goes on to call it by the id of the answer.
    """
    versions = connection.execute(
        "SELECT id, content, thinking FROM message WHERE chat_id = ? AND instr(id, ?) > 0", (chat, _BESIDE)
    ).fetchall()
    kept: list[Said] = []
    for said in path:
        name = (
            next((row[0] for row in versions if _is_version(connection, row, said)), said.id) if versions else said.id
        )
        parent = kept[-1].id if kept and said.parent else said.parent
        kept.append(said if (name, parent) == (said.id, said.parent) else _moved(said, name, parent))
    return tuple(kept)


def _is_version(connection: sqlite3.Connection, version: Sequence[str], said: Said) -> bool:
    words = (writable(said.content), writable(said.thinking))
    if not version[0].startswith(said.id + _BESIDE) or tuple(version[1:]) != words:
        return False
    return text_of(connection, said.id) != words


def _moved(said: Said, name: str, parent: str) -> Said:
    return msgspec.structs.replace(said, id=name, parent=parent)


def text_of(connection: sqlite3.Connection, message: str) -> tuple[str, str]:
    """(answer, thinking) of a message, with what its journal adds; nothing for one that is not there."""
    row = connection.execute(
        "SELECT CAST(content AS TEXT), CAST(thinking AS TEXT) FROM message WHERE id = ?", (message,)
    ).fetchone()
    answer, thinking = row or ("", "")
    more, more_thinking = journalled(connection, message)
    return answer + more, thinking + more_thinking


def journalled(connection: sqlite3.Connection, message: str) -> tuple[str, str]:
    """What the journal adds to a message: (answer, thinking)."""
    texts: dict[str, list[str]] = {"answer": [], "thinking": []}
    for channel, text in connection.execute(
        "SELECT channel, text FROM journal WHERE message_id = ? ORDER BY number", (message,)
    ):
        texts.setdefault(channel, []).append(text)
    return "".join(texts["answer"]), "".join(texts["thinking"])


def _beside(connection: sqlite3.Connection, message: str, turn: str, content: str, thinking: str) -> str:
    """A version of a message for a run alone, which begins with these words. Made once."""
    name = f"{message}{_BESIDE}{turn}"
    connection.execute(
        "INSERT INTO message (id, chat_id, parent_id, role, content, thinking, created, complete, depth, writer)"
        " SELECT ?, chat_id, parent_id, role, ?, ?, created, 0, depth, ? FROM message WHERE id = ?"
        " ON CONFLICT (id) DO NOTHING",
        (name, writable(content), writable(thinking), turn, message),
    )
    return name


def writable(text: str) -> str:
    """Half of a surrogate pair, which no encoding can write, becomes the sign for what is unreadable."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
