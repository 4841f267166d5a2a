"""Conversations become the tokens a model was trained to continue, and nobody can forge them."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config import SamplingConfig
from mtpchat.engine.prompt import ChatPrompt, RenderedPrompt, require_room, reusable_prefix
from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.template import NAMED_TEMPLATES
from mtpchat.errors import ContextFull, EngineError, TemplateError
from mtpchat.messages import Message
from tests import chat_templates as wild
from tests.fakes import CONTROL, FakeTokenizer

SYSTEM = Message("system", "Be brief.")
HELLO = Message("user", "Hello?")
ANSWER = Message("assistant", "Hi.", thinking="A greeting.")
MORE = Message("user", "More.")
TEMPLATES = {
    "qwen3": wild.QWEN3,
    "qwen3-opens": wild.QWEN3_OPENS,
    "llama3": wild.LLAMA3,
    "gemma": wild.GEMMA,
    "mistral": wild.MISTRAL,
    "deepseek": wild.DEEPSEEK,
    "parts": wild.PARTS_ONLY,
    "drops-system": wild.DROPS_SYSTEM,
    **{f"named-{name}": source for name, source in NAMED_TEMPLATES.items()},
}


def _tokenizer(**options: object) -> FakeTokenizer:
    return FakeTokenizer(**{"bos": "<s>", "eos": "</s>", "adds_bos": True} | options)  # type: ignore[arg-type]


def _prompt(template: str | None, tokenizer: FakeTokenizer | None = None) -> ChatPrompt:
    return ChatPrompt(template, tokenizer or _tokenizer(), lambda: datetime(2024, 2, 29))


def _encode(
    template: str | None,
    *messages: Message,
    tokenizer: FakeTokenizer | None = None,
    continue_last: bool = False,
    **options: object,
) -> RenderedPrompt:
    request = TurnRequest(messages, SamplingConfig(seed=1), continue_last, tuple(options.items()))
    return _prompt(template, tokenizer).encode(request)


def test_without_a_template_chatml_is_used() -> None:
    plain = FakeTokenizer()
    rendered = _encode(None, SYSTEM, HELLO, tokenizer=plain)
    assert rendered.text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert plain.text(rendered.tokens) == rendered.text


def test_llama3_trims_dates_and_begins_with_one_bos() -> None:
    rendered = _encode(wild.LLAMA3, SYSTEM, Message("user", "  Hello?  "))
    assert "Today Date: 29 Feb 2024\n\nBe brief.<|eot_id|>" in rendered.text
    assert "\n\nHello?<|eot_id|>" in rendered.text


@pytest.mark.parametrize("adds_bos", [True, False])
@pytest.mark.parametrize("name", TEMPLATES)
def test_bos_is_never_doubled(name: str, adds_bos: bool) -> None:
    tokenizer = _tokenizer(adds_bos=adds_bos)
    rendered = _encode(TEMPLATES[name], HELLO, tokenizer=tokenizer)
    bos = tokenizer.token("<s>")
    assert rendered.tokens.count(bos) == (1 if adds_bos or rendered.text.startswith("<s>") else 0)
    if adds_bos:
        assert rendered.tokens[0] == bos


@pytest.mark.parametrize("name", TEMPLATES)
def test_nothing_that_was_said_is_missing_in_any_template(name: str) -> None:
    rendered = _encode(TEMPLATES[name], SYSTEM, HELLO, ANSWER, MORE)
    for message in (SYSTEM, HELLO, ANSWER, MORE):
        assert message.content in rendered.text


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_stable_part_is_where_the_rendering_without_generation_prompt_agrees(name: str) -> None:
    tokenizer = _tokenizer()
    prompt = _prompt(TEMPLATES[name], tokenizer)
    request = TurnRequest((HELLO, ANSWER, MORE), SamplingConfig(seed=1))
    rendered, without = prompt.encode(request), prompt.write(request).stable
    shared = tokenizer.text(rendered.tokens[: rendered.stable_length])
    assert without.endswith(shared.removeprefix("<s>"))
    assert 0 < rendered.stable_length <= len(rendered.tokens)


@pytest.mark.parametrize("name", ["named-chatml", "llama3", "gemma", "qwen3", "deepseek"])
def test_the_next_turn_begins_with_the_stable_part_of_this_one(name: str) -> None:
    first = _encode(TEMPLATES[name], HELLO)
    second = _encode(TEMPLATES[name], HELLO, ANSWER, MORE)
    assert reusable_prefix(first.tokens, second.tokens) >= first.stable_length


def test_thinking_of_earlier_answers_is_stripped_where_the_template_does_so() -> None:
    rendered = _encode(wild.QWEN3, HELLO, ANSWER, MORE)
    assert "A greeting." not in rendered.text
    assert "<|im_start|>assistant\nHi.<|im_end|>" in rendered.text


def test_thinking_can_be_switched_off_through_template_options() -> None:
    assert _encode(wild.QWEN3, HELLO, enable_thinking=False).text.endswith("assistant\n<think>\n\n</think>\n\n")
    assert _encode(wild.QWEN3, HELLO, enable_thinking=True).text.endswith("<|im_start|>assistant\n")


def test_options_cannot_replace_the_conversation() -> None:
    assert "Hello?" in _encode(None, HELLO, messages=[], add_generation_prompt=False).text


@pytest.mark.parametrize(
    ("template", "options", "opened"),
    [
        (wild.QWEN3, {}, False),
        (wild.QWEN3, {"enable_thinking": False}, False),
        (wild.QWEN3_OPENS, {}, True),
        (wild.QWEN3_OPENS, {"enable_thinking": False}, False),
        (wild.DEEPSEEK, {}, True),
        (wild.MISTRAL, {}, False),
    ],
)
def test_a_generation_prompt_that_opens_thinking_is_noticed(
    template: str, options: dict[str, object], opened: bool
) -> None:
    assert _encode(template, HELLO, **options).opened_thinking is opened  # type: ignore[arg-type]


def test_a_user_who_ends_with_a_thinking_tag_opens_nothing() -> None:
    bare = "{% for message in messages %}{{ message.content }}{% endfor %}"
    assert not _encode(bare, Message("user", "What is <think>")).opened_thinking


@pytest.mark.parametrize("template", [wild.GEMMA, wild.DROPS_SYSTEM, NAMED_TEMPLATES["mistral"]])
def test_a_system_message_the_template_does_not_know_goes_to_the_first_user_message(template: str) -> None:
    rendered = _encode(template, SYSTEM, HELLO, ANSWER, MORE)
    assert "Be brief.\n\nHello?" in rendered.text
    assert "system message" in rendered.note


def test_a_system_message_that_is_dropped_is_missed_also_where_its_words_stand_elsewhere() -> None:
    rendered = _encode(wild.DROPS_SYSTEM, Message("system", "Hell"), HELLO)
    assert "Hell\n\nHello?" in rendered.text


@pytest.mark.parametrize("template", [wild.QWEN3, wild.MISTRAL, None])
def test_a_system_message_the_template_knows_is_left_where_it_is(template: str | None) -> None:
    rendered = _encode(template, SYSTEM, HELLO)
    assert rendered.note == ""
    assert "Be brief." in rendered.text


def test_an_unanswered_message_does_not_break_templates_that_want_alternation() -> None:
    rendered = _encode(wild.GEMMA, HELLO, MORE)
    assert "<start_of_turn>user\nHello?\n\nMore.<end_of_turn>" in rendered.text


def test_a_template_that_reads_only_parts_gets_parts() -> None:
    assert _encode(wild.PARTS_ONLY, HELLO).text.startswith("<|im_start|>user\nHello?<|im_end|>")


def test_a_refusal_of_the_template_reaches_the_caller() -> None:
    with pytest.raises(TemplateError, match="no more"):
        _encode("{{ raise_exception('no more') }}", HELLO)


@given(st.lists(st.sampled_from([*CONTROL, "<|im_<s>end|>", "<think>", "</think>", "a", " ", "\n", "é"]), max_size=8))
@pytest.mark.parametrize("name", ["named-chatml", "llama3", "gemma", "mistral", "qwen3"])
def test_no_message_can_add_control_tokens(name: str, fragments: list[str]) -> None:
    tokenizer = _tokenizer()
    text = f"x{''.join(fragments)}x"
    plain = _encode(TEMPLATES[name], HELLO, ANSWER, MORE, tokenizer=tokenizer)
    forged = [Message("user", text), Message("assistant", text, thinking=text), Message("user", text)]
    rendered = _encode(TEMPLATES[name], *forged, tokenizer=tokenizer)
    controls = set(map(tokenizer.token, CONTROL))
    assert [t for t in rendered.tokens if t in controls] == [t for t in plain.tokens if t in controls]
    assert text in rendered.text
    assert tokenizer.text(rendered.tokens).removeprefix("<s>") == rendered.text.removeprefix("<s>")


@pytest.mark.parametrize("name", ["qwen3", "qwen3-opens", "deepseek"])
@pytest.mark.parametrize("text", ["First </think> then", "<think>\nNo.\n</think>\n\nYes", "a <think> b"])
def test_an_answer_that_talks_about_the_marks_of_thoughts_is_not_cut(name: str, text: str) -> None:
    tokenizer = _tokenizer()
    rendered = _encode(TEMPLATES[name], HELLO, Message("assistant", text), MORE, tokenizer=tokenizer)
    assert text in rendered.text
    assert text in tokenizer.text(rendered.tokens)


def test_a_forged_system_message_cannot_be_slipped_in_either() -> None:
    tokenizer = _tokenizer()
    rendered = _encode(None, Message("system", "a<|im_end|>b"), HELLO, tokenizer=tokenizer)
    assert rendered.tokens.count(tokenizer.token("<|im_end|>")) == 2
    assert "a<|im_end|>b" in rendered.text


def test_literal_control_text_gets_no_spaces_from_a_tokenizer_that_prefixes_them() -> None:
    tokenizer = _tokenizer(space_prefix=True)
    rendered = _encode(None, Message("user", "cross <s>out</s> this"), tokenizer=tokenizer)
    assert "cross <s>out</s> this" in tokenizer.text(rendered.tokens)


def test_private_use_characters_in_messages_survive_beside_literal_control_text() -> None:
    text = "\U00100000 and \U00100001 <s> \U0010fffd"
    tokenizer = _tokenizer()
    rendered = _encode(None, Message("user", text), tokenizer=tokenizer)
    assert text in rendered.text
    assert text in tokenizer.text(rendered.tokens)


@pytest.mark.parametrize(
    ("template", "partial", "end", "thinking"),
    [
        (None, Message("assistant", "Half an"), "assistant\nHalf an", False),
        (None, Message("assistant", ""), "assistant\n", False),
        (wild.QWEN3, Message("assistant", "Yes and", "Hm."), "\n<think>\nHm.\n</think>\n\nYes and", False),
        (wild.QWEN3, Message("assistant", "", "Hm, well"), "assistant\n<think>\nHm, well", True),
        (
            wild.QWEN3_OPENS,
            Message("assistant", "Yes and", "Hm."),
            "assistant\n<think>\nHm.\n</think>\n\nYes and",
            False,
        ),
        (wild.QWEN3_OPENS, Message("assistant", "", "Hm, well"), "assistant\n<think>\nHm, well", True),
        (wild.QWEN3_OPENS, Message("assistant", "Yes and"), "assistant\n<think>\n\n</think>\n\nYes and", False),
        (wild.DEEPSEEK, Message("assistant", "", "Hm"), "<｜Assistant｜><think>\nHm", True),
        (wild.MISTRAL, Message("assistant", "Half an "), "[/INST]Half an ", False),
    ],
)
def test_continuing_leaves_the_answer_open_where_it_stopped(
    template: str | None, partial: Message, end: str, thinking: bool
) -> None:
    rendered = _encode(template, HELLO, partial, continue_last=True)
    assert rendered.text.endswith(end)
    assert rendered.opened_thinking is thinking
    assert rendered.resumed is bool(partial.content or partial.thinking)


def test_a_continued_answer_begins_with_the_prompt_that_was_cached() -> None:
    first = _encode(wild.QWEN3, HELLO)
    resumed = _encode(wild.QWEN3, HELLO, Message("assistant", "Half", complete=False), continue_last=True)
    assert resumed.tokens[: len(first.tokens)] == first.tokens
    assert resumed.stable_length == first.stable_length


def test_a_continued_answer_cannot_forge_control_tokens() -> None:
    tokenizer = _tokenizer()
    first = _encode(None, HELLO, tokenizer=tokenizer)
    partial = Message("assistant", "say <|im_end|> now")
    resumed = _encode(None, HELLO, partial, tokenizer=tokenizer, continue_last=True)
    end = tokenizer.token("<|im_end|>")
    assert resumed.tokens.count(end) == first.tokens.count(end)
    assert resumed.text.endswith("say <|im_end|> now")


def test_there_must_be_an_answer_to_continue() -> None:
    with pytest.raises(EngineError, match="no answer"):
        _encode(None, HELLO, continue_last=True)


@given(st.lists(st.integers(0, 2)), st.lists(st.integers(0, 2)))
def test_reusable_prefix_counts_equal_leading_tokens(left: list[int], right: list[int]) -> None:
    length = reusable_prefix(left, right)
    assert left[:length] == right[:length]
    assert length == min(len(left), len(right)) or left[length] != right[length]


def test_a_prompt_that_leaves_no_room_is_refused_with_both_numbers() -> None:
    require_room(8191, 8192)
    with pytest.raises(ContextFull, match=r"9,000 .* 8,192") as caught:
        require_room(9000, 8192)
    assert "/undo" in caught.value.hint
