"""Bytes of any file of chats to chats: which format it is, and one chat after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from mtpchat.attachments.decoding import NotText, decode
from mtpchat.errors import ExchangeError
from mtpchat.exchange import chatgpt, llama_cli, open_webui, own, plain, share_gpt
from mtpchat.exchange.elements import Damaged, Data, Element, Lines, elements, read
from mtpchat.exchange.findings import Finding, Found, NoChat, Skipped

_FORMATS: tuple[tuple[Callable[[dict[str, Any]], bool], Callable[[dict[str, Any], float], Found]], ...] = (
    (chatgpt.is_chatgpt, chatgpt.from_object),
    (open_webui.is_open_webui, open_webui.from_object),
    (own.is_own, own.from_object),
    (share_gpt.is_share_gpt, share_gpt.from_object),
    (plain.is_plain, plain.from_object),
)
_JSON = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*(?:["{\[\]]|\Z)|\{\s*\Z)')
_HEAD = 4096
_MOST_LOG = 64 << 20
_ZIP = b"PK\x03\x04"
KNOWN = "exports of mtpchat, ChatGPT and Open WebUI, ShareGPT, lists of messages, and logs of llama-cli"


def findings(data: Data, at: float) -> Iterator[Finding]:
    """The chats of a file, and what in it is none, in order.

    Args:
        at: seconds since 1970 for chats that do not say when they were.

    Raises:
        ExchangeError: from a place on, which it names, nothing can be read; or the file is of another kind.
    """
    head = data[:_HEAD]
    if _JSON.match(head):
        yield from _of_json(data, at)
        return
    if head.startswith(_ZIP):
        raise ExchangeError("it is an archive", hint="Unpack it.")
    if len(data) > _MOST_LOG:
        raise ExchangeError(f"it is no JSON, and too large for a log ({_MOST_LOG >> 20} MB)", hint=f"Known: {KNOWN}.")
    try:
        yield from llama_cli.chats_of(decode(data[:]).text, at)
    except (NotText, NoChat) as error:
        what = f"it is {error.what}" if isinstance(error, NotText) else str(error)
        raise ExchangeError(what, hint=f"Known: {KNOWN}.") from error


def _of_json(data: Data, at: float) -> Iterator[Finding]:
    loose: list[object] = []
    group, line, lines = 0, 1, Lines(data)
    try:
        for element in elements(data):
            try:
                value = read(data, element, lines)
            except Damaged as damage:  # its end was found, so what follows can be read
                yield Skipped(damage.line, damage.what, element.end)
                continue
            if loose and element.array != group:
                yield _taken(loose, at, line)
                loose = []
            if element.array and plain.is_message(value):
                group, line = element.array, line if loose else lines.of(element.begin)
                loose.append(value)
            else:
                yield replace(_judged(lines, element, value, at), end=element.end)
    except Damaged as damage:
        raise ExchangeError(
            f"line {damage.line:,}: {damage.what}", key=str(damage.line), hint="What stands behind it is not read."
        ) from damage
    if loose:
        yield _taken(loose, at, line)


def _judged(lines: Lines, element: Element, value: object, at: float) -> Finding:
    try:
        return _recognised(value, at)
    except NoChat as reason:
        return Skipped(lines.of(element.begin), str(reason))


def _recognised(value: object, at: float) -> Found:
    """Raises NoChat."""
    if isinstance(value, list):
        return plain.from_messages(value, at)
    if isinstance(value, dict):
        for fits, take in _FORMATS:
            if fits(value):
                return take(value, at)
    raise NoChat("that is no chat of a known format")


def _taken(messages: list[object], at: float, line: int) -> Finding:
    try:
        return plain.from_messages(messages, at)
    except NoChat as reason:
        return Skipped(line, str(reason))
