"""Words that seem to name a file where none is: what to say about them, and which file may have been meant.

Most words with an @ are no files: decorators, people, packages. So a word counts as a path only where its ending or the
folder in front of it says so, and never in a block of code.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches

from mtpchat.attachments.mentions import KindOf, Mention, Place, kind_of, words_with_at
from mtpchat.attachments.walk import Listing, list_folder, walk

_CODE = re.compile(r"^ *(`{3,}|~{3,})[^\n]*\n.*?(?:^ *\1|\Z)", re.MULTILINE | re.DOTALL)
_ENDS = re.compile(
    r"\.(?:py|pyi|ipynb|js|mjs|cjs|jsx|ts|tsx|vue|css|scss|html?|xml|svg|jsonl?|ya?ml|toml|ini|cfg|conf|lock|md|rst|txt|tex"
    r"|csv|tsv|log|diff|patch|sh|bash|zsh|fish|ps1|sql|go|rs|rb|php|java|kt|swift|scala|c|cc|cpp|cxx|h|hh|hpp|m|cs|lua|pl"
    r"|r|jl|hs|ml|ex|exs|erl|clj|dart|zig|nim|proto|cmake|gradle|pdf|gbnf)$",
    re.IGNORECASE,
)
_PATH = re.compile(r"[\w./~+@ -]*\w[\w./~+@ -]*")
_LINES = re.compile(r"(?:[:#]L?\d[\dL:.,-]*)$")
_OUTSIDE = ("/", "~", "..")
_MOST_TOLD = 3
_ALIKE = 0.66
_WALK_S = 1.0
_STALE_S = 10.0
_MOST_SEEN = 50


@dataclass(frozen=True, slots=True)
class Missing:
    """A word that stays text although it looks like a file.

    Attributes:
        what: what is wrong: "no file src/sed.py".
        advice: what helps, as in "did you mean seed.py?", or "".
    """

    what: str
    advice: str = ""

    @property
    def sentence(self) -> str:
        """All of it on one line, without a full stop."""
        return f"{self.what}: stays text{f'; {self.advice}' if self.advice else ''}"


def missing_files(
    text: str,
    found: Sequence[Mention],
    place: Place,
    listing: Callable[[str], Listing],
    kind: KindOf = kind_of,
    *,
    typing: bool = False,
) -> list[Missing]:
    """Words of `text` that look like files and stay text, a few at most.

    Args:
        found: the files that it names.
        listing: what is in a folder, "" for everything below the one where paths start.
        typing: the word at the very end may still go on.
    """
    known = {one.start for one in found}
    told: dict[str, Missing] = {}
    for start, end, typed in _outside_of_code(text):
        if start in known or typed in told or len(told) == _MOST_TOLD:
            continue
        begun = typing and not re.search(r"\s", text[end:])
        one = _judged(typed, place, listing, kind, quoted=text[start - 1 : start] in ("'", '"'), begun=begun)
        if one is not None:
            told[typed] = one
    return list(told.values())


class Folders:
    """Looks into folders of the disk as `missing_files` asks for them; what was seen is good for some seconds."""

    def __init__(self, place: Place, clock: Callable[[], float] = time.monotonic) -> None:
        self._place = place
        self._clock = clock
        self._seen: dict[str, tuple[float, Listing]] = {}

    def __call__(self, folder: str) -> Listing:
        """What is in a folder, "" for everything below the one where paths start."""
        at, listing = self._seen.get(folder, (float("-inf"), Listing()))
        if self._clock() - at > _STALE_S:
            path = self._place.path(folder) if folder else None
            listing = list_folder(path) if path is not None else Listing()
            if not folder:
                listing = walk(self._place.folder, most_s=_WALK_S)
            self._seen = {**self._seen, folder: (self._clock(), listing)} if len(self._seen) < _MOST_SEEN else {}
        return listing


def meant(typed: str, listing: Callable[[str], Listing]) -> str:
    """The path of a file or folder that is there and most like the one that was typed, or ""."""
    head, slash, name = typed.rstrip("/").rpartition("/")
    outside = typed.startswith(_OUTSIDE)
    before = head + slash if outside else ""
    paths: dict[str, list[str]] = {}
    for one in listing(before).entries:
        paths.setdefault(one.path.rstrip("/").rpartition("/")[2].casefold(), []).append(before + one.path)
    wanted = name.casefold()
    alike = [wanted] if wanted in paths else get_close_matches(wanted, paths, 3, _ALIKE)
    near = [path for one in alike for path in paths[one]]
    return max(near, key=lambda path: SequenceMatcher(None, typed, path).ratio(), default="")


def _outside_of_code(text: str) -> Iterator[tuple[int, int, str]]:
    code = [match.span() for match in _CODE.finditer(text)]
    for start, end, typed in words_with_at(text):
        if not any(first <= start < last for first, last in code):
            yield start, end, typed


def _judged(
    typed: str, place: Place, listing: Callable[[str], Listing], kind: KindOf, *, quoted: bool, begun: bool
) -> Missing | None:
    """What to say about one word that names no file, or None."""
    path = _LINES.sub("", typed)
    where = place.path(path) if _PATH.fullmatch(path) else None
    if where is None:
        return None
    there = kind(where)
    if there is not None:
        return None if begun else _there(path, typed, there)
    is_path = _looks_like_a_file(path, place, kind, quoted)
    if begun and (not is_path or not _ENDS.search(path) or _goes_on(path, listing)):
        return None
    near = meant(path, listing) if is_path or path.endswith("/") else ""
    if not is_path and not near.endswith("/"):
        return None
    same_folder = near.rstrip("/").rpartition("/")[0] == path.rstrip("/").rpartition("/")[0]
    name = near.rstrip("/").rpartition("/")[2] + ("/" if near.endswith("/") else "")
    which = "folder" if path.endswith("/") else "file"
    return Missing(f"no {which} {path}", f"did you mean {name if same_folder else near}?" if near else "")


def _there(path: str, typed: str, kind: str) -> Missing | None:
    if kind == "folder":
        return Missing(f"{path} is a folder", f"@{path}/ takes its files") if typed == path else None
    if typed == path:  # a file with a / at its end
        return Missing(f"{path} is no folder", f"@{path.rstrip('/')} is the file")
    return Missing(f"no file {typed}", f"lines are named as in {path}:10-40")


def _looks_like_a_file(path: str, place: Place, kind: KindOf, quoted: bool) -> bool:
    """Whether its spelling, or a folder that is there, says that a path is meant. In quotes it may be a package's."""
    first, slash, _ = path.lstrip("/").partition("/")
    if slash and (path.startswith(("./", "../", "~/")) or _is_folder(path, first, place, kind)):
        return True
    return not quoted and not path.startswith("/") and _ENDS.search(path) is not None


def _is_folder(path: str, first: str, place: Place, kind: KindOf) -> bool:
    top = place.path(f"/{first}" if path.startswith("/") else first)
    return top is not None and kind(top) == "folder"


def _goes_on(path: str, listing: Callable[[str], Listing]) -> bool:
    """Whether something is there that begins so."""
    before = path[: path.rfind("/") + 1] if path.startswith(_OUTSIDE) else ""
    rest = path[len(before) :].casefold()
    names = (one.path.casefold() for one in listing(before).entries)
    return any(one.startswith(rest) or one.rpartition("/")[2].startswith(rest) for one in names)
