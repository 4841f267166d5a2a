"""Model files: whole and in order, the same as where they came from, and a sensible pair."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtpchat.backend.llama.build import Build
from mtpchat.config import Config
from mtpchat.doctor import system
from mtpchat.doctor.finding import Finding, advice, fact, fault
from mtpchat.errors import MtpChatError
from mtpchat.gguf.attention_shape import memory_shape
from mtpchat.gguf.cursor import human_size
from mtpchat.gguf.facts import FileFacts, facts_of, read_model
from mtpchat.gguf.header import Header, read_header
from mtpchat.gguf.integrity import faults_of, known_checksum, missing_blocks, sha256_of
from mtpchat.gguf.memory_fit import assess
from mtpchat.gguf.memory_plan import Device, Files, Machine, ModelFile
from mtpchat.gguf.pairing import classify_drafter
from mtpchat.gguf.shards import first_shard
from mtpchat.gguf.traps import traps_of
from mtpchat.inspection import mtp_verdict, title_of
from mtpchat.one_line import short

_COARSER = 1.0
"""Bits per parameter by which a drafter must be coarser than its model before it is worth saying."""
_FINE_ENOUGH = 6.5
"""With more bits per parameter a drafter loses next to nothing."""
_AGAIN = "Download it again."

Progress = Callable[[Path, int, int], None]
"""Told a file, the bytes done and the bytes in all."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What files are looked at, and under which circumstances.

    Attributes:
        drafter: one of `files` that is the drafter by the settings; None when that is to be found out.
        checksums: compare SHA-256.
    """

    files: tuple[Path, ...]
    config: Config
    build: Build
    checksums: bool
    root: Path = system.ROOT


def look_at_files(subject: Subject, progress: Progress) -> list[Finding]:
    """Everything about the files, in their order, then about them together."""
    findings: list[Finding] = []
    headers: list[Header] = []
    for path in subject.files:
        try:
            header = read_model(first_shard(path) if os.path.exists(path) else path)
        except MtpChatError as error:
            findings.append(fault(short(path.name, 40), error.message, error.hint or _AGAIN))
            continue
        headers.append(header)
        findings += _one(header, subject, progress)
    return [*findings, *_pairs(headers)]


def _one(header: Header, subject: Subject, progress: Progress) -> Iterator[Finding]:
    facts = facts_of(header)
    name = short(facts.path.name, 40)
    yield fact(name, title_of(facts))
    yield fact(name, mtp_verdict(facts, subject.build).sentence)
    try:
        yield from _integrity(header, facts)
        if subject.checksums:
            yield from _checksums(header, progress)
    except MtpChatError as error:
        yield fault(name, error.message, error.hint or _AGAIN)
    if facts.role == "chat":
        yield from _sense(facts, subject)
        yield from _room(header, facts, subject)
    drive = system.network_file_system(facts.path, subject.root)
    if drive and subject.config.model.mmap:
        yield advice(
            name,
            f"It lies on a network drive ({drive}), and is mapped: every page comes over the network, again and again "
            "where memory is short.",
            "Copy it to a disk of this machine, or use --no-mmap.",
        )


def _integrity(header: Header, facts: FileFacts) -> Iterator[Finding]:
    sound = True
    for path in [part.path for part in header.shards] or [header.path]:
        part = read_header(path) if header.shards else header
        for what in faults_of(part):
            sound = False
            yield fault(short(path.name, 40), f"Its tensors are not in order: {what}.", _AGAIN)
    name, blocks = short(facts.path.name, 40), missing_blocks(header, facts)
    if blocks:
        sound = False
        some = ", ".join(map(str, blocks[:5])) + (", …" if len(blocks) > 5 else "")
        yield fault(name, f"Blocks without any tensor: {some} of {facts.trunk}.", _AGAIN)
    for trap in traps_of(header, facts):
        sound = False
        yield fault(name, f"It {trap}: llama.cpp would end the whole program on it.", "Get another conversion.")
    if sound:
        yield fact(name, f"{len(header.tensors):,} tensors in order, {human_size(facts.size)}")


def _checksums(header: Header, progress: Progress) -> Iterator[Finding]:
    for path, size in [(part.path, part.size) for part in header.shards] or [(header.path, header.file_size)]:
        name = short(path.name, 40)
        wanted = known_checksum(path)
        if wanted is None:
            yield fact(name, "no checksum is known: neither FILE.sha256 nor a record of the hub")
            continue
        digest = sha256_of(path, lambda done, path=path, size=size: progress(path, done, size))  # type: ignore[misc]
        if digest == wanted.digest:
            yield fact(name, f"SHA-256 as in {wanted.source}")
        else:
            yield fault(
                name,
                f"Its SHA-256 is {digest[:16]}…, and {wanted.source} says {wanted.digest[:16]}…: it is not the file "
                "that was published.",
                _AGAIN,
            )


def _sense(facts: FileFacts, subject: Subject) -> Iterator[Finding]:
    name, settings = short(facts.path.name, 40), subject.config.model
    if not facts.chat_template and not settings.chat_template:
        yield advice(
            name,
            "It has no chat template: it may be a base model, which does not chat well.",
            "Get the instruct version.",
        )
    wanted = settings.context or facts.context or 0
    if facts.context and wanted > facts.context and settings.context != type(settings)().context:
        yield advice(
            name,
            f"A context of {wanted:,} tokens is set, and the model was trained for {facts.context:,}.",
            f"Set context = {facts.context} under [model], or leave -c away.",
        )


def _room(header: Header, facts: FileFacts, subject: Subject) -> Iterator[Finding]:
    """Does it fit, with the context that is set? Without a drafter: what the model itself needs."""
    name, found = short(facts.path.name, 40), system.memory(subject.root)
    if found is None:
        return
    devices = tuple(Device(one.description, one.free, one.total, one.shared) for one in subject.build.devices)
    files = Files(ModelFile(header, facts, memory_shape(header, facts)), "none")
    result = assess(files, subject.config, Machine(found.available, devices))
    needs = f"needs {result.numbers} at a context of {result.plan.context:,} tokens"
    if result.state == "fits":
        yield fact(name, needs)
        return
    more = "; on WSL, memory= in .wslconfig gives it more" if system.wsl(subject.root) else ""
    what = "it does not fit" if result.state == "no" else "it will be read from the disk again and again"
    yield advice(name, f"It {needs}: {what}.", f"A smaller quantisation, a smaller -c, or -ctk q8_0 -ctv q8_0{more}.")


def _pairs(headers: Sequence[Header]) -> Iterator[Finding]:
    """A chat model and the files beside it: do they belong together?"""
    told = [(header, facts_of(header)) for header in headers]
    mains = [one for one in told if one[1].role == "chat"]
    if len(told) < 2 or not mains:
        return
    main, model = max(mains, key=lambda one: one[1].size)
    for header, facts in told:
        if header is main:
            continue
        name = short(facts.path.name, 40)
        try:
            kind = classify_drafter(main, header)
        except MtpChatError as error:
            yield fault(name, error.message, error.hint)
            continue
        what = {"own_heads": "the same file", "mtp": "heads", "eagle3": "an EAGLE-3 head", "draft": "a draft model"}[
            kind
        ]
        yield fact(name, f"belongs to {short(model.path.name, 40)}, as {what}")
        yield from _coarser(model, facts, name)


def _coarser(model: FileFacts, drafter: FileFacts, name: str) -> Iterator[Finding]:
    own, other = drafter.mix.bits, model.mix.bits
    if own is not None and other is not None and own < min(other - _COARSER, _FINE_ENOUGH):
        yield advice(
            name,
            f"It is quantised harder than its model ({own:.1f} against {other:.1f} bits per parameter): fewer of its "
            "guesses will be right.",
            "Get it with more bits: a drafter is small, and its speed is not what counts.",
        )
