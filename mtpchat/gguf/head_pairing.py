"""Does this head, made by others than the model's own authors or kept apart from it, fit that model?

EAGLE-3 heads read the model's layers, Gemma 4 assistants its whole memory. What does not fit would abort the process
inside llama.cpp, so every number that its graphs rely on is compared here first.
"""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.errors import DrafterMismatch, DrafterUnsupported
from mtpchat.gguf import architectures as known
from mtpchat.gguf.facts import facts_of
from mtpchat.gguf.header import Header
from mtpchat.gguf.pair_doubts import quote
from mtpchat.gguf.vocabulary import TOKENS

_I64 = 27
"""ggml's type of whole numbers."""
_HINT = "Use the drafter that was made for this very model."
_OTHER_VOCABULARY = "Drafter and model must share their vocabulary: choose one that was made for this model."


def check_eagle3_pair(main: Header, head: Header) -> None:
    """Can this EAGLE-3 head draft for that model?

    Raises:
        DrafterMismatch: width, layers or vocabulary differ.
        DrafterUnsupported: llama.cpp cannot run this head, or not with this model.
    """
    model, pair = facts_of(main), f"{head.path.name} does not belong to {main.path.name}"
    if model.architecture not in known.SHOWS_LAYERS:
        raise DrafterUnsupported(
            f"{head.path.name} is an EAGLE-3 head, but llama.cpp does not show it the layers of the architecture "
            f"{model.architecture}.",
            hint="Use a draft model, or --spec ngram.",
        )
    width = head.integer("eagle3.target_hidden_size")
    if width != model.width:
        raise DrafterMismatch(
            f"{pair}: it was made for embeddings {width or 'of unknown width'} wide, the model's are {model.width}.",
            hint=_HINT,
        )
    _check_layers(main, head, pair)
    _check_shape(head)
    _check_vocabulary(main, head, pair)
    _check_borrowed(main, head)


def _check_layers(main: Header, head: Header, pair: str) -> None:
    layers = head.numbers("eagle3.target_layers")
    if len(layers) != 3:
        raise DrafterUnsupported(
            f"{head.path.name} reads {len(layers)} layers of its model; llama.cpp runs EAGLE-3 heads that read three.",
            hint="Look for another conversion of the head.",
        )
    model = facts_of(main)
    deepest = max(int(layer) for layer in layers)
    last = model.trunk if model.architecture in known.SHOWS_LAST_STATE else model.trunk - 1
    if min(layers) < 0 or deepest > last:
        raise DrafterMismatch(f"{pair}: it reads layer {deepest}, and the model has {model.trunk}.", hint=_HINT)


def _check_shape(head: Header) -> None:
    """What the graph of the head asserts."""
    facts = facts_of(head)
    wanted = ["fc.weight", "output_norm.weight", "blk.0.attn_norm_2.weight"]
    missing = next((name for name in wanted if name not in head.tensors), "")
    if facts.blocks != 1 or missing:
        what = f"lacks {missing}" if missing else f"has {facts.blocks} blocks instead of one"
        raise DrafterUnsupported(
            f"{head.path.name} {what}: llama.cpp cannot run this EAGLE-3 head.",
            hint="Look for another conversion of the head.",
        )
    sizes = [head.integer(f"eagle3.attention.{key}_length") for key in ("key", "value")]
    if sizes[0] != sizes[1]:
        raise DrafterUnsupported(
            f"{head.path.name} has keys and values of different sizes: llama.cpp cannot run this EAGLE-3 head.",
            hint="Look for another conversion of the head.",
        )


def _check_vocabulary(main: Header, head: Header, pair: str) -> None:
    own, wanted = facts_of(head).vocabulary, facts_of(main).vocabulary
    if own != wanted:
        raise DrafterMismatch(f"{pair}: its vocabulary has {own} tokens, the model's {wanted}.", hint=_HINT)
    compare_tokens(main, head, first=0)


def _check_borrowed(main: Header, head: Header) -> None:
    """Tensors that a head without its own takes from the model must be as wide as the head and know all its words."""
    borrowed = [name for name in ("token_embd.weight", "output.weight") if name not in head.tensors]
    own, wanted = facts_of(head).width, facts_of(main).width
    if borrowed and own != wanted:
        raise DrafterUnsupported(
            f"{head.path.name} has no {borrowed[0]} of its own, and the model's is {wanted} wide instead of {own}.",
            hint="Look for another conversion of the head.",
        )
    words, output = head.tensors.get("d2t"), head.tensors.get("output.weight")
    if words is not None and (output is None or words.kind != _I64 or words.shape[:1] != output.shape[1:2]):
        raise DrafterUnsupported(
            f"{head.path.name} has a vocabulary of its own that does not fit its output.",
            hint="Look for another conversion of the head.",
        )


def check_assistant_pair(main: Header, assistant: Header) -> None:
    """Can this Gemma 4 assistant read the memory of that model?

    Raises:
        DrafterMismatch: it was made for another model.
    """
    model, pair = facts_of(main), f"{assistant.path.name} does not belong to {main.path.name}"
    if model.architecture != "gemma4":
        raise DrafterMismatch(
            f"{assistant.path.name} is a Gemma 4 assistant, the model's architecture is {model.architecture}.",
            hint=_HINT,
        )
    arch = facts_of(assistant).architecture
    own, wanted = assistant.integer(f"{arch}.embedding_length_out"), model.width
    if own != wanted:
        raise DrafterMismatch(
            f"{pair}: it was made for embeddings {own or 'of unknown width'} wide, the model's are {wanted}.",
            hint=_HINT,
        )
    _check_vocabulary(main, assistant, pair)
    for key in ("attention.key_length", "attention.key_length_swa", "attention.sliding_window"):
        here, there = assistant.integer(f"{arch}.{key}"), main.integer(f"gemma4.{key}")
        if here != there:
            name = key.removeprefix("attention.").replace("_", " ")
            raise DrafterMismatch(f"{pair}: its {name} is {here}, the model's {there}.", hint=_HINT)
    _check_shared_layers(main, assistant, arch, pair)


def _check_shared_layers(main: Header, assistant: Header, arch: str, pair: str) -> None:
    """Full-attention layers read the model's last layer, those with a window the one before."""
    blocks = facts_of(main).trunk
    windows = main.numbers("gemma4.attention.sliding_window_pattern")
    if blocks < 2 or len(windows) < blocks or windows[blocks - 1] or not windows[blocks - 2]:
        raise DrafterMismatch(
            f"{pair}: the model's last two layers are not one with a sliding window and one without.", hint=_HINT
        )
    heads = _per_layer(main, "gemma4.attention.head_count_kv", blocks)
    count = facts_of(assistant).blocks
    own_windows = assistant.numbers(f"{arch}.attention.sliding_window_pattern")
    if len(own_windows) < count:
        raise DrafterMismatch(f"{assistant.path.name} does not say which of its layers have a window.", hint=_HINT)
    own_heads = _per_layer(assistant, f"{arch}.attention.head_count_kv", count)
    for layer in range(count):
        shared = heads[blocks - 2 if own_windows[layer] else blocks - 1]
        if own_heads[layer] != shared:
            raise DrafterMismatch(
                f"{pair}: its layer {layer} reads {own_heads[layer]} key heads where the model has {shared}.",
                hint=_HINT,
            )


def _per_layer(header: Header, key: str, layers: int) -> Sequence[int | None]:
    """A number that is given once or for each layer; None where it is missing."""
    told = header.integer(key)
    if told is not None:
        return [told] * layers
    numbers = [int(number) for number in header.numbers(key)]
    return [*numbers, *[None] * layers][:layers]


def compare_tokens(main: Header, drafter: Header, *, first: int) -> None:
    """Raise DrafterMismatch at the first token, from `first` on, that means something else in the drafter."""
    if main.digest(TOKENS) and main.digest(TOKENS) == drafter.digest(TOKENS):
        return
    own, wanted = drafter.strings(TOKENS), main.strings(TOKENS)
    for token, (here, there) in enumerate(zip(own[first:], wanted[first:], strict=False), start=first):
        if here != there:
            raise DrafterMismatch(
                f"Token {token} is {quote(here)} in {drafter.path.name} and {quote(there)} in the model.",
                hint=_OTHER_VOCABULARY,
            )
