"""What names and places say about whether two files belong together: evidence, to be checked against their contents."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path

from mtpchat.gguf.file_names import without_quantisation
from mtpchat.shelf.finding import stem

DRAFTER_FOLDERS = frozenset(
    {
        "mtp",
        "nextn",
        "heads",
        "eagle",
        "eagle3",
        "eagle-3",
        "draft",
        "drafts",
        "drafter",
        "drafters",
        "draft-model",
        "assistant",
        "speculative",
        "spec",
    }
)
"""Folders beside a model in which its drafters are put."""

_MARKS = frozenset(
    {
        "mtp",
        "nextn",
        "eagle",
        "eagle3",
        "dflash",
        "dspark",
        "draft",
        "drafter",
        "assistant",
        "head",
        "heads",
        "spec",
        "speculator",
    }
)
_DRAFTS = frozenset({"draft", "drafts", "drafter", "drafters", "draft-model", "speculator"})
_FILLERS = frozenset({"ud", "i1", "gguf", "imatrix", "imat", "fp16", "only", "trunk"})
"""Words about how a file was made."""
_BETWEEN = re.compile(r"[-_. ]+")


class Evidence(IntEnum):
    """Why a file is thought to be a drafter of a model, the best reason first."""

    NAMED = 0
    FOLDER = 1
    REPO = 2
    KIN = 3
    NONE = 4


def words_of(name: str) -> tuple[str, ...]:
    """The words of a file's or repository's name in lower case, without quantisation and endings."""
    plain = without_quantisation(name).casefold().replace("eagle-3", "eagle3")
    return tuple(word for word in _BETWEEN.split(plain) if word and word not in _FILLERS)


def is_marked(path: Path) -> bool:
    """Whether a name, or the folder that it lies in, says that a file is a drafter or has to do with one."""
    return bool(_MARKS & set(words_of(stem(path)))) or path.parent.name.casefold() in DRAFTER_FOLDERS


def is_draft_model(path: Path) -> bool:
    """Whether a name or folder says that a chat model is meant to draft; X-MTP is a model with heads inside."""
    return bool(_DRAFTS & {*words_of(stem(path)), path.parent.name.casefold()})


def kin_name(name: str) -> tuple[str, ...]:
    """A name without the words that tell a drafter from its model."""
    return tuple(word for word in words_of(name) if word not in _MARKS)


def is_named_for(main: Path, drafter: Path) -> bool:
    """Whether a drafter's name is that of the model with a mark: mtp-X for X, X-draft, eagle3-X."""
    own, wanted = kin_name(stem(drafter)), kin_name(stem(main))
    if not is_marked(drafter) or not wanted:
        return False
    return own == wanted or ("draft" in words_of(stem(drafter)) and own[: len(wanted)] == wanted)


def same_folder(main: Path, drafter: Path) -> bool:
    """Whether a drafter lies beside a model, or in a folder for drafters beside it.

    A model may lie one folder deeper, in one that is named for its quantisation.
    """
    here, there = main.parent, drafter.parent
    if here == there:
        return True
    is_special = there.name.casefold() in DRAFTER_FOLDERS
    return is_special and there.parent in ((here, here.parent) if not words_of(here.name) else (here,))


def kin_repos(one: str, other: str) -> bool:
    """Whether two repositories are those of a model and its drafter: org/X-GGUF and other/X-MTP-GGUF."""
    first, second = (kin_name(name.rpartition("/")[2]) for name in (one, other))
    return bool(first) and first == second


def evidence_for(main: Path, drafter: Path, main_repo: str, repo: str, bases: tuple[set[str], set[str]]) -> Evidence:
    """The best reason to think that a file drafts for a model.

    Args:
        main_repo / repo: "org/name" where it is known, else "".
        bases: names of the models that each was made from.
    """
    strangers = repo and main_repo and repo != main_repo  # some caches keep all repositories in one folder
    if same_folder(main, drafter) and not strangers:
        return Evidence.NAMED if is_named_for(main, drafter) else Evidence.FOLDER
    if repo and repo == main_repo:
        return Evidence.REPO
    if (repo and main_repo and kin_repos(repo, main_repo)) or is_named_for(main, drafter) or bases[0] & bases[1]:
        return Evidence.KIN
    return Evidence.NONE
