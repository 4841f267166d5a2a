"""A hub on loopback: the part of Hugging Face's API that fetching uses, with every fault that a test asks for."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Repo:
    """Files by path, as bytes."""

    files: dict[str, bytes] = field(default_factory=dict)
    commit: str = COMMIT
    gated: bool = False
    private: bool = False


@dataclass
class Faults:
    """What goes wrong, each as often as it says.

    Attributes:
        break_after: bytes after which a connection is cut; one entry for each of the next downloads.
        statuses: answers to the next requests of the API or of files, instead of the right ones.
        retry_after: header of those answers.
        corrupt: paths that are sent with other bytes.
        wrong_sizes: paths that the list gives another size.
        no_ranges: ranges are ignored.
        no_digests: the lists name no checksums.
        no_sizes: the answer about a repository has no sizes.
        stall: paths whose download sends one half and then waits for `go`.
        no_hub, raw: a web page, or these bytes, whatever is asked for.
        other_host: files come by a redirect to this other server.
    """

    break_after: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    retry_after: str = ""
    corrupt: set[str] = field(default_factory=set)
    wrong_sizes: dict[str, int] = field(default_factory=dict)
    no_ranges: bool = False
    no_digests: bool = False
    no_sizes: bool = False
    stall: set[str] = field(default_factory=set)
    go: threading.Event = field(default_factory=threading.Event)
    other_host: str = ""
    no_hub: bool = False
    raw: bytes = b""


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]


class FakeHub(ThreadingHTTPServer):
    """The server; `repos` and `faults` may be changed at any time."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repos: dict[str, Repo] = {}
        self.faults = Faults()
        self.requests: list[Request] = []
        self.stalled = threading.Event()
        self.token = ""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def downloads(self, path: str) -> list[str]:
        """The Range headers of all downloads of a file so far; "" for the whole."""
        return [
            one.headers.get("range", "")
            for one in self.requests
            if one.method == "GET" and one.path.endswith(f"/{path}") and one.path.startswith("/cdn/")
        ]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what many tests are about."""


@contextmanager
def running_hub() -> Iterator[FakeHub]:
    """A hub that answers until the end of the block."""
    hub = FakeHub()
    thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.faults.go.set()
        hub.shutdown()
        hub.server_close()
        thread.join()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeHub

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        address = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        headers = {key.casefold(): value for key, value in self.headers.items()}
        self.server.requests.append(Request(self.command, unquote(address.path), query, headers))
        faults = self.server.faults
        if address.path == "/api/agent-harnesses":  # asked by the library itself, once a day; no fault is spent on it
            self._send(404, b"{}", {})
            return
        if faults.raw:
            self._send(200, faults.raw, {"Content-Type": "application/json"})
            return
        if faults.no_hub:
            self._send(200, b"<html>Welcome</html>", {"Content-Type": "text/html"})
            return
        if faults.statuses:
            status = faults.statuses.pop(0)
            if status != 200:
                self._send(status, b"{}", {"Retry-After": faults.retry_after} if faults.retry_after else {})
                return
        words = unquote(address.path).strip("/").split("/")
        if words == ["api", "models"]:
            self._search(query)
        elif words[:2] == ["api", "models"]:
            self._about("/".join(words[2:4]), words[4:])
        elif words[0] == "cdn":
            self._file("/".join(words[1:3]), "/".join(words[3:]))
        else:
            self._resolve("/".join(words[:2]), words[3], "/".join(words[4:]))

    def _search(self, query: dict[str, str]) -> None:
        wanted = query.get("search", "").casefold()
        self._json([{"id": name} for name in self.server.repos if wanted in name.casefold()])

    def _allowed(self, name: str) -> Repo | None:
        """The repository, if whoever asks may know of it."""
        repo = self.server.repos.get(name)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token and token != self.server.token:
            self._refuse(401, "", "Invalid credentials in Authorization header")
            return None
        if repo is None or (repo.private and not token):
            self._refuse(*((404, "RepoNotFound", "") if token else (401, "RepoNotFound", "")))
            return None
        if repo.gated and not token:
            self._refuse(401, "GatedRepo", "Access to model is restricted.")
            return None
        return repo

    def _about(self, name: str, rest: list[str]) -> None:
        repo = self._allowed(name)
        if repo is None:
            return
        if rest[:1] == ["revision"]:
            if rest[1] not in ("main", repo.commit):
                self._refuse(404, "RevisionNotFound", "")
                return
            self._json({"id": name, "sha": repo.commit, "siblings": self._siblings(repo)})
        else:
            self._json([self._row(repo, path, "path") for path in repo.files])

    def _siblings(self, repo: Repo) -> list[dict[str, object]]:
        if self.server.faults.no_sizes:
            return [{"rfilename": path} for path in repo.files]
        return [self._row(repo, path, "rfilename") for path in repo.files]

    def _row(self, repo: Repo, path: str, key: str) -> dict[str, object]:
        data = repo.files[path]
        size = self.server.faults.wrong_sizes.get(path, len(data))
        row: dict[str, object] = {key: path, "type": "file", "size": size, "oid": "0" * 40}
        if not self.server.faults.no_digests:
            row["lfs"] = {"size": size, "sha256": sha256(data), "oid": sha256(data), "pointerSize": 130}
        return row | ({"oid": "", "blobId": ""} if self.server.faults.no_digests else {})

    def _resolve(self, name: str, revision: str, path: str) -> None:
        repo = self._allowed(name)
        if repo is None:
            return
        if path not in repo.files or revision not in ("main", repo.commit):
            self._refuse(404, "EntryNotFound", "")
            return
        host = self.server.faults.other_host or self.server.endpoint
        headers = {
            "Location": f"{host}/cdn/{name}/{path}",
            "X-Repo-Commit": repo.commit,
            "X-Linked-Size": str(len(repo.files[path])),
            "X-Linked-Etag": f'"{sha256(repo.files[path])}"',
        }
        self._send(302, b"", headers)

    def _file(self, name: str, path: str) -> None:
        faults = self.server.faults
        data = self.server.repos[name].files[path]
        if path in faults.corrupt:
            data = data[:-1] + bytes([data[-1] ^ 1])
        whole, headers, status = len(data), {"Accept-Ranges": "bytes"}, 200
        span = self.headers.get("Range", "")
        if span and not faults.no_ranges:
            first, _, last = span.removeprefix("bytes=").partition("-")
            start, end = int(first), min(int(last or whole - 1), whole - 1)
            if start >= whole:
                self._send(416, b"", {})
                return
            data, status = data[start : end + 1], 206
            headers["Content-Range"] = f"bytes {start}-{end}/{whole}"
        self._send_file(status, data, headers, stall=path in faults.stall)

    def _send_file(self, status: int, data: bytes, headers: dict[str, str], *, stall: bool) -> None:
        self._head(status, len(data), headers)
        faults = self.server.faults
        if stall:
            self._write(data[: len(data) // 2])
            self.server.stalled.set()
            faults.go.wait(30)
            data = data[len(data) // 2 :]
        if faults.break_after:
            cut = faults.break_after.pop(0)
            if cut < len(data):
                self._write(data[:cut])
                self.close_connection = True
                return
        self._write(data)

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def _refuse(self, status: int, code: str, message: str) -> None:
        headers = {name: text for name, text in (("X-Error-Code", code), ("X-Error-Message", message)) if text}
        self._send(status, b'{"error": "no"}', headers)

    def _json(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self._head(status, len(data), headers)
        if self.command != "HEAD":
            self._write(data)

    def _head(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(length))
        self.end_headers()
