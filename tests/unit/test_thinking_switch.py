"""Only what changes a model's prompt is offered as a way to make it think more or less."""

from collections.abc import Mapping
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config import Config, KeepThinking, ModelConfig, SamplingConfig, ThinkingLevel
from mtpchat.config_schema import set_value, template_values
from mtpchat.engine.prompt import ChatPrompt
from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.template import NAMED_TEMPLATES
from mtpchat.engine.thinking_switch import LEVELS, probe
from mtpchat.errors import TemplateError
from mtpchat.messages import Message
from tests import chat_templates as wild
from tests import thinking_templates as thinking
from tests.fakes import FakeTokenizer

SAMPLING = SamplingConfig(seed=1)
ASKED = (Message("user", "Why?"), Message("assistant", "So.", thinking="Hm."), Message("user", "And then?"))
OFFERED: dict[str, tuple[str, tuple[str, ...]]] = {
    "qwen3": (wild.QWEN3, ("on", "off")),
    "qwen3-opens": (wild.QWEN3_OPENS, ("on", "off")),
    "deepseek-v3.1": (thinking.DEEPSEEK_V31, ("on", "off")),
    "granite": (thinking.GRANITE, ("on", "off")),
    "gpt-oss": (thinking.GPT_OSS, ("low", "medium", "high")),
    "solar": (thinking.SOLAR, ("low",)),
    "hy3": (thinking.HY3, ("off", "low", "high")),
    "seed-oss": (thinking.SEED_OSS, ("off", "low", "medium", "high")),
    "nemotron-nano": (thinking.NEMOTRON_NANO, ("on", "off")),
    "minimax-m3": (thinking.MINIMAX, ("on", "off")),
    "llama3": (wild.LLAMA3, ()),
    "gemma": (wild.GEMMA, ()),
    "deepseek-r1": (wild.DEEPSEEK, ()),
    **{f"named-{name}": (source, ()) for name, source in NAMED_TEMPLATES.items()},
}


def _prompt(template: str) -> ChatPrompt:
    return ChatPrompt(template, FakeTokenizer(bos="<s>", eos="</s>"), lambda: datetime(2024, 2, 29))


def _text(template: str, level: ThinkingLevel = "auto", keep: KeepThinking = "auto", system: str = "") -> str:
    head = (Message("system", system),) if system else ()
    options = tuple(template_values(ModelConfig(thinking=level)).items())
    return (
        _prompt(template)
        .encode(TurnRequest((*head, *ASKED), SAMPLING, template_options=options, thinking=level, keep_thinking=keep))
        .text
    )


@pytest.mark.parametrize("name", OFFERED)
def test_a_template_offers_what_it_reads_and_nothing_else(name: str) -> None:
    template, levels = OFFERED[name]
    assert _prompt(template).switch.levels == levels


@pytest.mark.parametrize("name", [name for name, (_, levels) in OFFERED.items() if levels])
def test_levels_that_are_offered_are_told_apart_in_the_prompt(name: str) -> None:
    template, levels = OFFERED[name]
    texts = {level: _text(template, level) for level in LEVELS if level in levels}
    assert len(set(texts.values()) | {_text(template)}) >= max(2, len(texts))


@pytest.mark.parametrize("name", OFFERED)
def test_a_level_that_a_template_does_not_know_changes_nothing(name: str) -> None:
    template, levels = OFFERED[name]
    unknown: list[ThinkingLevel] = [level for level in ("low", "medium", "high") if level not in levels]
    for level in unknown:
        assert _text(template, level) == _text(template)


@given(
    read=st.lists(
        st.sampled_from(["enable_thinking", "thinking", "reasoning", "reasoning_effort", "nothing"]), max_size=3
    ),
    refuses=st.booleans(),
)
def test_what_is_offered_changes_the_text_whatever_a_template_does(read: list[str], refuses: bool) -> None:
    def render(options: Mapping[str, object], system: str) -> str:
        if refuses and options.get("reasoning_effort") not in (None, "low", "high"):
            raise TemplateError("no such effort")
        return system + "".join(f"[{name}={options[name]}]" for name in read if name in options)

    switch = probe(render)
    texts = {render(switch.values(level), "") for level in switch.levels}
    assert bool(switch.levels) == bool(texts - {""})


def test_words_that_a_template_reads_go_to_the_end_of_the_system_message_and_out_of_the_text() -> None:
    off = _text(thinking.NEMOTRON_NANO, "off", system="Be brief.")
    assert "Be brief." in off
    assert "/no_think" not in off
    assert off.endswith("<think></think>")
    assert _text(thinking.NEMOTRON_NANO, "off").endswith("<think></think>")
    assert _text(thinking.NEMOTRON_NANO, "on").endswith("<think>\n")


def test_values_that_the_user_gives_go_before_the_level() -> None:
    request = TurnRequest(ASKED, SAMPLING, template_options=(("reasoning_effort", "high"),), thinking="low")
    assert "Reasoning: high" in _prompt(thinking.GPT_OSS).encode(request).text


def test_thoughts_of_earlier_turns_are_left_out_also_where_the_template_writes_them_back() -> None:
    assert "Hm." not in _text(thinking.SEED_OSS)
    assert "Hm." in _text(thinking.SEED_OSS, keep="all")
    assert "Hm." not in _text(thinking.SEED_OSS, keep="none")


def test_all_thoughts_are_kept_where_a_template_only_has_to_be_told() -> None:
    assert "Hm." not in _text(thinking.CLEARS)
    assert "Hm." in _text(thinking.CLEARS, keep="all")


@pytest.mark.parametrize("name", OFFERED)
@pytest.mark.parametrize("keep", ["auto", "none"])
def test_no_template_gets_thoughts_of_earlier_turns_unasked(name: str, keep: KeepThinking) -> None:
    assert "Hm." not in _text(OFFERED[name][0], keep=keep)


@pytest.mark.parametrize(("text", "level"), [("true", "on"), ("false", "off"), ("on", "on"), ("high", "high")])
def test_the_setting_still_takes_true_and_false(text: str, level: str) -> None:
    assert set_value(Config(), "model.thinking", text).model.thinking == level
