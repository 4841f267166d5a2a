"""What the next turn reads again because thoughts are not part of the history: the answer, and nothing before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpchat.config import KeepThinking
from mtpchat.engine.requests import TurnRequest
from mtpchat.events import Finished
from mtpchat.messages import Message
from mtpchat.stats import TurnStats
from tests.models.fixtures import TinyModel
from tests.native.talk import GREEDY, OFF, Talk, talk

FIRST = Message("user", "a b c d e f g h")
THOUGHTS, ANSWER = " ".join("abcdefgh" * 6), " ".join("hgfedcba" * 3)
WRITES_BACK = (
    "{% for m in messages %}{{ m.role[0] }}{% if m.reasoning_content %}{{ '<think>\n' + m.reasoning_content }}"
    "{{ '\n</think>\n\n' }}{% endif %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}{{ 'a' }}{% endif %}"
)
SECOND = Message("user", "b a")


def _turn(said: Talk, keep: KeepThinking, *messages: Message, continue_last: bool = False) -> TurnStats:
    request = TurnRequest(messages, GREEDY, continue_last, keep_thinking=keep)
    last = list(said.engine.turn(request, lambda: OFF, lambda: False))[-1]
    assert isinstance(last, Finished), last
    return last.stats


def _reuse(model: TinyModel, template: Path, keep: KeepThinking) -> TurnStats:
    """Counters of the turn that follows an answer with thoughts."""
    with talk(model.path, chat_template=str(template)) as said:
        _turn(said, keep, FIRST, Message("assistant", ANSWER, THOUGHTS, complete=False), continue_last=True)
        return _turn(said, keep, FIRST, Message("assistant", ANSWER, THOUGHTS), SECOND)


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "template.jinja"
    path.write_text(WRITES_BACK, encoding="utf-8")
    return path


@pytest.mark.parametrize("keep", ["auto", "none"])
def test_without_thoughts_in_the_history_the_answer_is_read_again_and_nothing_before_it(
    dense_model: TinyModel, template: Path, keep: KeepThinking
) -> None:
    stats = _reuse(dense_model, template, keep)
    assert stats.cached_tokens >= len(FIRST.content.split())
    again = stats.prompt_tokens - stats.cached_tokens
    assert len(ANSWER.split()) <= again < len(ANSWER.split()) + len(THOUGHTS.split())


def test_with_all_thoughts_in_the_history_the_answer_is_not_read_again(dense_model: TinyModel, template: Path) -> None:
    without, everything = _reuse(dense_model, template, "auto"), _reuse(dense_model, template, "all")
    assert everything.prompt_tokens - without.prompt_tokens >= len(THOUGHTS.split())
    read = everything.prompt_tokens - everything.cached_tokens
    assert read <= without.prompt_tokens - without.cached_tokens - len(ANSWER.split())


def test_a_model_that_cannot_go_back_at_will_reads_no_more_of_the_chat_again(
    hybrid_random: TinyModel, template: Path
) -> None:
    stats = _reuse(hybrid_random, template, "auto")
    assert stats.cached_tokens >= len(FIRST.content.split())
