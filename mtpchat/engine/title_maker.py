"""A title from the model of the chat, for which the next turn reads not one token more.

The question is put behind the chat as the model has it in memory. When the title is there, or somebody wants the
engine, the memory is cut back to what the next message would have found in it anyway. Drafters are told nothing of all
this: their memories stay as the last answer left them. Memories that cannot be cut are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mtpchat.backend.protocol import DecodedRows
from mtpchat.engine.engine import ChatEngine
from mtpchat.engine.probe import Probe
from mtpchat.engine.prompt import reusable_prefix
from mtpchat.engine.requests import Engine, TurnRequest
from mtpchat.errors import DecodeFailed, Interrupted
from mtpchat.messages import Message

QUESTION = "Give this conversation a title of at most six words, in its language. Answer with the title alone."
_MOST_WORDS, _MOST_LETTERS = 6, 60
_MOST_TOKENS = 24
_MOST_READ = 1024
"""Tokens that may be read for a title; only the thoughts of an answer, or a chat read long ago, are more than a few."""


def make_title(engine: Engine, request: TurnRequest, cancelled: Callable[[], bool]) -> str:
    """A title for a conversation; must run where the engine runs.

    Raises:
        Interrupted: `cancelled` became True; other errors of the decode.
    """
    if not isinstance(engine, ChatEngine):
        return ""
    probe = engine.probe()
    target, capabilities = probe.loaded.target, probe.loaded.target.capabilities
    asked = replace(request, messages=(*request.messages, Message("user", QUESTION)), continue_last=False, grammar="")
    quick = probe.encode(replace(asked, thinking="off"))
    held = probe.context[: target.length]
    shared = min(reusable_prefix(held, quick.tokens), len(quick.tokens) - 1)
    costs_more = shared < reusable_prefix(held, probe.encode(asked).tokens)
    too_long = len(quick.tokens) - shared > _MOST_READ or len(quick.tokens) + _MOST_TOKENS > capabilities.context
    if not capabilities.deep_rollback or quick.opened_thinking or costs_more or too_long:
        return ""
    if target.length > shared:
        target.rollback(shared)  # what is cut here is what the next message would not have found in its place either
    try:
        return cleaned(_say(probe, quick.tokens[shared:], cancelled))
    except DecodeFailed:
        probe.memory.forget()  # memory and context may be out of step: the next turn reads everything again
        raise
    finally:
        if target.length > shared:
            target.rollback(shared)


def _say(probe: Probe, unread: Sequence[int], cancelled: Callable[[], bool]) -> str:
    """Read the rest of the prompt and say the most likely line."""
    rows = _read(probe, unread, cancelled)
    tokenizer, said = probe.loaded.tokenizer, b""
    for _ in range(_MOST_TOKENS):
        token = int(np.argmax(rows.logits(rows.count - 1)))
        said += tokenizer.piece(token)
        if token in tokenizer.eog or b"\n" in said.lstrip():
            break
        rows = _read(probe, [token], cancelled)
    return said.decode("utf-8", "ignore")


def _read(probe: Probe, tokens: Sequence[int], cancelled: Callable[[], bool]) -> DecodedRows:
    target, start = probe.loaded.target, 0
    while True:
        if cancelled():
            raise Interrupted("The title was given up.")
        chunk = tokens[start : start + probe.chunk]
        start += len(chunk)
        last = start >= len(tokens)
        rows = target.decode(chunk, rows="last" if last else "none", interrupt=cancelled)
        if last:
            return rows


def cleaned(said: str) -> str:
    """The title in what a model said: one line of at most six words, without quotes and marks around; "" for none."""
    lines = [line for line in said.splitlines() if re.search(r"\w", line)]
    if not lines or lines[0].lstrip().startswith("<"):
        return ""
    line = "".join(letter if letter.isprintable() else " " for letter in lines[0])
    line = re.sub(r"^\W*(?:title|titel|titre|título)\s*:", "", line, flags=re.IGNORECASE)
    words = re.sub(r"[*_`#]+", "", line).split()[:_MOST_WORDS]
    while words and len(" ".join(words)) > _MOST_LETTERS:
        words.pop()
    return " ".join(words).strip(" \"'“”„«»‘’.,:;-–—").strip()
