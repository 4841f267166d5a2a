"""Choosing a model from the list: it fills while one looks, is filtered while one types, and the chat stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from mtpchat.config import Config, ModelConfig, PathsConfig, UiConfig
from mtpchat.messages import Message
from mtpchat.shelf import places
from mtpchat.shelf.last_use import LastUse
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.model_outlook import Outlooks
from mtpchat.ui.model_picker import ModelPicker
from tests.shelf.trees import in_ollama, write_heads, write_model
from tests.ui.conftest import chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, says

SIZES = [(60, 20), (80, 24), (160, 48)]


@pytest.fixture
def shelf(tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of models, one of them with heads, one with heads beside it."""
    monkeypatch.setattr(places, "SYSTEM_OLLAMA", tmp_path / "no-service")
    folder = tmp_path / "models"
    write_model(folder / "Qwen3.5-27B-Q4_K_M.gguf", "Qwen3.5 27B", heads=1, rows=900)
    write_model(folder / "Qwen3.5-9B-Q6_K.gguf", "Qwen3.5 9B", rows=400)
    write_heads(folder / "MTP" / "mtp-Qwen3.5-9B-Q8_0.gguf")
    write_model(folder / "Llama-3.3-70B-IQ3_XXS.gguf", "Llama 3.3 70B", arch="llama", rows=2000)
    return folder


def session(shelf: Path, **options: Any) -> FakeSession:
    config = Config(
        model=ModelConfig(path=str(shelf / "Qwen3.5-27B-Q4_K_M.gguf")),
        ui=UiConfig(reduced_motion=True),
        paths=PathsConfig(models=str(shelf)),
    )
    return FakeSession(config=config, **options)


async def opened(pilot: Pilot[Any]) -> ModelPicker:
    """The picker, with everything found."""
    await settled(pilot)
    await pilot.press(*"/model", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ModelPicker))
    picker = pilot.app.screen
    assert isinstance(picker, ModelPicker)
    await until(pilot, lambda: not picker.searching)
    return picker


def listed(picker: ModelPicker) -> list[str]:
    return [one.name for one in picker.list.items]


def screen(pilot: Pilot[Any]) -> str:
    assert isinstance(pilot.app, MtpChatApp)
    return seen(pilot.app)


@pytest.mark.parametrize("size", SIZES)
async def test_chat_models_are_listed_with_what_guesses_for_them(shelf: Path, size: tuple[int, int]) -> None:
    app = chat_app(session(shelf))
    async with app.run_test(size=size) as pilot:
        picker = await opened(pilot)
        assert listed(picker) == ["Llama-3.3-70B-IQ3_XXS", "Qwen3.5-27B-Q4_K_M", "Qwen3.5-9B-Q6_K"]
        lines = {line.split()[1 if line.split()[0] in "›●" else 0]: line for line in screen(pilot).splitlines()[3:6]}
        assert "+ MTP" in lines["Qwen3.5-9B-Q6_K"]
        assert " MTP" in lines["Qwen3.5-27B-Q4_K_M"]
        assert "+ MTP" not in lines["Qwen3.5-27B-Q4_K_M"]
        assert "MTP" not in lines["Llama-3.3-70B-IQ3_XXS"]
        assert all(len(line) <= size[0] for line in screen(pilot).splitlines())


@pytest.mark.parametrize("size", SIZES)
async def test_details_say_what_it_is_who_would_guess_and_whether_it_fits(shelf: Path, size: tuple[int, int]) -> None:
    app = chat_app(session(shelf))
    async with app.run_test(size=size) as pilot:
        picker = await opened(pilot)
        await pilot.press("down", "down")
        marked = picker.list.marked
        assert marked is not None
        await until(pilot, lambda: picker.knows(marked.found.path))
        told = " ".join(part.strip() for line in screen(pilot).splitlines() for part in line.split("│")[-1:])
        assert "Qwen3.5 9B" in told
        assert "qwen35" in told
        assert "fits at 4,096 tokens" in told
        assert "MTP: the heads in mtp-Qwen3.5-9B-Q8_0.gguf, found beside the model" in " ".join(told.split())


async def test_typing_filters_by_every_word_and_the_mark_goes_to_what_is_left(shelf: Path) -> None:
    app = chat_app(session(shelf))
    async with app.run_test() as pilot:
        picker = await opened(pilot)
        await pilot.press(*"qwen 9b")
        await until(pilot, lambda: listed(picker) == ["Qwen3.5-9B-Q6_K"])
        assert "1 of 3" in screen(pilot)
        await pilot.press(*"zzz")
        await until(pilot, lambda: listed(picker) == [])
        assert "No model matches" in screen(pilot)
        await pilot.press("enter")
        assert isinstance(app.screen, ModelPicker)


async def test_enter_loads_the_marked_model_and_the_chat_stays(shelf: Path) -> None:
    fake = session(shelf, turns=[says("A bend grows.")])
    app = chat_app(fake)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"rivers", "enter")
        await until(pilot, lambda: len(fake.messages) == 2)
        picker = await opened(pilot)
        await pilot.press(*"9b")
        await until(pilot, lambda: len(listed(picker)) == 1)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is chat(app))
        await settled(pilot)
        assert fake.config.model.path == str(shelf / "Qwen3.5-9B-Q6_K.gguf")
        assert [one.content for one in fake.messages] == ["rivers", "A bend grows."]
        assert "Loading Qwen3.5-9B-Q6_K" in screen(pilot)


async def test_escape_leaves_everything_as_it_was(shelf: Path) -> None:
    fake = session(shelf)
    app = chat_app(fake)
    async with app.run_test() as pilot:
        await opened(pilot)
        before = fake.config
        await pilot.press("down", "escape")
        await until(pilot, lambda: app.screen is chat(app))
        assert fake.config == before
        assert chat(app).prompt.has_focus


async def test_the_mark_stops_at_the_ends_and_stays_on_its_model_when_the_list_changes(shelf: Path) -> None:
    app = chat_app(session(shelf))
    async with app.run_test() as pilot:
        picker = await opened(pilot)
        await pilot.press("up")
        assert picker.list.marked == picker.list.items[0]
        await pilot.press("pagedown", "down")
        assert picker.list.marked == picker.list.items[-1]
        last = picker.list.marked
        await pilot.press(*"qwen")
        await until(pilot, lambda: len(listed(picker)) == 2)
        assert picker.list.marked == last


async def test_hundreds_of_models_scroll_with_the_mark(tmp_path: Path, shelf: Path) -> None:
    source = (shelf / "Qwen3.5-9B-Q6_K.gguf").read_bytes()
    for number in range(300):
        (shelf / f"model-{number:03}.gguf").write_bytes(source)
    app = chat_app(session(shelf))
    async with app.run_test(size=(80, 24)) as pilot:
        picker = await opened(pilot)
        assert len(listed(picker)) == 303
        await pilot.press("ctrl+end")
        await pilot.pause()
        last = picker.list.items[-1].name
        assert f"› {last}" in screen(pilot)
        await pilot.press("ctrl+home")
        await pilot.pause()
        assert f"› {picker.list.items[0].name}" in screen(pilot)


async def test_the_model_used_last_comes_first(shelf: Path) -> None:
    LastUse().note(str(shelf / "Qwen3.5-9B-Q6_K.gguf"))
    app = chat_app(session(shelf))
    async with app.run_test() as pilot:
        picker = await opened(pilot)
        assert listed(picker)[0] == "Qwen3.5-9B-Q6_K"


async def test_names_and_titles_of_files_cannot_act_on_the_terminal(shelf: Path) -> None:
    write_model(shelf / "[bold]x[b] \x1b[31mred.gguf", "[/] \x1b]0;title\x07 [red]", rows=5)
    app = chat_app(session(shelf))
    async with app.run_test() as pilot:
        picker = await opened(pilot)
        marked = picker.list.marked
        assert marked is not None
        await until(pilot, lambda: picker.knows(marked.found.path))
        assert "\x1b" not in screen(pilot)
        assert "[bold]x[b] ␛[31mred" in screen(pilot)
        assert "[/] ␛]0;title␇ [red]" in screen(pilot)


async def test_files_that_cannot_be_read_are_counted(shelf: Path) -> None:
    (shelf / "bad.gguf").write_bytes(b"GGUF")
    app = chat_app(session(shelf))
    async with app.run_test() as pilot:
        picker = await opened(pilot)
        assert "bad" not in listed(picker)
        assert "1 file cannot be read: mtpchat models --all" in screen(pilot)


async def test_without_any_model_the_places_and_the_settings_are_named(tmp_path: Path, shelf: Path) -> None:
    fake = session(shelf)
    app = chat_app(fake)
    async with app.run_test() as pilot:
        await settled(pilot)
        fake.config = Config(ui=UiConfig(reduced_motion=True))
        chat(app).stage.show_models()
        await until(pilot, lambda: isinstance(app.screen, ModelPicker) and not app.screen.searching)
        assert "There are no models in the usual places" in screen(pilot)
        assert "[paths] models" in screen(pilot)


async def test_a_model_of_ollama_is_called_by_its_name(shelf: Path, isolated_home: Path, tmp_path: Path) -> None:
    in_ollama(isolated_home / ".ollama" / "models", "qwen3:8b", write_model(tmp_path / "o.gguf", arch="qwen3"))
    fake = session(shelf)
    app = chat_app(fake)
    async with app.run_test() as pilot:
        picker = await opened(pilot)
        await pilot.press(*"qwen3:")
        await until(pilot, lambda: listed(picker) == ["qwen3:8b"])
        marked = picker.list.marked
        assert marked is not None
        await until(pilot, lambda: picker.knows(marked.found.path))
        assert "because qwen3:8b has no prediction heads" in screen(pilot)
        await pilot.press("enter")
        await settled(pilot)
        assert "Loading qwen3:8b" in screen(pilot)


async def test_leaving_while_it_looks_ends_the_search(shelf: Path) -> None:
    fake = session(shelf)
    app = chat_app(fake)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"/model", "enter")
        await until(pilot, lambda: isinstance(app.screen, ModelPicker))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is chat(app))
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: Message("user", "hello") in fake.messages)


@pytest.mark.parametrize(("free", "says_so"), [(1 << 50, "fits at"), (1000, "does not fit at"), (None, "fits at")])
def test_memory_is_held_against_what_is_free(shelf: Path, free: int | None, says_so: str) -> None:
    outlook = Outlooks(session(shelf).config, free=lambda: free).of(shelf / "Qwen3.5-9B-Q6_K.gguf")
    assert outlook.memory.startswith(says_so)
    assert outlook.fits is (None if free is None else free > 1000)
    beside_a_gpu = Outlooks(session(shelf).config, gpu=True, free=lambda: 1000).of(shelf / "Qwen3.5-9B-Q6_K.gguf")
    assert beside_a_gpu.fits is None


def test_a_file_that_went_away_is_told_in_the_details(shelf: Path) -> None:
    assert "There is no file" in Outlooks(session(shelf).config).of(shelf / "gone.gguf").trouble


async def test_a_chat_without_a_model_begins_with_the_list(shelf: Path) -> None:
    fake = session(shelf)
    fake.config = Config(ui=UiConfig(reduced_motion=True), paths=PathsConfig(models=str(shelf)))
    app = chat_app(fake)
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, ModelPicker) and len(listed(app.screen)) == 3)
        assert fake.facts is None
        await pilot.press("enter")
        await until(pilot, lambda: fake.facts is not None)
        assert fake.config.model.path == str(shelf / "Llama-3.3-70B-IQ3_XXS.gguf")
