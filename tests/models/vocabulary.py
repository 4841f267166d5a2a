"""A small, real byte-level vocabulary: every text survives tokens and back, the words of the chain are single tokens.

Merges only ever extend a word from its left end, so byte pair encoding walks a prefix tree and finds the whole word.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gguf import GGUFWriter, TokenType

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
THINKING = ("<think>", "</think>")

WORDS = (  # noqa: SIM905
    "the than that them there this those to a all also an and any are as at be been best but by can come could day "
    "do down each even find first for from get give go good had has have he her here him his how if in into is it its "
    "just know like"
).split()
OTHER_WORDS = (  # noqa: SIM905
    "el la los las un una unos de del al con por para que quien como donde cuando si no mas muy ya ser soy es son era "
    "fue estar esta estas hay haber ha han tener tengo tiene hacer hago hace poder puedo puede decir digo dice ir voy "
    "va ver veo ve dar doy da saber"
).split()


def byte_letters() -> dict[int, str]:
    """The printable letter that stands for each byte in a byte-level vocabulary (GPT-2's table)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        letters.setdefault(byte, chr(256 + len(letters) - len(plain)))
    return letters


@dataclass(frozen=True)
class Vocabulary:
    """Tokens in id order: 256 bytes, the prefix tree of the words, thinking marks, control tokens.

    Attributes:
        words: words that are one token when a space stands before them.
    """

    words: tuple[str, ...]

    @cached_property
    def letters(self) -> dict[int, str]:
        return byte_letters()

    @cached_property
    def merges(self) -> tuple[str, ...]:
        """Merge rules in rank order."""
        found: dict[str, None] = {}
        for word in self.words:
            spelled = self.spell(" " + word)
            for end in range(2, len(spelled) + 1):
                found[f"{spelled[: end - 1]} {spelled[end - 1]}"] = None
        return tuple(found)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Token texts as the file stores them."""
        merged = (merge.replace(" ", "") for merge in self.merges)
        return (*(self.letters[byte] for byte in range(256)), *merged, *THINKING, *CONTROL)

    @cached_property
    def ids(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    @property
    def size(self) -> int:
        return len(self.tokens)

    @property
    def control(self) -> tuple[int, ...]:
        """Ids that are never text."""
        return tuple(self.ids[name] for name in CONTROL)

    @property
    def eos(self) -> int:
        return self.ids["<|im_end|>"]

    def spell(self, text: str) -> str:
        """Text in byte letters."""
        return "".join(self.letters[byte] for byte in text.encode())

    def byte_ids(self, text: str) -> tuple[int, ...]:
        """One token per byte of `text`."""
        return tuple(text.encode())

    def word(self, word: str) -> int:
        """The token of a word with its space."""
        return self.ids[self.spell(" " + word)]

    def piece(self, token: int) -> bytes:
        """Bytes of a token; b"" for a control token."""
        text = self.tokens[token]
        if text in CONTROL:
            return b""
        if text in THINKING:
            return text.encode()
        back = {letter: byte for byte, letter in self.letters.items()}
        return bytes(back[letter] for letter in text)

    def write(self, writer: GGUFWriter, *, chat_template: str = CHATML) -> None:
        """Add the tokenizer's metadata to a file."""
        kinds = {**dict.fromkeys(THINKING, TokenType.USER_DEFINED), **dict.fromkeys(CONTROL, TokenType.CONTROL)}
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("gpt-2")
        writer.add_token_list(list(self.tokens))
        writer.add_token_types([int(kinds.get(token, TokenType.NORMAL)) for token in self.tokens])
        writer.add_token_merges(list(self.merges))
        writer.add_eos_token_id(self.eos)
        writer.add_pad_token_id(self.ids["<|endoftext|>"])
        writer.add_add_bos_token(False)
        if chat_template:
            writer.add_chat_template(chat_template)


STANDARD = Vocabulary(tuple(WORDS))
OTHER = Vocabulary(tuple(OTHER_WORDS))
