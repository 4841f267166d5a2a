"""Thoughts and answers are told apart for any chunking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.engine.thinking import TAGS, ThinkingSplitter, piece_with_markers
from tests.fakes import FakeTokenizer


def _split(chunks: list[str], *, opened: bool = False, resumed: bool = False) -> tuple[str, str]:
    splitter = ThinkingSplitter(opened=opened, resumed=resumed)
    deltas = [delta for chunk in chunks for delta in splitter.push(chunk)] + splitter.flush()
    assert all(delta.text for delta in deltas)
    thinking = "".join(delta.text for delta in deltas if delta.channel == "thinking")
    return thinking, "".join(delta.text for delta in deltas if delta.channel == "answer")


_FRAGMENTS = st.lists(
    st.sampled_from(["<think>", "</think>", "<thi", "</", "a", "b c", "\n", " ", "<", "[THINK]", "[/THINK]"]),
    max_size=10,
).map("".join)


@st.composite
def _cut(draw: st.DrawFn) -> list[str]:
    text = draw(_FRAGMENTS)
    borders = sorted(draw(st.lists(st.integers(0, len(text)), max_size=10)))
    return [text[a:b] for a, b in zip([0, *borders], [*borders, len(text)], strict=True)]


@given(_cut(), st.booleans(), st.booleans())
def test_the_result_does_not_depend_on_the_chunking(chunks: list[str], opened: bool, resumed: bool) -> None:
    whole = _split(["".join(chunks)], opened=opened, resumed=resumed)
    assert _split(chunks, opened=opened, resumed=resumed) == whole


@given(st.text("ab <\n", max_size=30))
def test_text_without_tags_is_the_answer_unchanged(text: str) -> None:
    assert _split(list(text)) == ("", text)


@pytest.mark.parametrize("tags", [tags for tags in TAGS if tags.close], ids=lambda tags: tags.open.strip())
def test_every_pair_of_tags_is_understood_in_single_characters(tags) -> None:  # type: ignore[no-untyped-def]
    assert _split(list(f"{tags.open}Let me see.{tags.close}\n\nIt is 4.")) == ("Let me see.", "It is 4.")


@pytest.mark.parametrize("tags", [tags for tags in TAGS if tags.close], ids=lambda tags: tags.open.strip())
def test_what_a_prompt_writes_to_resume_an_answer_is_what_the_splitter_reads(tags) -> None:  # type: ignore[no-untyped-def]
    assert _split([f"{tags.entering}Hm.{tags.leaving}Yes."]) == ("Hm.", "Yes.")


def test_blank_lines_around_thoughts_are_trimmed() -> None:
    assert _split(["\n<think>\n\n  Hm.\n\n", "</think>\n\n", "\nYes.\n"]) == ("Hm.", "Yes.\n")


def test_empty_thoughts_leave_no_trace() -> None:
    assert _split(["<think>\n\n</think>\n\nYes."]) == ("", "Yes.")


def test_unclosed_thoughts_stay_thoughts_and_nothing_is_lost() -> None:
    assert _split(["<think>Hm", ". </thi"]) == ("Hm. </thi", "")


def test_a_prompt_that_opened_the_tag_makes_the_first_text_a_thought() -> None:
    assert _split(["Hm.\n</think>Yes."], opened=True) == ("Hm.", "Yes.")


def test_resumed_thoughts_keep_their_leading_space() -> None:
    assert _split([" and so on</think>Yes."], opened=True, resumed=True) == (" and so on", "Yes.")


def test_a_resumed_answer_is_text_only() -> None:
    assert _split([" <think> is a tag"], resumed=True) == ("", " <think> is a tag")


def test_tags_inside_an_answer_are_text() -> None:
    answer = "Write `<think>` and `</think>` around it."
    assert _split([answer]) == ("", answer)


def test_thoughts_may_come_twice_before_the_answer() -> None:
    assert _split(["<think>One.</think>\n<think>Two.</think>\nYes."]) == ("One.\n\nTwo.", "Yes.")


def test_a_harmony_answer_loses_its_headers() -> None:
    text = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes."
    assert _split([text]) == ("Hm.", "Yes.")
    assert _split(["<|channel|>final<|message|>Yes."]) == ("", "Yes.")


def test_control_tokens_of_tags_are_shown_and_others_stay_hidden() -> None:
    tokenizer = FakeTokenizer()
    piece = piece_with_markers(tokenizer)
    assert piece(tokenizer.token("<|channel|>")) == b"<|channel|>"
    assert piece(tokenizer.token("<|im_start|>")) == b""
    assert piece(ord("a")) == b"a"


def test_markers_are_left_hidden_when_the_vocabulary_has_only_some_of_them() -> None:
    tokenizer = FakeTokenizer(control=("<|im_end|>", "<|end|>", "<|message|>"))
    assert piece_with_markers(tokenizer)(tokenizer.token("<|end|>")) == b""
