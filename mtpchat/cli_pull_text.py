"""What `mtpchat pull` prints: tables and objects, and the lines that start what was fetched."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from rich.table import Table

from mtpchat.cli_tables import WIDE_IN_PIPES, cell, list_table, painting
from mtpchat.gguf.cursor import human_size
from mtpchat.hub.cached import CachedFile
from mtpchat.hub.listing import Listing, Offer, RemoteFile
from mtpchat.hub.places import Target, existing, partial_size
from mtpchat.hub.transfer import Fetched
from mtpchat.shelf.places import short_path
from mtpchat.ui.safe_text import safe_text

Fits = Callable[[Offer], bool | None]


def show_offers(listing: Listing, best: Offer | None, fits: Fits, stdout: TextIO, *, numbered: bool = False) -> None:
    """The quantisations of a repository, and its drafters below."""
    titles = ("name", "size", "parts", "MTP heads", "fits in memory", "")
    title = f"{listing.repo} @ {listing.commit[:12]}"
    table = list_table(*(("#",) if numbered else ()), *titles, right=("#", "size", "parts"), title=title)
    table.columns[int(numbered)].no_wrap = False
    for number, one in enumerate((*listing.offers, *listing.drafters), 1):
        mark = "drafter" if one.drafter else "recommended" if one is best else ""
        cells = [
            one.label,
            human_size(one.size),
            _parts(one),
            "–" if one.drafter else heads_words(one),
            "–" if one.drafter else fits_words(fits(one)),
            mark,
        ]
        shown = [("" if one.drafter else str(number)), *cells] if numbered else cells
        table.add_row(*map(cell, shown))
    _paint(table, stdout)


def heads_words(offer: Offer) -> str:
    """Whether heads are included, and how that is known."""
    if offer.heads is None:
        return "unknown"
    return ("yes" if offer.heads else "no") + (", by its name" if offer.known_by == "name" else "")


def fits_words(fits: bool | None) -> str:
    """Whether it goes into memory."""
    return "–" if fits is None else "yes" if fits else "no"


def _parts(offer: Offer) -> str:
    if offer.missing:
        return f"{len(offer.files)} of {len(offer.files) + len(offer.missing)}"
    return str(len(offer.files)) if len(offer.files) > 1 else ""


def show_cached(files: Sequence[CachedFile], stdout: TextIO) -> None:
    """What is in the cache."""
    table = list_table("name", "size", "", "file", title="in the cache")
    table.columns[-1].no_wrap = False
    for one in files:
        state = "" if one.whole else "parts missing"
        table.add_row(*map(cell, (one.label, human_size(one.size), state, str(one.path))))
    _paint(table, stdout)


Places = Sequence[tuple[Target, Sequence[RemoteFile]]]
"""Files, and where they are to land."""


def plan_text(places: Places) -> str:
    """What would be fetched."""
    lines = [
        f"{_state(file, target):>10}  {human_size(file.size):>9}  {file.path}"
        for target, files in places
        for file in files
    ]
    total, root = sum(file.size for _, files in places for file in files), places[0][0].root
    free = free_space(root)
    room = f", {human_size(free)} are free there" if free is not None else ""
    roots = " and ".join(dict.fromkeys(str(target.root) for target, _ in places))
    lines.append(f"{human_size(total)} in all, into {roots}{room}")
    return "".join(safe_text(line) + "\n" for line in lines)


def _state(file: RemoteFile, target: Target) -> str:
    if existing(target, file):
        return "there"
    came = partial_size(target.partial(file)) if file.digest else 0
    return f"{came * 100 // max(file.size, 1)} % there" if came else "to fetch"


def free_space(folder: Path) -> int | None:
    """Free bytes where the folder is or will be; None when the system does not tell."""
    while not os.path.exists(folder) and folder != folder.parent:
        folder = folder.parent
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def start_command(model: Path, drafter: Path | None) -> str:
    """The command line that chats with it."""
    return shlex.join(["mtpchat", "-m", str(model), *(["-md", str(drafter)] if drafter else [])])


def start_lines(model: str, drafter: str, *, is_drafter: bool) -> str:
    """The two lines that end a transfer.

    Args:
        model / drafter: as one types them into a shell; no drafter is "".
    """
    if is_drafter:
        return f"Use it with its model:\n  mtpchat -m MODEL -md {model}\n"
    return f"Start it:\n  mtpchat -m {model}{f' -md {drafter}' if drafter else ''}\n"


def typed(path: Path) -> str:
    """A path as one types it into a shell, the home folder as "~"."""
    short = short_path(path)
    return f"~/{shlex.quote(short[2:])}" if short.startswith("~/") else shlex.quote(short)


def listing_object(listing: Listing, best: Offer | None, fits: Fits) -> dict[str, object]:
    """What --json prints of a repository."""
    return {
        "repo": listing.repo,
        "revision": listing.revision,
        "commit": listing.commit,
        "offers": [offer_object(one, fits(one)) for one in listing.offers],
        "drafters": [offer_object(one, None) for one in listing.drafters],
        "recommended": best.label if best else None,
        "left_out": list(listing.left_out),
    }


def offer_object(offer: Offer, fits: bool | None) -> dict[str, object]:
    """One quantisation or drafter."""
    return {
        "name": offer.label,
        "size": offer.size,
        "files": [{"path": file.path, "size": file.size, "digest": file.digest or None} for file in offer.files],
        "missing": list(offer.missing),
        "mtp_heads": offer.heads,
        "mtp_heads_known_by": offer.known_by if offer.heads is not None else None,
        "fits": fits,
    }


def plan_object(listing: Listing, places: Places) -> dict[str, object]:
    """What --dry-run --json prints."""
    rows = [(target, file) for target, files in places for file in files]
    root = places[0][0].root
    return {
        "repo": listing.repo,
        "commit": listing.commit,
        "files": [{"path": file.path, "size": file.size, "there": existing(target, file)} for target, file in rows],
        "size": sum(file.size for _, file in rows),
        "to": str(root),
        "free": free_space(root),
    }


def fetched_object(
    listing: Listing, fetched: Sequence[Fetched], model: Path, drafter: Path | None
) -> dict[str, object]:
    """What --json prints when it is there."""
    return {
        "repo": listing.repo,
        "commit": listing.commit,
        "model": str(model),
        "drafter": str(drafter) if drafter else None,
        "files": [{"path": str(one.path), "new": one.new, "verified": one.verified} for one in fetched],
        "command": start_command(model, drafter),
    }


def cached_object(repo: str, files: Sequence[CachedFile]) -> dict[str, object]:
    """What --json prints in offline mode."""
    rows = [{"name": one.label, "path": str(one.path), "size": one.size, "complete": one.whole} for one in files]
    return {"repo": repo, "offline": True, "cached": rows}


def _paint(table: Table, stdout: TextIO) -> None:
    with painting(stdout, most=0, in_pipes=WIDE_IN_PIPES) as console:
        console.print(table)
