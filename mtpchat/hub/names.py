"""What the names in a repository mean: which quantisation, which part, a drafter or not, and is it safe to write.

Names come from a server, so they are judged before anything on disk is touched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from mtpchat.errors import HubNotFound
from mtpchat.gguf.file_names import part_in, quantisation_in, without_part

_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_DRAFTER_FOLDER = re.compile(r"(?:^|/)(?:mtp|drafts?|drafters?|eagle3?)/", re.IGNORECASE)
_DRAFTER_NAME = re.compile(
    r"^(?:mtp|eagle3?|draft|dflash|dspark)[-_.]|[-_.](?:eagle3?|draft|drafter|dflash|dspark|assistant)(?![a-z0-9])",
    re.IGNORECASE,
)
_MTP = re.compile(r"(?<![a-z0-9])(?:mtp|nextn)(?![a-z0-9])", re.IGNORECASE)
_NO_MODEL = re.compile(r"mmproj|imatrix|^ggml-vocab|(?<![a-z0-9])lora(?![a-z0-9])", re.IGNORECASE)
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_MOST_PATH = 512
_MOST_NAME = 200
_MOST_PARTS = 1000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asked for.

    Attributes:
        repo: "owner/name".
        choice: a quantisation or file name; "" when none was named.
        revision: branch, tag or commit; "" for the usual one.
        endpoint: of the address that was pasted; "" when a plain name was given.
    """

    repo: str
    choice: str = ""
    revision: str = ""
    endpoint: str = ""


def parse_wanted(text: str) -> Wanted:
    """Understand `owner/name`, `owner/name:QUANT`, hf.co/... and the address of a page or file. Raises HubNotFound."""
    text = text.strip()
    if "://" in text or text.startswith(("hf.co/", "huggingface.co/")):
        return _from_address(text if "://" in text else f"https://{text}")
    repo, _, choice = text.partition(":")
    return Wanted(_repo(repo.strip("/")), choice.strip())


def _from_address(text: str) -> Wanted:
    try:
        address = urlsplit(text)
    except ValueError as error:
        raise HubNotFound(f"{text!r} is no address", hint=_EXAMPLE) from error
    path, _, choice = address.path.strip("/").partition(":")
    words = [unquote(word) for word in path.split("/")]  # a branch may hold a slash, written as %2F
    choice = unquote(choice)
    host = address.netloc.casefold()
    endpoint = (
        "" if host in ("hf.co", "huggingface.co", "www.huggingface.co") else f"{address.scheme}://{address.netloc}"
    )
    revision = ""
    if len(words) > 3 and words[2] in ("blob", "resolve", "tree"):
        revision, choice = words[3], choice or "/".join(words[4:])
    elif len(words) != 2:
        raise HubNotFound(f"{text!r} is no address of a repository", hint=_EXAMPLE)
    return Wanted(_repo("/".join(words[:2])), choice, checked_revision(revision) if revision else "", endpoint)


_EXAMPLE = (
    "A repository is written OWNER/NAME, as in mtpchat pull unsloth/Qwen3.5-9B-GGUF:Q4_K_M; hf.co/models finds others."
)


def _repo(text: str) -> str:
    if not _REPO.fullmatch(text) or ".." in text or "--" in text or text.endswith((".git", ".", "-")):
        raise HubNotFound(f"{text!r} is no name of a repository", hint=_EXAMPLE)
    return text


def checked_revision(text: str) -> str:
    """A branch, tag or commit as it may stand in a path. Raises HubNotFound."""
    if not _REVISION.fullmatch(text) or ".." in text or len(text) > _MOST_NAME or text.endswith(".lock"):
        raise HubNotFound(f"{text!r} is no name of a revision", hint="Leave --revision away for the newest state.")
    return text


def why_unsafe(path: str) -> str:
    """Why a file of that name must not be written below a folder of ours, or ""."""
    if not path or len(path) > _MOST_PATH:
        return "the name is empty or too long"
    if not path.isprintable():
        return "the name has control characters"
    if "\\" in path or ":" in path or path.startswith(("/", "~")):
        return "the name leads out of the folder"
    for word in path.split("/"):
        if word in ("", ".", "..") or word != word.strip() or word.endswith("."):
            return "the name leads out of the folder" if word == ".." else "the name is no plain path"
        if _RESERVED.fullmatch(word) or len(word.encode()) > _MOST_NAME:
            return "the name cannot be used on every system"
        if word.startswith("."):
            return "the name is that of a hidden file"
    if is_gguf(path) and not 1 <= part_of(path)[0] <= part_of(path)[1] <= _MOST_PARTS:
        return "the name is that of an impossible part"
    return ""


def is_gguf(path: str) -> bool:
    """Whether this is a model file by its name: GGUF, and no projector, matrix or adapter."""
    return path.casefold().endswith(".gguf") and not _NO_MODEL.search(PurePosixPath(path).name)


def stem_of(path: str) -> str:
    """The path without suffix and part number: the same for all parts of one model."""
    return without_part(path[: -len(".gguf")])


def part_of(path: str) -> tuple[int, int]:
    """Number of the part, from 1, and how many there are; (1, 1) for a model in one file."""
    return part_in(path[: -len(".gguf")]) or (1, 1)


def part_names(path: str) -> list[str]:
    """The names of all parts of the model of which `path` is one."""
    stem, count = stem_of(path), part_of(path)[1]
    if part_in(path[: -len(".gguf")]) is None:
        return [path]
    return [f"{stem}-{part:05d}-of-{count:05d}.gguf" for part in range(1, count + 1)]


def quantization_of(path: str) -> str:
    """The quantisation in a name, upper case, e.g. "UD-Q4_K_XL"; "" when it names none."""
    stem = stem_of(path)
    return quantisation_in(stem.rpartition("/")[2]) or quantisation_in(stem)


def names_drafter(path: str) -> bool:
    """Whether the name is one that drafters have: mtp-..., eagle3-..., ...-draft, or a folder MTP or draft."""
    name = stem_of(path).rpartition("/")[2]
    return bool(_DRAFTER_FOLDER.search(path) or _DRAFTER_NAME.search(name))


def names_heads(text: str) -> bool:
    """Whether a name says MTP; of a whole model that means heads inside, of a small file heads alone."""
    return bool(_MTP.search(text))
