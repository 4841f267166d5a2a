"""What `mtpchat pull` is going to fetch: a model, and a drafter that comes along, of its repository or another one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtpchat.errors import HubNotFound
from mtpchat.gguf.cursor import human_size
from mtpchat.hub import listing as offers
from mtpchat.hub import survey as hub
from mtpchat.hub.client import HubClient
from mtpchat.hub.listing import Listing, Offer
from mtpchat.hub.names import parse_wanted


@dataclass(frozen=True, slots=True)
class Pick:
    """One offer, and the repository that it is of."""

    listing: Listing
    offer: Offer

    @property
    def words(self) -> str:
        """Name and size."""
        return f"{self.offer.first.name} ({human_size(self.offer.size)})"

    @property
    def command(self) -> str:
        """What `mtpchat pull` takes for it."""
        return f"{self.listing.repo}:{self.offer.label}"


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is going to be fetched."""

    model: Pick
    drafter: Pick | None = None

    @property
    def picks(self) -> tuple[Pick, ...]:
        """One or both."""
        return (self.model,) if self.drafter is None else (self.model, self.drafter)

    @property
    def size(self) -> int:
        """Bytes of both."""
        return sum(pick.offer.size for pick in self.picks)


class DrafterWish:
    """What is to come along with a model.

    Args:
        asked: what --drafter says: "auto", "none", a file, or another repository; None when it was not given.
        ask: puts a question that is answered with y or n; None where nobody can be asked.
        note: tells a sentence, and a line to be typed or "".
    """

    def __init__(
        self,
        client: HubClient,
        asked: str | None,
        ask: Callable[[str], bool] | None,
        note: Callable[[str, str], None],
    ) -> None:
        self._client = client
        self._asked = asked
        self._ask = ask
        self._note = note

    def with_drafter(self, listing: Listing, model: Offer) -> Chosen:
        """The model, or the same one with heads in its place, and a drafter if it is wanted. Raises HubError."""
        chosen = Chosen(Pick(listing, model))
        if self._asked == "none" or model.drafter:
            return chosen
        if self._asked not in (None, "auto"):
            return Chosen(chosen.model, self._named(listing, str(self._asked)))
        looked = hub.looked_into_one(self._client, listing, model)
        model = next((one for one in looked.offers if one.files == model.files), model)
        matching = [] if model.heads else [Pick(listing, one) for one in offers.matching_drafters(looked, model)]
        if self._asked == "auto":
            if not matching and not model.heads:
                raise HubNotFound(f"{listing.repo} has no drafter", hint=self._where_else(listing))
            return Chosen(chosen.model, matching[0] if matching else None)
        return chosen if model.heads else self._offered(chosen, matching)

    def tell(self, listing: Listing) -> None:
        """Say where drafters of a repository without any are."""
        if hint := self._where_else(listing):
            self._note(hint, "")

    def _offered(self, chosen: Chosen, matching: Sequence[Pick]) -> Chosen:
        """Ask for what would help, the likeliest first; where nobody can be asked, say how to get it."""
        if matching:
            return self._drafter_offered(chosen, matching[0], "--drafter auto")
        for other in hub.kin(self._client, chosen.model.listing.repo):
            if found := offers.best_drafters(other.drafters):
                return self._drafter_offered(chosen, Pick(other, found[0]), f"--drafter {other.repo}")
            if twin := offers.with_heads(other, chosen.model.offer):
                return self._twin_offered(chosen, Pick(other, twin))
        return chosen

    def _drafter_offered(self, chosen: Chosen, pick: Pick, flag: str) -> Chosen:
        of = "" if pick.listing is chosen.model.listing else f" of {pick.listing.repo}"
        if self._ask is None:
            self._note(f"a drafter is there, too: {pick.words}{of}; {flag} fetches it", "")
            return chosen
        return Chosen(chosen.model, pick) if self._ask(f"Fetch the drafter {pick.words}{of} too?") else chosen

    def _twin_offered(self, chosen: Chosen, twin: Pick) -> Chosen:
        if self._ask is None:
            self._note(f"with MTP heads it is in {twin.listing.repo}", f"mtpchat pull {shlex.quote(twin.command)}")
            return chosen
        question = f"{twin.command} ({human_size(twin.offer.size)}) is the same with MTP heads. Fetch that instead?"
        return Chosen(twin) if self._ask(question) else chosen

    def _named(self, listing: Listing, asked: str) -> Pick:
        """A file of the repository, or the best drafter of another one. Raises HubNotFound."""
        try:
            return Pick(listing, offers.find(listing, asked))
        except HubNotFound:
            if "/" not in asked.partition(":")[0]:
                raise
        wanted = parse_wanted(asked)
        other = hub.survey(self._client, wanted)
        if wanted.choice:
            return Pick(other, offers.find(other, wanted.choice))
        other = hub.looked_into(self._client, other)
        found = offers.best_drafters(other.drafters)
        if not found:
            names = ", ".join(one.label for one in other.offers[:5])
            raise HubNotFound(f"{other.repo} has no drafter", hint=f"Name a file of it, {other.repo}:FILE: {names}")
        return Pick(other, found[0])

    def _where_else(self, listing: Listing) -> str:
        found = hub.companions(self._client, listing.repo)
        return f"Drafters may be in: {', '.join(found[:3])}; --drafter OWNER/NAME fetches one" if found else ""
