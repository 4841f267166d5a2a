"""Drafters for a model: found, checked against it from headers, ranked, and each with the reason in a sentence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtpchat.errors import MtpChatError
from mtpchat.gguf.facts import read_model
from mtpchat.gguf.header import Header
from mtpchat.gguf.pairing import MAX_SIZE_DIFFERENCE, examine_pair, same_file
from mtpchat.shelf.finding import Found, stem
from mtpchat.shelf.index import Index, PairVerdict, verdict_of
from mtpchat.shelf.kinship import Evidence, evidence_for, is_draft_model, is_marked, kin_name
from mtpchat.shelf.record import FileRecord

_KINDS = {"mtp": 0, "eagle3": 1, "draft": 2}
_LIGHT_SHARE = 0.25
"""Share of a model's size up to which a model that is not made to draft is worth being offered as a draft."""
_HEAVY_SHARE = 0.75
_WHERE = {
    Evidence.NAMED: "beside the model",
    Evidence.FOLDER: "beside the model",
    Evidence.REPO: "in the model's repository",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that might draft for a model.

    Attributes:
        evidence: what places and names say.
        verdict: what the contents say.
        marked: it is a drafter by its contents, or its name says that it is meant to draft.
        twin: it is the same model once more, with heads.
        light: it is small against the model.
    """

    found: Found
    record: FileRecord
    evidence: Evidence
    verdict: PairVerdict
    marked: bool
    twin: bool
    light: bool

    @property
    def fits(self) -> bool:
        """Whether it can be used at all."""
        return bool(self.verdict.kind)

    @property
    def strong(self) -> bool:
        """Whether it may be used without being asked for: it lies with the model, and nothing speaks against it."""
        return self.fits_well and self.marked and self.evidence <= Evidence.REPO

    @property
    def fits_well(self) -> bool:
        """Whether all checks pass without a doubt."""
        return self.fits and not self.verdict.doubts and not self.twin

    @property
    def where(self) -> str:
        """Where it lies, seen from the model."""
        return _WHERE.get(self.evidence, f"in {self.found.place.title}")

    @property
    def reason(self) -> str:
        """One sentence: why it is used, offered or refused."""
        if not self.fits:
            return self.verdict.refusal
        if self.twin:
            return "It is the same model with prediction heads: load it instead."
        if self.verdict.doubts:
            return f"It can be used, but: {self.verdict.doubts[0]}"
        said = {
            Evidence.NAMED: "It lies beside the model and is named for it",
            Evidence.FOLDER: "It lies beside the model",
            Evidence.REPO: "It comes from the model's repository",
            Evidence.KIN: "Its name, or what it was made from, is that of the model",
            Evidence.NONE: "Nothing but its contents says that it belongs to the model",
        }[self.evidence]
        checks = (
            "architecture, width and vocabulary fit" if self.verdict.kind != "draft" else "the vocabulary is the same"
        )
        plain = "" if self.marked else "; it is a chat model, so it is used only when it is named"
        return f"{said}, and {checks}{plain}."


@dataclass(slots=True)
class Judge:
    """Checks candidates for one model.

    Attributes:
        found: the model; its header is read when it is needed.
        index: what is known about files and pairs.
    """

    found: Found
    index: Index
    _main: Header | None = None
    record: FileRecord = field(init=False)

    def __post_init__(self) -> None:
        self.record = self.index.record(self.found.path)

    def candidate(self, other: Found) -> Candidate | None:
        """The verdict about a file; None for one that is out of the question and not worth a word."""
        record = self.index.record(other.path)
        marked = record.kind == "drafter" or (record.kind == "model" and is_draft_model(other.path))
        if record.kind not in ("model", "drafter") or same_file(other.path, self.found.path):
            return None
        twin = self._has_its_shape(record)
        if twin and (self.record.heads or not self._is_called_the_same(other, record)):
            return None
        if not marked and not twin and record.size > self.record.size * _HEAVY_SHARE:
            return None
        if not marked and self._refusal(record, other.path.name):
            return None
        return Candidate(
            found=other,
            record=record,
            evidence=self._evidence(other, record),
            verdict=self._verdict(other.path, record),
            marked=marked and not twin,
            twin=twin,
            light=record.size <= self.record.size * _LIGHT_SHARE,
        )

    def _is_called_the_same(self, other: Found, record: FileRecord) -> bool:
        names = kin_name(stem(self.found.path)), kin_name(stem(other.path))
        return names[0] == names[1] or kin_name(self.record.title) == kin_name(record.title)

    def _has_its_shape(self, record: FileRecord) -> bool:
        """Whether it has heads and is as this model without them."""
        main = self.record
        same = (main.architecture, main.width, main.layers) == (record.architecture, record.width, record.layers)
        return same and record.role == "chat" and record.heads > 0

    def _evidence(self, other: Found, record: FileRecord) -> Evidence:
        bases = {name.casefold() for name in self.record.bases}, {name.casefold() for name in record.bases}
        if record.role == "chat":
            bases = bases[0], set()  # every member of a family was made from something
        return evidence_for(self.found.path, other.path, self.found.repo, other.repo, bases)

    def _verdict(self, path: Path, record: FileRecord) -> PairVerdict:
        refusal = self._refusal(record, path.name)
        if refusal:
            return PairVerdict("", refusal)
        return self.index.verdict(self.found.path, path, lambda: self._examine(path))

    def _refusal(self, record: FileRecord, name: str) -> str:
        """What the records alone speak against, without opening a file."""
        main = self.record
        if record.role == "mtp_only" and record.architecture != main.architecture:
            return f"Its architecture is {record.architecture}, the model's is {main.architecture}."
        if record.role == "mtp_only" and record.width != main.width:
            return f"Its embeddings are {record.width} wide, the model's {main.width}."
        sizes = record.vocabulary, main.vocabulary
        if None not in sizes and record.role in ("chat", "mtp_only"):
            own, wanted = sizes[0] or 0, sizes[1] or 0
            if abs(own - wanted) > MAX_SIZE_DIFFERENCE:
                return f"{name} has a vocabulary of {own:,} tokens, the model's has {wanted:,}."
        return ""

    def _examine(self, path: Path) -> PairVerdict:
        try:
            if self._main is None:
                self._main = read_model(self.found.path)
            return verdict_of(examine_pair(self._main, read_model(path)))
        except MtpChatError as error:
            return PairVerdict("", error.message)


def rank(candidates: Iterable[Candidate], bits: float | None) -> list[Candidate]:
    """The best first: those that fit, by evidence, without doubts, heads before models, and finer rather than coarser.

    Args:
        bits: per parameter of the model.
    """

    def order(one: Candidate) -> tuple[object, ...]:
        own, wanted = one.record.bits or 0.0, (bits or 0.0) - 0.5
        # As fine as the model is enough; beyond that, size only costs time.
        quantisation = (0, own) if own >= wanted else (1, -own)
        weight = one.record.size if one.verdict.kind == "draft" else 0
        return (
            not one.fits,
            not one.strong,
            one.evidence,
            not one.marked,
            bool(one.verdict.doubts),
            _KINDS.get(one.verdict.kind, 9),
            weight,
            quantisation,
            one.found.path.as_posix(),
        )

    return sorted(candidates, key=order)


@dataclass(slots=True)
class Patience:
    """How many files may be opened for one question, and how long that may take."""

    files: int = 60
    seconds: float = 3.0
    clock: Callable[[], float] = time.monotonic

    def within(self, files: Sequence[Found], index: Index) -> Iterator[Found]:
        """The files for as long as patience lasts: likely drafters first; those that are known cost nothing."""
        ends, opened = self.clock() + self.seconds, 0
        likely = sorted(files, key=lambda one: (not is_marked(one.path), one.path.as_posix()))
        for one in likely:
            if not index.knows(one.path):
                opened += 1
                if opened > self.files or self.clock() > ends:
                    continue
            yield one
