"""Every kind of native call that a chat with a drafter makes, once."""

from __future__ import annotations

import numpy as np

from mtpchat.backend.protocol import DraftContext, DraftOutput, Floats, LoadedModel

_ALL_SORTS = "a  b \n\n\tc\r\n   12345 \u6c34\u00e9e\u0301 \U0001f600\u00a0<|im_end|> 'll {x: [1]}\0" + " " * 40
"""Some vocabularies do not fit the way in which llama.cpp splits texts for them; then it ends the process over one."""
_CODES = (range(1, 0x800), range(0x800, 0xD800, 65), range(0xE000, 0x10000, 65), range(0x10000, 0x110000, 4161))


def use_once(loaded: LoadedModel) -> None:
    """Read text of all sorts, decode, draft, verify and roll back.

    Raises:
        EngineError, DrafterError: where the drafter refuses; a drafter that llama.cpp cannot run ends the process.
    """
    target = loaded.target
    for text in (_ALL_SORTS, _all_bytes()):
        loaded.tokenizer.encode(text)
    tokens = (loaded.tokenizer.encode("Hello, hello again.") or [0, 1, 2])[:8]
    tokens = tokens if len(tokens) > 2 else [*tokens, 0, 1]
    rows = target.decode(tokens[:-1], rows="last")
    guess = tokens[-1]
    if loaded.draft is not None:
        hidden = rows.hidden() if loaded.draft.hidden_width else None
        output = _draft(loaded.draft, tokens, hidden)
        guess = int(np.argmax(output.logits)) if output is not None else guess
    if target.capabilities.rollback == 0 or target.capabilities.max_rows < 2:
        target.decode(tokens[-1:])
        return
    target.decode([tokens[-1], guess], rows="all").logits(1)
    target.rollback(target.length - 1)
    target.decode([guess])


def _all_bytes() -> str:
    """Every byte of UTF-8, in characters of which a vocabulary has few: it may lack a byte, which ends the process."""
    letters = [chr(code) for codes in _CODES for code in codes]
    return " ".join("".join(letters[at : at + 64]) for at in range(0, len(letters), 64))


def _draft(draft: DraftContext, tokens: list[int], hidden: Floats | None) -> DraftOutput | None:
    """One draft behind `tokens`, of which the target holds all but the last."""
    place = len(tokens) - 1
    if hidden is None:
        return draft.feed(tokens, 0, None, want=True)
    if draft.shared:
        output = draft.feed(tokens[-1:], place, hidden[-1:], want=True)
        return _again(draft, output, place)
    output = None
    for head in range(draft.heads):
        draft.rollback(1 if head else 0)
        output = draft.feed(tokens[1:], 1, hidden, want=True, head=head)
    output = _again(draft, output, place + 1) if draft.heads == 1 else output
    draft.rollback(place)
    return output


def _again(draft: DraftContext, output: DraftOutput | None, place: int) -> DraftOutput | None:
    """The second guess, made from the drafter's own state."""
    if output is None or output.hidden is None:
        return output
    return draft.feed([int(np.argmax(output.logits))], place, output.hidden[np.newaxis, :], want=True)
