"""Going back in a chat with a memory that cannot be cut reads little again: checkpoints lie between turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpchat.engine.prompt import reusable_prefix
from mtpchat.engine.requests import TurnRequest
from mtpchat.events import Finished
from mtpchat.messages import Message, Role
from mtpchat.stats import TurnStats
from tests.models import TinyModel
from tests.native.talk import GREEDY, Talk, talk

QUESTIONS = (
    "because we have it at home",
    "he that is not with me",
    "one two three four five six",
    "and what of it all",
)
NEAR = 33
"""How far before a message a checkpoint may lie, and the token that is always decoded."""
# Shows no answer's thoughts once the user has spoken again, as reasoning models want it.
FORGETFUL = """
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.role == 'assistant' and loop.last %}<think>{{ message.thinking }}</think>{% endif -%}
{{ message.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif -%}
"""


def said(chat: Talk, messages: tuple[Message, ...]) -> tuple[Message, TurnStats]:
    last = chat.events(messages)[-1]
    assert isinstance(last, Finished), last
    return last.message, last.stats


def conversation(chat: Talk) -> tuple[Message, ...]:
    """A question and an answer for each of QUESTIONS."""
    messages: tuple[Message, ...] = ()
    for question in QUESTIONS:
        messages += (Message("user", question),)
        answer, _ = said(chat, messages)
        messages += (answer,)
    return messages


def shared(chat: Talk, one: tuple[Message, ...], other: tuple[Message, ...]) -> int:
    """How many tokens the prompts of two conversations have in common."""
    prompt = chat.engine.probe().prompt
    first, second = (prompt.encode(TurnRequest(each, GREEDY)).tokens for each in (one, other))
    return reusable_prefix(first, second)


@pytest.mark.parametrize("name", ["hybrid_random", "sliding", "recurrent_model"])
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_message_put_differently_is_read_from_its_beginning(
    request: pytest.FixtureRequest, name: str, turn: int
) -> None:
    model: TinyModel = request.getfixturevalue(name)
    with talk(model.path) as chat:
        messages = conversation(chat)
        edited = (*messages[: 2 * turn], Message("user", "something else"))
        reused, stats = said(chat, edited)
        assert stats.cached_tokens >= shared(chat, messages[: 2 * turn + 1], edited) - NEAR
    with talk(model.path) as chat:
        fresh, stats = said(chat, edited)
        assert stats.cached_tokens == 0
        if name != "hybrid_random":  # its sums depend on how the prompt was cut into decodes
            assert fresh == reused


def test_an_answer_made_anew_reads_nothing_of_the_question(hybrid_random: TinyModel) -> None:
    with talk(hybrid_random.path) as chat:
        messages = conversation(chat)
        for turn in (3, 2):
            asked = messages[: 2 * turn + 1]
            _, stats = said(chat, asked)
            assert stats.cached_tokens == chat.engine.probe().prompt.encode(TurnRequest(asked, GREEDY)).stable_length


def test_also_where_earlier_answers_lose_their_thoughts(hybrid_random: TinyModel, tmp_path: Path) -> None:
    template = tmp_path / "forgetful.jinja"
    template.write_text(FORGETFUL, encoding="utf-8")
    with talk(hybrid_random.path, chat_template=str(template)) as chat:
        messages = conversation(chat)
        edited = (*messages[:4], Message("user", "something else"))
        _, stats = said(chat, edited)
        assert stats.cached_tokens >= shared(chat, messages[:5], edited) - NEAR


def test_a_long_prompt_read_at_once_can_be_gone_back_into(hybrid_random: TinyModel) -> None:
    """As after a chat was reopened: the turns of the past were not seen one by one."""
    roles: tuple[Role, ...] = ("user", "assistant") * 3
    messages = (*(Message(role, "word after word, " * 40) for role in roles), Message("user", "now"))
    with talk(hybrid_random.path, context=4096) as chat:
        said(chat, messages)
        _, stats = said(chat, (*messages[:-3], Message("user", "something else")))
        assert stats.cached_tokens >= 2048
