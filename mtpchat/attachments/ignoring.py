"""What .gitignore names, in the folder itself, in those above it up to the repository, and in those below.

The files are other people's: patterns that a regular expression could be kept busy with for hours are passed over.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtpchat.text_file import UnreadableText, read_text

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MOST_LINES = 2_000
_LONGEST_LINE = 300
_MOST_STARS = 4
"""Stars in a line, and `**` for whole folders: each one more multiplies the ways in which a path can be matched."""
_WHOLE_FOLDERS = re.compile(r"(?:^!?|/)\*\*(?=/|\s*$)")


@dataclass(frozen=True)
class _Rules:
    """One file of rules. `base` is its folder's path, seen from the folder that is walked: "" or "src/"."""

    spec: GitIgnoreSpec
    base: str

    def says(self, path: str) -> bool | None:
        """True leaves it out, False keeps it although rules above leave it out, None: nothing about it."""
        return self.spec.check_file(path.removeprefix(self.base)).include


class Ignoring:
    """The rules that hold in one folder, the nearest last."""

    def __init__(self, rules: tuple[_Rules, ...] = ()) -> None:
        self._rules = rules

    @classmethod
    def above(cls, root: Path) -> Ignoring:
        """Rules of the folders above `root`, when they belong to one repository, and of that repository itself."""
        root = root.absolute()
        repository = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
        if repository is None:
            return cls()
        files = [(repository, repository / ".git" / "info" / "exclude")]
        files += [(folder, folder / ".gitignore") for folder in reversed(root.parents) if _is_in(folder, repository)]
        specs = [(folder, _read(file)) for folder, file in files]
        rules = tuple(_Above(spec, "", root.relative_to(folder).as_posix()) for folder, spec in specs if spec)
        # Whoever works in a folder that is left out as a whole wants to see what is in it.
        return cls() if cls(rules).leaves_out("") else cls(rules)

    def within(self, folder: Path, base: str) -> Ignoring:
        """The rules in a folder below, its own included."""
        spec = _read(folder / ".gitignore")
        return self if spec is None else Ignoring((*self._rules, _Rules(spec, base)))

    def leaves_out(self, path: str) -> bool:
        """Whether a path, relative to the folder that is walked, is left out; that of a folder ends in /."""
        for rules in reversed(self._rules):
            verdict = rules.says(path)
            if verdict is not None:
                return verdict
        return False


@dataclass(frozen=True)
class _Above(_Rules):
    """Rules of a folder above the one that is walked, which they know as `below`."""

    below: str

    def says(self, path: str) -> bool | None:
        return self.spec.check_file(path if self.below == "." else f"{self.below}/{path}").include


def _is_in(folder: Path, repository: Path) -> bool:
    return folder == repository or repository in folder.parents


def _read(file: Path) -> GitIgnoreSpec | None:
    try:
        text = read_text(file)
    except (OSError, UnreadableText):
        return None  # none, or none that could be read: nothing is left out
    lines = [line for line in text.splitlines()[:_MOST_LINES] if _is_harmless(line)]
    if not any(line.strip() and not line.startswith("#") for line in lines):
        return None
    from pathspec import GitIgnoreSpec

    # What a shell pattern says may be doubtful as a regular expression; the warnings would land on the screen.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GitIgnoreSpec.from_lines(lines if _is_spec(lines) else [line for line in lines if _is_spec([line])])


def _is_spec(lines: list[str]) -> bool:
    """Whether all are patterns: git passes over a line that is none, and so do we."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        return False
    return True


def _is_harmless(line: str) -> bool:
    folders = len(_WHOLE_FOLDERS.findall(line))
    return len(line) <= _LONGEST_LINE and max(folders, line.count("*") - 2 * folders) <= _MOST_STARS
