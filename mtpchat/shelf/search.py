"""Looks for the drafters of one model: beside it, in its repository, and, if wanted, in every other place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtpchat.config import Config
from mtpchat.gguf.choice import Companion, DrafterChoice, choose_drafter
from mtpchat.gguf.cursor import human_size
from mtpchat.gguf.facts import read_model
from mtpchat.gguf.header import Header
from mtpchat.shelf.companions import Candidate, Judge, Patience, rank
from mtpchat.shelf.finding import Found, find_all, is_later_part, locate, stem
from mtpchat.shelf.index import Index
from mtpchat.shelf.kinship import DRAFTER_FOLDERS, Evidence, words_of
from mtpchat.shelf.places import Place, places, short_path
from mtpchat.shelf.walk import Walk, identity

_LOAD_SECONDS = 4.0
_MOST_ENTRIES = 4_000


@dataclass(slots=True)
class DrafterSearch:
    """Finds and ranks drafters.

    Attributes:
        config: names the places.
        index: what is known about files and pairs; the caller saves it.
        patience: how many files may be opened for one model.
    """

    config: Config
    index: Index = field(default_factory=Index)
    patience: Patience = field(default_factory=Patience)

    def candidates(self, model: Path, *, everywhere: bool = True, known: Iterable[Found] = ()) -> list[Candidate]:
        """Everything that might draft for a model, the best first.

        Args:
            everywhere: look in all places, not only beside the model and in its repository.
            known: files that were found already; no place is searched for others then.
        """
        walk = Walk(entries=_MOST_ENTRIES, seconds=_LOAD_SECONDS)
        all_places = places(self.config)
        main, relatives = locate(model.absolute(), all_places, walk)
        files = [*relatives, *beside(main.path, Walk(entries=_MOST_ENTRIES, seconds=_LOAD_SECONDS))]
        known = list(known)
        if everywhere:
            files += known or find_all(all_places, Walk())
        return self.judged(main, files)

    def judged(self, main: Found, files: Sequence[Found]) -> list[Candidate]:
        """Those of some files that might draft for a model, the best first."""
        judge = Judge(main, self.index)
        looked_at = (judge.candidate(one) for one in self.patience.within(_each_once(files), self.index))
        return rank((one for one in looked_at if one is not None), judge.record.bits)

    def companions(self, main: Header) -> list[Companion]:
        """What `choose_drafter` asks for, within the setting speculative.find."""
        wanted = self.config.speculative.find
        if wanted == "off":
            return []
        everywhere = wanted == "all"
        found = self.candidates(main.path, everywhere=everywhere)
        if not everywhere:
            found = [*found, *self._remembered(main.path, found)]
        self.index.save()
        return [_companion(one, everywhere=everywhere) for one in found]

    def choice(self, model: Path) -> DrafterChoice:
        """What loading this model with the settings in force would choose. Raises ModelError."""
        wanted = self.config.speculative
        return choose_drafter(read_model(model), wanted.kind, "", self.companions)

    def _remembered(self, model: Path, found: Sequence[Candidate]) -> list[Candidate]:
        """Drafters elsewhere that an earlier search has seen; to be offered, never to be taken."""
        seen = {identity(one.found.path) for one in found}
        files = [
            Found(path, Place("folder", path.parent), stem(path))
            for path, record in self.index.known_files()
            if record.kind == "drafter" and identity(path) not in seen
        ]
        main = Found(model, Place("folder", model.parent), stem(model))
        return [one for one in self.judged(main, files) if one.evidence > Evidence.REPO]


def beside(model: Path, walk: Walk) -> list[Found]:
    """Model files in a model's folder and in folders for drafters beside it."""
    folder = model.parent
    groups = [folder, *_drafter_folders(folder, walk)]
    if not words_of(folder.name):  # the folder of one quantisation; the drafters lie beside it
        groups += _drafter_folders(folder.parent, walk)
    place = Place("folder", folder)
    files = [path for one in groups for path in walk.again(one)]
    return [Found(path, place, stem(path)) for path in files if not is_later_part(path)]


def _drafter_folders(folder: Path, walk: Walk) -> list[Path]:
    return [Path(entry.path) for entry in walk.listed(folder) if entry.name.casefold() in DRAFTER_FOLDERS]


def _each_once(files: Iterable[Found]) -> list[Found]:
    once: dict[tuple[int, int], Found] = {}
    for one in files:
        number = identity(one.path)
        if number is not None:
            once.setdefault(number, one)
    return list(once.values())


def _companion(one: Candidate, *, everywhere: bool) -> Companion:
    strong = one.strong or (everywhere and one.fits_well and (one.marked or one.light))
    named = one.evidence is Evidence.NAMED and not one.fits
    return Companion(
        path=one.found.path,
        kind=one.verdict.kind,
        where=one.where,
        strong=strong,
        suggestion=_suggestion(one),
        refusal=f"{one.found.path.name} beside it cannot be used. {one.verdict.refusal}" if named else "",
    )


def _suggestion(one: Candidate) -> str:
    path, name = short_path(one.found.path), one.found.path.name
    if one.twin:
        return f"There is also {name}, the same model with prediction heads; /model {path} loads it"
    if not one.fits or not (one.marked or one.light):
        return ""
    about = f"{human_size(one.record.size)}, {one.record.what}"
    return f"There is also {name} ({about}); /drafter {path} tries it"
