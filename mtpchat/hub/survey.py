"""From what the user typed to what can be fetched: the listing, looked into, and what to say when there is none."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress

from mtpchat.errors import FetchCancelled, HubDenied, HubError, HubNotFound
from mtpchat.hub import listing as offers
from mtpchat.hub.client import HubClient
from mtpchat.hub.listing import Listing, Offer, RemoteFile
from mtpchat.hub.names import Wanted
from mtpchat.hub.peek import FileStart

_log = logging.getLogger(__name__)

_MOST_LOOKED_INTO = 32
_AT_ONCE = 4
_LOOK_S = 15.0
_MOST_KIN = 3
_COMPANION = re.compile(r"(?<![a-z0-9])(?:mtp|eagle3?|draft|drafter|dflash|assistant)(?![a-z0-9])", re.IGNORECASE)


def survey(client: HubClient, wanted: Wanted, revision: str = "") -> Listing:
    """What a repository offers. Raises HubError; one about a missing repository names similar ones."""
    try:
        return client.listing(wanted.repo, revision or wanted.revision)
    except HubNotFound as error:
        if "no such revision" in error.message:
            raise
        raise HubNotFound(error.message, hint=_with_similar(client, wanted.repo, error.hint)) from error
    except HubDenied as error:
        if "does not exist" not in error.message:
            raise
        raise HubDenied(error.message, hint=_with_similar(client, wanted.repo, error.hint)) from error


def looked_into(client: HubClient, listing: Listing) -> Listing:
    """The listing with what the files themselves say about heads; the start of each is read, 128 kB."""
    every = [one.first for one in (*listing.offers, *listing.drafters)]
    return _with_starts(client, listing, every[:_MOST_LOOKED_INTO])


def looked_into_one(client: HubClient, listing: Listing, offer: Offer) -> Listing:
    """The same for one offer and the drafters."""
    return _with_starts(client, listing, [offer.first, *(one.first for one in listing.drafters)][:_MOST_LOOKED_INTO])


def companions(client: HubClient, repo: str) -> list[str]:
    """Repositories that may hold a drafter for this one, by their names; [] when the hub knows none or is silent."""
    base = re.sub(r"-(?:GGUF|gguf)$", "", repo.partition("/")[2])
    found = client.search(base)
    return [one for one in found if one != repo and _COMPANION.search(one) and not _COMPANION.search(repo)]


def kin(client: HubClient, repo: str) -> Iterator[Listing]:
    """Other repositories that by their names hold drafters for this one's model, or the model itself with heads.

    What cannot be listed is left out: nobody has asked for it.
    """
    for name in companions(client, repo)[:_MOST_KIN]:
        if _bare(name) != _bare(repo):
            continue
        try:
            found = client.listing(name)
        except FetchCancelled:
            raise
        except HubError as error:
            _log.info("%s is not looked into: %s", name, error)
            continue
        yield found


def _bare(repo: str) -> str:
    """A repository's name without its owner and without what tells a drafter from its model."""
    words = _COMPANION.sub(" ", repo.partition("/")[2].casefold().replace("gguf", " "))
    return " ".join(re.split(r"[-_. ]+", words.strip("-_. ")))


def _with_starts(client: HubClient, listing: Listing, files: Sequence[RemoteFile]) -> Listing:
    """Look into files, several at once; what does not answer in time is judged by its name."""
    to_do = deque(files)
    known: dict[str, FileStart | None] = {}

    def work() -> None:
        while to_do:
            with suppress(IndexError):  # another thread was quicker
                file = to_do.popleft()
                known[file.path] = client.start_of(listing, file)

    threads = [threading.Thread(target=work, name="peek", daemon=True) for _ in range(min(_AT_ONCE, len(files)))]
    ends = time.monotonic() + _LOOK_S
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(ends - time.monotonic(), 0.0))
    to_do.clear()
    return offers.with_starts(listing, lambda file: known.get(file.path))


def _with_similar(client: HubClient, repo: str, hint: str) -> str:
    try:
        close = [one for one in client.similar(repo) if one != repo]
    except FetchCancelled:
        return hint
    return f"{hint} Similar ones: {', '.join(close[:5])}" if close else hint
