"""Where a repository has no drafter, others of the same model are looked for, offered, and fetched if wanted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtpchat import cli_pull
from mtpchat.hub.access import access
from mtpchat.hub.job import Arrived, FetchJob
from mtpchat.hub.names import parse_wanted
from tests.hub.conftest import REPO
from tests.hub.server import FakeHub, Repo
from tests.hub.test_command_line import Run

HEAD_REPO, TWIN_REPO = "other/Tiny-EAGLE3-GGUF", "third/Tiny-MTP-GGUF"
HEAD, TWIN = "EAGLE3-Tiny-Q8_0.gguf", "Tiny-Q4_K_M.gguf"


@pytest.fixture(autouse=True)
def settings(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_pull, "available_ram", lambda: None)
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))


@pytest.fixture
def head(hub: FakeHub) -> None:
    hub.repos[HEAD_REPO] = Repo({HEAD: b"GGUF" * 100, "README.md": b"#"})


@pytest.fixture
def twin(hub: FakeHub) -> None:
    hub.repos[TWIN_REPO] = Repo({TWIN: b"GGUF" * 1000, "Tiny-Q8_0.gguf": b"GGUF" * 2000})


@pytest.mark.usefixtures("head")
def test_a_drafter_of_another_repository_is_offered_and_fetched(tmp_path: Path) -> None:
    run = Run(f"{REPO}:Q4_K_M", typed="y\n")
    assert f"Fetch the drafter {HEAD} (400 bytes) of {HEAD_REPO} too? [y/N] " in run.out
    assert run.code == 0
    start = run.out.splitlines()[-1]
    assert "models--acme--Tiny-GGUF" in start
    assert start.endswith(HEAD)
    assert len(list((tmp_path / "hf").rglob(f"models--other--Tiny-EAGLE3-GGUF/snapshots/*/{HEAD}"))) == 1


@pytest.mark.usefixtures("head")
def test_a_drafter_that_is_not_wanted_stays_where_it_is(tmp_path: Path) -> None:
    run = Run(f"{REPO}:Q4_K_M", typed="\n")
    assert (run.code, "-md" in run.out) == (0, False)
    assert not list((tmp_path / "hf").rglob(HEAD))


@pytest.mark.usefixtures("head")
def test_without_anybody_to_ask_the_flag_that_fetches_it_is_told() -> None:
    assert f"--drafter {HEAD_REPO} fetches it" in Run(f"{REPO}:Q4_K_M").err


@pytest.mark.usefixtures("head")
@pytest.mark.parametrize("asked", [HEAD_REPO, f"{HEAD_REPO}:q8_0", f"{HEAD_REPO}:{HEAD}"])
def test_a_repository_can_be_named_for_the_drafter(asked: str, tmp_path: Path) -> None:
    done = json.loads(Run(f"{REPO}:Q4_K_M", "--drafter", asked, "--json").out)
    assert Path(done["drafter"]).name == HEAD
    assert [Path(one["path"]).is_file() for one in done["files"]] == [True, True]


@pytest.mark.usefixtures("head")
def test_a_dry_run_names_both_places(tmp_path: Path) -> None:
    out = Run(f"{REPO}:Q4_K_M", "--drafter", HEAD_REPO, "--dry-run").out
    assert "models--acme--Tiny-GGUF and " in out
    assert "models--other--Tiny-EAGLE3-GGUF, " in out
    assert not (tmp_path / "hf").exists()


@pytest.mark.usefixtures("twin")
def test_a_repository_of_models_is_no_drafter() -> None:
    run = Run(f"{REPO}:Q4_K_M", "--drafter", TWIN_REPO)
    assert run.code == 2
    assert f"{TWIN_REPO} has no drafter" in run.err
    assert f"{TWIN_REPO}:FILE" in run.err


@pytest.mark.usefixtures("twin")
def test_the_same_model_with_heads_is_offered_in_its_place(tmp_path: Path) -> None:
    run = Run(f"{REPO}:Q4_K_M", typed="y\n")
    assert f"{TWIN_REPO}:Q4_K_M (4.0 kB) is the same with MTP heads. Fetch that instead? [y/N] " in run.out
    assert run.code == 0
    assert "models--third--Tiny-MTP-GGUF" in run.out.splitlines()[-1]
    assert not (tmp_path / "hf" / "hub" / "models--acme--Tiny-GGUF").exists()


def test_a_repository_that_is_only_named_alike_is_not_offered(hub: FakeHub) -> None:
    hub.repos["other/Tiny-Coder-EAGLE3-GGUF"] = Repo({"EAGLE3-Tiny-Coder-Q8_0.gguf": b"GGUF"})
    run = Run(f"{REPO}:Q4_K_M", typed="")
    assert run.code == 0
    assert "too?" not in run.out


@pytest.mark.usefixtures("head")
def test_one_that_cannot_be_listed_costs_nothing(hub: FakeHub) -> None:
    hub.repos[HEAD_REPO].private = True
    assert Run(f"{REPO}:Q4_K_M", typed="").code == 0


@pytest.mark.usefixtures("head")
def test_a_fetch_of_the_chat_names_it_too(hub: FakeHub) -> None:
    job = FetchJob(parse_wanted(f"{REPO}:Q4_K_M"), access(endpoint=hub.endpoint))
    job.start()
    assert job.done.wait(30)
    assert isinstance(job.outcome, Arrived)
    assert job.outcome.companion == f"{HEAD_REPO}:{HEAD.removesuffix('.gguf')}"
