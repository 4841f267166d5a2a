"""In which pieces a prompt is read: as many tokens as asked for, and never more than a decode may carry."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mtpchat.bench.prompts import Prompt
from mtpchat.bench.subject import EngineSubject
from mtpchat.events import Finished, Prefilling
from tests.models import TinyModel
from tests.native.talk import GREEDY, OFF, Talk, talk

LONG = "rivers " * 40


def pieces(talking: Talk) -> tuple[list[int], str]:
    """Sizes of the pieces in which a prompt was read, the last left out, and the answer."""
    events = talking.events(LONG)
    done = [event.done for event in events if isinstance(event, Prefilling)]
    last = events[-1]
    assert isinstance(last, Finished), last
    return [after - before for before, after in pairwise(done)], last.message.content


@pytest.mark.parametrize(
    ("settings", "size"),
    [({}, 64), ({"batch": 24}, 24), ({"prompt_chunk": 100}, 100), ({"prompt_chunk": 100, "batch": 40}, 40)],
)
def test_a_prompt_is_read_in_pieces_of_the_size_asked_for(
    dense_model: TinyModel, settings: dict[str, int], size: int
) -> None:
    with talk(dense_model.path, **settings) as talking:
        sizes, text = pieces(talking)
    assert sizes[0] == size
    assert max(sizes) == size
    with talk(dense_model.path) as talking:
        assert pieces(talking)[1] == text


def test_looking_inside_reads_in_the_same_pieces(dense_random: TinyModel) -> None:
    prompt = Prompt("p", LONG)
    with talk(dense_random.path, batch=24) as talking:
        subject = EngineSubject(talking.engine)
        answer = subject.ask(prompt, OFF, GREEDY)
        assert int(subject.logits_after(prompt, ()).argmax()) == answer.tokens[0]
        assert talking.engine.probe().chunk == 24
