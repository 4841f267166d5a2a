"""A conversation to the tokens a model continues.

The model file's chat template writes the text; this module feeds it what it can digest, keeps user text from becoming
control tokens, never doubles the beginning-of-sequence token, and says how much of the prompt the next turn will share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from mtpchat.attachments.framing import spelled_out
from mtpchat.backend.protocol import Tokenizer
from mtpchat.config import KeepThinking
from mtpchat.engine.literal import LiteralTokenizer, Shield
from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.template import CHATML, CompiledTemplate
from mtpchat.engine.thinking import TAGS, ThinkingTags
from mtpchat.engine.thinking_switch import keeping, probe
from mtpchat.engine.turn_start import before_last_message
from mtpchat.errors import ContextFull, EngineError, TemplateError
from mtpchat.messages import Message

_PROBE = "mtpchat"
_MARK = "\U0010fffd"
"""Stands before a system message while it is found out whether a template writes that."""
_FOLDED = "This model's chat template knows no system message; it was put in front of the first user message."


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A prompt ready to be decoded.

    Attributes:
        tokens: all of it.
        text: what the tokens say, for people to read.
        stable_length: so many leading tokens do not depend on the generation prompt; the next turn's prompt is likely
            to begin with them, which makes it a good place for a checkpoint.
        opened_thinking: the prompt ends inside thoughts, so the first generated text is one.
        resumed: the prompt ends inside an answer that has begun; see ThinkingSplitter.
        note: a sentence to show, or "".
        turn_start: so many leading tokens do not depend on what the last message of the user says; 0: not known.
    """

    tokens: tuple[int, ...]
    text: str
    stable_length: int
    opened_thinking: bool = False
    resumed: bool = False
    note: str = ""
    turn_start: int = 0


@dataclass(frozen=True, slots=True)
class WrittenPrompt:
    """A prompt as text.

    Attributes:
        text / stable: with the generation prompt, and without; what must stay text is covered by `shield`.
        opened_thinking / resumed / note: see RenderedPrompt.
    """

    text: str
    stable: str
    shield: Shield
    opened_thinking: bool
    resumed: bool
    note: str


class ChatPrompt:
    """Renders and encodes conversations for one model."""

    def __init__(
        self,
        template: str | None,
        tokenizer: Tokenizer,
        now: Callable[[], datetime] = datetime.now,
        *,
        marks_turns: bool = False,
    ) -> None:
        """Parse a template.

        Args:
            template: Jinja source; None or "" falls back to ChatML.
            tokenizer: of the model that will read the prompts.
            now: clock for templates that mention today's date.
            marks_turns: whether prompts tell where the last message begins; that costs one more rendering.

        Raises:
            TemplateError: it cannot be parsed.
        """
        self._template = CompiledTemplate(template or CHATML, now)
        self._tokenizer = tokenizer
        self._marks_turns = marks_turns
        source = self._template.source
        self._literals = LiteralTokenizer(tokenizer, [mark for tags in TAGS for mark in tags.markers if mark in source])
        self._wants_parts = self._probe_wants_parts()
        self.switch = probe(self._write_short)
        self._tags = next((tags for tags in TAGS if tags.close and tags.open.strip() in source), TAGS[0])

    def encode(self, request: TurnRequest) -> RenderedPrompt:
        """The prompt of a turn. Raises TemplateError; EngineError when there is nothing to continue."""
        written = self.write(request)
        text, shield = written.text, written.shield
        tokens = self.spell(text, shield)
        return RenderedPrompt(
            tokens=tuple(tokens),
            text=shield.uncover(text),
            stable_length=(
                len(tokens) if text == written.stable else reusable_prefix(self.spell(written.stable, shield), tokens)
            ),
            opened_thinking=written.opened_thinking,
            resumed=written.resumed,
            note=written.note,
            turn_start=self._turn_start(request, written, tokens),
        )

    def _turn_start(self, request: TurnRequest, written: WrittenPrompt, tokens: Sequence[int]) -> int:
        if not self._marks_turns:
            return 0
        before = before_last_message(request, written.stable, lambda other: self.write(other).stable)
        return reusable_prefix(self.spell(before, written.shield), tokens)

    def write(self, request: TurnRequest) -> WrittenPrompt:
        """The text of a turn's prompt, before it becomes tokens. Raises as `encode` does."""
        messages = _mergeable(request.messages)
        last = _last_answer(messages) if request.continue_last else None
        texts = [text for message in messages for text in (message.content, message.thinking)]
        shield = self._literals.shield(texts)
        messages = [
            replace(message, content=shield.cover(message.content), thinking=shield.cover(message.thinking))
            for message in (messages[:-1] if last else messages)
        ]
        options = self._options(request)
        messages = _with_thoughts(messages, request.keep_thinking)
        messages = _with_word(messages, self.switch.word(request.thinking))
        messages, note = self._settle(messages, options)
        stable = self._apply(messages, False, options)
        text = self._apply(messages, True, options)
        opened = _opened_tags(text, stable)
        open_now = opened is not None
        if last is not None:
            text, open_now = self._resume(text, last, shield, opened)
        resumed = last is not None and bool(last.content or last.thinking)
        return WrittenPrompt(text, stable, shield, open_now, resumed, note)

    def _options(self, request: TurnRequest) -> dict[str, object]:
        kept = keeping(everything=request.keep_thinking == "all")
        return {**kept, **self.switch.values(request.thinking), **dict(request.template_options)}

    def _write_short(self, options: Mapping[str, object], system: str) -> str:
        head = [Message("system", system)] if system else []
        return self._apply([*head, Message("user", _PROBE)], True, options)

    def spell(self, text: str, shield: Shield) -> list[int]:
        """Tokens of a whole prompt, the beginning-of-sequence token once where the model wants it."""
        bos = self._tokenizer.bos_text
        written = bool(bos) and text.startswith(bos)
        return self._literals.encode(text, shield, add_bos=self._tokenizer.adds_bos and not written)

    def _resume(self, text: str, last: Message, shield: Shield, opened: ThinkingTags | None) -> tuple[str, bool]:
        """The prompt with the beginning of the answer, as the model wrote it; and whether it ends inside thoughts."""
        tags = opened or self._tags
        thinking, content = shield.cover(last.thinking), shield.cover(last.content)
        if opened is None and not thinking:
            return (text + tags.announce + content if content else text), False
        if opened is None:
            text += tags.entering
        elif thinking and tags.entering.endswith("\n") and not text.endswith("\n"):
            text += "\n"
        text += thinking
        return (text + tags.leaving + content, False) if content else (text, True)

    def _settle(self, messages: Sequence[Message], options: Mapping[str, object]) -> tuple[list[Message], str]:
        """The messages in a shape that the template takes, and a note if that meant a change."""
        messages = list(messages)
        if not messages or messages[0].role != "system":
            return messages, ""
        marked = [replace(messages[0], content=f"{_MARK}{messages[0].content}"), *messages[1:]]
        folded = _fold_system(messages)
        try:
            kept = _MARK in self._apply(marked, True, options)
        except TemplateError:
            if folded is None:
                raise
            return folded, _FOLDED
        # A template that knows no system message may also drop it without a word.
        if kept or folded is None or _MARK not in self._apply(_fold_system(marked) or [], True, options):
            return messages, ""
        return folded, _FOLDED

    def _apply(self, messages: Sequence[Message], add_generation_prompt: bool, options: Mapping[str, object]) -> str:
        return self._render([self._as_dict(message) for message in messages], add_generation_prompt, options)

    def _render(
        self, messages: list[dict[str, object]], add_generation_prompt: bool, options: Mapping[str, object]
    ) -> str:
        return self._template.render(
            {
                **options,
                "messages": messages,
                "tools": None,
                "documents": None,
                "add_generation_prompt": add_generation_prompt,
                "bos_token": self._tokenizer.bos_text,
                "eos_token": self._tokenizer.eos_text,
            }
        )

    def _as_dict(self, message: Message) -> dict[str, object]:
        content: object = message.content
        if self._wants_parts:
            content = [{"type": "text", "text": message.content}]
        if not message.thinking:
            return {"role": message.role, "content": content}
        # Three names are in use for the same thing.
        thoughts = dict.fromkeys(("reasoning_content", "reasoning", "thinking"), message.thinking)
        return {"role": message.role, "content": content, **thoughts}

    def _probe_wants_parts(self) -> bool:
        """Some templates of multimodal models read a list of parts only and would lose a plain string silently."""
        parts = [{"type": "text", "text": _PROBE}]
        return not self._shows_probe(_PROBE) and self._shows_probe(parts)

    def _shows_probe(self, content: object) -> bool:
        try:
            return _PROBE in self._render([{"role": "user", "content": content}], True, {})
        except TemplateError:
            return False


def reusable_prefix(cached: Sequence[int], prompt: Sequence[int]) -> int:
    """How many leading tokens the two have in common."""
    length = min(len(cached), len(prompt))
    left = np.asarray(cached[:length], dtype=np.int64)
    different = np.flatnonzero(left != np.asarray(prompt[:length], dtype=np.int64))
    return int(different[0]) if different.size else length


def require_room(prompt_tokens: int, context: int) -> None:
    """Refuse a prompt that leaves no room for an answer.

    Args:
        prompt_tokens: length of the prompt.
        context: tokens that the model's memory holds.

    Raises:
        ContextFull: says both numbers and what can be done.
    """
    if prompt_tokens < context:
        return
    raise ContextFull(
        f"The chat takes {prompt_tokens:,} tokens and the context holds {context:,}: no room for an answer.",
        hint="/undo takes back the last message, /clear starts anew, a larger -c gives more room.",
    )


def _mergeable(messages: Sequence[Message]) -> list[Message]:
    """With files spelled out, without what templates refuse: an empty system message, two users in a row (an answer may
    have failed)."""
    merged: list[Message] = []
    for message in map(spelled_out, messages):
        if message.role == "system" and not message.content.strip():
            continue
        if merged and message.role == "user" and merged[-1].role == "user":
            merged[-1] = replace(merged[-1], content=f"{merged[-1].content}\n\n{message.content}")
            continue
        merged.append(message)
    return merged


def _with_thoughts(messages: Sequence[Message], keep: KeepThinking) -> list[Message]:
    """The messages with the thoughts that may go to the model again.

    Model cards of reasoning models want earlier thoughts left out of the history, and most templates do so. Behind the
    last message of the user, where a model may be in the middle of something, the template decides.
    """
    if keep == "all":
        return list(messages)
    asked = max((at for at, message in enumerate(messages) if message.role == "user"), default=-1)
    return [
        replace(message, thinking="") if message.thinking and (keep == "none" or at < asked) else message
        for at, message in enumerate(messages)
    ]


def _with_word(messages: Sequence[Message], word: str) -> list[Message]:
    """The messages with a word that the template reads at the end of the system message."""
    if not word:
        return list(messages)
    if messages and messages[0].role == "system":
        return [replace(messages[0], content=f"{messages[0].content}\n{word}"), *messages[1:]]
    return [Message("system", word), *messages]


def _fold_system(messages: Sequence[Message]) -> list[Message] | None:
    if len(messages) < 2 or messages[1].role != "user":
        return None
    first = replace(messages[1], content=f"{messages[0].content}\n\n{messages[1].content}")
    return [first, *messages[2:]]


def _last_answer(messages: Sequence[Message]) -> Message:
    if not messages or messages[-1].role != "assistant":
        raise EngineError("There is no answer to continue.", hint="Send a message first.")
    return messages[-1]


def _opened_tags(text: str, stable: str) -> ThinkingTags | None:
    """Tags that the generation prompt leaves open; it writes nothing behind them."""
    if text == stable:
        return None
    end = text.rstrip()
    return next((tags for tags in TAGS if tags.close and end.endswith(tags.open.rstrip())), None)
