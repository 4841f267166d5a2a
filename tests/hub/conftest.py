"""A hub of its own for each test, and nothing of the developer's own hub settings."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mtpchat.hub.access import access
from mtpchat.hub.client import HubClient, Timeouts
from mtpchat.hub.listing import Listing, RemoteFile
from mtpchat.hub.patience import Patience
from mtpchat.hub.places import Target, target_for
from mtpchat.hub.transfer import Fetched, Progress, Transfer
from tests.hub.server import FakeHub, Repo, running_hub
from tests.models import TinyModel

REPO = "acme/Tiny-GGUF"
AT_ONCE = Patience(tries=3, first_s=0.0, longest_s=0.0)


@pytest.fixture(autouse=True)
def no_hub_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("HF_", "HUGGING", "TRANSFORMERS_")) or name.casefold().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with running_hub() as hub:
        hub.repos[REPO] = Repo({"Tiny-Q4_K_M.gguf": bytes(range(256)) * 4000})
        yield hub


@dataclass
class Puller:
    """Fetches from a hub into a folder below the test's own."""

    hub: FakeHub
    cache: Path
    folder: Path | None = None
    told: list[Progress] = field(default_factory=list)
    cancelled: threading.Event = field(default_factory=threading.Event)
    timeouts: Timeouts = field(default_factory=lambda: Timeouts(5.0, 5.0))
    patience: Patience = AT_ONCE

    def client(self) -> HubClient:
        asked = access(endpoint=self.hub.endpoint, environment={"HF_TOKEN": self.hub.token})
        return HubClient(asked, patience=self.patience, timeouts=self.timeouts, cancelled=self.cancelled)

    def listing(self, repo: str = REPO) -> Listing:
        return self.client().listing(repo)

    def target(self, listing: Listing) -> Target:
        return target_for(listing, self.cache, self.folder)

    def fetch(self, *files: RemoteFile, listing: Listing | None = None) -> list[Fetched]:
        listing = listing or self.listing()
        every = [file for one in (*listing.offers, *listing.drafters) for file in one.files]
        job = Transfer(self.client(), listing, self.target(listing), self.told.append, self.cancelled)
        return job.run(list(files) or every)

    def partials(self) -> list[Path]:
        return sorted(path for path in (self.folder or self.cache).rglob("*.incomplete"))


@pytest.fixture
def puller(hub: FakeHub, tmp_path: Path) -> Puller:
    return Puller(hub, tmp_path / "cache")


@pytest.fixture
def outside(tmp_path: Path) -> Callable[[Path], list[str]]:
    """What lies in the test's folder beside what is named."""

    def others(root: Path) -> list[str]:
        inside = {root, *root.rglob("*"), *root.parents}
        return sorted(str(path) for path in tmp_path.rglob("*") if path not in inside)

    return others


@pytest.fixture
def every_model(
    hybrid_random: TinyModel, hybrid_trunk: TinyModel, chained: TinyModel, chained_head_file: TinyModel
) -> list[Path]:
    """Tiny models with and without heads, and heads alone."""
    return [one.path for one in (hybrid_random, hybrid_trunk, chained, chained_head_file)]
