"""The law of this program: the text does not depend on speculation. Every kind, every depth, greedy and sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from mtpchat.config import SamplingConfig
from mtpchat.events import SpeculationControl
from mtpchat.messages import Message
from tests.models import TinyModel
from tests.native.talk import GREEDY, OFF, Talk, pinned, talk

DEPTHS = range(1, 9)
SAMPLED = SamplingConfig(temperature=0.9, top_k=30, top_p=0.95, min_p=0.02, seed=11, max_tokens=48)
HOT = SamplingConfig(temperature=1.3, top_k=0, top_p=0.98, min_p=0.0, seed=5, max_tokens=48)
PENALISED = SamplingConfig(
    temperature=0.8,
    repeat_penalty=1.2,
    presence_penalty=0.3,
    frequency_penalty=0.2,
    penalty_last_n=32,
    seed=3,
    max_tokens=48,
)
GREEDY_PENALISED = msgspec.structs.replace(PENALISED, temperature=0.0)
SAMPLINGS = {
    "greedy": GREEDY,
    "sampled": SAMPLED,
    "hot": HOT,
    "penalised": PENALISED,
    "greedy penalised": GREEDY_PENALISED,
}
PROMPT = "Why do rivers meander? Because because because."
PROMPTS = (PROMPT, "hello there", "Say it again and again and again and again", "1 2 3 4 1 2 3 4 1 2")

Case = tuple[Path, Path | str, str]


def _cases() -> dict[str, Callable[[pytest.FixtureRequest], Case]]:
    def model(request: pytest.FixtureRequest, name: str) -> Path:
        found: TinyModel = request.getfixturevalue(name)
        return found.path

    def hybrid(acceptance: float) -> Callable[[pytest.FixtureRequest], Case]:
        return lambda request: (request.getfixturevalue("hybrid")(acceptance).path, "", "mtp")

    return {
        "hybrid, head never right": hybrid(0.0),
        "hybrid, head right 70 %": hybrid(0.7),
        "hybrid, head always right": hybrid(1.0),
        "hybrid, text that hangs on all of its past": lambda r: (model(r, "hybrid_random"), "", "mtp"),
        "hybrid, head in a file of its own": lambda r: (model(r, "hybrid_trunk"), model(r, "hybrid_head"), "mtp"),
        "hybrid, n-gram": lambda r: (model(r, "hybrid_random"), "", "ngram"),
        "chained heads": lambda r: (model(r, "chained"), "", "mtp"),
        "chained heads in a file of their own": lambda r: (
            model(r, "chained_trunk"),
            model(r, "chained_head_file"),
            "mtp",
        ),
        "dense, draft model": lambda r: (model(r, "dense_model"), model(r, "draft_model"), "draft"),
        "dense, itself as the draft": lambda r: (
            model(r, "dense_random"),
            request_copy(r, "dense_random"),
            "draft",
        ),
        "dense, EAGLE-3 head never right": lambda r: (
            model(r, "eagle3_model"),
            r.getfixturevalue("eagle3")(0.0).path,
            "eagle3",
        ),
        "dense, EAGLE-3 head right 70 %": lambda r: (
            model(r, "eagle3_model"),
            r.getfixturevalue("eagle3")(0.7).path,
            "eagle3",
        ),
        "dense, EAGLE-3 head always right": lambda r: (
            model(r, "eagle3_model"),
            r.getfixturevalue("eagle3")(1.0).path,
            "eagle3",
        ),
        "hybrid, EAGLE-3 head": lambda r: (model(r, "hybrid_trunk"), model(r, "eagle3_hybrid"), "eagle3"),
        "gemma, assistant right 70 %": lambda r: (model(r, "gemma"), r.getfixturevalue("assistant")(0.7).path, "mtp"),
        "gemma, assistant always right": lambda r: (model(r, "gemma"), r.getfixturevalue("assistant")(1.0).path, "mtp"),
        "dense, n-gram": lambda r: (model(r, "dense_random"), "", "ngram"),
        "repeating, n-gram": lambda r: (model(r, "repeating"), "", "ngram"),
        "recurrent, n-gram and a copy of the state per draft": lambda r: (model(r, "recurrent_model"), "", "ngram"),
        "sliding window, draft model": lambda r: (model(r, "sliding"), model(r, "draft_model"), "draft"),
        "sliding window, n-gram": lambda r: (model(r, "sliding"), "", "ngram"),
    }


def request_copy(request: pytest.FixtureRequest, name: str) -> Path:
    """The same model under another name: naming the very file would mean its own heads."""
    source: TinyModel = request.getfixturevalue(name)
    copy = source.path.with_name("copy-of-" + source.path.name)
    if not copy.exists():
        copy.write_bytes(source.path.read_bytes())
    return copy


CASES = _cases()


@pytest.fixture(scope="module", params=CASES, ids=lambda name: name.replace(" ", "-").replace(",", ""))
def talking(request: pytest.FixtureRequest) -> Iterator[Talk]:
    """A loaded pair; what was asked for is really what runs."""
    model, drafter, kind = CASES[request.param](request)
    with talk(model, drafter, kind, copies="on") as loaded:
        assert loaded.facts.kind == kind, loaded.facts
        yield loaded


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=[name.replace(" ", "-") for name in SAMPLINGS])
def test_text_is_the_same_with_speculation_off_and_at_every_depth(talking: Talk, sampling: SamplingConfig) -> None:
    said = 0
    for number, prompt in enumerate(PROMPTS):
        plain, stats = talking.say(prompt, OFF, sampling)
        assert stats.drafted == 0
        said += stats.output_tokens
        # The first prompt at every depth; the others share the depths among them.
        for depth in DEPTHS[number - 1 :: len(PROMPTS) - 1] if number else DEPTHS:
            text, stats = talking.say(prompt, pinned(depth), sampling)
            assert text == plain, f"depth {depth}"
            assert stats.accepted <= stats.drafted
            assert stats.output_tokens == stats.steps + stats.accepted
    assert said > 60, "too little was said to prove anything"


def test_every_kind_really_drafts(talking: Talk) -> None:
    # In a second turn even a chat without repeats repeats the marks of the template.
    chat = (Message("user", PROMPT), Message("assistant", "so it is"), Message("user", PROMPT))
    _, stats = talking.say(chat, pinned(3))
    assert stats.drafted > 0
    assert stats.kind == talking.facts.kind


def test_adaptive_depth_does_not_change_the_text(talking: Talk) -> None:
    for sampling in (GREEDY, SAMPLED):
        plain, _ = talking.say(PROMPT, OFF, sampling)
        for mode in ("auto", "on"):
            text, _ = talking.say(PROMPT, SpeculationControl(mode=mode, draft_max=6), sampling)
            assert text == plain, mode


def test_switching_in_the_middle_of_an_answer_does_not_change_the_text(talking: Talk) -> None:
    plain, _ = talking.say(PROMPT, OFF, SAMPLED)
    asked = 0

    def restless() -> SpeculationControl:
        nonlocal asked
        asked += 1
        return [OFF, pinned(3), pinned(1), OFF, SpeculationControl(mode="on", draft_max=5)][asked // 7 % 5]

    text, _ = talking.say(PROMPT, restless, SAMPLED)
    assert text == plain


def test_second_turn_is_the_same_whatever_the_first_was_decoded_with(talking: Talk) -> None:
    first, _ = talking.say(PROMPT, OFF)
    chat = (
        Message("user", PROMPT),
        Message("assistant", first.partition("|")[2]),
        Message("user", "And then? Because because."),
    )
    plain, stats = talking.say(chat, OFF)
    assert stats.cached_tokens > 0
    for depth in (1, 4):
        talking.say(PROMPT, pinned(depth))
        text, stats = talking.say(chat, pinned(depth))
        assert text == plain
        assert stats.cached_tokens > 0
