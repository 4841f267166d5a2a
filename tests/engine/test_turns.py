"""Whole turns on tiny models: reuse, stopping, cancelling, continuing, and what happens when there is no room."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from mtpchat.backend.protocol import CancelFlag
from mtpchat.config import SamplingConfig
from mtpchat.errors import ModelNotFound, ModelUnreadable, ModelUnsupported
from mtpchat.events import Failed, Finished, Prefilling, StatsTick, TextDelta
from mtpchat.messages import Message
from mtpchat.speculate.controller import Controller
from tests.models import TinyModel
from tests.native.talk import GREEDY, OFF, pinned, talk

LONG = "river " * 60


def limited(count: int, **changes: object) -> SamplingConfig:
    return msgspec.structs.replace(GREEDY, max_tokens=count, **changes)


def finished(events: list[object]) -> Finished:
    last = events[-1]
    assert isinstance(last, Finished), last
    return last


def test_text_deltas_add_up_to_the_message(dense_model: TinyModel) -> None:
    with talk(dense_model.path) as chat:
        events = chat.events("hello")
    text = "".join(e.text for e in events if isinstance(e, TextDelta))
    assert text == finished(events).message.content == dense_model.chain.text(48)


def test_thoughts_go_to_their_own_channel_and_the_answer_ends_itself(short_answer: TinyModel) -> None:
    with talk(short_answer.path) as chat:
        events = chat.events("hello", sampling=limited(100))
    done = finished(events)
    assert done.reason == "stop"
    assert done.message.complete
    assert done.message.thinking
    assert "<think>" not in done.message.thinking + done.message.content
    channels = [e.channel for e in events if isinstance(e, TextDelta)]
    assert channels == sorted(channels, reverse=True), "all thoughts come before the answer"


def test_end_of_generation_inside_a_draft_ends_the_answer_there(short_answer: TinyModel) -> None:
    with talk(short_answer.path, kind="ngram") as chat:
        plain = finished(chat.events("hello", sampling=limited(100)))
        message = (Message("user", "hello"), plain.message, Message("user", "hello"))
        again = finished(chat.events(message, pinned(8), limited(100)))
    assert again.message == plain.message
    assert again.stats.accepted > 0


def test_second_turn_decodes_only_the_new_suffix(dense_model: TinyModel) -> None:
    with talk(dense_model.path) as chat:
        first = finished(chat.events(LONG))
        messages = (Message("user", LONG), first.message, Message("user", "more"))
        second = finished(chat.events(messages))
    # All that the first turn left in memory is kept: the prompt and the answer but for its last token.
    assert second.stats.cached_tokens == first.stats.prompt_tokens + first.stats.output_tokens - 1


@pytest.mark.parametrize("name", ["hybrid_random", "sliding", "recurrent_model"])
def test_memories_that_cannot_be_cut_come_back_to_a_checkpoint(request: pytest.FixtureRequest, name: str) -> None:
    model: TinyModel = request.getfixturevalue(name)
    with talk(model.path) as chat:
        first = finished(chat.events(LONG, sampling=limited(200)))
        again = finished(chat.events(LONG, sampling=limited(200)))
        assert again.message == first.message
        assert again.stats.cached_tokens > first.stats.prompt_tokens // 2
        fresh = finished(chat.events("something else entirely"))
    with talk(model.path) as chat:
        assert finished(chat.events("something else entirely")).message == fresh.message


def test_edited_past_is_read_again_from_the_edit_on(dense_random: TinyModel) -> None:
    with talk(dense_random.path) as chat:
        chat.events((Message("system", "be brief"), Message("user", LONG + "one")))
        edited = (Message("system", "be brief"), Message("user", LONG + "two"))
        reused = finished(chat.events(edited))
    with talk(dense_random.path) as chat:
        fresh = finished(chat.events(edited))
    assert reused.message == fresh.message
    assert 0 < reused.stats.cached_tokens < reused.stats.prompt_tokens
    assert fresh.stats.cached_tokens == 0


@pytest.mark.parametrize("stop", ["because", "e a", "é", "ave th"])
def test_stop_strings_end_the_answer_before_them_at_every_depth(hybrid_random: TinyModel, stop: str) -> None:
    with talk(hybrid_random.path) as chat:
        whole = [
            finished(chat.events(p, sampling=limited(60, temperature=1.0, seed=s))).message.content
            for p, s in (("hello", 1), ("hi", 2))
        ]
        for prompt, seed, text in (("hello", 1, whole[0]), ("hi", 2, whole[1])):
            sampling = limited(60, temperature=1.0, seed=seed, stop=(stop,))
            for depth in (0, 1, 3, 8):
                done = finished(chat.events(prompt, pinned(depth) if depth else OFF, sampling))
                assert done.message.content == text.split(stop)[0]
                assert done.reason == ("stop" if stop in text else done.reason)


def test_text_behind_a_stop_string_is_not_in_the_next_turns_way(hybrid: Callable[[float], TinyModel]) -> None:
    model = hybrid(1.0)
    word = model.chain.text(20).split()[6]
    with talk(model.path) as chat:
        first = finished(chat.events("hello", pinned(4), limited(60, stop=(word,))))
        assert first.reason == "stop"
        messages = (Message("user", "hello"), first.message, Message("user", "go on"))
        second = finished(chat.events(messages, pinned(4)))
    with talk(model.path) as chat:
        assert finished(chat.events(messages)).message == second.message


@pytest.mark.parametrize("count", [1, 2, 7])
def test_max_tokens_is_exact_at_every_depth(hybrid: Callable[[float], TinyModel], count: int) -> None:
    with talk(hybrid(1.0).path) as chat:
        for control in (OFF, pinned(1), pinned(5)):
            done = finished(chat.events("hello", control, limited(count)))
            assert done.stats.output_tokens == count
            assert done.reason == "length"
            assert not done.message.complete
            assert str(count) in done.notice


def test_the_end_of_the_context_ends_the_answer_with_a_sentence(dense_model: TinyModel) -> None:
    with talk(dense_model.path, context=256) as chat:
        for control in (OFF, pinned(4, "ngram")):
            done = finished(chat.events("hello " * 20, control, limited(0)))
            assert done.reason == "context"
            assert "256" in done.notice
            assert done.message.content
            # Every position was used, and the last token still found its way into the text.
            assert done.stats.prompt_tokens + done.stats.output_tokens == 257
        short = finished(chat.events("hello"))
        assert short.reason == "length"


def test_a_prompt_that_does_not_fit_is_refused_with_numbers_and_the_next_turn_works(dense_model: TinyModel) -> None:
    with talk(dense_model.path, context=256) as chat:
        failed = chat.failure("river " * 400)
        assert "256" in failed.message
        assert failed.hint
        assert finished(chat.events("hello")).message.content


def test_cancel_in_prefill_leaves_the_prompt_usable(dense_random: TinyModel) -> None:
    flag = CancelFlag()
    with talk(dense_random.path) as chat:
        events = []
        request_events = chat.engine.turn(_request(LONG * 3), lambda: OFF, flag)
        for event in request_events:
            events.append(event)
            if isinstance(event, Prefilling) and event.done > 100:
                flag.set()
        done = finished(events)
        assert done.reason == "cancelled"
        assert done.message == Message("assistant", "", complete=False)
        after = finished(chat.events(LONG * 3))
        assert after.stats.cached_tokens > 100
    with talk(dense_random.path) as chat:
        assert finished(chat.events(LONG * 3)).message == after.message


def test_cancel_in_the_answer_keeps_what_was_said_and_it_can_be_continued(hybrid: Callable[[float], TinyModel]) -> None:
    flag = CancelFlag()
    with talk(hybrid(0.7).path) as chat:
        whole = finished(chat.events("hello", sampling=limited(80)))
        said = ""
        events = []
        for event in chat.engine.turn(_request("hello", limited(80)), lambda: pinned(3), flag):
            events.append(event)
            if isinstance(event, TextDelta):
                said += event.text
            if len(said) > 60:
                flag.set()
        done = finished(events)
        assert done.reason == "cancelled"
        assert not done.message.complete
        assert done.message.content == said
        rest = finished(
            chat.events((Message("user", "hello"), done.message), pinned(3), limited(40), continue_last=True)
        )
    assert whole.message.content.startswith(said)
    told = said + rest.message.content
    assert told.startswith(whole.message.content) or whole.message.content.startswith(told)
    assert len(told) > len(said) + 40


def _request(text: str, sampling: SamplingConfig = GREEDY):  # type: ignore[no-untyped-def]
    from mtpchat.engine.requests import TurnRequest

    return TurnRequest((Message("user", text),), sampling)


def test_after_a_fault_of_ours_in_the_middle_of_a_step_everything_is_read_again(
    dense_random: TinyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(controller: Controller, *_: object) -> None:
        controller.target.decode([1, 2, 3])
        controller.context.extend([4, 5])
        raise ZeroDivisionError("ours")

    with talk(dense_random.path) as chat:
        fresh = finished(chat.events("hello"))
        with monkeypatch.context() as broken:
            broken.setattr(Controller, "_plain_step", stumble)
            with pytest.raises(ZeroDivisionError):
                chat.events("hello")
        again = finished(chat.events("hello"))
    assert (again.message, again.stats.cached_tokens) == (fresh.message, 0)


def test_mtp_is_primed_by_the_prompt_and_stays_so_over_turns(hybrid: Callable[[float], TinyModel]) -> None:
    with talk(hybrid(1.0).path) as chat:
        first = finished(chat.events(LONG, pinned(1)))
        # Each step is two tokens from the very first on: the head has seen the prompt.
        assert first.stats.steps == 24
        messages = (Message("user", LONG), first.message, Message("user", "more"))
        second = finished(chat.events(messages, pinned(1)))
        assert second.stats.cached_tokens > first.stats.prompt_tokens
        assert second.stats.steps == 24


def test_progress_of_a_long_prompt_only_rises(dense_model: TinyModel) -> None:
    with talk(dense_model.path) as chat:
        events = chat.events(LONG * 4)
    steps = [e for e in events if isinstance(e, Prefilling)]
    assert len(steps) > 3
    assert [e.done for e in steps] == sorted({e.done for e in steps})
    assert all(e.done < e.total == finished(events).stats.prompt_tokens for e in steps)
    assert steps[-1].eta_s is not None


def test_statistics_add_up(hybrid: Callable[[float], TinyModel]) -> None:
    with talk(hybrid(0.7).path) as chat:
        stats = finished(chat.events("hello", pinned(3), limited(100))).stats
    assert stats.output_tokens == 100 == stats.steps + stats.accepted
    assert stats.accepted == sum(stats.accepted_at)
    assert list(stats.reached_at) == sorted(stats.reached_at, reverse=True)
    assert all(kept <= reached for kept, reached in zip(stats.accepted_at, stats.reached_at, strict=True))
    assert stats.mean_accepted_length == pytest.approx(100 / stats.steps)
    assert stats.kind == "mtp"
    assert stats.tokens_per_second


def test_plain_rate_is_unknown_until_it_was_measured_then_aged(hybrid: Callable[[float], TinyModel]) -> None:
    with talk(hybrid(0.7).path) as chat:
        assert finished(chat.events("hello", pinned(3))).stats.speedup is None
        off = finished(chat.events("hello", OFF)).stats
        assert off.plain_tokens_per_second
        assert off.speedup is not None
        assert finished(chat.events("hello", pinned(3))).stats.speedup is not None


class TestChoice:
    """Which drafter is picked, and how that is told."""

    def test_auto_takes_the_heads_of_the_main_file(
        self, hybrid: Callable[[float], TinyModel], draft_model: TinyModel
    ) -> None:
        with talk(hybrid(0.7).path, draft_model.path) as chat:
            assert chat.facts.kind == "mtp"
            assert "heads" in chat.facts.choice

    def test_auto_takes_the_drafter_that_was_given(self, dense_model: TinyModel, draft_model: TinyModel) -> None:
        with talk(dense_model.path, draft_model.path) as chat:
            assert chat.facts.kind == "draft"
            assert draft_model.path.name in chat.facts.choice

    def test_auto_falls_back_to_ngram_and_says_why(self, dense_model: TinyModel) -> None:
        with talk(dense_model.path) as chat:
            assert chat.facts.kind == "ngram"
            assert "no prediction heads" in chat.facts.choice
            assert chat.facts.fallback_reason == ""

    def test_the_main_file_as_its_own_drafter_means_its_heads(self, hybrid: Callable[[float], TinyModel]) -> None:
        path = hybrid(0.7).path
        with talk(path, path.parent / "." / path.name) as chat:
            assert chat.facts.kind == "mtp"

    def test_a_drafter_of_another_vocabulary_is_named_and_the_chat_goes_on(
        self, dense_model: TinyModel, foreign_draft: TinyModel
    ) -> None:
        with talk(dense_model.path, foreign_draft.path) as chat:
            assert chat.facts.kind == "ngram"
            assert foreign_draft.path.name in chat.facts.fallback_reason
            assert finished(chat.events("hello")).message.content

    def test_a_missing_drafter_is_named_and_the_chat_goes_on(self, dense_model: TinyModel) -> None:
        with talk(dense_model.path, "/no/such/drafter.gguf") as chat:
            assert "drafter.gguf" in chat.facts.fallback_reason

    def test_spec_mtp_on_a_model_without_heads_says_so(self, dense_model: TinyModel) -> None:
        with talk(dense_model.path, kind="mtp") as chat:
            assert "no prediction heads" in chat.facts.fallback_reason
            assert finished(chat.events("hello")).stats.fallback_reason

    def test_a_recurrent_model_without_snapshots_gets_no_speculation_and_the_reason(
        self, recurrent_model: TinyModel
    ) -> None:
        with talk(recurrent_model.path) as chat:
            done = finished(chat.events("hello hello hello", pinned(3)))
            assert done.stats.drafted == 0
            assert "roll" in done.stats.fallback_reason
            assert chat.facts.kind == "none"

    def test_hybrid_depth_is_limited_by_its_snapshots_and_says_so(self, hybrid_random: TinyModel) -> None:
        with talk(hybrid_random.path, depth_cap=4) as chat:
            assert chat.facts.depth_limit == 4
            assert "4 snapshots" in chat.facts.depth_reason

    def test_none_makes_a_context_without_snapshots(self, hybrid_random: TinyModel) -> None:
        with talk(hybrid_random.path, kind="none") as chat:
            assert chat.facts.kind == "none"
            assert chat.facts.available == ("none",)
            assert finished(chat.events("hello", pinned(4))).stats.drafted == 0


class TestBadFiles:
    """No file kills the program; each is told apart, and another model can be loaded afterwards."""

    def load(self, path: object) -> None:
        with talk(path):  # type: ignore[arg-type]
            pass

    def test_missing(self, model_dir) -> None:  # type: ignore[no-untyped-def]
        with pytest.raises(ModelNotFound, match=r"nowhere\.gguf"):
            self.load(model_dir / "nowhere.gguf")

    def test_not_a_gguf(self, model_dir) -> None:  # type: ignore[no-untyped-def]
        path = model_dir / "letter.gguf"
        path.write_text("Dear model, " * 100)
        with pytest.raises(ModelUnreadable, match=r"letter\.gguf"):
            self.load(path)

    def test_truncated(self, dense_model: TinyModel, model_dir) -> None:  # type: ignore[no-untyped-def]
        path = model_dir / "half.gguf"
        path.write_bytes(dense_model.path.read_bytes()[: dense_model.path.stat().st_size // 2])
        with pytest.raises(ModelUnreadable, match="incomplete"):
            self.load(path)

    def test_heads_alone(self, hybrid_head: TinyModel) -> None:
        with pytest.raises(ModelUnsupported, match="heads"):
            self.load(hybrid_head.path)

    def test_a_context_beyond_the_trained_one_is_cut_and_said(self, dense_model: TinyModel) -> None:
        with talk(dense_model.path, context=1_000_000) as chat:
            assert chat.facts.context_size <= 8192
            assert "1,000,000" in chat.facts.warnings[0]

    def test_a_named_template_file_that_is_missing(self, dense_model: TinyModel) -> None:
        from mtpchat.errors import ConfigError

        with pytest.raises(ConfigError, match="template"), talk(dense_model.path, chat_template="/no/template.jinja"):
            pass

    def test_a_turn_without_a_model_fails_in_words(self) -> None:
        from mtpchat.backend.llama.loader import LlamaBackend
        from mtpchat.engine.engine import ChatEngine

        engine = ChatEngine(LlamaBackend())
        events = list(engine.turn(_request("hello"), lambda: OFF, lambda: False))
        assert isinstance(events[-1], Failed)
        assert "/model" in events[-1].hint
        engine.close()


def test_stats_ticks_are_at_most_eight_a_second(dense_model: TinyModel) -> None:
    with talk(dense_model.path, kind="none") as chat:
        chat.engine._clock = _Ticking(0.01)  # type: ignore[assignment]
        events = chat.events("hello", sampling=limited(100))
    ticks = [e for e in events if isinstance(e, StatsTick)]
    assert 2 <= len(ticks) <= 100


class _Ticking:
    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now
