"""What a repository has to offer: its GGUF files put together into quantisations and drafters."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal

from mtpchat.errors import HubError, HubNotFound
from mtpchat.gguf.cursor import quoted
from mtpchat.hub import names
from mtpchat.hub.peek import FileStart

PREFERRED = ("Q4_K_M", "UD-Q4_K_XL", "Q4_K_S", "IQ4_XS", "Q4_0", "Q5_K_M", "Q8_0", "MXFP4", "MXFP4_MOE")
_DRAFTER_ARCHITECTURES = frozenset({"eagle3", "dflash", "gemma4-assistant", "gemma4_assistant"})
_SMALL = 0.4
"""Share of the model's size below which a file called ...-MTP is heads alone, not a model that has them."""

Known = Literal["header", "name", "nothing"]


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file of a repository.

    Attributes:
        path: in the repository; safe to write.
        size: bytes.
        digest: SHA-256 of a large file, or git's SHA-1 of a small one, in hexadecimal; "" when the hub does not say.
    """

    path: str
    size: int
    digest: str = ""

    @property
    def name(self) -> str:
        """Without the folder."""
        return PurePosixPath(self.path).name


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be fetched: one file, or all parts of one.

    Attributes:
        label: what it is asked for by: the quantisation, or the name where that is not unique.
        missing: names of parts that the repository lacks.
        heads: whether prediction heads are included; None when nothing says so.
        known_by: where that comes from.
    """

    label: str
    files: tuple[RemoteFile, ...]
    missing: tuple[str, ...] = ()
    drafter: bool = False
    heads: bool | None = None
    known_by: Known = "nothing"

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def first(self) -> RemoteFile:
        """The file that is loaded."""
        return self.files[0]


@dataclass(frozen=True, slots=True)
class Listing:
    """A repository at one commit.

    Attributes:
        commit: 40 hexadecimal digits.
        offers: chat models, from small to large.
        drafters: what only guesses for another model.
        left_out: files that must not be written, with the reason.
    """

    repo: str
    revision: str
    commit: str
    offers: tuple[Offer, ...]
    drafters: tuple[Offer, ...] = ()
    left_out: tuple[str, ...] = ()


def arrange(repo: str, revision: str, commit: str, files: Iterable[RemoteFile]) -> Listing:
    """Put a repository's files together by their names. Raises HubNotFound when there is no GGUF among them."""
    safe: list[RemoteFile] = []
    left_out: list[str] = []
    others = 0
    for file in files:
        if not names.is_gguf(file.path):
            others += 1
        elif why := names.why_unsafe(file.path):
            left_out.append(f"{quoted(file.path)}: {why}")
        else:
            safe.append(file)
    if not safe:
        raise _nothing(repo, others, left_out)
    grouped = _grouped(safe)
    largest = max(offer.size for offer in grouped)
    named = [_by_name(repo, offer, largest) for offer in grouped]
    return _sorted(Listing(repo, revision, commit, tuple(named), (), tuple(left_out)))


def with_starts(listing: Listing, start_of: Callable[[RemoteFile], FileStart | None]) -> Listing:
    """The listing corrected by what the files say of themselves; None leaves what the name says."""
    known = [_by_start(offer, start_of(offer.first)) for offer in (*listing.offers, *listing.drafters)]
    return _sorted(replace(listing, offers=tuple(known), drafters=()))


def find(listing: Listing, choice: str) -> Offer:
    """The offer that `choice` means: label, file name or path, in any case.

    Raises HubNotFound naming the nearest, or those that could be meant; HubError when parts are missing.
    """
    wanted = choice.casefold()
    everything = (*listing.offers, *listing.drafters)
    whole = [one for one in everything if wanted in _whole_names(one)]
    exact = whole or [one for one in everything if wanted in _answers_to(one)]
    loose = exact or [one for one in listing.offers if names.quantization_of(one.first.path).casefold() == wanted]
    loose = loose or [one for one in everything if wanted in one.first.path.casefold()]
    if not loose:
        labels = [one.label for one in everything]
        close = difflib.get_close_matches(choice.upper(), labels, 1, 0.5)
        advice = f"Did you mean {listing.repo}:{close[0]}?" if close else f"There are: {', '.join(labels[:20])}"
        raise HubNotFound(f"{listing.repo} has no {choice!r}", hint=advice)
    if len(loose) > 1:
        labels = [one.label for one in loose]
        advice = f"One of: {', '.join(labels)}"
        raise HubNotFound(f"{choice!r} can mean {len(loose)} files of {listing.repo}", hint=advice)
    require_whole(listing, loose[0])
    return loose[0]


def require_whole(listing: Listing, offer: Offer) -> None:
    """Raise HubError when parts of it are missing in the repository."""
    if not offer.missing:
        return
    count = names.part_of(offer.first.path)[1]
    shown = ", ".join(PurePosixPath(name).name for name in offer.missing[:4])
    more = f" and {len(offer.missing) - 4} more" if len(offer.missing) > 4 else ""
    raise HubError(
        f"{offer.label} of {listing.repo} is not complete: of {count} parts {shown}{more} "
        f"{'is' if len(offer.missing) == 1 else 'are'} missing",
        hint="The upload may still be going on; try later, or choose another one.",
    )


def default(listing: Listing, fits: Callable[[Offer], bool | None]) -> Offer | None:
    """What most people want: Q4_K_M if it fits or nobody knows, else the largest that surely fits, or the smallest."""
    whole = [one for one in listing.offers if not one.missing]
    if not whole:
        return None
    for label in PREFERRED:
        for one in whole:
            if one.label == label and fits(one) is not False:
                return one
    fitting = [one for one in whole if fits(one)]  # of sizes that nobody can judge the smallest is the safe one
    return max(fitting, key=lambda one: one.size) if fitting else min(whole, key=lambda one: one.size)


def matching_drafters(listing: Listing, offer: Offer) -> tuple[Offer, ...]:
    """Drafters in a repository, the best first."""
    return best_drafters([one for one in listing.drafters if one is not offer])


def best_drafters(drafters: Iterable[Offer]) -> tuple[Offer, ...]:
    """Those that are whole, the most precise first: a coarse drafter guesses worse."""
    whole = [one for one in drafters if not one.missing]
    return tuple(sorted(whole, key=lambda one: (-_precision(one), one.size)))


def with_heads(listing: Listing, model: Offer) -> Offer | None:
    """The same quantisation with prediction heads; None when there is none, or nothing says that it has any."""
    same = [one for one in listing.offers if one.heads and not one.missing and one.label == model.label]
    return same[0] if same else None


def _precision(offer: Offer) -> int:
    """Eight bits are as good as sixteen for guessing, and smaller."""
    quant = names.quantization_of(offer.first.path)
    return 3 if quant == "Q8_0" else 2 if quant in ("BF16", "F16", "FP16") else 1


def _grouped(files: Sequence[RemoteFile]) -> list[Offer]:
    groups: dict[tuple[str, int], dict[str, RemoteFile]] = {}
    for file in files:
        groups.setdefault((names.stem_of(file.path), names.part_of(file.path)[1]), {})[file.path] = file
    offers: list[Offer] = []
    for group in groups.values():
        wanted = names.part_names(next(iter(group)))
        there = tuple(group[name] for name in wanted if name in group)
        if there:
            missing = tuple(name for name in wanted if name not in group)
            offers.append(Offer("", there, missing))
    return offers


def _long_label(offer: Offer) -> str:
    return names.stem_of(offer.first.path).rpartition("/")[2]


def _by_name(repo: str, offer: Offer, largest: int) -> Offer:
    path = offer.first.path
    says_heads = names.names_heads(path) or names.names_heads(repo)
    small = offer.size < largest * _SMALL
    drafter = names.names_drafter(path) or (names.names_heads(names.stem_of(path).rpartition("/")[2]) and small)
    offer = replace(offer, drafter=drafter)
    return replace(offer, heads=True, known_by="name") if says_heads and not drafter else offer


def _by_start(offer: Offer, start: FileStart | None) -> Offer:
    if start is None:
        return offer
    whole = names.part_of(offer.first.path)[1] == 1  # the first part of a split model may hold no tensors at all
    if start.architecture in _DRAFTER_ARCHITECTURES or (whole and start.heads_alone):
        return replace(offer, drafter=True, heads=None, known_by="nothing")
    if start.heads is None or (offer.drafter and not start.heads):
        return offer
    return replace(offer, drafter=False, heads=start.heads > 0, known_by="header")


def _sorted(listing: Listing) -> Listing:
    """From small to large, models and drafters apart, each with a label that is its own."""
    everything = sorted((*listing.offers, *listing.drafters), key=lambda one: (one.size, one.first.path))
    short = Counter(names.quantization_of(one.first.path) for one in everything if not one.drafter)
    long = Counter(_long_label(one) for one in everything)

    def label(one: Offer) -> str:
        quant = names.quantization_of(one.first.path)
        if quant and not one.drafter and short[quant] == 1:
            return quant
        return _long_label(one) if long[_long_label(one)] == 1 else names.stem_of(one.first.path)

    labelled = [replace(one, label=label(one)) for one in everything]
    return replace(
        listing,
        offers=tuple(one for one in labelled if not one.drafter),
        drafters=tuple(one for one in labelled if one.drafter),
    )


def _whole_names(offer: Offer) -> set[str]:
    """Names that no other offer has."""
    path = offer.first.path
    return {word.casefold() for word in (offer.label, path, names.stem_of(path))}


def _answers_to(offer: Offer) -> set[str]:
    return {offer.first.name.casefold(), _long_label(offer).casefold()}


def _nothing(repo: str, others: int, left_out: Sequence[str]) -> HubNotFound:
    if left_out:
        return HubNotFound(
            f"{repo} has no GGUF file with a name that may be written here ({left_out[0]})",
            hint="Do not trust this repository.",
        )
    what = f"{others} files, but no GGUF among them" if others else "no files"
    return HubNotFound(
        f"{repo} has {what}",
        hint="Look for a repository of the same model with GGUF in its name, e.g. on hf.co/models.",
    )
