"""What a model file is and whether its prediction heads will work here, in words: what `mtpchat inspect` shows.

Everything a file says about itself comes from strangers: texts are shortened here and made harmless where they are
painted.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mtpchat.backend.llama.build import Build
from mtpchat.gguf import architectures as known
from mtpchat.gguf.attention_shape import memory_shape
from mtpchat.gguf.cursor import human_size
from mtpchat.gguf.facts import FileFacts, facts_of, read_model, why_no_heads
from mtpchat.gguf.header import Header
from mtpchat.gguf.shards import first_shard
from mtpchat.gguf.traps import traps_of
from mtpchat.gguf.vocabulary import Vocabulary, vocabulary_of
from mtpchat.one_line import short

_REINSTALL = "Install the pinned build: pip install --force-reinstall llama-cpp-python==0.3.36"
_SIZE = re.compile(r"\d[BMT]\b", re.IGNORECASE)
_DRAFTERS = {
    "mtp_only": "MTP heads alone (a drafter)",
    "eagle3": "an EAGLE-3 head (a drafter)",
    "dflash": "a DFlash drafter",
    "dspark": "a DSpark drafter",
    "gemma4_assistant": "a Gemma 4 assistant (a drafter)",
    "draft_head": "a draft head",
}
_OTHERS = {
    "adapter": "an adapter (LoRA), no model",
    "projector": "the image or audio projector of a model",
    "embedding": "an embedding model, which does not chat",
    "diffusion": "a diffusion model, which does not write token by token",
    "vocab_only": "a vocabulary without weights",
    "other": "not a language model",
}
_MEMORY = {
    "attention": "attention",
    "hybrid": "hybrid of attention and recurrent layers",
    "recurrent": "recurrent",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Will the heads, or the drafter, in this file work in this build?

    Attributes:
        works: None where that cannot be told, or does not apply.
        sentence: what will happen, and why.
        advice: what to do or to get instead; "" when there is nothing to do.
    """

    works: bool | None
    sentence: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Inspection:
    """One file, ready to be shown.

    Attributes:
        kv_bytes: bytes per token in an F16 cache.
        title: what it is, in one line.
        rows: names and values of what its header says.
    """

    facts: FileFacts
    vocabulary: Vocabulary
    kv_bytes: int
    title: str
    verdict: Verdict
    rows: tuple[tuple[str, str], ...]


def inspect_file(path: Path, build: Build) -> Inspection:
    """Read all that a file says about itself; of a split model any part stands for all.

    Raises:
        ModelNotFound, ModelUnreadable.
    """
    header = read_model(first_shard(path) if os.path.exists(path) else path)
    facts, vocabulary = facts_of(header), vocabulary_of(header)
    rows = tuple(_rows(header, facts, vocabulary))
    kv_bytes = kv_bytes_per_token(header, facts)[0]
    trap = "" if facts.role in _OTHERS else next(traps_of(header, facts), "")
    verdict = _trapped(trap) if trap else mtp_verdict(facts, build)
    return Inspection(facts, vocabulary, kv_bytes, title_of(facts), verdict, rows)


def _trapped(trap: str) -> Verdict:
    sentence = f"It cannot be loaded: it {short(trap)}, and llama.cpp would end the whole program on it."
    return Verdict(False, sentence, "Get another conversion of the model.")


def title_of(facts: FileFacts) -> str:
    """What the file is, in one line: "Qwen3.5 27B, Q4_K_M, 3 shards, MTP head included: yes"."""
    name = short(facts.name, 60)
    size = short(facts.size_label, 12)
    if size and not _SIZE.search(name):
        name = f"{name} {size}"
    parts = [name, facts.quantization, f"{facts.parts} shards" if facts.parts > 1 else ""]
    if facts.role == "chat":
        heads = f"{facts.heads_there} MTP heads" if facts.heads_there > 1 else "MTP head"
        parts.append(f"{heads} included: {'yes' if facts.heads_there else 'no'}")
    else:
        parts.append(_DRAFTERS.get(facts.role) or _OTHERS[facts.role])
    return ", ".join(part for part in parts if part)


def mtp_verdict(facts: FileFacts, build: Build) -> Verdict:
    """Whether speculation with what is in this file will work in this build; if not, why and what to get instead."""
    if facts.role in _OTHERS:
        return Verdict(None, "It cannot chat, and it cannot draft.", "Name a chat model.")
    missing = _why_not(facts)
    if missing:
        return Verdict(False, f"MTP will not work: {missing}", _instead(facts))
    if facts.role not in ("chat", "mtp_only", "eagle3", "gemma4_assistant"):
        what = _DRAFTERS[facts.role]
        return Verdict(
            False,
            f"It will not work: this version of mtpchat does not run {what}.",
            "Get a draft model of the same family, MTP heads, or use --spec ngram.",
        )
    if build.trouble:
        return Verdict(None, f"Whether it works cannot be told: {build.trouble}.", build.hint)
    lacking = _lacking(facts, build)
    if lacking:
        return Verdict(False, f"It will not work in this build: {lacking}.", _REINSTALL)
    return _works(facts)


def _why_not(facts: FileFacts) -> str:
    if facts.role not in ("chat", "mtp_only"):
        return ""
    return short(why_no_heads(facts), 300)


def _lacking(facts: FileFacts, build: Build) -> str:
    if facts.role == "eagle3":
        return build.why_no_eagle3
    return build.why_no_mtp or (build.why_no_chained_heads if facts.chained else "")


def _works(facts: FileFacts) -> Verdict:
    file = shlex.quote(facts.path.name)
    if facts.role == "chat":
        how = f"its {facts.heads} heads are" if facts.heads > 1 else "its head is"
        return Verdict(True, f"MTP will work in this build: {how} found and used by itself.", f"mtpchat -m {file}")
    what = {"mtp_only": "MTP", "eagle3": "EAGLE-3", "gemma4_assistant": "The assistant"}[facts.role]
    return Verdict(
        True,
        f"{what} will work in this build, together with the model it was made for.",
        f"mtpchat -m MODEL.gguf -md {file}",
    )


def _instead(facts: FileFacts) -> str:
    arch = facts.architecture
    if facts.trouble or (facts.role == "mtp_only" and arch in known.RUNS_HEADS):
        return "Get another conversion, made with a current llama.cpp; until then --spec ngram."
    if arch in known.RUNS_HEADS and facts.heads_there <= 1:
        return (
            "Get a conversion of this model that keeps its heads (often MTP in its name), or the heads as a file of "
            "their own for -md; until then a small draft model, or --spec ngram."
        )
    eagle = " or an EAGLE-3 head made for it" if arch in known.SHOWS_LAYERS else ""
    here = f" (mtpchat models --pairs {shlex.quote(facts.path.name)} shows those here)" if facts.role == "chat" else ""
    return f"Get a small model of the same family{eagle} for -md{here}, or use --spec ngram."


def heads_in_words(facts: FileFacts) -> str:
    """What the settings announce, what the tensors are, and what it means when they disagree."""
    if not facts.heads and not facts.head_blocks:
        return "none"
    counted = f"{facts.heads} announced, {facts.heads_there} with tensors"
    if facts.head_blocks > facts.heads:
        return f"{counted}; {facts.head_blocks} blocks have tensors of heads: llama.cpp ignores what is not announced"
    if facts.heads_there == 0:
        return f"{counted}: they were left out when the file was made; the model itself runs"
    if facts.heads_there < facts.heads:
        return f"{counted}: the file is not complete"
    return counted + (", chained" if facts.chained else "")


def _rows(header: Header, facts: FileFacts, vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    files = f", in {facts.parts} files" if facts.parts > 1 else ""
    yield "File", f"{short(str(facts.path), 300)} ({human_size(facts.size)}{files})"
    yield "Architecture", f"{short(facts.architecture) or 'not said'} ({_MEMORY[facts.memory]})"
    bits = f", {facts.mix.bits:.1f} bits each" if facts.mix.bits is not None else ""
    yield "Parameters", f"{facts.mix.parameters:,}{bits}"
    yield "Tensors", f"{len(header.tensors):,}: {_mixture(facts)}" if header.tensors else "none"
    yield "Layers", _layers(facts) + (f", {facts.width:,} wide" if facts.width else "")
    yield "Context", f"{facts.context:,} tokens" if facts.context else "not said"
    yield from _memory_rows(header, facts)
    if facts.experts:
        used = f", {facts.experts_used:,} used per token" if facts.experts_used else ""
        yield "Experts", f"{facts.experts:,}{used}"
    yield from _vocabulary_rows(facts, vocabulary)
    if facts.role in ("chat", "mtp_only") or facts.heads:
        yield "MTP heads", heads_in_words(facts)
    if facts.role == "chat":
        yield "Chat template", f"yes, {len(facts.chat_template):,} characters" if facts.chat_template else "no"
    yield "Licence", short(facts.licence) or "not said"
    if facts.base_models:
        yield "Made from", short(", ".join(short(name) for name in facts.base_models), 300)


def _layers(facts: FileFacts) -> str:
    if facts.role == "mtp_only":
        return f"{facts.heads} of heads, for a model of {facts.trunk:,}"
    return f"{facts.trunk:,}" + (f" + {facts.heads} of heads" if facts.heads else "")


def _mixture(facts: FileFacts) -> str:
    total = facts.mix.size
    if not total:
        return ", ".join(name for name, _ in facts.mix.types[:6])
    shares = ((name, f"{size / total:.1%}") for name, size in facts.mix.types[:6])
    return ", ".join(f"{name} {'<0.1%' if share == '0.0%' else share}" for name, share in shares)


def kv_bytes_per_token(header: Header, facts: FileFacts) -> tuple[int, int]:
    """Bytes that a token takes in an F16 cache of the model itself, and those of them that go when a window has passed.

    Raises ModelUnreadable if the file has changed meanwhile.
    """
    layers = [layer for layer in memory_shape(header, facts).layers if not layer.head]
    passing = 2 * sum(layer.keys + layer.values for layer in layers if layer.windowed)
    return passing + 2 * sum(layer.keys + layer.values for layer in layers if not layer.windowed), passing


def _memory_rows(header: Header, facts: FileFacts) -> Iterator[tuple[str, str]]:
    total, passing = kv_bytes_per_token(header, facts) if facts.role == "chat" else (0, 0)
    if passing:
        lasting = human_size(total - passing)
        yield (
            "KV cache",
            f"{human_size(total)} per token at F16; {lasting} beyond the window of {facts.window:,} tokens",
        )
    elif total:
        yield "KV cache", f"{human_size(total)} per token at F16"
    if facts.memory != "attention":
        way = "snapshots of the state" if facts.snapshots else "copies of the state, which cost time"
        yield "Roll-back", f"by {way}"


def _vocabulary_rows(facts: FileFacts, vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    if not vocabulary.size:
        yield "Vocabulary", f"{facts.vocabulary:,} tokens, without texts" if facts.vocabulary else "none"
        return
    splitter = f" ({short(vocabulary.splitter, 40)})" if vocabulary.splitter else ""
    kind = short(vocabulary.kind, 40) or "of an unknown kind"
    yield "Vocabulary", f"{kind}{splitter}, {vocabulary.size:,} tokens, sha256 {vocabulary.digest[:12]}"
    ids = [f"BOS {vocabulary.bos}" if vocabulary.bos is not None else ""]
    ids.append(f"EOS {vocabulary.eos}" if vocabulary.eos is not None else "")
    ends = ", ".join(map(str, vocabulary.ends[:12])) or "none"
    yield "Special tokens", "; ".join([*filter(None, ids), f"answers end at {ends}"])


def as_object(one: Inspection) -> dict[str, object]:
    """What --json says about a file. Texts are those of the file, cut at a thousand characters."""
    facts = one.facts
    return {
        "path": str(facts.path),
        "what": one.title,
        "role": facts.role,
        "mtp": _heads_object(facts, one.verdict),
        "size": facts.size,
        "shards": facts.parts,
        "architecture": short(facts.architecture, 1000),
        "name": short(facts.name, 1000),
        "size_label": short(facts.size_label, 1000),
        "quantization": facts.quantization,
        "tensor_bytes": dict(facts.mix.types),
        "parameters": facts.mix.parameters,
        "layers": facts.trunk,
        "context": facts.context,
        "width": facts.width,
        "memory": facts.memory,
        "window": facts.window,
        "kv_bytes_per_token": one.kv_bytes or None,
        "experts": facts.experts,
        "experts_used": facts.experts_used,
        "vocabulary": _vocabulary_object(facts, one.vocabulary),
        "chat_template": bool(facts.chat_template),
        "licence": short(facts.licence, 1000),
        "base_models": [short(name, 1000) for name in facts.base_models],
    }


def _heads_object(facts: FileFacts, verdict: Verdict) -> dict[str, object]:
    return {
        "announced": facts.heads,
        "with_tensors": facts.heads_there,
        "blocks": facts.head_blocks,
        "chained": facts.chained,
        "works": verdict.works,
        "sentence": verdict.sentence,
        "advice": verdict.advice,
    }


def _vocabulary_object(facts: FileFacts, vocabulary: Vocabulary) -> dict[str, object]:
    return {
        "kind": short(vocabulary.kind, 1000),
        "splitter": short(vocabulary.splitter, 1000),
        "size": facts.vocabulary,
        "sha256": vocabulary.digest or None,
        "bos": vocabulary.bos,
        "eos": vocabulary.eos,
        "ends": list(vocabulary.ends),
    }
