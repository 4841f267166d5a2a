"""With speculation off the context is made anew without what only speculation needs; the text stays the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import llama_cpp.llama_cpp as lib
import pytest

from mtpchat.backend.llama.ballast import LlamaBallast, cost_share
from mtpchat.backend.llama.draft import LlamaDraft
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.errors import MisuseRefused, ModelError
from mtpchat.events import Failed, Finished, SpeculationControl
from mtpchat.messages import Message
from mtpchat.paths import cache_dir
from tests.models import TinyModel
from tests.native.talk import GREEDY, OFF, Talk, pinned, talk

PROMPT = "Why do rivers meander? Because because because."

Pair = tuple[Path, Path | str, str]

CASES: dict[str, tuple[Callable[[pytest.FixtureRequest], Pair], str]] = {
    "snapshots and hidden rows": (
        lambda r: (r.getfixturevalue("hybrid")(0.7).path, "", "mtp"),
        "4 snapshots and rows for the drafter",
    ),
    "snapshots": (lambda r: (r.getfixturevalue("hybrid_random").path, "", "ngram"), "4 snapshots"),
    "chained heads": (lambda r: (r.getfixturevalue("chained").path, "", "mtp"), "rows for the drafter"),
    "EAGLE-3": (
        lambda r: (r.getfixturevalue("eagle3_model").path, r.getfixturevalue("eagle3")(0.7).path, "eagle3"),
        "rows for the drafter",
    ),
    "EAGLE-3 on a hybrid": (
        lambda r: (r.getfixturevalue("hybrid_trunk").path, r.getfixturevalue("eagle3_hybrid").path, "eagle3"),
        "4 snapshots and rows for the drafter",
    ),
    "assistant": (
        lambda r: (r.getfixturevalue("gemma").path, r.getfixturevalue("assistant")(0.7).path, "mtp"),
        "rows for the drafter",
    ),
    "draft model of a hybrid": (
        lambda r: (r.getfixturevalue("hybrid_random").path, r.getfixturevalue("draft_model").path, "draft"),
        "4 snapshots",
    ),
}


@pytest.fixture(params=CASES, ids=lambda name: name.replace(" ", "-"))
def chat(request: pytest.FixtureRequest) -> Iterator[tuple[Talk, str]]:
    pair, words = CASES[request.param]
    with talk(*pair(request), depth_cap=4, off_rebuild="always") as loaded:
        yield loaded, words


def target_of(chat: Talk) -> LlamaTarget:
    target = chat.engine.probe().loaded.target
    assert isinstance(target, LlamaTarget)
    return target


def turn(
    chat: Talk, control: SpeculationControl | Callable[[], SpeculationControl], said: Sequence[Message] = ()
) -> Finished:
    last = chat.events((*said, Message("user", PROMPT)), control)[-1]
    assert isinstance(last, Finished), last
    return last


def test_off_on_off_says_the_same_and_tells_what_it_does(chat: tuple[Talk, str]) -> None:
    loaded, words = chat
    on = turn(loaded, pinned(3))
    assert on.notice.count("context") == 0
    texts = [on.message]
    for _ in range(2):
        off = turn(loaded, OFF)
        assert f"Speculation off: the context was made anew without its {words}; the chat is read again." in off.notice
        assert off.stats.cached_tokens == off.stats.drafted == 0
        assert "anew" not in turn(loaded, OFF).notice
        back = turn(loaded, pinned(3))
        assert f"Speculation on: the context was made anew with its {words}; the chat is read again." in back.notice
        assert back.stats.kind == loaded.facts.kind
        texts += [off.message, back.message]
    assert len({(one.thinking, one.content) for one in texts}) == 1
    assert back.stats.accepted == on.stats.accepted
    assert back.stats.drafted == on.stats.drafted > 0 or loaded.facts.kind == "ngram"


def test_a_context_made_anew_really_is_without(chat: tuple[Talk, str]) -> None:
    loaded, _ = chat
    target = target_of(loaded)
    before = target.capabilities
    turn(loaded, OFF)
    assert lib.llama_n_rs_seq(target.handle) == 0
    assert target.capabilities.hidden_width == 0
    rows = target.decode([1])
    with pytest.raises(MisuseRefused):
        rows.hidden()
    target.rollback(target.length - 1) if before.rollback is None else target.clear()
    turn(loaded, pinned(2))
    assert target.capabilities == before


def test_a_second_turn_with_speculation_off_keeps_what_was_read(chat: tuple[Talk, str]) -> None:
    loaded, _ = chat
    first = turn(loaded, OFF)
    again = turn(loaded, OFF, (Message("user", PROMPT), first.message))
    assert again.stats.cached_tokens > 0


def test_switched_on_inside_an_answer_speculation_begins_with_the_next(chat: tuple[Talk, str]) -> None:
    loaded, _ = chat
    plain = turn(loaded, OFF)
    asked = 0

    def late() -> SpeculationControl:
        nonlocal asked
        asked += 1
        return OFF if asked < 3 else pinned(3)

    mixed = turn(loaded, late)
    assert mixed.message == plain.message
    assert mixed.stats.fallback_reason == "speculation begins with the next answer, which makes the context anew"
    assert turn(loaded, pinned(3)).stats.fallback_reason == ""


def test_switched_off_inside_an_answer_the_context_stays_until_the_next(chat: tuple[Talk, str]) -> None:
    loaded, _ = chat
    target = target_of(loaded)
    turn(loaded, pinned(3))
    handle, asked = target.handle, 0

    def late() -> SpeculationControl:
        nonlocal asked
        asked += 1
        return pinned(3) if asked < 12 else OFF

    turn(loaded, late)
    assert target.handle == handle
    assert "made anew without" in turn(loaded, OFF).notice


def test_contexts_are_freed_drafter_first_and_every_one_of_them(
    chat: tuple[Talk, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, _ = chat
    target = target_of(loaded)
    draft = loaded.engine.probe().loaded.draft
    events: list[str] = []
    free, make = lib.llama_free, lib.llama_init_from_model

    def noted_free(handle: object) -> None:
        events.append("free target" if handle == target.handle else "free drafter")
        free(handle)

    def noted_make(*args: object) -> object:
        events.append("make")
        return make(*args)

    monkeypatch.setattr(lib, "llama_free", noted_free)
    monkeypatch.setattr(lib, "llama_init_from_model", noted_make)
    turn(loaded, OFF)
    hangs = isinstance(draft, LlamaDraft) and draft.hangs
    assert events == [*(["free drafter"] if hangs else []), "free target", "make"]
    before = len(events)
    turn(loaded, pinned(2))
    assert events[before:] == ["free target", "make", *(["make"] if hangs else [])]
    turn(loaded, OFF)
    loaded.engine.close()
    assert target.handle is None
    alive = 1 + (draft is not None)
    assert alive + events.count("make") == sum("free" in event for event in events)


def test_where_the_lighter_context_cannot_be_made_the_chat_goes_on_as_it_was(
    hybrid: Callable[[float], TinyModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    with talk(hybrid(0.7).path, off_rebuild="always") as loaded:
        target = target_of(loaded)
        text = turn(loaded, pinned(3)).message
        reopen, failures = LlamaTarget.reopen, [ModelError("no memory left")]

        def failing(self: LlamaTarget, settings: object) -> None:
            if failures:
                self.close()
                raise failures.pop()
            reopen(self, settings)  # type: ignore[arg-type]

        monkeypatch.setattr(LlamaTarget, "reopen", failing)
        off = turn(loaded, OFF)
        assert off.message == text
        assert "no memory left" in off.notice
        assert target.snapshots > 0
        assert "anew" not in turn(loaded, OFF).notice, "it is not tried again and again"
        assert turn(loaded, pinned(3)).message == text
        failures[:] = []


def test_where_the_drafter_cannot_come_back_speculation_stays_off_and_says_why(
    hybrid: Callable[[float], TinyModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    with talk(hybrid(0.7).path, off_rebuild="always") as loaded:
        text = turn(loaded, OFF).message
        reopen, tries = LlamaDraft.reopen, []

        def failing(self: LlamaDraft) -> None:
            tries.append(self)
            raise ModelError("no memory left")

        monkeypatch.setattr(LlamaDraft, "reopen", failing)
        for _ in range(2):
            on = turn(loaded, pinned(3))
            assert on.message == text
            assert on.stats.drafted == 0
            assert "no memory left" in on.stats.fallback_reason
        assert len(tries) == 1, "it is not tried again and again"
        assert turn(loaded, OFF).message == text
        monkeypatch.setattr(LlamaDraft, "reopen", reopen)
        back = turn(loaded, pinned(3))
        assert back.message == text
        assert back.stats.drafted > 0
        assert back.stats.fallback_reason == ""


def test_without_any_context_the_turn_fails_in_words_and_the_model_is_unloaded(
    hybrid: Callable[[float], TinyModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    with talk(hybrid(0.7).path, off_rebuild="always") as loaded:

        def failing(self: LlamaTarget, settings: object) -> None:
            self.close()
            raise ModelError("no memory left")

        monkeypatch.setattr(LlamaTarget, "reopen", failing)
        for words in ("no memory left", "No model is loaded"):
            last = loaded.events(PROMPT, OFF)[-1]
            assert isinstance(last, Failed)
            assert words in last.message
            assert "/model" in last.hint


@pytest.mark.parametrize(("share", "rebuilt"), [(0.031, True), (0.009, False), (0.0, False), (None, False)])
def test_by_itself_only_what_is_measured_to_cost_more_than_a_percent_is_left_out(
    hybrid: Callable[[float], TinyModel], monkeypatch: pytest.MonkeyPatch, share: float | None, rebuilt: bool
) -> None:
    measured = []
    monkeypatch.setattr("mtpchat.backend.llama.ballast.cost_share", lambda *_: measured.append(1) or share)
    with talk(hybrid(0.7).path, off_rebuild="auto") as loaded:
        turn(loaded, pinned(3))
        assert not measured, "nothing is measured before speculation is switched off"
        notices = [turn(loaded, OFF).notice for _ in range(2)]
        assert len(measured) == 1
        assert ("3.1% faster" in notices[0]) == rebuilt
    with talk(hybrid(0.7).path, off_rebuild="auto") as loaded:
        turn(loaded, OFF)
    assert len(measured) == (2 if share is None else 1), "kept for the next start"
    assert share is None or share in json.loads((cache_dir() / "off-costs.json").read_text()).values()


def test_never_means_never(hybrid: Callable[[float], TinyModel]) -> None:
    with talk(hybrid(0.7).path, off_rebuild="never") as loaded:
        turn(loaded, pinned(3))
        assert turn(loaded, OFF).stats.cached_tokens > 0
        assert target_of(loaded).snapshots > 0


def test_a_model_without_ballast_is_left_alone(dense_model: TinyModel, draft_model: TinyModel) -> None:
    for drafter in ("", draft_model.path):
        with talk(dense_model.path, drafter, off_rebuild="always") as loaded:
            assert loaded.engine.probe().loaded.ballast is None
            turn(loaded, OFF, (Message("user", PROMPT), Message("assistant", "so")))
            assert turn(loaded, OFF).notice == f"Stopped at the limit of {GREEDY.max_tokens} tokens."


def test_the_measure_really_runs_on_two_contexts_and_leaves_none_behind(
    hybrid: Callable[[float], TinyModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    with talk(hybrid(0.7).path) as loaded:
        made: list[LlamaTarget] = []
        reopen = LlamaTarget.reopen
        monkeypatch.setattr(
            LlamaTarget, "reopen", lambda self, settings: (made.append(self), reopen(self, settings))[1]
        )
        monkeypatch.setattr("mtpchat.backend.llama.ballast._LONGEST_S", 0.02)
        ballast = loaded.engine.probe().loaded.ballast
        assert isinstance(ballast, LlamaBallast)
        share = ballast.share()
        assert share is not None
        assert share >= 0
        assert [target.snapshots for target in made] == [8, 0]
        assert all(target.handle is None for target in made)


class Machine:
    """A clock on which runs take the time they are told to."""

    def __init__(self) -> None:
        self.now, self.runs = 0.0, 0

    def __call__(self) -> float:
        return self.now

    def run(self, cost_s: float, noise: float = 0.0) -> Callable[[], None]:
        def go() -> None:
            self.runs += 1
            self.now += cost_s * (1 + noise * ((self.runs * 7919) % 101 / 50 - 1))
            if self.runs % 23 == 0:
                self.now += 40 * cost_s  # the machine has something else to do

        return go


@pytest.mark.parametrize("decode_s", [0.0003, 0.004, 0.02])
@pytest.mark.parametrize("share", [0.0, 0.03, 0.2])
def test_a_share_is_found_in_spite_of_outliers(decode_s: float, share: float) -> None:
    machine = Machine()
    found = cost_share(machine.run(decode_s * (1 + share), 0.002), machine.run(decode_s, 0.002), machine)
    assert found == pytest.approx(share, abs=0.003)
    assert machine.now < 1.0 + 100 * decode_s


def test_noise_is_not_taken_for_a_cost() -> None:
    machine = Machine()
    assert cost_share(machine.run(0.1, 0.2), machine.run(0.1, 0.2), machine) == 0.0


def test_a_slow_model_is_not_measured() -> None:
    machine = Machine()
    assert cost_share(machine.run(0.3), machine.run(0.3), machine) is None
    assert machine.runs <= 4
