"""From nothing to a model that runs: what a first run offers, fetches, remembers, and how it is left."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from mtpchat.config import Config, UiConfig
from mtpchat.config_file import load
from mtpchat.errors import StorageError
from mtpchat.gguf.memory_plan import Machine
from mtpchat.hub.starters import Starter
from mtpchat.shelf import places
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.first_run import FirstRun
from mtpchat.ui.model_picker import ModelPicker
from mtpchat.ui.widgets.messages import Notice
from tests.hub.server import FakeHub, Repo, running_hub
from tests.shelf.trees import write_model
from tests.ui.conftest import chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, says

REPO = "acme/Tiny-GGUF"
NAME, DRAFTER = "Tiny-Q4_K_M.gguf", "mtp-Tiny-Q8_0.gguf"
SMALL = Starter(
    name="Tiny", fetch=f"{REPO}:Q4_K_M", gigabytes=0.386, guesses="nothing", about="knows little", trial=True
)
LARGER = Starter(
    name="Larger",
    fetch=f"{REPO}:Q4_K_M",
    gigabytes=2.0,
    guesses="drafter",
    about="knows more",
    drafter="mtp-Tiny-Q8_0",
)


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with running_hub() as hub:
        hub.repos[REPO] = Repo({NAME: b"GGUF" * 100_000, DRAFTER: b"GGUF"})
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        for name in ("HF_HUB_OFFLINE", "HF_HUB_CACHE", "HF_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(places, "SYSTEM_OLLAMA", tmp_path / "no-service")
        yield hub


def nobody(**options: Any) -> tuple[MtpChatApp, FakeSession]:
    """The app of somebody without a model."""
    session = FakeSession([says("Hello.")], config=Config(ui=UiConfig(reduced_motion=True)))
    options.setdefault("machine", lambda: Machine(8 << 30))
    options.setdefault("starters", (SMALL, LARGER))
    return chat_app(session, **options), session


async def begun(pilot: Pilot[Any]) -> FirstRun:
    """The first screen, with its choices."""
    await until(pilot, lambda: isinstance(pilot.app.screen, FirstRun) and pilot.app.screen.choices is not None)
    first = pilot.app.screen
    assert isinstance(first, FirstRun)
    return first


def said(pilot: Pilot[Any]) -> str:
    return "\n".join(str(one.render()) for one in chat(pilot.app).query(Notice))


@pytest.mark.parametrize("size", [(40, 12), (60, 20), (80, 24), (160, 48)])
async def test_one_calm_screen_says_what_this_is_and_what_can_be_done(size: tuple[int, int]) -> None:
    app, _ = nobody()
    async with app.run_test(size=size) as pilot:
        await begun(pilot)
        await pilot.pause()
        text = " ".join(seen(app).split())
        assert "runs on this machine alone" in text
        assert "Runs anywhere" in text
        assert "390 MB" in text
        for _ in range(2):
            await pilot.press("down")
        await pilot.pause()
        assert "› 3 I have GGUF files" in seen(app)
        assert "esc" in seen(app)


async def test_nothing_is_asked_of_the_hub_before_it_is_wanted(hub: FakeHub) -> None:
    app, _ = nobody()
    async with app.run_test() as pilot:
        await begun(pilot)
        await pilot.press("down", "up")
        assert hub.requests == []


async def test_enter_fetches_loads_and_the_prompt_is_ready() -> None:
    app, session = nobody()
    async with app.run_test() as pilot:
        await begun(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: session.facts is not None)
        await settled(pilot)
        assert Path(session.config.model.path).name == NAME
        assert app.screen is chat(app)
        assert chat(app).prompt.has_focus
        assert not (Path(session.config.model.path).parent / DRAFTER).exists()  # it was not asked for
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: "Hello." in seen(app))


async def test_the_drafter_that_belongs_to_a_model_comes_with_it() -> None:
    app, session = nobody()
    async with app.run_test() as pilot:
        await begun(pilot)
        await pilot.press("2")
        await until(pilot, lambda: session.facts is not None)
        assert (Path(session.config.model.path).parent / DRAFTER).is_file()


async def test_a_model_whose_drafter_does_not_come_is_used_without(hub: FakeHub) -> None:
    del hub.repos[REPO].files[DRAFTER]
    app, session = nobody()
    async with app.run_test() as pilot:
        await begun(pilot)
        await pilot.press("2")
        await until(pilot, lambda: session.facts is not None)
        assert "Its drafter did not come" in said(pilot)


async def test_a_fetch_that_fails_comes_back_with_the_reason(hub: FakeHub) -> None:
    hub.repos[REPO].gated = True
    app, _ = nobody()
    async with app.run_test() as pilot:
        first = await begun(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "gated" in seen(app))
        assert first.state == "choosing"
        assert "HF_TOKEN" in " ".join(seen(app).split())
        hub.repos[REPO].gated = False
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is chat(app))


async def test_escape_stops_a_fetch_and_what_has_come_is_kept(hub: FakeHub) -> None:
    hub.faults.stall = {NAME}
    app, session = nobody()
    async with app.run_test() as pilot:
        first = await begun(pilot)
        await pilot.press("enter")
        await until(pilot, hub.stalled.is_set)
        await until(pilot, lambda: NAME in seen(app))
        await pilot.press("escape")
        hub.faults.go.set()
        await until(pilot, lambda: first.state == "choosing")
        assert "What has come is kept" in seen(app)
        assert session.facts is None


async def test_escape_goes_to_the_chat_which_says_how_to_come_back() -> None:
    app, _ = nobody()
    async with app.run_test() as pilot:
        await begun(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: "/model" in said(pilot))
        assert chat(app).prompt.has_focus
        await pilot.press(*"/model", "enter")
        await begun(pilot)


async def test_a_folder_is_remembered_and_its_models_can_be_chosen(tmp_path: Path) -> None:
    folder = tmp_path / "日本語 models"
    write_model(folder / "Qwen3.5-9B-Q6_K.gguf", "Qwen3.5 9B", rows=40)
    settings = tmp_path / "config.toml"
    settings.write_text("# mine\n[ui]\nreduced_motion = true\n", encoding="utf-8")
    app, session = nobody(config_path=str(settings))
    async with app.run_test() as pilot:
        first = await begun(pilot)
        await pilot.press("3")
        await until(pilot, lambda: first.state == "asking")
        first.folder.field.value = f"{tmp_path}/日"
        await pilot.press("tab")
        await until(pilot, lambda: first.folder.field.value == f"{folder}/")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ModelPicker) and bool(app.screen.list.items))
        await pilot.press("enter")
        await until(pilot, lambda: session.facts is not None)
        assert "from now on" in said(pilot)
    assert load(settings).config.paths.model_folders == (str(folder),)
    assert settings.read_text(encoding="utf-8").startswith("# mine")


async def test_a_second_folder_stands_beside_the_first(tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text('[paths]\nmodels = "/nowhere"\n', encoding="utf-8")
    write_model(tmp_path / "more" / "a.gguf", "A", rows=40)
    app, session = nobody(config_path=str(settings))
    session.config = load(settings).config
    async with app.run_test() as pilot:
        first = await begun(pilot)
        await pilot.press("3")
        await until(pilot, lambda: first.state == "asking")
        first.folder.field.value = str(tmp_path / "more")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ModelPicker))
    assert load(settings).config.paths.model_folders == ("/nowhere", str(tmp_path / "more"))


@pytest.mark.parametrize("typed", ["~/models", "/data/gguf"])
async def test_a_whole_path_behind_the_one_that_stands_there_replaces_it(typed: str) -> None:
    app, _ = nobody()
    async with app.run_test() as pilot:
        first = await begun(pilot)
        await pilot.press("3")
        await until(pilot, lambda: first.state == "asking")
        for key in typed:
            await pilot.press(key)
        await until(pilot, lambda: first.folder.field.value == typed)


@pytest.mark.parametrize(
    ("typed", "why"), [("/no/such", "no such folder"), ("empty", "no file in there ends in .gguf")]
)
async def test_a_folder_that_is_of_no_use_says_why(tmp_path: Path, typed: str, why: str) -> None:
    (tmp_path / "empty").mkdir()
    app, _ = nobody()
    async with app.run_test() as pilot:
        first = await begun(pilot)
        await pilot.press("3")
        await until(pilot, lambda: first.state == "asking")
        first.folder.field.value = str(tmp_path / typed)
        await pilot.press("enter")
        await until(pilot, lambda: why in seen(app))
        await pilot.press("escape")
        assert first.state == "choosing"
        assert "Runs anywhere" in seen(app)


async def test_a_digit_without_a_row_does_nothing() -> None:
    app, _ = nobody()
    async with app.run_test() as pilot:
        first = await begun(pilot)
        await pilot.press("9")
        assert first.state == "choosing"
        assert app.screen is first


async def test_who_leaves_before_anybody_knows_the_machine_is_let_go() -> None:
    asked, known = threading.Event(), threading.Event()

    def machine() -> Machine:
        asked.set()
        known.wait()
        return Machine(8 << 30)

    app, _ = nobody(machine=machine)
    async with app.run_test() as pilot:
        await until(pilot, asked.is_set)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is chat(app))
        known.set()
        await pilot.pause()
        assert "/model" in said(pilot)


async def test_a_machine_that_tells_nothing_costs_no_choice() -> None:
    def machine() -> Machine:
        raise StorageError("no library")

    app, _ = nobody(machine=machine)
    async with app.run_test() as pilot:
        await begun(pilot)
        assert "Runs anywhere" in seen(app)


async def test_the_demo_is_offered_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo = write_model(tmp_path / "demo" / "smol.gguf", "Smol", rows=10)
    monkeypatch.setattr(places, "demo_model", lambda: demo)
    app, session = nobody()
    async with app.run_test() as pilot:
        await begun(pilot)
        assert "is here" in seen(app)
        await pilot.press("enter")
        await until(pilot, lambda: session.facts is not None)
        assert session.config.model.path == str(demo)


async def test_whoever_has_models_gets_their_list(tmp_path: Path) -> None:
    write_model(tmp_path / "models" / "a.gguf", "A", rows=40)
    app, session = nobody()
    session.config = Config(paths=type(session.config.paths)(models=str(tmp_path / "models")))
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, ModelPicker))


async def test_the_keys_stay_in_sight_below_the_reason_of_a_failure(hub: FakeHub) -> None:
    hub.repos[REPO].gated = True
    app, _ = nobody(starters=(SMALL, LARGER))
    async with app.run_test(size=(80, 22)) as pilot:
        first = await begun(pilot)
        assert "Free here" in seen(app)
        await pilot.press("enter")
        await until(pilot, lambda: "gated" in seen(app))
        assert first.state == "choosing"
        assert "or its number" in seen(app)
        assert "Free here" not in seen(app)


async def test_words_that_stand_beside_a_model_are_explained_where_they_stand() -> None:
    app, _ = nobody()
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot)
        await pilot.pause()
        text = " ".join(seen(app).split())
        assert "With a drafter." in text
        assert "drafters guess words ahead" in text
        assert "esc to the chat, without a model" in text
    app, _ = nobody(starters=(SMALL,))
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot)
        await pilot.pause()
        assert "guess words ahead" not in " ".join(seen(app).split())
