"""Asks a hub: what a repository holds, what has a similar name, and for the bytes of a file.

Connections, proxies, certificates and headers are huggingface_hub's. Its own `hf_hub_download` is not used: since
version 1 it throws away what has come when a transfer breaks, and a model of 20 GB must not begin anew. Answers are
believed as little as files: their size is bounded, and every name and number is checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from mtpchat import __version__
from mtpchat.errors import HubError, HubUnreachable
from mtpchat.hub.access import HUGGING_FACE, Access
from mtpchat.hub.listing import Listing, RemoteFile, arrange
from mtpchat.hub.patience import Patience, never_cancelled, patiently
from mtpchat.hub.peek import PREFIX, FileStart, read_start
from mtpchat.hub.refusals import refusal, transport_error

if TYPE_CHECKING:
    import threading

    import httpx2

MOST_JSON = 64 << 20
"""Bytes of one answer of the API; repositories with ten thousand files take a few million."""
_MOST_PAGES = 100
_MOST_SIMILAR = 8
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect, and without a byte."""

    connect: float = 10.0
    read: float = 20.0


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of a file from some place on.

    Attributes:
        start: where they begin: 0 when the server does not do ranges.
        total: size of the whole file, when the server says so.
        pieces: what comes.
    """

    start: int
    total: int | None
    pieces: Iterator[bytes]


class HubClient:
    """One hub. Methods may be called from several threads.

    Args:
        patience: how often and after how long what failed is tried again.
        cancelled: set to stop waiting.
    """

    def __init__(
        self,
        access: Access,
        *,
        patience: Patience | None = None,
        timeouts: Timeouts | None = None,
        cancelled: threading.Event | None = None,
    ) -> None:
        if access.offline:
            raise HubUnreachable("This is offline mode: nothing is asked and nothing is fetched", hint=_ONLINE)
        self.access = access
        self.patience = patience or Patience()
        # a question that nobody answers is told soon: nothing would be lost yet
        self._brief = replace(self.patience, tries=min(self.patience.tries, 3))
        self._timeouts = timeouts or Timeouts()
        self._cancelled = cancelled or never_cancelled()

    def listing(self, repo: str, revision: str = "") -> Listing:
        """What a repository holds at its newest commit, or that of a revision.

        Raises:
            HubNotFound, HubDenied, HubUnreachable: as the hub says.
            HubError: it answers, but not as a hub does.
        """
        path = f"/api/models/{repo}/revision/{quote(revision or 'main', safe='')}"
        data = _mapping(self._json(path, repo, {"blobs": "true"}))
        commit = data.get("sha")
        if not isinstance(commit, str) or len(commit) != 40 or not set(commit) <= _HEX:
            raise _foreign(self.access.endpoint)
        siblings = data.get("siblings")
        files = _files(siblings, "rfilename") if isinstance(siblings, list) else None
        if files is None:
            files = self._tree(repo, commit)
        return arrange(repo, revision or "main", commit, files)

    def similar(self, repo: str) -> list[str]:
        """Repositories with a name like that one; [] when the hub cannot tell."""
        name = repo.partition("/")[2].removesuffix("-GGUF").removesuffix("-gguf")
        for words in (name, name.rpartition("-")[0]):
            found = self.search(words) if words else []
            if found:
                return found
        return []

    def search(self, words: str) -> list[str]:
        """Names of repositories with GGUF files in which `words` occur, most fetched first; [] on any trouble."""
        asked = {"search": words, "filter": "gguf", "sort": "downloads", "direction": "-1", "limit": str(_MOST_SIMILAR)}
        try:
            rows = self._json_once("/api/models", "", asked)
        except HubError:
            return []  # a suggestion is a courtesy; its failure is no news
        ids = [row.get("id") or row.get("modelId") for row in rows if isinstance(row, dict)] if _is_list(rows) else []
        return [one for one in ids if isinstance(one, str) and len(one) < 200 and one.isprintable()][:_MOST_SIMILAR]

    def start_of(self, listing: Listing, file: RemoteFile) -> FileStart | None:
        """What the first bytes of a file say; None when they cannot be had or understood."""
        data = bytearray()
        try:
            with self.body(listing, file, 0, PREFIX) as body:
                for piece in body.pieces:
                    data += piece
                    if len(data) >= PREFIX:
                        break
        except HubError:
            return None  # the name has to do
        return read_start(bytes(data[:PREFIX]), file.name)

    @contextmanager
    def body(self, listing: Listing, file: RemoteFile, start: int, count: int | None = None) -> Iterator[Body]:
        """The bytes of a file from `start` on, `count` of them or all.

        Raises HubError; while pieces are taken, too.
        """
        end = "" if count is None else str(start + count - 1)
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-{end}"} if start or end else {})
        url = f"{self.access.endpoint}/{listing.repo}/resolve/{listing.commit}/{quote(file.path)}"
        with self._stream(url, headers) as response:
            if response.status_code == 416:
                raise HubError(f"{file.name} is shorter on the hub than its list says", hint=_LIST_AGAIN)
            self._require(response, listing.repo, file.name)
            if response.headers.get("Content-Type", "").startswith("text/html"):
                raise HubError(f"A web page came instead of {file.name}", hint=_IN_BETWEEN)
            yield _body(response, start)

    def digest_of(self, listing: Listing, file: RemoteFile) -> RemoteFile:
        """The file with the digest that the hub's download answers name, for hubs whose lists have none."""
        if file.digest:
            return file
        told = patiently(self._brief, self._cancelled, lambda: self._etag(listing, file))
        return RemoteFile(file.path, file.size, _digest(told.removeprefix("W/").strip('"')))

    def _etag(self, listing: Listing, file: RemoteFile) -> str:
        url = f"{self.access.endpoint}/{listing.repo}/resolve/{listing.commit}/{quote(file.path)}"
        with self._stream(url, {"Accept-Encoding": "identity"}, method="HEAD", follow=False) as response:
            if response.status_code // 100 != 3:
                self._require(response, listing.repo, file.name)
            return response.headers.get("X-Linked-Etag") or response.headers.get("ETag") or ""

    def _tree(self, repo: str, commit: str) -> list[RemoteFile]:
        """The files one by one, for hubs whose answer about a repository has no sizes."""
        path: str = f"/api/models/{repo}/tree/{commit}"
        asked: dict[str, str] | None = {"recursive": "true", "expand": "false"}
        files: list[RemoteFile] = []
        for _ in range(_MOST_PAGES):
            rows, after = patiently(self._brief, self._cancelled, partial(self._page, path, repo, asked))
            found = _files(rows, "path") if _is_list(rows) else None
            if found is None:
                raise _foreign(self.access.endpoint)
            files += found
            if not after:
                return files
            path, asked = after, None
        raise HubError(f"{repo} has more files than any repository of models", hint="Fetch the file by other means.")

    def _json(self, path: str, repo: str, asked: Mapping[str, str]) -> object:
        return patiently(self._brief, self._cancelled, lambda: self._json_once(path, repo, asked))

    def _json_once(self, path: str, repo: str, asked: Mapping[str, str]) -> Any:
        return self._page(path, repo, asked)[0]

    def _page(self, path: str, repo: str, asked: Mapping[str, str] | None) -> tuple[Any, str]:
        """An answer of the API, and where the next page is, "" for none."""
        base = self.access.endpoint
        with self._stream(base + path, {"Accept": "application/json"}, asked=asked) as response:
            self._require(response, repo, "")
            text = _bounded(response, MOST_JSON, base)
            following = response.links.get("next", {}).get("url", "")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _foreign(base) from error
        return value, _same_hub(base, urljoin(base + path, following)) if following else ""

    @contextmanager
    def _stream(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        asked: Mapping[str, str] | None = None,
        method: str = "GET",
        follow: bool = True,
    ) -> Iterator[httpx2.Response]:
        """A request of huggingface_hub's client, with its failures as errors of ours."""
        try:
            import httpx2
            from huggingface_hub import get_session
            from huggingface_hub.errors import OfflineModeIsEnabled
            from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # documented there
        except ImportError as error:
            raise HubError("huggingface_hub is not installed", hint=_INSTALL) from error
        limits = httpx2.Timeout(self._timeouts.read, connect=self._timeouts.connect)
        token: str | bool = self.access.token or False
        all_headers = build_hf_headers(token=token, library_name="mtpchat", library_version=__version__)
        all_headers |= headers
        try:
            with get_session().stream(
                method, url, params=asked, headers=all_headers, timeout=limits, follow_redirects=follow
            ) as response:
                yield response
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise transport_error(error, self.access.endpoint) from error
        except OfflineModeIsEnabled as error:
            raise HubUnreachable("huggingface_hub is in offline mode", hint=_ONLINE) from error

    def _require(self, response: httpx2.Response, repo: str, file: str) -> None:
        if response.status_code // 100 != 2:
            raise refusal(response.status_code, response.headers, self.access, repo, file)


_LIST_AGAIN = "The repository may just have changed: list it again."
_ELSEWHERE = "If that goes on, name a folder with --to DIR: there the file begins anew."
_IN_BETWEEN = (
    "Something answers in place of the hub, such as a login page of the network or a proxy. What has come is kept."
)
_ONLINE = "Leave --offline away, or unset HF_HUB_OFFLINE."
_INSTALL = "pip install huggingface_hub, or install mtpchat again."


def _body(response: httpx2.Response, start: int) -> Body:
    length = _number(response.headers.get("Content-Length"))
    pieces = response.iter_raw()  # as it comes: pieces that were put together first would be lost when it breaks
    if response.status_code != 206:
        return Body(0, length, pieces)
    unit, _, span = response.headers.get("Content-Range", "").partition(" ")
    first, total = span.partition("-")[0], span.rpartition("/")[2]
    if unit != "bytes" or _number(first) != start:
        raise HubUnreachable("The hub sends another part of the file than was asked for", hint=_ELSEWHERE)
    return Body(start, _number(total), pieces)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 20 else None


def _bounded(response: httpx2.Response, most: int, endpoint: str) -> bytes:
    data = bytearray()
    for piece in response.iter_bytes():
        data += piece
        if len(data) > most:
            raise _foreign(endpoint)
    return bytes(data)


def _files(rows: list[Any], key: str) -> list[RemoteFile] | None:
    """Files of a list of the API; None when sizes are missing."""
    files: list[RemoteFile] = []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get(key), str):
            return None
        if row.get("type", "file") != "file":
            continue
        lfs = _mapping(row.get("lfs"))
        size = lfs.get("size", row.get("size"))
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 50:
            return None
        told = lfs.get("sha256") or lfs.get("oid") or row.get("blobId") or (row.get("oid") if not lfs else "")
        files.append(RemoteFile(row[key], size, _digest(told)))
    return files


def _digest(told: object) -> str:
    """SHA-256 or git's SHA-1 in hexadecimal, or "" for anything else: it becomes the name of a file."""
    text = told.removeprefix("sha256:").casefold() if isinstance(told, str) else ""
    return text if len(text) in (40, 64) and set(text) <= _HEX else ""


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _same_hub(base: str, url: str) -> str:
    """The rest of `url` behind `base`; another host would get the token. Raises HubError."""
    if urlsplit(url)[:2] != urlsplit(base)[:2] or not url.startswith(base):
        raise _foreign(base)
    return url[len(base) :]


def _foreign(endpoint: str) -> HubError:
    mirror = "Check --endpoint and HF_ENDPOINT; a mirror must offer the API of huggingface.co."
    return HubError(
        f"{endpoint} answers, but not as a Hugging Face hub does",
        hint=_IN_BETWEEN if endpoint == HUGGING_FACE else mirror,
    )
