"""`mtpchat pull`: list what a repository offers, let the user choose, fetch it, and say how to start it."""

from __future__ import annotations

import argparse
import shlex
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from mtpchat import cli_pull_text as text
from mtpchat.cli_pull_choice import Chosen, DrafterWish, Pick
from mtpchat.cli_pull_watch import PullWatch
from mtpchat.config import Config
from mtpchat.errors import FetchCancelled, HubError, HubNotFound, HubUnreachable, MtpChatError, StorageError
from mtpchat.gguf.cursor import human_size
from mtpchat.headless_output import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    Notes,
    report_error,
    write_json,
    write_out,
)
from mtpchat.hub import cached
from mtpchat.hub import listing as offers
from mtpchat.hub import survey as hub
from mtpchat.hub.access import Access, access
from mtpchat.hub.client import HubClient
from mtpchat.hub.fit import fits
from mtpchat.hub.listing import Listing, Offer
from mtpchat.hub.names import Wanted, checked_revision, names_drafter, parse_wanted
from mtpchat.hub.places import Target, target_for
from mtpchat.hub.transfer import Fetched, Transfer
from mtpchat.machine_memory import available_ram
from mtpchat.paths import model_path
from mtpchat.shelf.index import Index
from mtpchat.shelf.naming import name_for

_MOST_LEFT_OUT = 5


def pull(
    arguments: argparse.Namespace,
    stdin: TextIO | None,
    stdout: TextIO,
    stderr: TextIO,
    config: Config | None = None,
) -> int:
    """Run the command.

    Args:
        config: names folders of models, in which a short name may mean another file.

    Returns:
        0 when it is there (or would be, with --dry-run), 1 when fetching failed, 2 when nothing could be or was chosen,
        130 after Ctrl+C.
    """
    try:
        return _Pull(arguments, stdin, stdout, stderr, config or Config()).run()
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

    def __init__(
        self, arguments: argparse.Namespace, stdin: TextIO | None, stdout: TextIO, stderr: TextIO, config: Config
    ) -> None:
        self._arguments, self._config = arguments, config
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
        asks = self._yes if self._may_ask and not self._arguments.yes else None
        wish = DrafterWish(client, self._arguments.drafter, asks, self._note)
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
        chosen = self._choose(wish, listing)
        if chosen is None:
            return EXIT_OK if self._arguments.dry_run else EXIT_USAGE
        return self._show_plan(chosen) if self._arguments.dry_run else self._fetch(client, chosen)

    # Choosing.

    def _choose(self, wish: DrafterWish, listing: Listing) -> Chosen | None:
        """What to fetch; None when the list has been shown instead."""
        best = offers.default(listing, self._fits)
        if self._wanted.choice:
            model = offers.find(listing, self._wanted.choice)
        elif self._arguments.yes and best is not None:
            model = best
        elif self._may_ask and best is not None:
            text.show_offers(listing, best, self._fits, self._stdout, numbered=True)
            asked = self._ask_which(listing, best)
            if asked is None:
                self._note("nothing is fetched")
                return None
            model = asked
        else:
            self._show_list(wish, listing, best)
            return None
        offers.require_whole(listing, model)
        return wish.with_drafter(listing, model)

    def _ask_which(self, listing: Listing, best: Offer) -> Offer | None:
        """The one of the answer; None when it is to be none."""
        number = listing.offers.index(best) + 1
        self._stdout.write(f"Smaller ones are quicker and less exact. Enter takes number {number}, q none of them.\n")
        while True:
            answer = self._ask(f"Which one? [{number}] ")
            if not answer:
                return best
            if answer.casefold() in _NONE:
                return None
            if answer.isascii() and answer.isdecimal() and 1 <= int(answer) <= len(listing.offers):
                return listing.offers[int(answer) - 1]
            try:
                return offers.find(listing, answer)
            except HubError as error:
                self._notes.error(error.message, error.hint)

    # Showing.

    def _show_list(self, wish: DrafterWish, listing: Listing, best: Offer | None) -> None:
        if self._arguments.json:
            write_json(self._stdout, text.listing_object(listing, best, self._fits))
            return
        text.show_offers(listing, best, self._fits, self._stdout)
        if best is None:
            self._notes.error("nothing in there is complete", "The upload may still be going on; try later.")
            return
        if not listing.drafters:
            wish.tell(listing)
        self._note(
            "nothing is fetched yet; choose one, as in", f"mtpchat pull {shlex.quote(f'{listing.repo}:{best.label}')}"
        )

    def _show_plan(self, chosen: Chosen) -> int:
        places = [(self._target(pick), pick.offer.files) for pick in chosen.picks]
        if self._arguments.json:
            write_json(self._stdout, text.plan_object(chosen.model.listing, places))
        else:
            write_out(self._stdout, text.plan_text(places))
        return EXIT_OK

    # Fetching.

    def _fetch(self, client: HubClient, chosen: Chosen) -> int:
        fetched = [self._fetched(client, picks) for picks in _by_repository(chosen)]
        files = [one for some in fetched for one in some]
        model, drafter = files[0].path, None
        if chosen.drafter is not None:
            drafter = files[len(chosen.model.offer.files)].path
        if self._arguments.json:
            write_json(self._stdout, text.fetched_object(chosen.model.listing, files, model, drafter))
            return EXIT_OK
        self._say_done(chosen, files)
        self._show_start(model, drafter, is_drafter=chosen.model.offer.drafter)
        return EXIT_OK

    def _fetched(self, client: HubClient, picks: Sequence[Pick]) -> list[Fetched]:
        """Fetch what is of one repository, with bars of its own."""
        files = [file for pick in picks for file in pick.offer.files]
        with PullWatch(self._stderr) as watch:
            job = Transfer(client, picks[0].listing, self._target(picks[0]), watch.show, threading.Event())
            return job.run(files)

    def _show_start(self, model: Path, drafter: Path | None, *, is_drafter: bool) -> None:
        named = self._typed(model, drafters=is_drafter), self._typed(drafter, drafters=True) if drafter else ""
        write_out(self._stdout, text.start_lines(*named, is_drafter=is_drafter))

    def _typed(self, path: Path, *, drafters: bool) -> str:
        """The short name of a file in the cache where it has one, or else its path."""
        name = "" if self._folder is not None else name_for(path, self._config, Index(), drafters=drafters)
        return shlex.quote(name) if name else text.typed(path)

    def _target(self, pick: Pick) -> Target:
        return target_for(pick.listing, self._access.cache, self._folder)

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
                self._show_start(found.path, None, is_drafter=names_drafter(found.name))
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

    def _note(self, sentence: str, command: str = "") -> None:
        self._notes.error(sentence, command)

    @property
    def _may_ask(self) -> bool:
        asks = not self._arguments.json and not self._arguments.dry_run
        return asks and self._stdin is not None and self._stdin.isatty() and self._stdout.isatty()

    def _yes(self, question: str) -> bool:
        return self._ask(f"{question} [y/N] ").casefold() in ("y", "yes")

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


_NONE = frozenset({"q", "quit", "exit", "n", "no", "none"})
"""Answers of somebody who wants nothing of what there is."""


def _by_repository(chosen: Chosen) -> list[tuple[Pick, ...]]:
    """What is of one repository is fetched together."""
    if chosen.drafter is None or chosen.drafter.listing is chosen.model.listing:
        return [chosen.picks]
    return [(chosen.model,), (chosen.drafter,)]
