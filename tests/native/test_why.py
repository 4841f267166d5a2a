"""Causes planted in real models are named by /why from what the engine itself reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Literal, cast

import msgspec
import pytest

from mtpchat.commands.base import CommandContext
from mtpchat.commands.insight import evidence
from mtpchat.config import Config, ModelConfig, SpeculativeConfig
from mtpchat.engine.diagnosis import Finding, diagnose
from mtpchat.events import Finished, SpeculationControl
from mtpchat.stats import TurnStats
from tests.models import TinyModel
from tests.native.talk import GREEDY, pinned, talk

PROMPT = "Tell me about rivers and boats."


@dataclass
class Planted:
    """What is loaded and asked for, and what a finding and its remedy must say."""

    words: str
    remedy: str
    drafter: str = ""
    control: SpeculationControl = field(default_factory=lambda: pinned(2))
    kind: Literal["auto", "mtp"] = "auto"
    tokens: int = 96
    depth_cap: int = 8


def findings(model: TinyModel, plant: Planted) -> list[Finding]:
    sampling = msgspec.structs.replace(GREEDY, max_tokens=plant.tokens)
    config = Config(
        model=ModelConfig(path=str(model.path)),
        sampling=sampling,
        speculative=SpeculativeConfig(kind=plant.kind, drafter=plant.drafter),
    )
    with talk(model.path, plant.drafter, plant.kind, depth_cap=plant.depth_cap) as talking:
        last = talking.events(PROMPT, plant.control, sampling)[-1]
        assert isinstance(last, Finished)
        session = SimpleNamespace(
            facts=talking.facts,
            control=plant.control,
            config=config,
            stats=last.stats,
            totals=TurnStats(),
            report=last.report,
        )
        return diagnose(evidence(cast(CommandContext, SimpleNamespace(session=session))))


AUTO = SpeculationControl()
PLANTED: dict[str, Callable[[pytest.FixtureRequest], tuple[TinyModel, Planted]]] = {
    "a head that was never trained": lambda r: (
        r.getfixturevalue("hybrid_random"),
        Planted("next to never right", "--pairs"),
    ),
    "a file without its heads": lambda r: (
        r.getfixturevalue("hybrid_trunk"),
        Planted("This GGUF has no prediction heads", "/drafter", kind="mtp"),
    ),
    "a drafter with other words": lambda r: (
        r.getfixturevalue("dense_model"),
        Planted("The drafter does not fit", "same vocabulary", str(r.getfixturevalue("foreign_draft").path), AUTO),
    ),
    "no snapshots": lambda r: (
        r.getfixturevalue("recurrent_model"),
        Planted("cannot take back what it decoded", "checkpoint_rollback", control=AUTO),
    ),
    "too few snapshots": lambda r: (
        r.getfixturevalue("hybrid")(1.0),
        Planted("Drafts end at 4 although guess number 4", "--draft-max 8", control=pinned(4), depth_cap=4),
    ),
    "a loop": lambda r: (
        r.getfixturevalue("repeating"),
        Planted("repeats itself", "repeat_penalty", control=pinned(4, "ngram")),
    ),
    "speculation off": lambda r: (
        r.getfixturevalue("hybrid")(0.7),
        Planted("switched off", "/mtp auto", control=SpeculationControl(mode="off")),
    ),
    "nothing said for long": lambda r: (
        r.getfixturevalue("hybrid")(0.7),
        Planted("Too little has been drafted", "longer answer", tokens=8),
    ),
}


@pytest.mark.parametrize("cause", PLANTED)
def test_a_cause_planted_in_a_real_model_is_named_with_its_remedy(cause: str, request: pytest.FixtureRequest) -> None:
    model, plant = PLANTED[cause](request)
    shown = findings(model, plant)[:3]  # whether it helps, too, hangs on how busy the machine is
    assert any(plant.words in one.sentence and plant.remedy in one.remedy for one in shown), shown
