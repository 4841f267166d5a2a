"""Doubles that are as strict as what they stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence

CONTROL = (
    "<|im_start|>",
    "<|im_end|>",
    "<s>",
    "</s>",
    "<|begin_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[INST]",
    "[/INST]",
    "<|channel|>",
    "<|message|>",
    "<|start|>",
    "<|end|>",
)
USER_DEFINED = ("<think>", "</think>")


class FakeTokenizer:
    """Bytes are tokens 0..255; then come control tokens, then user-defined ones, which are parsed and shown always.

    Args:
        bos / eos: texts of control tokens, or "".
        adds_bos: what the vocabulary says about itself.
        space_prefix: put a space before every text that does not follow a control token, as SentencePiece does.
    """

    def __init__(
        self,
        *,
        bos: str = "",
        eos: str = "<|im_end|>",
        adds_bos: bool = False,
        control: Sequence[str] = CONTROL,
        user_defined: Sequence[str] = USER_DEFINED,
        space_prefix: bool = False,
    ) -> None:
        self.bos_text, self.eos_text, self.adds_bos = bos, eos, adds_bos
        self._control = dict(zip(control, range(256, 256 + len(control)), strict=True))
        first = 256 + len(control)
        self._user_defined = dict(zip(user_defined, range(first, first + len(user_defined)), strict=True))
        self._texts = {token: text for text, token in (self._control | self._user_defined).items()}
        self.n_vocab = first + len(user_defined)
        self.eog = frozenset({self._control[eos]}) if eos else frozenset()
        self._space_prefix = space_prefix

    def token(self, text: str) -> int:
        """Id of a control or user-defined token."""
        return (self._control | self._user_defined)[text]

    def encode(self, text: str, *, special: bool = True, add_bos: bool = False) -> list[int]:
        """See mtpchat.backend.protocol.Tokenizer."""
        known = self._user_defined | (self._control if special else {})
        out = [self.token(self.bos_text)] if add_bos and self.bos_text else []
        separators = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        after_token = True
        for part in re.split(f"({separators})", text) if separators else [text]:
            if part in known:
                out.append(known[part])
                after_token = True
            elif part:
                prefix = b" " if self._space_prefix and after_token else b""
                out.extend(prefix + part.encode())
                after_token = False
        return out

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """See mtpchat.backend.protocol.Tokenizer. An id outside the vocabulary is refused."""
        if not 0 <= token < self.n_vocab:
            raise ValueError(f"token {token} is not in the vocabulary of {self.n_vocab}")
        if token < 256:
            return bytes([token])
        text = self._texts[token]
        return text.encode() if special or text in self._user_defined else b""

    def text(self, tokens: Sequence[int]) -> str:
        """What the tokens say, control tokens included."""
        return b"".join(self.piece(token, special=True) for token in tokens).decode()
