"""Keeps what people write from becoming control tokens.

A chat template's own control tokens must be parsed, but "<|im_end|>" in a message is text: otherwise pasting a document
could end the user's turn and speak as somebody else. Only messages that contain the text of a control token are
touched: each such text is replaced by one private-use character *before* the template runs (so the template can trim,
split and inspect the message as usual, and cannot cut a placeholder in half) and spelled out in ordinary tokens
afterwards. Marks that a template looks for in messages, such as "</think>", are covered in the same way: an answer that
talks about them would else lose what stands before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mtpchat.backend.protocol import Tokenizer

_FIRST_PLACEHOLDER = 0x100000
_LAST_PLACEHOLDER = 0x10FFFD
_MOST_REMEMBERED = 4096


class LiteralTokenizer:
    """Encodes rendered prompts in which some pieces of text must stay text."""

    def __init__(self, tokenizer: Tokenizer, marks: Sequence[str] = ()) -> None:
        """`marks` are covered, too, whether or not they are control tokens."""
        self._tokenizer = tokenizer
        self._marks = marks
        self._known: dict[str, tuple[str, ...]] = {}

    def shield(self, texts: Iterable[str]) -> Shield:
        """Placeholders for all control tokens and marks in `texts`."""
        texts = list(texts)
        literals = sorted({literal for text in texts for literal in self._control_texts(text)}, key=len, reverse=True)
        if not literals:
            return Shield({})
        taken = set().union(*texts)
        free = (chr(code) for code in range(_FIRST_PLACEHOLDER, _LAST_PLACEHOLDER) if chr(code) not in taken)
        return Shield(dict(zip(literals, free, strict=False)))

    def encode(self, text: str, shield: Shield, *, add_bos: bool = False) -> list[int]:
        """Tokens of a text with placeholders: control tokens of the template are parsed, shielded ones spelled out."""
        tokens: list[int] = []
        for part, special in shield.parts(text):
            tokens += self._encode_part(part, special=special, first=not tokens, add_bos=add_bos and not tokens)
        return tokens

    def _encode_part(self, text: str, *, special: bool, first: bool, add_bos: bool) -> list[int]:
        encode = self._tokenizer.encode
        tokens = encode(text, special=special, add_bos=add_bos)
        if first or not self._begins_with_added_space(tokens, text):
            return tokens
        # SentencePiece puts a space before every text; inside a text that space is wrong. Behind a line break, which
        # is always a token of its own there, the text is encoded as it would be in the middle.
        guard = encode("\n", special=False)
        guarded = encode("\n" + text, special=special)
        inside = guarded[len(guard) :]
        if guarded[: len(guard)] == guard and not self._begins_with_added_space(inside, text):
            return inside
        return tokens

    def _begins_with_added_space(self, tokens: Sequence[int], text: str) -> bool:
        spaces = 0
        for token in tokens:
            piece = self._tokenizer.piece(token, special=True)
            rest = piece.lstrip(b" ")
            spaces += len(piece) - len(rest)
            if rest:
                break
        return spaces > len(text) - len(text.lstrip(" "))

    def _control_texts(self, text: str) -> tuple[str, ...]:
        """Texts of control tokens, and marks, that `text` contains."""
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            known = self._known[text] = tuple(self._find_control_texts(text))
        return known

    def _find_control_texts(self, text: str) -> set[str]:
        found = {mark for mark in self._marks if mark in text}
        while True:
            parsed = self._tokenizer.encode(text, special=True)
            if parsed == self._tokenizer.encode(text, special=False):
                return found
            pieces = (
                self._tokenizer.piece(token, special=True) for token in parsed if not self._tokenizer.piece(token)
            )
            fresh = {piece.decode("utf-8", "replace") for piece in pieces if piece} - found
            if not fresh:
                return found
            found |= fresh
            # What one token hid may show another ("<s>" inside "<|x<s>y|>"), so look again behind it.
            for literal in sorted(fresh, key=len, reverse=True):
                text = text.replace(literal, chr(_LAST_PLACEHOLDER))


class Shield:
    """Literal texts and the placeholders that stand for them."""

    def __init__(self, placeholders: dict[str, str]) -> None:
        self._placeholders = placeholders
        self._literals = {placeholder: literal for literal, placeholder in placeholders.items()}

    @property
    def is_empty(self) -> bool:
        """Whether nothing has to be covered."""
        return not self._placeholders

    def cover(self, text: str) -> str:
        """`text` with placeholders."""
        for literal, placeholder in self._placeholders.items():
            text = text.replace(literal, placeholder)
        return text

    def uncover(self, text: str) -> str:
        """The original of `text`."""
        return "".join(part for part, _special in self.parts(text))

    def parts(self, text: str) -> list[tuple[str, bool]]:
        """`text` in order as (part, may contain control tokens); parts are never empty."""
        pieces = re.split(f"([{''.join(self._literals)}])", text) if self._literals else [text]
        return [(self._literals.get(piece, piece), piece not in self._literals) for piece in pieces if piece]
