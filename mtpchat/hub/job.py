"""A fetch that runs on a thread of its own, for callers that must not wait."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from mtpchat.errors import HubError, StorageError
from mtpchat.hub import listing as offers
from mtpchat.hub.access import Access
from mtpchat.hub.client import HubClient
from mtpchat.hub.listing import Listing, Offer
from mtpchat.hub.names import Wanted
from mtpchat.hub.places import target_for
from mtpchat.hub.survey import kin, looked_into, looked_into_one, survey
from mtpchat.hub.transfer import Progress, Transfer

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Arrived:
    """What was fetched.

    Attributes:
        path: the file to load.
        drafter: whether it only guesses for another model.
        companion: what /pull takes to fetch the drafter that goes with it; "" when there is none or none is needed.
    """

    path: Path
    drafter: bool
    size: int
    verified: bool
    companion: str = ""


class FetchJob:
    """One fetch, or one look at what there is.

    Attributes:
        done: set at the end; then one of `outcome` and `error` is there, or neither after a fault of ours.
        progress: the latest state; None before the first byte.
    """

    def __init__(self, wanted: Wanted, access: Access) -> None:
        self.wanted = wanted
        self.done = threading.Event()
        self.progress: Progress | None = None
        self.outcome: Arrived | Listing | None = None
        self.error: HubError | StorageError | None = None
        self._access = access
        self._cancelled = threading.Event()

    def start(self) -> None:
        """Begin. The thread does not keep the program from leaving."""
        threading.Thread(target=self._run, name="fetch", daemon=True).start()

    def stop(self) -> None:
        """Ask it to stop; what has come is kept."""
        self._cancelled.set()

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self._cancelled.is_set()

    def _run(self) -> None:
        try:
            self.outcome = self._fetch()
        except (HubError, StorageError) as error:
            self.error = error
        finally:
            self.done.set()

    def _fetch(self) -> Arrived | Listing:
        client = HubClient(self._access, cancelled=self._cancelled)
        listing = survey(client, self.wanted)
        if not self.wanted.choice:
            return looked_into(client, listing)
        offer = offers.find(listing, self.wanted.choice)
        target = target_for(listing, self._access.cache, None)
        fetched = Transfer(client, listing, target, self._note, self._cancelled).run(offer.files)
        verified = all(one.verified or not one.new for one in fetched)
        try:
            companion = self._companion(client, listing, offer)
        except HubError as error:  # what was wanted is there; this is a courtesy
            _log.info("no drafter was looked for: %s", error)
            companion = ""
        return Arrived(fetched[0].path, offer.drafter, offer.size, verified, companion)

    def _companion(self, client: HubClient, listing: Listing, model: Offer) -> str:
        """The drafter of the same repository, or else of another one that is named for the same model."""
        if model.drafter:
            return ""
        looked = looked_into_one(client, listing, model)
        if any(one.heads for one in looked.offers if one.files == model.files):
            return ""
        for other in chain([looked], kin(client, listing.repo)):
            if found := offers.best_drafters(other.drafters):
                return f"{other.repo}:{found[0].label}"
        return ""

    def _note(self, now: Progress) -> None:
        self.progress = now
