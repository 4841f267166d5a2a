"""Transfers: resumed, verified, bounded by the disk, stopped on request, and never outside their folder."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Callable
from io import FileIO
from pathlib import Path

import pytest

from mtpchat.errors import FetchCancelled, HubDamaged, HubError, HubUnreachable, StorageError
from mtpchat.hub import places, transfer
from mtpchat.hub.client import Timeouts
from mtpchat.hub.listing import Listing, Offer, RemoteFile
from mtpchat.hub.transfer import Progress
from tests.hub.conftest import REPO, Puller
from tests.hub.server import COMMIT, FakeHub, Repo, running_hub, sha256

NAME = "Tiny-Q4_K_M.gguf"
Outside = Callable[[Path], list[str]]


def content(hub: FakeHub, name: str = NAME) -> bytes:
    return hub.repos[REPO].files[name]


def test_a_file_lands_in_the_layout_of_the_hugging_face_cache(hub: FakeHub, puller: Puller) -> None:
    (fetched,) = puller.fetch()
    root = puller.cache / "models--acme--Tiny-GGUF"
    assert fetched.path == root / "snapshots" / COMMIT / NAME
    assert fetched.path.read_bytes() == content(hub)
    assert fetched.path.is_symlink()
    assert fetched.path.resolve() == (root / "blobs" / sha256(content(hub))).resolve()
    assert (root / "refs" / "main").read_text() == COMMIT
    assert fetched.new
    assert fetched.verified
    assert puller.partials() == []


def test_huggingface_hub_finds_what_was_fetched(hub: FakeHub, puller: Puller) -> None:
    from huggingface_hub import try_to_load_from_cache

    (fetched,) = puller.fetch()
    assert try_to_load_from_cache(REPO, NAME, cache_dir=puller.cache) == str(fetched.path)


def test_what_is_there_is_not_fetched_again(hub: FakeHub, puller: Puller) -> None:
    puller.fetch()
    (again,) = puller.fetch()
    assert not again.new
    assert len(hub.downloads(NAME)) == 1


def test_a_blob_of_another_commit_is_used_again(hub: FakeHub, puller: Puller) -> None:
    puller.fetch()
    hub.repos[REPO].commit = "f" * 40
    (again,) = puller.fetch()
    assert "f" * 40 in str(again.path)
    assert again.path.read_bytes() == content(hub)
    assert len(hub.downloads(NAME)) == 1


def test_files_land_under_their_own_names_in_a_folder_that_was_named(hub: FakeHub, puller: Puller) -> None:
    hub.repos[REPO].files["sub/Other-Q8_0.gguf"] = b"GGUF other"
    puller.folder = puller.cache.parent / "models"
    assert len(puller.fetch()) == 2
    there = sorted(str(path.relative_to(puller.folder)) for path in puller.folder.rglob("*") if path.is_file())
    assert there == [NAME, os.path.join("sub", "Other-Q8_0.gguf")]
    assert (puller.folder / NAME).read_bytes() == content(hub)


def test_all_parts_of_a_split_model_are_fetched_and_counted_together(hub: FakeHub, puller: Puller) -> None:
    parts = {f"T-Q8_0-0000{number}-of-00003.gguf": bytes([number]) * 50_000 * number for number in (1, 2, 3)}
    hub.repos[REPO].files = dict(parts)
    fetched = puller.fetch()
    assert {one.path.name: one.path.read_bytes() for one in fetched} == parts
    total = sum(map(len, parts.values()))
    assert puller.told[-1].all_done == puller.told[-1].all_size == total
    assert [one.all_done for one in puller.told] == sorted(one.all_done for one in puller.told)


@pytest.mark.parametrize("cuts", [[1], [400_000], [1, 2, 3, 400_000, 5, 100_000]])
def test_a_connection_that_breaks_goes_on_where_it_broke(hub: FakeHub, puller: Puller, cuts: list[int]) -> None:
    hub.faults.break_after = list(cuts)
    (fetched,) = puller.fetch()
    assert fetched.path.read_bytes() == content(hub)
    assert fetched.verified
    ranges = hub.downloads(NAME)
    assert len(ranges) == len(cuts) + 1
    starts = [int(one.removeprefix("bytes=").partition("-")[0] or 0) if one else 0 for one in ranges]
    assert starts == [sum(cuts[:index]) for index in range(len(starts))]
    assert any(one.phase == "waiting" and one.remark for one in puller.told)


def test_a_very_large_file_is_asked_for_in_pieces(
    hub: FakeHub, puller: Puller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "SEGMENT", 400_000)
    hub.faults.break_after = [100_000]
    assert puller.fetch()[0].verified
    assert hub.downloads(NAME) == ["bytes=0-399999", "bytes=100000-499999", "bytes=500000-899999", "bytes=900000-"]


def test_a_transfer_that_was_given_up_goes_on_in_the_next_run(hub: FakeHub, puller: Puller) -> None:
    hub.faults.break_after = [300_000, 0, 0, 0, 0, 0]
    with pytest.raises(HubUnreachable) as caught:
        puller.fetch()
    assert "goes on from there" in caught.value.hint
    (partial,) = puller.partials()
    assert partial.stat().st_size == 300_000
    assert not list(puller.cache.rglob(NAME))
    hub.faults.break_after = []
    (fetched,) = puller.fetch()
    assert hub.downloads(NAME)[-1] == "bytes=300000-"
    assert fetched.path.read_bytes() == content(hub)
    assert max(one.resumed for one in puller.told) == 300_000


def test_a_server_that_cannot_go_on_in_the_middle_begins_anew(hub: FakeHub, puller: Puller) -> None:
    hub.faults.break_after = [300_000]
    hub.faults.no_ranges = True
    (fetched,) = puller.fetch()
    assert fetched.path.read_bytes() == content(hub)


def test_a_wrong_checksum_is_said_and_nothing_of_it_is_kept(hub: FakeHub, puller: Puller) -> None:
    hub.faults.corrupt = {NAME}
    with pytest.raises(HubDamaged, match=r"checksum of Tiny-Q4_K_M\.gguf is wrong, so it has been deleted"):
        puller.fetch()
    assert puller.partials() == []
    assert not list(puller.cache.rglob(NAME))
    hub.faults.corrupt = set()
    assert puller.fetch()[0].path.read_bytes() == content(hub)


def test_a_spoiled_partial_file_is_noticed(hub: FakeHub, puller: Puller) -> None:
    listing = puller.listing()
    target = puller.target(listing)
    partial = places.make_partial_folder(target, listing.offers[0].first)
    partial.write_bytes(b"\xff" * 1000)
    with pytest.raises(HubDamaged):
        puller.fetch()
    assert puller.partials() == []
    assert puller.fetch()[0].verified


def test_a_partial_file_that_is_too_long_begins_anew(hub: FakeHub, puller: Puller) -> None:
    listing = puller.listing()
    partial = places.make_partial_folder(puller.target(listing), listing.offers[0].first)
    partial.write_bytes(content(hub) + b"more")
    assert puller.fetch()[0].verified
    assert hub.downloads(NAME) == [""]


@pytest.mark.parametrize("change", [-10, 10])
def test_another_size_than_announced_is_refused(hub: FakeHub, puller: Puller, change: int) -> None:
    hub.faults.wrong_sizes = {NAME: len(content(hub)) + change}
    with pytest.raises(HubError, match=r"another size than the hub's list says"):
        puller.fetch()
    assert puller.partials() == []


def test_a_hub_without_checksums_in_its_lists_is_asked_for_them_one_by_one(hub: FakeHub, puller: Puller) -> None:
    hub.faults.no_digests = True
    (fetched,) = puller.fetch()
    assert fetched.verified
    assert (fetched.path.parents[2] / "blobs" / sha256(content(hub))).is_file()


def test_files_kept_by_git_itself_are_verified_by_its_own_digest(hub: FakeHub, puller: Puller) -> None:
    data = content(hub)
    digest = hashlib.sha1(f"blob {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()
    assert puller.fetch(RemoteFile(NAME, len(data), digest), listing=puller.listing())[0].verified
    hub.repos["acme/Else"] = Repo({NAME: data})
    with pytest.raises(HubDamaged):
        puller.fetch(RemoteFile(NAME, len(data), "0" * 40), listing=puller.listing("acme/Else"))


class Watched(list[Progress]):
    """Says when the first bytes have come."""

    def __init__(self) -> None:
        super().__init__()
        self.fetching = threading.Event()

    def append(self, one: Progress) -> None:
        super().append(one)
        if one.phase == "fetching":
            self.fetching.set()


def test_a_transfer_stops_when_asked_and_keeps_what_has_come(hub: FakeHub, puller: Puller) -> None:
    hub.faults.stall = {NAME}
    told = Watched()
    puller.told = told
    caught: list[BaseException] = []

    def run() -> None:
        try:
            puller.fetch()
        except HubError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert told.fetching.wait(30)
    puller.cancelled.set()
    hub.faults.go.set()
    thread.join(30)
    (error,) = caught
    assert isinstance(error, FetchCancelled)
    assert "goes on from there" in error.hint
    assert puller.partials()[0].stat().st_size > 0
    puller.cancelled.clear()
    assert puller.fetch()[0].path.read_bytes() == content(hub)


def test_a_hub_that_stops_sending_is_tried_again_and_then_given_up(hub: FakeHub, puller: Puller) -> None:
    hub.repos[REPO].files = {NAME: b"GGUF"}
    hub.faults.stall = {NAME}
    listing = puller.listing()
    puller.timeouts = Timeouts(5.0, 0.2)
    with pytest.raises(HubUnreachable, match="stopped sending"):
        puller.fetch(listing=listing)
    assert puller.partials()[0].stat().st_size > 0
    assert len(hub.downloads(NAME)) >= 3


def test_busy_answers_are_waited_for_as_long_as_the_hub_says(hub: FakeHub, puller: Puller) -> None:
    listing = puller.listing()
    hub.faults.statuses, hub.faults.retry_after = [429, 503], "0"
    assert puller.fetch(listing=listing)[0].verified
    assert next(one.remark for one in puller.told if one.phase == "waiting").endswith("again in 0 s")


def test_a_disk_that_is_too_small_is_noticed_before_anything_is_fetched(
    hub: FakeHub, puller: Puller, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = places.shutil.disk_usage(puller.cache.parent)
    monkeypatch.setattr(places.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(StorageError, match=r"1\.0 MB are still to come, but only 1\.0 kB are free"):
        puller.fetch()
    assert hub.downloads(NAME) == []


def test_a_disk_that_fills_up_keeps_what_has_come(
    hub: FakeHub, puller: Puller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(stream: FileIO, piece: bytes) -> None:
        stream.write(piece[:1000])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(transfer, "_write", write)
        with pytest.raises(StorageError, match="The disk is full") as caught:
            puller.fetch()
    assert "goes on from there" in caught.value.hint
    assert puller.partials()[0].stat().st_size == 1000
    assert puller.fetch()[0].verified


def test_two_copies_of_the_program_do_not_fetch_one_file_at_once(hub: FakeHub, puller: Puller) -> None:
    from filelock import FileLock

    listing = puller.listing()
    target = puller.target(listing)
    places.make_partial_folder(target, listing.offers[0].first)
    with FileLock(target.lock(listing.offers[0].first)), pytest.raises(StorageError, match="already"):
        puller.fetch()


def test_another_file_of_that_name_is_never_overwritten(hub: FakeHub, puller: Puller, tmp_path: Path) -> None:
    puller.folder = tmp_path / "models"
    puller.folder.mkdir()
    (puller.folder / NAME).write_bytes(b"precious")
    with pytest.raises(StorageError, match="Another file stands"):
        puller.fetch()
    assert (puller.folder / NAME).read_bytes() == b"precious"


HOSTILE = ["../evil.gguf", "/tmp/evil.gguf", "a/../../evil.gguf", "..\\evil.gguf", "evil\x1b[2J.gguf", ".ssh/evil.gguf"]


@pytest.mark.parametrize("to_folder", [False, True])
def test_hostile_names_in_a_list_write_nothing_outside(
    hub: FakeHub, puller: Puller, tmp_path: Path, outside: Outside, *, to_folder: bool
) -> None:
    hub.repos[REPO].files |= dict.fromkeys(HOSTILE, b"GGUF evil")
    puller.folder = tmp_path / "models" if to_folder else None
    assert [one.path.name for one in puller.fetch()] == [NAME]
    assert outside(puller.folder or puller.cache) == []


@pytest.mark.parametrize("to_folder", [False, True])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_that_got_past_the_list_is_refused_when_written(
    hub: FakeHub, puller: Puller, tmp_path: Path, outside: Outside, name: str, *, to_folder: bool
) -> None:
    listing = puller.listing()
    puller.folder = tmp_path / "models" if to_folder else None
    hub.repos[REPO].files[name] = b"GGUF evil"
    with pytest.raises(HubError, match="is not written"):
        puller.fetch(RemoteFile(name, 9, sha256(b"GGUF evil")), listing=listing)
    assert outside(puller.folder or puller.cache) == []


def test_links_in_the_folder_are_not_followed(hub: FakeHub, puller: Puller, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    puller.folder = tmp_path / "models"
    puller.folder.mkdir()
    (puller.folder / "sub").symlink_to(other)
    hub.repos[REPO].files = {"sub/T-Q4_0.gguf": b"GGUF"}
    with pytest.raises(StorageError, match="link"):
        puller.fetch()
    hub.repos[REPO].files = {"T-Q4_0.gguf": b"GGUF"}
    listing = puller.listing()
    puller.target(listing).partial(listing.offers[0].first).symlink_to(other / "x")
    with pytest.raises(StorageError, match="link"):
        puller.fetch()
    assert list(other.iterdir()) == []


@pytest.mark.parametrize("commit", ["../../../evil", "main", "", "F" * 40, 7, None])
def test_a_commit_that_is_none_is_not_believed(hub: FakeHub, puller: Puller, commit: str) -> None:
    hub.repos[REPO].commit = commit
    with pytest.raises(HubError, match="not as a Hugging Face hub"):
        puller.listing()


def test_a_digest_that_is_none_does_not_become_a_file_name(hub: FakeHub, puller: Puller) -> None:
    from mtpchat.hub.client import _digest

    for told in ("../evil", "a/b", "x" * 64, "", None, 7, ["a" * 64]):
        assert _digest(told) == ""
    assert _digest("A" * 64) == "a" * 64
    with pytest.raises(HubError, match="checksum"):
        puller.target(Listing(REPO, "main", COMMIT, ())).partial(RemoteFile("a.gguf", 1))


def test_the_token_does_not_follow_a_redirect_to_another_host(hub: FakeHub, puller: Puller) -> None:
    hub.token = "hf_secret"
    with running_hub() as other:
        other.repos = hub.repos
        hub.faults.other_host = other.endpoint
        assert puller.fetch()[0].verified
        assert all("authorization" not in one.headers for one in other.requests)
        assert other.requests
    assert all(one.headers["authorization"] == "Bearer hf_secret" for one in hub.requests)


def test_an_offer_of_nothing_needs_no_hub() -> None:
    assert Offer("x", (RemoteFile("x", 3), RemoteFile("y", 4))).size == 7


def test_a_repository_of_one_revision_is_kept_under_its_commit_alone(hub: FakeHub, puller: Puller) -> None:
    hub.repos[REPO] = Repo(dict(hub.repos[REPO].files))
    listing = puller.client().listing(REPO, COMMIT)
    puller.fetch(listing=listing)
    assert not (puller.cache / "models--acme--Tiny-GGUF" / "refs").exists()
