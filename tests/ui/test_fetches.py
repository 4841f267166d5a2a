"""/pull in the app: beside the chat, stopped by Esc, with the line that loads the file at its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from mtpchat.ui.widgets.messages import ErrorBlock, Notice
from tests.hub.server import FakeHub, Repo, running_hub
from tests.shelf.trees import write_model
from tests.ui.conftest import chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, Pause, says

REPO = "acme/Tiny-GGUF"
NAME = "Tiny-Q4_K_M.gguf"


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with running_hub() as hub:
        hub.repos[REPO] = Repo({NAME: b"GGUF" * 100_000, "mtp-Tiny-Q8_0.gguf": b"GGUF"})
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        for name in ("HF_HUB_OFFLINE", "HF_HUB_CACHE", "HF_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        yield hub


async def say(pilot: Pilot[object], text: str) -> None:
    chat(pilot.app).prompt.load_text(text)
    await pilot.press("enter")
    await pilot.pause()


def notices(pilot: Pilot[object]) -> str:
    return "\n".join(str(one.render()) for one in chat(pilot.app).query(Notice))


async def test_fetched_file_can_be_loaded_with_one_key(tmp_path: Path) -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await say(pilot, f"/pull {REPO}:q4_k_m")
        await until(pilot, lambda: not chat(app).fetches.running)
        await until(pilot, lambda: chat(app).prompt.text.startswith("/model "))
        path = Path(chat(app).prompt.text.removeprefix("/model "))
        assert path.name == NAME
        assert path.is_file()
        assert "is there: /model" in notices(pilot)
        await until(pilot, lambda: f"/pull {REPO}:mtp-Tiny-Q8_0" in notices(pilot))


async def test_what_was_fetched_is_loaded_by_its_name_in_the_list(hub: FakeHub, tmp_path: Path) -> None:
    hub.repos[REPO] = Repo({NAME: write_model(tmp_path / "made" / NAME).read_bytes()})
    app = chat_app(FakeSession())
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await say(pilot, f"/pull {REPO}:q4_k_m")
        await until(pilot, lambda: chat(app).prompt.text == f"/model {REPO}:Q4_K_M")


async def test_a_drafter_is_offered_as_one_and_a_line_that_was_begun_stays(hub: FakeHub) -> None:
    hub.faults.stall = {"mtp-Tiny-Q8_0.gguf"}
    app = chat_app(FakeSession())
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await say(pilot, f"/pull {REPO}:mtp-Tiny-Q8_0")
        await until(pilot, hub.stalled.is_set)
        chat(app).prompt.load_text("I was typing")
        hub.faults.go.set()
        await until(pilot, lambda: "/drafter" in notices(pilot))
        assert chat(app).prompt.text == "I was typing"


async def test_the_chat_goes_on_meanwhile_and_escape_stops_the_answer_first(hub: FakeHub) -> None:
    hub.faults.stall = {NAME}
    pause = Pause()
    session = FakeSession([says("Rivers bend."), [pause, *says("Never said.")]])
    app = chat_app(session)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await say(pilot, f"/pull {REPO}:Q4_K_M")
        await until(pilot, hub.stalled.is_set)
        await say(pilot, "Why do rivers bend?")
        await until(pilot, lambda: "Rivers bend." in seen(app))
        await settled(pilot)
        await say(pilot, "And why again?")
        await until(pilot, pause.reached.is_set)
        await pilot.press("escape")
        await settled(pilot)
        assert chat(app).fetches.running
        await pilot.press("escape")
        hub.faults.go.set()
        await until(pilot, lambda: not chat(app).fetches.running)
        await until(pilot, lambda: "what has come is kept" in notices(pilot))


async def test_without_a_quantisation_a_page_says_what_there_is() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await say(pilot, f"/pull {REPO}")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await until(pilot, lambda: f"/pull {REPO}:Q4_K_M" in seen(app))


async def test_a_refusal_is_an_error_block_with_a_hint(hub: FakeHub) -> None:
    hub.repos[REPO].gated = True
    app = chat_app(FakeSession())
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await say(pilot, f"/pull {REPO}:Q4_K_M")
        await until(pilot, lambda: bool(chat(app).query(ErrorBlock)))
        block = chat(app).query_one(ErrorBlock)
        assert "gated" in block.what
        assert "HF_TOKEN" in block.hint


async def test_one_fetch_at_a_time_and_nonsense_is_refused_at_once(hub: FakeHub) -> None:
    hub.faults.stall = {NAME}
    app = chat_app(FakeSession())
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await say(pilot, "/pull")
        await until(pilot, lambda: "Which repository?" in seen(app))
        await say(pilot, "/pull tiny")
        await until(pilot, lambda: "no name of a repository" in seen(app))
        await say(pilot, f"/pull {REPO}:Q4_K_M")
        await until(pilot, hub.stalled.is_set)
        await say(pilot, f"/pull {REPO}")
        await until(pilot, lambda: "One fetch at a time" in notices(pilot))
        chat(app).fetches.stop()
        hub.faults.go.set()
        await until(pilot, lambda: not chat(app).fetches.running)


async def test_leaving_the_app_stops_the_fetch(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.stall = {NAME}
    app = chat_app(FakeSession())
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await say(pilot, f"/pull {REPO}:Q4_K_M")
        await until(pilot, hub.stalled.is_set)
        job = chat(app).fetches._job
        assert job is not None
    assert job.stopping
    hub.faults.go.set()
    assert job.done.wait(30)
    assert not list((tmp_path / "hf").rglob(NAME))
