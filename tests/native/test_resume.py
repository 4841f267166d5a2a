"""A chat that is reopened goes on exactly as if the program had never been closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from mtpchat.backend.llama.draft import LlamaDraft
from mtpchat.backend.llama.eagle3 import LlamaEagle3
from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.backend.protocol import Floats, LoadPlan
from mtpchat.config import ChatsConfig, Config, ModelConfig, SamplingConfig, SpeculativeConfig
from mtpchat.engine.engine import ChatEngine
from mtpchat.engine.kept_state import Keep, StateKeeper
from mtpchat.engine.requests import TurnRequest
from mtpchat.events import Finished, Prefilling, SpeculationControl, TurnEvent
from mtpchat.messages import Message
from mtpchat.store.state_writer import StateWriter
from mtpchat.store.states import StateFolder
from tests.models import TinyModel
from tests.native.talk import GREEDY, OFF, pinned

QUESTIONS = (
    "Tell me a long story about ships that sail to the end of the sea. " * 6,
    "And what did the captain say to the whale then? " * 3,
    "How did it end?",
)
DRAWN = SamplingConfig(temperature=0.9, seed=11, max_tokens=40)


@dataclass(frozen=True)
class Pair:
    """A model, its drafter, and how far to guess."""

    model: Path
    drafter: str = ""
    kind: str = "auto"
    control: SpeculationControl = OFF


KINDS = (
    "dense",
    "copies",
    "head",
    "poor head",
    "chained",
    "window",
    "assistant",
    "draft",
    "eagle3",
    "wide",
    "apart",
    "recurrent",
)


@pytest.fixture(params=KINDS)
def pair(request: pytest.FixtureRequest) -> Pair:
    """Every kind of memory, with every kind of drafter."""

    def get(name: str) -> Path:
        found: TinyModel = request.getfixturevalue(name)
        return found.path

    def made(name: str, acceptance: float) -> Path:
        make: Callable[[float], TinyModel] = request.getfixturevalue(name)
        return make(acceptance).path

    match request.param:
        case "dense":
            return Pair(get("dense_random"))
        case "copies":
            return Pair(get("dense_random"), "", "ngram", pinned(3))
        case "head":
            return Pair(made("hybrid", 1.0), "", "mtp", pinned(2))
        case "poor head":
            return Pair(get("hybrid_random"), "", "mtp", pinned(2))
        case "chained":
            return Pair(get("chained"), "", "mtp", pinned(3))
        case "window":
            return Pair(get("sliding"), "", "ngram", pinned(2))
        case "assistant":
            return Pair(get("gemma"), str(made("assistant", 1.0)), "mtp", pinned(2))
        case "draft":
            return Pair(get("dense_model"), str(get("draft_model")), "draft", pinned(2))
        case "eagle3":
            return Pair(get("eagle3_model"), str(made("eagle3", 1.0)), "eagle3", pinned(2))
        case "wide":
            return Pair(get("hybrid_trunk"), str(get("eagle3_hybrid")), "eagle3", pinned(2))
        case "apart":
            return Pair(get("hybrid_trunk"), str(get("hybrid_head")), "mtp", pinned(2))
        case _:
            return Pair(get("recurrent_model"), "", "ngram", pinned(2))


@dataclass
class Chat:
    """One run of the program."""

    engine: ChatEngine
    pair: Pair

    def answer(self, said: list[Message], sampling: SamplingConfig, chat: str = "c") -> Finished:
        """The answer to the last message; it joins what was said."""
        last = self.events(said, sampling, chat)[-1]
        assert isinstance(last, Finished), last
        said.append(last.message)
        return last

    def events(self, said: list[Message], sampling: SamplingConfig = GREEDY, chat: str = "c") -> list[TurnEvent]:
        """All events of a turn."""
        request = TurnRequest(tuple(said), sampling, chat=chat)
        return list(self.engine.turn(request, lambda: self.pair.control, lambda: False))


@contextmanager
def run(pair: Pair, folder: Path | None, keep: Keep = "always", **settings: object) -> Iterator[Chat]:
    """A run of the program; `folder` is where states are kept."""
    keeper = StateKeeper(StateWriter(StateFolder(folder, 1 << 30))) if folder is not None else None
    model = msgspec.convert({"context": 2048, "threads": 1, "trial": "off", **settings}, ModelConfig)
    speculative = SpeculativeConfig(off_rebuild="never", depth_cap=4, checkpoint_rollback="on")
    config = Config(model=model, speculative=speculative, chats=ChatsConfig(keep_state=keep))
    engine = ChatEngine(LlamaBackend(), keeper=keeper)
    try:
        engine.load(LoadPlan(str(pair.model), pair.drafter, pair.kind, config), lambda *_: None, lambda: False)
        yield Chat(engine, pair)
    finally:
        engine.close()


def ask(said: list[Message], turn: int) -> list[Message]:
    """What was said, and the question of that turn."""
    said.append(Message("user", QUESTIONS[turn]))
    return said


def told(pair: Pair, sampling: SamplingConfig, folder: Path | None, *, breaks: bool) -> list[Finished]:
    """Three turns, with the program closed after each or only at the end."""
    said: list[Message] = []
    answers: list[Finished] = []
    runs = ((0,), (1,), (2,)) if breaks else ((0, 1, 2),)
    for turns in runs:
        with run(pair, folder) as chat:
            answers += [chat.answer(ask(said, turn), sampling) for turn in turns]
    return answers


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tokens of every decode of a target."""
    counts: list[int] = []
    before = LlamaTarget.decode

    def counting(self: LlamaTarget, tokens: list[int], **how: object) -> object:
        counts.append(len(tokens))
        return before(self, tokens, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(LlamaTarget, "decode", counting)
    return counts


@pytest.mark.parametrize("sampling", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_the_text_after_a_break_is_that_of_the_chat_without_one_and_the_drafter_is_right_as_often(
    pair: Pair, sampling: SamplingConfig, tmp_path: Path
) -> None:
    whole = told(pair, sampling, None, breaks=False)
    broken = told(pair, sampling, tmp_path / "states", breaks=True)
    read_again = told(pair, sampling, None, breaks=True)
    assert [one.message for one in broken] == [one.message for one in whole] == [one.message for one in read_again]
    counts = [[(one.stats.drafted, one.stats.accepted, one.stats.steps) for one in run] for run in (broken, whole)]
    assert counts[0] == counts[1]
    assert broken[2].stats.cached_tokens == whole[2].stats.cached_tokens
    assert broken[2].stats.cached_tokens > 150 > read_again[2].stats.cached_tokens
    assert f"{broken[2].stats.cached_tokens:,} tokens were remembered" in broken[2].notice


@pytest.fixture
def fed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[int], Floats, Floats]]:
    """Every feed of a drafter's context: place, tokens, hidden rows, and the logits that came of it."""
    feeds: list[tuple[int, list[int], Floats, Floats]] = []
    nothing = np.empty(0, np.float32)

    def watch(kind: type[LlamaDraft]) -> None:
        before = kind.feed

        def feed(self: LlamaDraft, tokens: list[int], start: int, hidden: Floats | None, **how: Any) -> Any:
            rows = nothing if hidden is None else hidden.copy()
            output = before(self, tokens, start, hidden, **how)
            feeds.append((start, list(tokens), rows, nothing if output is None else output.logits.copy()))
            return output

        monkeypatch.setattr(kind, "feed", feed)

    watch(LlamaDraft)
    watch(LlamaEagle3)
    return feeds


def test_the_drafter_reads_and_says_what_it_would_have_without_a_break(
    pair: Pair, tmp_path: Path, fed: list[tuple[int, list[int], Floats, Floats]]
) -> None:
    told(pair, GREEDY, None, breaks=False)
    whole = list(fed)
    fed.clear()
    told(pair, GREEDY, tmp_path / "states", breaks=True)
    assert [feed[:2] for feed in fed] == [feed[:2] for feed in whole]
    for mine, theirs in zip(fed, whole, strict=True):
        np.testing.assert_allclose(mine[2], theirs[2], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(mine[3], theirs[3], rtol=1e-3, atol=1e-3)


def test_a_memory_that_was_cut_back_behind_the_drafter_goes_on_all_the_same(pair: Pair, tmp_path: Path) -> None:
    answers = []
    for folder in (None, tmp_path):
        said: list[Message] = []
        with run(pair, folder) as chat:
            chat.answer(ask(said, 0), GREEDY)
            target = chat.engine.probe().loaded.target
            if target.capabilities.deep_rollback:
                target.rollback(target.length - 7)
            if folder is None:
                answers.append(chat.answer(ask(said, 1), GREEDY).message)
                continue
        with run(pair, folder) as chat:
            answers.append(chat.answer(ask(said, 1), GREEDY).message)
    assert answers[0] == answers[1]


def test_only_new_tokens_are_decoded_after_a_break(pair: Pair, tmp_path: Path, decoded: list[int]) -> None:
    told(pair, GREEDY, tmp_path / "states", breaks=False)
    whole = sum(decoded)
    decoded.clear()
    said: list[Message] = []
    for turns in ((0,), (1,), (2,)):
        with run(pair, tmp_path / "other") as chat:
            decoded.append(0)
            for turn in turns:
                chat.answer(ask(said, turn), GREEDY)
    assert sum(decoded) <= whole


def test_without_the_drafters_state_the_target_goes_on_and_the_drafter_catches_up(
    hybrid: Callable[[float], TinyModel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(hybrid(1.0).path, "", "mtp", pinned(2))
    whole = told(pair, GREEDY, None, breaks=False)[2]
    monkeypatch.setattr(LlamaDraft, "fill", lambda _self, _state, _length: False)
    broken = told(pair, GREEDY, tmp_path, breaks=True)[2]
    assert broken.message == whole.message
    assert broken.stats.cached_tokens == whole.stats.cached_tokens
    assert broken.stats.accepted


def test_a_state_that_llama_cpp_refuses_is_removed_and_the_chat_is_read_again(
    dense_random: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(dense_random.path)
    whole = told(pair, GREEDY, None, breaks=False)[2]
    said: list[Message] = []
    with run(pair, tmp_path) as chat:
        for turn in (0, 1):
            chat.answer(ask(said, turn), GREEDY)
    monkeypatch.setattr("mtpchat.backend.llama.target.put_whole", lambda *_: False)
    with run(pair, tmp_path) as chat:
        answer = chat.answer(ask(said, 2), GREEDY)
        assert not list(tmp_path.glob("*.state"))
    assert answer.message == whole.message
    assert not answer.stats.cached_tokens
    assert "remembered" not in answer.notice


@pytest.mark.parametrize("harm", ["header", "body", "digest", "cut", "longer", "empty", "version"])
def test_a_harmed_file_never_reaches_llama_cpp_and_the_chat_goes_on(
    hybrid: Callable[[float], TinyModel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    pair = Pair(hybrid(1.0).path, "", "mtp", pinned(2))
    said: list[Message] = []
    with run(pair, tmp_path) as chat:
        chat.answer(ask(said, 0), GREEDY)
    (file,) = tmp_path.glob("*.state")
    content = bytearray(file.read_bytes())
    places = {"header": 40, "body": len(content) // 2, "digest": len(content) - 3, "version": 7}
    if harm in places:
        content[places[harm]] ^= 4
    file.write_bytes({"cut": content[:-100], "longer": content + b"more", "empty": b""}.get(harm, content))
    monkeypatch.setattr("mtpchat.backend.llama.target.put_whole", lambda *_: pytest.fail("it reached llama.cpp"))
    ask(said, 1)
    with run(pair, tmp_path) as chat:
        answer = chat.answer(list(said), GREEDY)
    with run(pair, None) as chat:
        assert chat.answer(list(said), GREEDY).message == answer.message
    assert not answer.stats.cached_tokens


def test_a_state_of_another_model_is_not_taken_even_under_the_right_name(
    dense_random: TinyModel, dense_model: TinyModel, tmp_path: Path
) -> None:
    said: list[Message] = []
    for model in (dense_random, dense_model):
        with run(Pair(model.path), tmp_path / model.path.stem) as chat:
            chat.answer(ask(list(said), 0), GREEDY)
    (mine,), (other,) = ((tmp_path / model.path.stem).glob("*.state") for model in (dense_random, dense_model))
    mine.write_bytes(other.read_bytes())
    with run(Pair(dense_random.path), mine.parent) as chat:
        answer = chat.answer(ask(said, 0), GREEDY)
        assert not answer.stats.cached_tokens


@pytest.mark.parametrize("settings", [{"cache_type_k": "q8_0"}, {"flash_attention": "off"}])
def test_other_settings_read_the_chat_again(
    dense_random: TinyModel, tmp_path: Path, settings: dict[str, object]
) -> None:
    pair, said = Pair(dense_random.path), list[Message]()
    with run(pair, tmp_path, flash_attention="on") as chat:
        chat.answer(ask(said, 0), GREEDY)
    with run(pair, tmp_path, **{"flash_attention": "on", **settings}) as chat:
        assert not chat.answer(ask(said, 1), GREEDY).stats.cached_tokens


def test_a_larger_or_smaller_context_goes_on_where_the_chat_fits(dense_random: TinyModel, tmp_path: Path) -> None:
    pair, said = Pair(dense_random.path), list[Message]()
    for turn, context in enumerate((1024, 2048, 768)):
        with run(pair, tmp_path, context=context) as chat:
            answer = chat.answer(ask(said, turn), GREEDY)
            assert bool(answer.stats.cached_tokens) == (turn > 0)


def test_a_file_that_was_changed_is_another_model(dense_random: TinyModel, tmp_path: Path) -> None:
    model = tmp_path / "copy.gguf"
    content = dense_random.path.read_bytes()
    model.write_bytes(content)
    pair, said = Pair(model), list[Message]()
    with run(pair, tmp_path / "states") as chat:
        chat.answer(ask(said, 0), GREEDY)
    model.rename(tmp_path / "moved.gguf")
    pair = Pair(tmp_path / "moved.gguf")
    with run(pair, tmp_path / "states") as chat:
        assert chat.answer(ask(said, 1), GREEDY).stats.cached_tokens
    pair.model.write_bytes(content[:-4] + b"\1\2\3\4")
    with run(pair, tmp_path / "states") as chat:
        assert not chat.answer(ask(said, 2), GREEDY).stats.cached_tokens


def test_a_fork_and_a_branch_go_on_from_what_they_share(dense_random: TinyModel, tmp_path: Path) -> None:
    pair, said = Pair(dense_random.path), list[Message]()
    with run(pair, tmp_path) as chat:
        for turn in (0, 1):
            chat.answer(ask(said, turn), GREEDY)
    branch = [*said[:2], Message("user", "Something else: what about the moon?")]
    with run(pair, tmp_path) as chat:
        answer = chat.answer(branch, GREEDY, chat="another")
    assert answer.stats.cached_tokens > 100
    with run(pair, None) as chat:
        assert chat.answer(branch[:3], GREEDY).message == answer.message


def test_what_belongs_to_no_chat_is_neither_kept_nor_put_back(dense_random: TinyModel, tmp_path: Path) -> None:
    pair, said = Pair(dense_random.path), list[Message]()
    with run(pair, tmp_path) as chat:
        chat.answer(ask(said, 0), GREEDY, chat="")
    assert not list(tmp_path.glob("*"))


def test_the_chat_that_is_left_is_kept_when_another_begins(dense_random: TinyModel, tmp_path: Path) -> None:
    pair, first = Pair(dense_random.path), list[Message]()
    with run(pair, tmp_path) as chat:
        chat.answer(ask(first, 0), GREEDY, chat="a")
        chat.answer([Message("user", QUESTIONS[1] * 3)], GREEDY, chat="b")
        assert chat.answer(ask(first, 1), GREEDY, chat="a").stats.cached_tokens > 100


def test_the_first_report_of_reading_says_how_much_is_remembered(dense_random: TinyModel, tmp_path: Path) -> None:
    pair, said = Pair(dense_random.path), list[Message]()
    with run(pair, tmp_path) as chat:
        chat.answer(ask(said, 0), GREEDY)
    with run(pair, tmp_path) as chat:
        events = chat.events(ask(said, 1))
    first = next(event for event in events if isinstance(event, Prefilling))
    assert first.done == first.remembered > 100


def test_a_chat_that_is_read_in_no_time_is_not_kept(dense_random: TinyModel, tmp_path: Path) -> None:
    with run(Pair(dense_random.path), tmp_path, keep="auto") as chat:
        chat.answer(ask([], 0), GREEDY)
        chat.engine.rest(lambda: False)
    assert not list(tmp_path.glob("*"))
