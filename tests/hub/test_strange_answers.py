"""What comes in place of a file: pages, other sizes, other parts. What had come before is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpchat.errors import HubError, HubUnreachable
from mtpchat.hub.names import parse_wanted
from tests.hub.conftest import REPO, Puller
from tests.hub.server import FakeHub

NAME = "Tiny-Q4_K_M.gguf"
CAME = 300_000


def begun(hub: FakeHub, puller: Puller) -> Path:
    """A transfer that was broken off."""
    hub.faults.break_after = [CAME, 0, 0, 0, 0, 0]
    with pytest.raises(HubUnreachable):
        puller.fetch()
    hub.faults.break_after = []
    (partial,) = puller.partials()
    return partial


def test_a_web_page_in_place_of_a_file_is_said_and_costs_nothing_of_what_came(hub: FakeHub, puller: Puller) -> None:
    listing, partial = puller.listing(), begun(hub, puller)
    hub.faults.no_hub = True
    with pytest.raises(HubError, match="A web page came instead of") as caught:
        puller.fetch(listing=listing)
    assert "login page" in caught.value.hint
    assert partial.stat().st_size == CAME
    hub.faults.no_hub = False
    assert puller.fetch(listing=listing)[0].verified
    assert hub.downloads(NAME)[-1] == f"bytes={CAME}-"


def test_another_size_than_announced_leaves_what_came(hub: FakeHub, puller: Puller) -> None:
    listing, partial = puller.listing(), begun(hub, puller)
    data = hub.repos[REPO].files[NAME]
    hub.repos[REPO].files[NAME] = data + b"more"
    with pytest.raises(HubError, match="another size"):
        puller.fetch(listing=listing)
    assert partial.stat().st_size == CAME
    hub.repos[REPO].files[NAME] = data[: CAME - 1]
    with pytest.raises(HubError, match="shorter on the hub than its list says"):
        puller.fetch(listing=listing)
    assert partial.stat().st_size == CAME


def test_another_part_than_was_asked_for_is_tried_again_and_leaves_what_came(
    hub: FakeHub, puller: Puller, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing, partial = puller.listing(), begun(hub, puller)
    with monkeypatch.context() as broken:
        broken.setattr("mtpchat.hub.client._number", lambda text: 7 if text else None)
        with pytest.raises(HubUnreachable, match="another part") as caught:
            puller.fetch(listing=listing)
    assert "--to DIR" in caught.value.hint
    assert partial.stat().st_size == CAME


def test_a_question_about_a_checksum_is_asked_again(hub: FakeHub, puller: Puller) -> None:
    hub.faults.no_digests = True
    listing = puller.listing()
    hub.faults.statuses = [503, 429]
    assert puller.fetch(listing=listing)[0].verified


@pytest.mark.parametrize(
    ("address", "revision", "choice"),
    [
        ("https://huggingface.co/a/b/tree/refs%2Fpr%2F3", "refs/pr/3", ""),
        ("https://huggingface.co/a/b/blob/main/sub/x%20y.gguf", "main", "sub/x y.gguf"),
        ("hf.co/a/b:Q4_K_M", "", "Q4_K_M"),
    ],
)
def test_an_address_is_read_as_a_browser_shows_it(address: str, revision: str, choice: str) -> None:
    wanted = parse_wanted(address)
    assert (wanted.repo, wanted.revision, wanted.choice) == ("a/b", revision, choice)
