"""`mtpchat pull`: list what a repository offers, let the user choose, fetch it, and say how to start it."""

from __future__ import annotations

import argparse
import shlex
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from mtpchat import cli_pull_text as text
from mtpchat.cli_pull_watch import PullWatch
from mtpchat.errors import FetchCancelled, HubError, HubNotFound, HubUnreachable, MtpChatError, StorageError
from mtpchat.gguf.cursor import human_size
from mtpchat.headless_output import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, Notes, report_error, write_json
from mtpchat.hub import cached
from mtpchat.hub import listing as offers
from mtpchat.hub import survey as hub
from mtpchat.hub.access import Access, access
from mtpchat.hub.client import HubClient
from mtpchat.hub.fit import fits
from mtpchat.hub.listing import Listing, Offer
from mtpchat.hub.names import Wanted, checked_revision, parse_wanted
from mtpchat.hub.places import target_for
from mtpchat.hub.transfer import Fetched, Transfer
from mtpchat.machine_memory import available_ram
from mtpchat.paths import model_path

_MOST_LEFT_OUT = 5


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is going to be fetched."""

    model: Offer
    drafter: Offer | None = None

    @property
    def size(self) -> int:
        """Bytes of both."""
        return self.model.size + (self.drafter.size if self.drafter else 0)


def pull(arguments: argparse.Namespace, stdin: TextIO | None, stdout: TextIO, stderr: TextIO) -> int:
    """Run the command.

    Returns:
        0 when it is there (or would be, with --dry-run), 1 when fetching failed, 2 when nothing could be or was chosen,
        130 after Ctrl+C.
    """
    try:
        return _Pull(arguments, stdin, stdout, stderr).run()
    except (HubError, StorageError) as error:
        report_error(error, "fetch", stdout, stderr, as_json=arguments.json)
        return _exit_code(error)
    except KeyboardInterrupt:
        resume = FetchCancelled("Stopped", hint="What has come is kept: the same command goes on from there.")
        report_error(resume, "interrupted", stdout, stderr, as_json=arguments.json)
        return EXIT_INTERRUPTED


def _exit_code(error: MtpChatError) -> int:
    if isinstance(error, FetchCancelled):
        return EXIT_INTERRUPTED
    return EXIT_USAGE if isinstance(error, HubNotFound) else EXIT_FAILED


class _Pull:
    """One run of the command."""

    def __init__(self, arguments: argparse.Namespace, stdin: TextIO | None, stdout: TextIO, stderr: TextIO) -> None:
        self._arguments = arguments
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._notes = Notes(stderr)
        self._wanted: Wanted = parse_wanted(arguments.operands[0])
        endpoint = arguments.endpoint or self._wanted.endpoint
        self._access: Access = access(endpoint=endpoint, offline=bool(arguments.offline))
        self._revision = checked_revision(arguments.revision) if arguments.revision else ""
        self._ram = available_ram()

    def run(self) -> int:
        if self._access.offline:
            return self._offline()
        client = HubClient(self._access)
        self._notes.status(f"asking {self._access.endpoint}")
        listing = hub.survey(client, self._wanted, self._revision)
        for one in listing.left_out[:_MOST_LEFT_OUT]:
            self._note(f"left out: {one}")
        if len(listing.left_out) > _MOST_LEFT_OUT:
            self._note(f"left out: {len(listing.left_out) - _MOST_LEFT_OUT} more")
        # names suffice for one that was named, unless they all sound like drafters
        if not listing.offers or not (self._wanted.choice or self._arguments.yes):
            self._notes.status("looking into the files")
            listing = hub.looked_into(client, listing)
        self._notes.status("")
        chosen = self._choose(client, listing)
        if chosen is None:
            return EXIT_OK if self._arguments.dry_run else EXIT_USAGE
        if self._arguments.dry_run:
            return self._show_plan(listing, chosen)
        return self._fetch(client, listing, chosen)

    # Choosing.

    def _choose(self, client: HubClient, listing: Listing) -> Chosen | None:
        """What to fetch; None when the list has been shown instead."""
        best = offers.default(listing, self._fits)
        if self._wanted.choice:
            model = offers.find(listing, self._wanted.choice)
        elif self._arguments.yes and best is not None:
            model = best
        elif self._may_ask and best is not None:
            text.show_offers(listing, best, self._fits, self._stdout, numbered=True)
            model = self._ask_which(listing, best)
        else:
            self._show_list(client, listing, best)
            return None
        offers.require_whole(listing, model)
        return Chosen(model, self._choose_drafter(client, listing, model))

    def _ask_which(self, listing: Listing, best: Offer) -> Offer:
        while True:
            answer = self._ask(f"Which one? [{listing.offers.index(best) + 1}] ")
            if not answer:
                return best
            if answer.isascii() and answer.isdecimal() and 1 <= int(answer) <= len(listing.offers):
                return listing.offers[int(answer) - 1]
            try:
                return offers.find(listing, answer)
            except HubError as error:
                self._notes.error(error.message, error.hint)

    def _choose_drafter(self, client: HubClient, listing: Listing, model: Offer) -> Offer | None:
        asked: str | None = self._arguments.drafter
        if asked == "none" or model.drafter:
            return None
        if asked not in (None, "auto"):
            return offers.find(listing, asked)
        looked = hub.looked_into_one(client, listing, model)
        model = next((one for one in looked.offers if one.files == model.files), model)
        matching = offers.matching_drafters(looked, model)
        if asked == "auto":
            if not matching and not model.heads:
                raise HubNotFound(f"{listing.repo} has no drafter", hint=self._companion_hint(client, listing))
            return matching[0] if matching and not model.heads else None
        if model.heads:
            return None
        if matching and self._may_ask and not self._arguments.yes:
            one = matching[0]
            question = f"Fetch the drafter {one.first.name} ({human_size(one.size)}) too? [y/N] "
            return one if self._ask(question).casefold() in ("y", "yes") else None
        self._tell_of_drafters(client, listing, matching)
        return None

    def _tell_of_drafters(self, client: HubClient, listing: Listing, matching: Sequence[Offer]) -> None:
        if matching:
            one = matching[0]
            self._note(f"a drafter is there, too: {one.first.name}, {human_size(one.size)} (--drafter auto)")
        elif hint := self._companion_hint(client, listing):
            self._note(hint)

    def _companion_hint(self, client: HubClient, listing: Listing) -> str:
        found = hub.companions(client, listing.repo)
        return f"Drafters may be in: {', '.join(found[:3])}" if found else ""

    # Showing.

    def _show_list(self, client: HubClient, listing: Listing, best: Offer | None) -> None:
        if self._arguments.json:
            write_json(self._stdout, text.listing_object(listing, best, self._fits))
            return
        text.show_offers(listing, best, self._fits, self._stdout)
        if best is None:
            self._notes.error("nothing in there is complete", "The upload may still be going on; try later.")
            return
        if not listing.drafters:
            self._tell_of_drafters(client, listing, ())
        self._note(f"choose one: mtpchat pull {shlex.quote(f'{listing.repo}:{best.label}')}")

    def _show_plan(self, listing: Listing, chosen: Chosen) -> int:
        target = target_for(listing, self._access.cache, self._folder)
        if self._arguments.json:
            write_json(self._stdout, text.plan_object(listing, chosen.model, chosen.drafter, target))
        else:
            self._stdout.write(text.plan_text(chosen.model, chosen.drafter, target))
            self._stdout.flush()
        return EXIT_OK

    # Fetching.

    def _fetch(self, client: HubClient, listing: Listing, chosen: Chosen) -> int:
        target = target_for(listing, self._access.cache, self._folder)
        files = [*chosen.model.files, *(chosen.drafter.files if chosen.drafter else ())]
        with PullWatch(self._stderr) as watch:
            fetched = Transfer(client, listing, target, watch.show, threading.Event()).run(files)
        model = fetched[0].path
        drafter = fetched[len(chosen.model.files)].path if chosen.drafter else None
        if self._arguments.json:
            write_json(self._stdout, text.fetched_object(listing, fetched, model, drafter))
            return EXIT_OK
        self._say_done(chosen, fetched)
        self._stdout.write(text.start_lines(model, drafter, is_drafter=chosen.model.drafter))
        self._stdout.flush()
        return EXIT_OK

    def _say_done(self, chosen: Chosen, fetched: Sequence[Fetched]) -> None:
        new = [one for one in fetched if one.new]
        if not new:
            self._note(f"it is there already: {human_size(chosen.size)}")
            return
        checked = "checksum right" if all(one.verified for one in new) else "not verified: the hub names no checksum"
        count = f"{len(new)} files" if len(new) > 1 else new[0].path.name
        self._note(f"fetched {count} · {checked}")

    def _offline(self) -> int:
        """Say what is in the cache."""
        files = cached.cached_files(self._access.cache, self._wanted.repo)
        found = cached.find_cached(files, self._wanted.choice) if self._wanted.choice else None
        if found is not None:
            if self._arguments.json:
                write_json(self._stdout, text.cached_object(self._wanted.repo, [found]))
            else:
                self._stdout.write(text.start_lines(found.path, None, is_drafter=False))
                self._stdout.flush()
            return EXIT_OK
        if files and not self._wanted.choice:
            value = text.cached_object(self._wanted.repo, files)
            if self._arguments.json:
                write_json(self._stdout, value)
            else:
                text.show_cached(files, self._stdout)
            return EXIT_OK
        there = ", ".join(one.label for one in files if one.whole) or "nothing"
        partly = cached.unfinished(self._access.cache, self._wanted.repo)
        more = f" and {human_size(partly)} of transfers that were broken off" if partly else ""
        what = f"{self._wanted.repo}:{self._wanted.choice}" if self._wanted.choice else self._wanted.repo
        raise HubUnreachable(
            f"{what} is not in the cache, and this is offline mode; of the repository there is {there}{more}",
            hint="Without --offline (and HF_HUB_OFFLINE) it is fetched.",
        )

    # The user.

    def _note(self, sentence: str) -> None:
        self._notes.error(sentence, "")

    @property
    def _may_ask(self) -> bool:
        asks = not self._arguments.json and not self._arguments.dry_run
        return asks and self._stdin is not None and self._stdin.isatty() and self._stdout.isatty()

    def _ask(self, question: str) -> str:
        self._stdout.write(question)
        self._stdout.flush()
        line = self._stdin.readline() if self._stdin else ""
        if not line:
            raise KeyboardInterrupt
        return line.strip()

    @property
    def _folder(self) -> Path | None:
        return model_path(str(self._arguments.to)).absolute() if self._arguments.to is not None else None

    def _fits(self, offer: Offer) -> bool | None:
        return fits(offer.size, self._ram)
