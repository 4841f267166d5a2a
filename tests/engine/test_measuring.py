"""What a request would take is told exactly, without decoding, and without getting in anybody's way."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config import SamplingConfig
from mtpchat.engine.measuring import Measurer
from mtpchat.engine.prompt import ChatPrompt
from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.service import EngineService
from mtpchat.engine.template import NAMED_TEMPLATES
from mtpchat.errors import EngineClosed, EngineError, Interrupted
from mtpchat.events import Finished, Measured, ModelFacts
from mtpchat.messages import Attachment, Message
from tests import chat_templates as wild
from tests.fakes import FakeEngine, FakeTokenizer, Gate

SAMPLING = SamplingConfig(seed=1)
REQUEST = TurnRequest((Message("user", "Hello there?"),), SAMPLING)
FACTS = ModelFacts("fake", "/fake.gguf", "fake", "none", "no drafter", context_size=100)
TEMPLATES = {
    "chatml": None,
    "qwen3": wild.QWEN3,
    "qwen3-opens": wild.QWEN3_OPENS,
    "llama3": wild.LLAMA3,
    "gemma": wild.GEMMA,
    "mistral": wild.MISTRAL,
    "deepseek": wild.DEEPSEEK,
    **{f"named-{name}": source for name, source in NAMED_TEMPLATES.items()},
}
WORDS = st.text("ab \n<|im_end|>[INST]é", min_size=1, max_size=12).filter(str.strip)


class CountingTokenizer(FakeTokenizer):
    """Remembers how many letters it was asked to encode."""

    letters = 0

    def encode(self, text: str, *, special: bool = True, add_bos: bool = False) -> list[int]:
        self.letters += len(text)
        return super().encode(text, special=special, add_bos=add_bos)


def _request(words: Sequence[str], *, system: bool) -> TurnRequest:
    said = [Message("assistant" if at % 2 else "user", word, "hm" if at % 2 else "") for at, word in enumerate(words)]
    head = [Message("system", "Be brief.")] if system else []
    return TurnRequest((*head, *said), SAMPLING)


@pytest.mark.parametrize("space_prefix", [False, True])
@pytest.mark.parametrize("name", TEMPLATES)
@given(words=st.lists(WORDS, min_size=1, max_size=7).filter(lambda words: len(words) % 2), system=st.booleans())
def test_the_count_is_the_length_of_the_prompt_whatever_was_measured_before(
    name: str, space_prefix: bool, words: list[str], system: bool
) -> None:
    tokenizer = FakeTokenizer(bos="<s>", eos="</s>", adds_bos=True, space_prefix=space_prefix)
    prompt = ChatPrompt(TEMPLATES[name], tokenizer, lambda: datetime(2024, 2, 29))
    measurer = Measurer(prompt, tokenizer, 100)
    for end in range(1, len(words) + 1, 2):
        request = _request(words[:end], system=system)
        measured = measurer.measure(request)
        assert measured.prompt_tokens == len(prompt.encode(request).tokens)
        assert len(measured.per_message) == len(measured.attached) == len(request.messages)


def test_a_long_chat_is_counted_once_and_then_only_what_is_typed() -> None:
    tokenizer = CountingTokenizer()
    measurer = Measurer(ChatPrompt(None, tokenizer), tokenizer, 100_000)
    long = _request(["word " * 2000, "answer " * 2000, "more"], system=True)
    measurer.measure(long)
    tokenizer.letters = 0
    measurer.measure(TurnRequest((*long.messages[:-1], Message("user", "more words")), SAMPLING))
    assert tokenizer.letters < 1000
    tokenizer.letters = 0
    measurer.measure(TurnRequest((*long.messages, Message("assistant", "So."), Message("user", "And?")), SAMPLING))
    assert tokenizer.letters < 1000


def test_attachments_are_counted_apart() -> None:
    tokenizer = FakeTokenizer()
    measurer = Measurer(ChatPrompt(None, tokenizer), tokenizer, 100)
    said = Message("user", "Look.", attachments=(Attachment("a.txt", "12345"), Attachment("b.txt", "67")))
    measured = measurer.measure(TurnRequest((said,), SAMPLING))
    assert measured.attached == (7,)
    assert measured.per_message == (12,)


def test_a_cancelled_measuring_ends_at_once() -> None:
    tokenizer = FakeTokenizer()
    with pytest.raises(Interrupted):
        Measurer(ChatPrompt(None, tokenizer), tokenizer, 100).measure(REQUEST, lambda: True)


@asynccontextmanager
async def _running(engine: FakeEngine) -> AsyncIterator[EngineService]:
    service = EngineService(lambda: engine)
    service.start()
    try:
        yield service
    finally:
        service.close()


async def _reached(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.reached.wait, 20)


async def test_the_service_measures_on_its_thread_and_is_not_busy_meanwhile() -> None:
    gate = Gate()
    engine = FakeEngine(facts=FACTS, measure=gate)
    async with _running(engine) as service:
        measuring = asyncio.create_task(service.measure(REQUEST))
        await _reached(gate)
        assert not service.busy
        gate.open()
        assert await measuring == Measured(3, 100, (2,), (0,))
        assert engine.requests == []


async def test_a_turn_does_not_wait_for_a_measuring() -> None:
    gate = Gate()
    async with _running(FakeEngine("Fine.", facts=FACTS, measure=gate)) as service:
        measuring = asyncio.create_task(service.measure(REQUEST))
        await _reached(gate)
        async with aclosing(service.stream(REQUEST)) as events:
            assert isinstance([event async for event in events][-1], Finished)
        with pytest.raises(EngineError, match="given up"):
            await measuring


async def test_a_caller_that_goes_away_gives_the_measuring_up() -> None:
    gate = Gate()
    async with _running(FakeEngine(facts=FACTS, measure=gate)) as service:
        measuring = asyncio.create_task(service.measure(REQUEST))
        await _reached(gate)
        measuring.cancel()
        with pytest.raises(asyncio.CancelledError):
            await measuring
        gate.open()
        assert (await service.measure(REQUEST)).prompt_tokens == 3


async def test_nothing_is_measured_during_a_turn_or_after_the_end() -> None:
    gate = Gate()
    async with _running(FakeEngine("Fine.", prefill=gate)) as service, aclosing(service.stream(REQUEST)) as events:
        await anext(events)
        with pytest.raises(EngineError, match="busy"):
            await service.measure(REQUEST)
        gate.open()
    with pytest.raises(EngineClosed):
        await service.measure(REQUEST)


async def test_closing_the_service_ends_a_measuring_that_hangs() -> None:
    gate = Gate()
    engine = FakeEngine(facts=FACTS, measure=gate)
    service = EngineService(lambda: engine)
    service.start()
    measuring = asyncio.create_task(service.measure(REQUEST))
    await _reached(gate)
    service.close()
    with pytest.raises(EngineError):
        await measuring
