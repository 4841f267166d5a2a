"""Everything on this machine that is a model, a drafter or claims to be one, as a list that fills while it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from mtpchat.config import Config
from mtpchat.shelf.companions import Candidate
from mtpchat.shelf.finding import Found, find_all
from mtpchat.shelf.index import Index
from mtpchat.shelf.kinship import is_draft_model, same_folder
from mtpchat.shelf.last_use import LastUse
from mtpchat.shelf.places import Place, places
from mtpchat.shelf.record import FileRecord
from mtpchat.shelf.search import DrafterSearch
from mtpchat.shelf.walk import Walk


@dataclass(frozen=True, slots=True)
class Item:
    """One file of the list.

    Attributes:
        used: when it was loaded last, in seconds since 1970; None for never.
        drafter: what would be attached to it without being asked for; None with heads of its own, or without a drafter.
    """

    found: Found
    record: FileRecord
    used: float | None = None
    drafter: Candidate | None = None

    @property
    def name(self) -> str:
        """What to call it."""
        return self.found.name


@dataclass(slots=True)
class Shelf:
    """All model files of all places.

    Attributes:
        config: names the places.
        walk: bounds the search; has its remarks afterwards.
    """

    config: Config
    index: Index = field(default_factory=Index)
    walk: Walk = field(default_factory=Walk)
    last_use: LastUse = field(default_factory=LastUse)

    def items(self, extra: Sequence[Place] = ()) -> Iterator[Item]:
        """Every file, as it is found; drafters are not assigned yet. The index is saved at the end.

        Args:
            extra: places besides those of the settings.
        """
        used = self.last_use.all()
        try:
            for found in find_all([*extra, *places(self.config)], self.walk):
                yield Item(found, self.index.record(found.path), used.get(str(found.path.absolute())))
        finally:
            self.index.save()

    def assigned(self, items: Sequence[Item], drafters: Sequence[Item] = ()) -> list[Item]:
        """The items with the drafter that each model would get from its folder or repository.

        Args:
            drafters: further items that may draft.
        """
        if self.config.speculative.find == "off":
            return list(items)
        marked = [one for one in (*items, *drafters) if _may_draft(one)]
        search = DrafterSearch(self.config, self.index)
        done = [replace(one, drafter=_drafter_of(one, marked, search)) if _wants_drafter(one) else one for one in items]
        self.index.save()
        return done


def in_order(items: Sequence[Item]) -> list[Item]:
    """The last used first, then by name."""
    return sorted(items, key=lambda one: (-(one.used or 0.0), one.name.casefold(), one.found.path.as_posix()))


def _may_draft(item: Item) -> bool:
    return item.record.kind == "drafter" or (item.record.kind == "model" and is_draft_model(item.found.path))


def _wants_drafter(item: Item) -> bool:
    return item.record.kind == "model" and not item.record.heads


def _drafter_of(item: Item, marked: Sequence[Item], search: DrafterSearch) -> Candidate | None:
    path, repo = item.found.path, item.found.repo
    near = [one.found for one in marked if same_folder(path, one.found.path) or (repo and repo == one.found.repo)]
    best = search.judged(item.found, near)[:1] if near else []
    return best[0] if best and best[0].strong else None
