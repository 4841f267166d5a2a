"""What the app asks when a model does not fit, and what it does with the answer."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from mtpchat.events import Failed, LoadFinished
from mtpchat.fitting import FitChoice
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.fit_dialog import FitDialog
from mtpchat.ui.widgets.choice_list import ChoiceList
from tests.ui.conftest import STILL, chat_app, seen, settled, until
from tests.ui.fake_session import FACTS, FakeSession

CHOICES = (
    FitChoice(
        "speed",
        "MTP heads, context 32,768",
        "15.1 GB of 16.2 GB free main memory",
        (("model.context", 32768),),
        "15.1 GB",
    ),
    FitChoice(
        "context",
        "no drafter, context 65,536",
        "15.3 GB of 16.2 GB free main memory",
        (("speculative.kind", "ngram"), ("speculative.drafter", ""), ("model.context", 65536)),
        "15.3 GB",
    ),
    FitChoice(
        "cache",
        "MTP heads, q8_0 cache, context 57,344",
        "15.2 GB of 16.2 GB free main memory",
        (("model.cache_type_k", "q8_0"), ("model.cache_type_v", "q8_0"), ("model.context", 57344)),
        "15.2 GB",
    ),
)
UNFIT = Failed(
    "Qwen3.8-27B-Q4_K_M.gguf with its MTP heads does not fit into memory at a context of 65,536 tokens: it needs "
    "19.4 GB of 16.2 GB free main memory.",
    "What fits: MTP heads, context 32,768 (--prefer speed).",
    choices=CHOICES,
)


class UnfitOnce(FakeSession):
    """A session whose first load does not fit; what it loads later, it loads."""

    async def load(self) -> Any:
        steps = self._load_steps
        self._load_steps = [LoadFinished(FACTS)]
        async for event in self._play(steps):
            yield event

    async def _play(self, steps: Any) -> Any:
        for step in steps:
            yield step


def unfit_app() -> tuple[MtpChatApp, UnfitOnce]:
    session = UnfitOnce(load=[UNFIT], config=STILL)
    return chat_app(session), session


async def asked(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, FitDialog))


@pytest.mark.parametrize(
    ("keys", "taken"),
    [
        (["enter"], 0),
        (["down", "enter"], 1),
        (["up", "enter"], 2),
        (["3"], 2),
        (["9", "enter"], 0),
        (["end", "k", "enter"], 1),
        (["j", "j", "j", "enter"], 0),
    ],
)
async def test_the_choice_that_is_taken_is_loaded(keys: list[str], taken: int) -> None:
    app, session = unfit_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot)
        await pilot.press(*keys)
        await until(pilot, lambda: session.facts is not None or not isinstance(app.screen, FitDialog))
        await settled(pilot)
        settings = dict(CHOICES[taken].settings)
        assert session.config.model.context == settings["model.context"]
        assert session.config.speculative.kind == settings.get("speculative.kind", "auto")
        assert session.config.model.cache_type_k == settings.get("model.cache_type_k", "f16")
        assert CHOICES[taken].label in seen(app)


async def test_escape_loads_nothing_and_says_what_would_fit() -> None:
    app, session = unfit_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert session.config == STILL
        text = " ".join(seen(app).split())
        assert "does not fit into memory" in text
        assert "--prefer speed" in text


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (120, 40)])
async def test_every_choice_can_be_read(size: tuple[int, int]) -> None:
    app, _ = unfit_app()
    async with app.run_test(size=size) as pilot:
        await asked(pilot)
        await pilot.pause()
        text = seen(app)
        assert "32,768" in text
        assert "no drafter, context 65,536".lower() in text.lower()
        assert "57,344" in text
        assert "15.1 GB" in text


async def test_a_low_screen_scrolls_to_the_marked_choice() -> None:
    app, _ = unfit_app()
    async with app.run_test(size=(60, 12)) as pilot:
        await asked(pilot)
        await pilot.press("end")
        await pilot.pause()
        assert "q8_0 cache" in seen(app)


async def test_a_click_takes_a_choice() -> None:
    app, session = unfit_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot)
        await pilot.pause()
        await pilot.click(ChoiceList, offset=(10, 3))
        await settled(pilot)
        assert session.config.model.context == 65536


async def test_text_of_a_model_is_not_markup() -> None:
    choice = FitChoice("speed", "[red]heads[/red]\x1b[31m", "1 of 2 GB", (), "[bold]1 GB")
    app = chat_app(UnfitOnce(load=[Failed("[b]name[/b]\x1b]0;x\x07", choices=(choice,))], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot)
        await pilot.pause()
        assert "[red]heads[/red]" in seen(app)
        assert "[b]name[/b]" in seen(app)
        assert "[bold]1 GB" in seen(app)
        assert "\x1b" not in seen(app)
