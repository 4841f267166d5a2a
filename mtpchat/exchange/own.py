"""Our own files: a chat with all its branches as one JSON object, the same in and out."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from mtpchat.chats import title_of
from mtpchat.exchange.findings import Found, NoChat
from mtpchat.exchange.planting import Foreign, Origin, plant
from mtpchat.exchange.values import digest, items, mapping, moment, text
from mtpchat.messages import Attachment
from mtpchat.whole_chat import MadeTurn, WholeChat, said_in

FORM = "mtpchat"
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,200}")
_SHORTEST_ID = 4
"""Shorter words are numbers in the list of chats, or too little to be the beginning of an id."""
_LATEST = 4e9
_MOST = 1 << 63


def as_json(chats: Sequence[WholeChat]) -> str:
    """One object for one chat, an array for more of them; ASCII, so that no encoding can spoil it."""
    objects = [as_object(chat) for chat in chats]
    return json.dumps(objects[0] if len(objects) == 1 else objects, indent=2) + "\n"


def as_object(chat: WholeChat) -> dict[str, Any]:
    """The chat as values for JSON."""
    return {"program": FORM, **msgspec.to_builtins(chat)}


def is_own(value: dict[str, Any]) -> bool:
    """Whether an object looks like a chat of ours."""
    return value.get("program") == FORM or ("leaf" in value and "messages" in value)


def from_object(value: dict[str, Any], at: float) -> Found:
    """A chat that `as_object` made, or `/export` of an earlier version. Raises NoChat."""
    if "id" not in value:
        return _of_one_branch(value, at)
    try:
        chat = msgspec.convert(value, WholeChat)
        msgspec.json.encode(chat)
    except (msgspec.ValidationError, ValueError, OverflowError, RecursionError) as error:
        raise NoChat(f"it is no chat of this program: {error}") from error
    _check(chat)
    if not chat.title:
        chat = msgspec.structs.replace(chat, title=title_of([said_in(node) for node in chat.messages]))
    return Found(chat, FORM)


def _check(chat: WholeChat) -> None:
    """Raises NoChat for what the file of chats could not hold."""
    before: set[str] = set()
    for node in chat.messages:
        if node.parent is not None and node.parent not in before:
            raise NoChat(f"message {node.id[:40]!r} stands before the one that it answers")
        if node.id in before:
            raise NoChat(f"message {node.id[:40]!r} is there twice")
        before.add(node.id)
        _check_id(node.id)
        _check_times(node.created)
        for turn in node.turns:
            _check_turn(turn)
    _check_id(chat.id)
    if len(chat.id) < _SHORTEST_ID:
        raise NoChat(f"{chat.id!r} is too short for the id of a chat")
    _check_times(chat.created, chat.updated)
    if chat.leaf is not None and chat.leaf not in before:
        raise NoChat("the message that it shows last is not there")
    if not chat.messages:
        raise NoChat("it has no messages")


def _check_turn(turn: MadeTurn) -> None:
    _check_id(turn.id)
    _check_times(turn.started, turn.ended or 0.0)
    if not -_MOST <= turn.seed < _MOST:
        raise NoChat("a seed is too large")


def _check_id(name: str) -> None:
    if not _ID.fullmatch(name):
        raise NoChat(f"{name[:40]!r} is no id")


def _check_times(*times: float) -> None:
    if not all(0 <= time < _LATEST for time in times):
        raise NoChat("a time in it is none")


def _of_one_branch(value: dict[str, Any], at: float) -> Found:
    """What `/export FILE.json` wrote before exports had all branches."""
    messages: list[Foreign] = []
    system = text(value.get("system"))
    if system:
        messages.append(Foreign("system", "", "system", system))
    for place, each in enumerate(items(value.get("messages"))):
        one = mapping(each)
        files = tuple(
            Attachment(text(mapping(file).get("name")), text(mapping(file).get("text")))
            for file in items(one.get("attachments"))
        )
        messages.append(
            Foreign(
                str(place),
                messages[-1].id if messages else "",
                text(one.get("role")),
                text(one.get("content")),
                text(one.get("thinking")),
                moment(one.get("created")),
                one.get("complete") is not False,
                text(value.get("model")),
                files,
            )
        )
    key = digest(*(f"{one.role}\0{one.content}" for one in messages))
    return plant(Origin(FORM, key), messages, at)
