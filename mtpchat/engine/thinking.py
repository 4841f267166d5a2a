"""Tells what a model thinks from what it answers.

Reasoning models wrap their thoughts in tags at the beginning of an answer. The tags arrive in arbitrary pieces; neither
they nor the blank lines around them belong to what is shown. Tags in the middle of an answer are left alone: there they
are text, e.g. when a model explains its own format.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from mtpchat.backend.protocol import Tokenizer
from mtpchat.events import Channel, TextDelta


@dataclass(frozen=True, slots=True)
class ThinkingTags:
    """One way to mark thoughts.

    Attributes:
        open: what begins them.
        close: what ends them; "" when `open` only announces the answer and is dropped.
        markers: control tokens that the two are made of; a detokeniser has to let them through.
        enter: how a model usually writes `open`, white space included; "" means `open` and a line break.
        leave: the same for `close`, up to the answer; "" means `close` on a line of its own and a blank line.
        announce: what an answer without thoughts begins with.
    """

    open: str
    close: str
    markers: tuple[str, ...] = ()
    enter: str = ""
    leave: str = ""
    announce: str = ""

    @property
    def entering(self) -> str:
        """Text that begins thoughts in a prompt."""
        return self.enter or f"{self.open}\n"

    @property
    def leaving(self) -> str:
        """Text between thoughts and answer in a prompt."""
        return self.leave or f"\n{self.close}\n\n"


_FINAL = "<|channel|>final<|message|>"
_ANALYSIS = "<|channel|>analysis<|message|>"
_HARMONY = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>")
_COMMAND = ("<|START_THINKING|>", "<|END_THINKING|>")


def _plain(begin: str, end: str) -> ThinkingTags:
    return ThinkingTags(begin, end, (begin, end))


TAGS: tuple[ThinkingTags, ...] = (
    _plain("<think>", "</think>"),  # Qwen3, DeepSeek-R1, GLM and most others
    _plain("<thinking>", "</thinking>"),
    ThinkingTags("[THINK]", "[/THINK]", ("[THINK]", "[/THINK]"), "[THINK]", "[/THINK]"),  # Magistral, Ministral 3
    _plain("<seed:think>", "</seed:think>"),
    _plain("<mm:think>", "</mm:think>"),
    ThinkingTags(*_COMMAND, _COMMAND, *_COMMAND),  # Command
    ThinkingTags("<|START_RESPONSE|>", "", ("<|START_RESPONSE|>",)),
    ThinkingTags(  # Gemma 4
        "<|channel>thought\n", "<channel|>", ("<|channel>", "<channel|>"), "<|channel>thought\n", "\n<channel|>"
    ),
    ThinkingTags(  # gpt-oss
        _ANALYSIS, "<|end|>", _HARMONY, _ANALYSIS, f"<|end|><|start|>assistant{_FINAL}", _FINAL
    ),
    ThinkingTags(f"<|start|>assistant{_ANALYSIS}", "<|end|>", _HARMONY),
    ThinkingTags(_FINAL, "", _HARMONY),
    ThinkingTags(f"<|start|>assistant{_FINAL}", "", _HARMONY),
)


def piece_with_markers(tokenizer: Tokenizer) -> Callable[[int], bytes]:
    """`tokenizer.piece` that also gives the text of control tokens which tags are made of.

    Tags whose markers this vocabulary lacks are left out, so that unrelated control tokens stay hidden.
    """
    shown: dict[int, bytes] = {}
    for tags in TAGS:
        encoded = [tokenizer.encode(marker, special=True) for marker in tags.markers]
        if not all(len(tokens) == 1 for tokens in encoded):
            continue
        for tokens, marker in zip(encoded, tags.markers, strict=True):
            if tokens[0] not in tokenizer.eog:
                shown[tokens[0]] = marker.encode()
    return lambda token: shown[token] if token in shown else tokenizer.piece(token)


class ThinkingSplitter:
    """Sorts a stream of text into the channels "thinking" and "answer"; the result does not depend on its chunking.

    White space around thoughts is trimmed. Thoughts that are never closed stay thoughts.
    """

    def __init__(self, *, opened: bool = False, resumed: bool = False) -> None:
        """Begin before the first text of an answer.

        Args:
            opened: the prompt ended inside an opening tag, so the first text is a thought.
            resumed: the text carries on one that has begun: nothing is trimmed at its start, and, unless `opened`,
                no tag is looked for.
        """
        self._state: Literal["start", "thinking", "gap", "answer"] = "start"
        self._closers: tuple[str, ...] = tuple(tags.close for tags in TAGS if tags.close)
        self._held = ""
        self._separator = ""
        self._trimming = not resumed
        self._any_thought = False
        if opened:
            self._state = "thinking"
        elif resumed:
            self._state = "answer"

    def push(self, text: str) -> list[TextDelta]:
        """Take more text; gives what is settled now, in order."""
        self._held += text
        out: list[TextDelta] = []
        while self._advance(out):
            pass
        return out

    def flush(self) -> list[TextDelta]:
        """End the text: what was held back goes where it stands."""
        text, self._held = self._held, ""
        out: list[TextDelta] = []
        if self._state == "thinking":
            self._emit_thought(out, text)
        else:
            self._emit(out, "answer", text.lstrip() if self._state == "gap" else text)
        return out

    def _advance(self, out: list[TextDelta]) -> bool:
        """One transition; False when more text is needed."""
        if self._state == "answer":
            self._emit(out, "answer", self._held)
            self._held = ""
            return False
        return self._advance_thought(out) if self._state == "thinking" else self._advance_start()

    def _advance_start(self) -> bool:
        visible = self._held.lstrip()
        for tags in TAGS:
            if visible.startswith(tags.open):
                self._held = visible[len(tags.open) :]
                self._state = "thinking" if tags.close else "gap"
                self._closers = (tags.close,)
                self._trimming = True
                return True
        if any(tags.open.startswith(visible) for tags in TAGS):
            return False
        if self._state == "gap":
            self._held = visible
        self._state = "answer"
        return True

    def _advance_thought(self, out: list[TextDelta]) -> bool:
        ends = [(at, len(close)) for close in self._closers if (at := self._held.find(close)) >= 0]
        if ends:
            at, length = min(ends)
            self._emit_thought(out, self._held[:at].rstrip())
            self._held = self._held[at + length :]
            self._state = "gap"
            self._separator = "\n\n" if self._any_thought else ""
            return True
        # White space waits too: it is trimmed if the closing tag follows.
        settled = self._held[: self._first_pending()].rstrip()
        self._held = self._held[len(settled) :]
        self._emit_thought(out, settled)
        return False

    def _first_pending(self) -> int:
        longest = max(map(len, self._closers))
        for start in range(max(0, len(self._held) - longest + 1), len(self._held)):
            if any(close.startswith(self._held[start:]) for close in self._closers):
                return start
        return len(self._held)

    def _emit_thought(self, out: list[TextDelta], text: str) -> None:
        if self._trimming:
            text = text.lstrip()
        if not text:
            return
        self._trimming = False
        self._any_thought = True
        self._emit(out, "thinking", self._separator + text)
        self._separator = ""

    @staticmethod
    def _emit(out: list[TextDelta], channel: Channel, text: str) -> None:
        if text:
            out.append(TextDelta(text, channel))
