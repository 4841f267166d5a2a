"""The seam between the engine and whatever runs the model.

Only numbers, bytes and numpy views cross it. `mtpchat.backend.llama` implements it over llama.cpp; the tests implement
it with tables. A fake must be as strict as the real thing: it raises where llama.cpp would abort or corrupt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mtpchat.backend.ballast import Ballast
from mtpchat.backend.mask import Grammar, Mask
from mtpchat.config import Config, SamplingConfig

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
WantedRows = Literal["all", "last", "none"]


class CancelFlag:
    """A wish to stop that native code can poll without touching Python.

    The first byte of `buffer` is 0 until `set` is called: seen as a C string it is then no longer empty. A call of the
    flag tells whether it is set, so that it is also a plain `Callable[[], bool]`.
    """

    __slots__ = ("buffer",)

    def __init__(self) -> None:
        self.buffer = bytearray(2)

    def set(self) -> None:
        self.buffer[0] = 1

    def clear(self) -> None:
        self.buffer[0] = 0

    def __call__(self) -> bool:
        return self.buffer[0] != 0


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the loaded target can do; fixed for the life of its context.

    Attributes:
        context: tokens the memory holds.
        batch: most tokens one decode may carry.
        rollback: how many tokens of the *last* decode may be taken back. None: all of them; 0: none, so nothing may
            be drafted.
        max_rows: most rows with logits that one decode may ask for (draft length + 1).
        deep_rollback: True when the memory can be cut at any earlier length, not only inside the last decode.
        hidden_width: floats per hidden row; 0 when the target does not expose hidden rows.
        why_no_draft: why nothing may be drafted, or "".
        interruptible: True when a running decode can be given up (CPU); see TargetModel.decode.
    """

    context: int
    batch: int = 512
    rollback: int | None = None
    max_rows: int = 512
    deep_rollback: bool = True
    hidden_width: int = 0
    why_no_draft: str = ""
    interruptible: bool = True


class DecodedRows(Protocol):
    """The result of one decode. Views are valid until the next decode on the same target; copy what is kept."""

    @property
    def start(self) -> int:
        """Position of the first decoded token."""
        ...

    @property
    def count(self) -> int:
        """How many tokens were decoded."""
        ...

    def logits(self, row: int) -> Floats:
        """Logits after token `row` (0-based within this decode), shape (n_vocab,).

        Raises MisuseRefused if that row was not asked for.
        """
        ...

    def hidden(self) -> Floats:
        """What the drafter's head reads of every decoded token, shape (count, hidden_width); a copy.

        For MTP heads that is the last hidden state, for EAGLE-3 the inputs of three layers side by side.

        Raises MisuseRefused if the target has none.
        """
        ...


class TargetModel(Protocol):
    """A model with a memory. The memory holds tokens at positions 0 .. length-1."""

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def length(self) -> int:
        """Tokens in memory."""
        ...

    def decode(
        self, tokens: Sequence[int], *, rows: WantedRows = "last", interrupt: Callable[[], bool] | None = None
    ) -> DecodedRows:
        """Append tokens to the memory.

        Args:
            tokens: 1..capabilities.batch ids in the vocabulary.
            rows: which tokens to compute logits for.
            interrupt: a CancelFlag is polled by the hardware backends that can (CPU); once set, the decode is given up
                with Interrupted, and the memory is then as long as before, or empty where it cannot be cut back: look
                at `length`. Any other callable is only asked before the decode begins.

        Raises:
            MisuseRefused, ContextFull, DecodeFailed, Interrupted.
        """
        ...

    def rollback(self, length: int) -> None:
        """Cut the memory to `length` tokens. Raises RollbackImpossible and changes nothing if it cannot."""
        ...

    def clear(self) -> None:
        """Empty the memory."""
        ...

    def checkpoint(self) -> bytes | None:
        """State to come back to at the present length; None for memories that can be cut anywhere."""
        ...

    def restore(self, state: bytes, length: int) -> None:
        """Return to a checkpoint that was taken at `length`.

        Raises RollbackImpossible and leaves an empty memory if it fails.
        """
        ...


class Tokenizer(Protocol):
    """Text to tokens and back."""

    @property
    def n_vocab(self) -> int: ...

    @property
    def eog(self) -> frozenset[int]:
        """Every token that ends a generation (EOS, EOT, ...)."""
        ...

    @property
    def bos_text(self) -> str: ...

    @property
    def eos_text(self) -> str: ...

    @property
    def adds_bos(self) -> bool: ...

    def encode(self, text: str, *, special: bool = True, add_bos: bool = False) -> list[int]:
        """`special`: parse control tokens such as <|im_start|> in `text`."""
        ...

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Bytes of a token, possibly part of a UTF-8 sequence; b"" for a control token unless `special`."""
        ...


class Sampler(Protocol):
    """Chooses the next token from logits; stateful because of penalties.

    `sample` does not change the state; `accept` does. A row is only sampled after every token before it was accepted.
    """

    def sample(self, logits: Floats, position: int) -> int:
        """The token that goes to absolute `position`."""
        ...

    def sample_surely(self, logits: Floats, position: int, epsilon: float) -> int | None:
        """The token that `sample` gives, or None if another would be taken were the logits only a little different.

        Args:
            epsilon: in logits; how far the token must be ahead. It is safe from errors of up to half of that in each
                logit, and from what errors of up to a quarter may move across the edges of truncation.
        """
        ...

    def accept(self, token: int) -> None: ...

    def reset(self, context: Sequence[int]) -> None:
        """Forget, then accept `context` (its tail, as far as penalties look)."""
        ...

    def close(self) -> None: ...


class DraftContext(Protocol):
    """A cheap model with a memory of its own that guesses one token at a time (draft model, MTP head, EAGLE decoder).

    Every row pairs a token with its position and, for heads, the hidden state that came before it. The memory holds
    rows 0 .. length-1; feeding at a position below `length` is refused: roll back first.
    """

    @property
    def length(self) -> int: ...

    @property
    def batch(self) -> int:
        """Most rows one feed may carry."""
        ...

    @property
    def heads(self) -> int:
        """1 for a model or a looped head; n for n chained heads, of which head i guesses position i of a draft."""
        ...

    @property
    def hidden_width(self) -> int:
        """Floats per hidden row of the target; 0 for a draft model, which needs none."""
        ...

    @property
    def shared(self) -> bool:
        """True for a head that reads the target's own memory.

        It keeps no rows: each feed carries one row at the target's length, where nothing is left behind.
        """
        ...

    def feed(
        self, tokens: Sequence[int], start: int, hidden: Floats | None, *, want: bool, head: int = 0
    ) -> DraftOutput | None:
        """Append rows at positions start .. ; logits and hidden state of the last one are returned when `want`.

        Args:
            hidden: shape (len(tokens), hidden_width), row i is the hidden state *before* token i, as the target or as
                an earlier output of this context has it; None for a draft model.
            head: which chained head runs.
        """
        ...

    def rollback(self, length: int) -> None:
        """Cut the memory to `length` rows; always possible, at worst by clearing (look at `length`)."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class DraftOutput:
    """What a draft context says after its last row: views valid until its next feed."""

    logits: Floats
    hidden: Floats | None = None


class ContextStates(Protocol):
    """Everything that the contexts remember, as bytes that another run can go on from.

    A state may only be put back where the key is the same, and only unharmed: whoever keeps it checks that before.
    """

    @property
    def key(self) -> str:
        """Names the model, the library and every setting that a state of the target hangs on."""
        ...

    @property
    def draft_key(self) -> str:
        """The same for the drafter's context; "" where it has none."""
        ...

    def size(self) -> int:
        """Bytes that `copy` and `copy_draft` would give now, both together."""
        ...

    def copy(self) -> Bytes | None:
        """The target's memory as it is now; None where it is empty or cannot be copied."""
        ...

    def copy_draft(self) -> tuple[Bytes, int] | None:
        """The memory of the drafter's context, and how many rows it holds; None as in `copy`."""
        ...

    def put(self, state: Bytes, length: int) -> bool:
        """Put a state of so many tokens back; False, with an empty memory, if that fails."""
        ...

    def put_draft(self, state: Bytes, length: int) -> bool:
        """The same for the drafter's context."""
        ...


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """What to load. Equal plans need no reload."""

    model: str
    drafter: str
    kind: str
    config: Config


@dataclass(slots=True)
class LoadedModel:
    """Everything native, owned by the engine thread. `close` frees in the one right order.

    Attributes:
        draft: context of the drafter that came with it, or None.
        draft_kind: "mtp", "eagle3" or "draft" when `draft` is there.
        choice / fallback_reason / warnings: sentences for the user; see events.ModelFacts.
        suggestion: a line that offers a drafter which was found and not taken, or "".
        gpu_layers: how many of the model's layers are on a GPU, as llama.cpp counts them; -1 is all.
        ballast: what the context can be rebuilt without while speculation is off, or None.
        make_grammar: GBNF to a grammar over the vocabulary, or None where there are none; raises GrammarError.
        make_masked: a sampler whose candidates are those that the mask allows.
        rounding: how far, in logits, two likely words move against each other between decoding one token at a time and
            several; measured once.
        states: how the memory can be kept for another run, or None.
    """

    name: str
    path: str
    architecture: str
    target: TargetModel
    tokenizer: Tokenizer
    chat_template: str
    make_sampler: Callable[[SamplingConfig, int], Sampler]
    close: Callable[[], None]
    draft: DraftContext | None = None
    draft_kind: str = ""
    drafter_path: str = ""
    choice: str = ""
    fallback_reason: str = ""
    warnings: tuple[str, ...] = field(default_factory=tuple)
    gpu_layers: int = -1
    ballast: Ballast | None = None
    rounding: Callable[[], float] | None = None
    make_grammar: Callable[[str], Grammar] | None = None
    make_masked: Callable[[SamplingConfig, int, Mask], Sampler] | None = None
    suggestion: str = ""
    states: ContextStates | None = None


class Backend(Protocol):
    """Loads models. Called on the engine thread only."""

    def load(
        self, plan: LoadPlan, progress: Callable[[str, float, int], None], cancelled: Callable[[], bool]
    ) -> LoadedModel:
        """Load all of a plan or nothing.

        Args:
            progress: called with (what is loading, fraction 0..1, bytes in total).
            cancelled: polled while loading; True ends it with LoadCancelled.

        Raises:
            ModelError or DrafterError, before anything native is left behind.
        """
        ...

    def close(self) -> None:
        """Give back what the backend holds beyond the models."""
        ...
