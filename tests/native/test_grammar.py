"""Answers that have to follow a grammar: their text does not hang on speculation, and what has ended is valid."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import jsonschema
import msgspec
import pytest

from mtpchat.config import SamplingConfig
from mtpchat.engine.requests import TurnRequest
from mtpchat.errors import GrammarError
from mtpchat.events import Failed, Finished, SpeculationControl, StatsTick, TextDelta, TurnEvent
from mtpchat.messages import Message
from mtpchat.structured.json_schema import grammar_of
from tests.models import TinyModel
from tests.native.talk import GREEDY, OFF, Talk, pinned, talk
from tests.native.test_lossless import CASES, HOT, PENALISED, SAMPLED

SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["river", "lake", "mountain stream"]},
        "said": {"type": "string", "maxLength": 12},
        "deep": {"type": ["integer", "null"], "minimum": 0, "maximum": 250},
        "clear": {"type": "boolean"},
        "with": {"type": "array", "items": {"enum": ["fish", "reeds", "boats"]}, "maxItems": 2},
    },
    "required": ["kind", "said", "deep", "clear", "with"],
    "additionalProperties": False,
}
GRAMMAR = grammar_of(SCHEMA)
AUTO = SpeculationControl(mode="auto", free_max=16)
NAMES = (
    "hybrid, head right 70 %",
    "hybrid, text that hangs on all of its past",
    "chained heads",
    "dense, draft model",
    "dense, EAGLE-3 head right 70 %",
    "dense, n-gram",
    "recurrent, n-gram and a copy of the state per draft",
    "sliding window, n-gram",
)
SAMPLINGS = {
    name: msgspec.structs.replace(sampling, max_tokens=160)
    for name, sampling in {"greedy": GREEDY, "sampled": SAMPLED, "hot": HOT, "penalised": PENALISED}.items()
}


def ask(
    loaded: Talk,
    control: SpeculationControl = OFF,
    sampling: SamplingConfig = SAMPLINGS["greedy"],
    grammar: str = GRAMMAR,
    messages: tuple[Message, ...] = (Message("user", "A river, as JSON."),),
    *,
    continue_last: bool = False,
) -> list[TurnEvent]:
    request = TurnRequest(messages, sampling, continue_last, grammar=grammar)
    return list(loaded.engine.turn(request, lambda: control, lambda: False))


def finished(events: list[TurnEvent]) -> Finished:
    last = events[-1]
    assert isinstance(last, Finished), last
    return last


def require_valid(text: str, schema: dict[str, object] = SCHEMA) -> None:
    jsonschema.validate(json.loads(text), schema)


@pytest.fixture(scope="module", params=NAMES, ids=lambda name: name.replace(" ", "-").replace(",", ""))
def talking(request: pytest.FixtureRequest) -> Iterator[Talk]:
    """A loaded pair."""
    model, drafter, kind = CASES[request.param](request)
    with talk(model, drafter, kind, copies="on") as loaded:
        assert loaded.facts.kind == kind, loaded.facts
        yield loaded


@pytest.fixture(scope="module")
def dense_talk(dense_model: TinyModel) -> Iterator[Talk]:
    """A dense model with n-gram guesses only."""
    with talk(dense_model.path, "", "ngram") as loaded:
        yield loaded


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=list(SAMPLINGS))
def test_text_under_a_grammar_is_the_same_at_every_depth_and_valid(talking: Talk, sampling: SamplingConfig) -> None:
    plain = finished(ask(talking, OFF, sampling))
    assert plain.stats.forced == plain.stats.drafted == 0
    if plain.reason == "stop":
        assert not plain.notice
        require_valid(plain.message.content)
    else:
        assert plain.message.thinking, "these models open thoughts by chance and never close them"
        assert not plain.message.content
    for control in (pinned(1), pinned(4), pinned(8), AUTO):
        guessed = finished(ask(talking, control, sampling))
        assert guessed.message == plain.message
        assert guessed.stats.output_tokens == plain.stats.output_tokens
        assert (guessed.stats.forced > 0) == (plain.reason == "stop")
        assert guessed.stats.steps + guessed.stats.forced + guessed.stats.accepted == guessed.stats.output_tokens


def test_whatever_ends_by_itself_is_valid(dense_talk: Talk) -> None:
    ended = 0
    for seed in range(12):
        sampling = SamplingConfig(temperature=2.0, top_k=0, top_p=1.0, min_p=0.0, seed=seed, max_tokens=160)
        answer = finished(ask(dense_talk, AUTO, sampling))
        if answer.reason == "stop":
            require_valid(answer.message.content)
            ended += 1
    assert ended > 2, "thoughts, which these models open by chance, never end"


def test_forced_tokens_are_always_accepted_and_counted_under_their_own_kind(
    hybrid: Callable[[float], TinyModel],
) -> None:
    with talk(hybrid(0.0).path, "", "mtp") as loaded:
        stats = finished(ask(loaded, pinned(4))).stats
        assert stats.forced > stats.drafted
        sources = {source.kind: source for source in loaded.engine.probe().controller.report().sources}
        forced = sources["grammar"]
        assert forced.tested == forced.matched > 0
        assert sources["mtp"].matched == stats.accepted
        assert sum(stats.reached_at) <= sources["mtp"].tested, (
            "guesses that the grammar forbids are not sent, but judged"
        )


def test_forced_text_costs_no_step_of_its_own(dense_talk: Talk) -> None:
    dictated = 'root ::= "the way it is has been the way it was and there is no way to do it any other way today"\n'
    plain = finished(ask(dense_talk, OFF, grammar=dictated))
    guessed = finished(ask(dense_talk, AUTO, grammar=dictated))
    assert guessed.message.content == plain.message.content == dictated.split('"')[1]
    assert guessed.stats.forced == guessed.stats.output_tokens - guessed.stats.steps
    assert guessed.stats.steps * 8 < plain.stats.steps


def test_a_plain_turn_after_one_with_a_grammar_is_as_if_there_had_been_none(dense_talk: Talk) -> None:
    before = dense_talk.say("Hello", AUTO)[0]
    ask(dense_talk, AUTO)
    assert dense_talk.say("Hello", AUTO)[0] == before
    assert dense_talk.engine.probe().controller.mask is None


def test_a_guess_that_the_grammar_forbids_is_not_sent(repeating: TinyModel) -> None:
    digits = "root ::= [0-9]{40}\n"
    with talk(repeating.path, "", "ngram") as loaded:
        messages = (Message("user", "a b c d e f g h 1 a b c d e f g h 1 a b c d 1 x 1 a b"),)
        stats = finished(ask(loaded, pinned(8), grammar=digits, messages=messages)).stats
        assert stats.output_tokens == 41
        told = loaded.engine.probe().controller.report()
        assert all(decision.kept <= decision.made for decision in told.decisions)


@pytest.mark.parametrize("control", [OFF, AUTO], ids=["off", "auto"])
def test_strict_mode_says_the_same(dense_random: TinyModel, control: SpeculationControl) -> None:
    with talk(dense_random.path, "", "ngram") as loaded:
        plain = finished(ask(loaded, OFF, SAMPLINGS["sampled"])).message
    with talk(dense_random.path, "", "ngram", strict=True) as strict:
        for sampling in (SAMPLINGS["sampled"], SAMPLINGS["greedy"], SAMPLINGS["hot"]):
            answer = finished(ask(strict, control, sampling))
            require_valid(answer.message.content)
            if sampling is SAMPLINGS["sampled"]:
                assert answer.message == plain


def test_strict_mode_with_every_row_in_doubt_still_says_the_same(hybrid_random: TinyModel) -> None:
    with talk(hybrid_random.path, "", "mtp", copies="on", strict=True) as loaded:
        loaded.engine._epsilon = 1e6  # no row of several is ever sure: each is decoded alone
        plain = finished(ask(loaded, OFF, SAMPLINGS["sampled"]))
        doubted = finished(ask(loaded, pinned(4), SAMPLINGS["sampled"]))
        assert doubted.message == plain.message
        assert doubted.stats.forced > 0


def test_a_model_that_thinks_may_think_first_and_then_answers_in_form(short_answer: TinyModel) -> None:
    with talk(short_answer.path, "", "ngram") as loaded:
        plain = finished(ask(loaded, OFF))
        assert plain.reason == "stop"
        assert plain.message.thinking
        require_valid(plain.message.content)
        guessed = finished(ask(loaded, AUTO))
        assert guessed.message == plain.message
        assert guessed.stats.forced > 0


def test_an_answer_that_was_cut_is_said_to_be_incomplete_and_goes_on_where_it_was(dense_talk: Talk) -> None:
    whole = finished(ask(dense_talk, OFF)).message.content
    for limit in (3, 9, 20):
        cut = finished(ask(dense_talk, AUTO, msgspec.structs.replace(GREEDY, max_tokens=limit)))
        assert cut.reason == "length"
        assert "not complete" in cut.notice
        assert not cut.message.complete
        begun = (Message("user", "A river, as JSON."), cut.message)
        rest = finished(ask(dense_talk, AUTO, messages=begun, continue_last=True))
        assert rest.reason == "stop"
        require_valid(cut.message.content + rest.message.content)
        assert (cut.message.content + rest.message.content)[:10] == whole[:10]


def test_an_answer_that_does_not_fit_the_grammar_cannot_be_carried_on_under_it(dense_talk: Talk) -> None:
    begun = (Message("user", "Hello"), Message("assistant", "Once upon", complete=False))
    last = ask(dense_talk, messages=begun, continue_last=True)[-1]
    assert isinstance(last, Failed)
    assert "does not fit" in last.message


@pytest.mark.parametrize(
    ("grammar", "words"),
    [
        ('root ::= "a" [a-z', "line 1"),
        ('root ::= "a"\nother := "b"\n', "line 2"),
        ('root ::= "a"\n\nthing ::= missing\n', 'no rule "missing"'),
        ('root ::= root "a" | "b"\n', "left recursion"),
        ('start ::= "a"\n', 'no rule "root"'),
        ('root ::= "a" <think>\n', "names a token"),
        ('root ::= "a"{0,100000}\n', "2,000 times"),
        ("root ::= " + "(" * 60000 + '"a"' + ")" * 60000, "too deep"),
        ("\n".join([f"r{i} ::= r{i + 1} r{i + 1}" for i in range(40)] + ['r40 ::= "x"?', "root ::= r0"]), "too deep"),
        ('root ::= "' + "a" * 300000 + '"', "KB"),
        ('root ::= "a\0"', "null byte"),
    ],
    ids=range(11),
)
def test_a_grammar_that_cannot_be_used_fails_the_turn_in_words_and_the_next_turn_works(
    dense_talk: Talk, grammar: str, words: str
) -> None:
    last = ask(dense_talk, grammar=grammar)[-1]
    assert isinstance(last, Failed)
    assert words in last.message + last.hint, last
    assert dense_talk.say("Hello")[0]


def test_a_grammar_of_exponentially_many_readings_is_given_up_in_time(dense_talk: Talk) -> None:
    model = dense_talk.engine.probe().loaded
    assert model.make_grammar is not None
    grammar = model.make_grammar('root ::= "a" root "b" | "a" root "c" | "d"\n')
    letter = model.tokenizer.encode("a")[0]

    def say_letters() -> None:
        for _ in range(40):
            grammar.forced()
            grammar.accept(letter)

    with pytest.raises(GrammarError, match="so many ways"):
        say_letters()
    grammar.close()


def test_a_stop_string_ends_an_answer_early_and_that_is_said(dense_talk: Talk) -> None:
    answer = finished(ask(dense_talk, AUTO, msgspec.structs.replace(SAMPLINGS["greedy"], stop=('"said"',))))
    assert answer.reason == "stop"
    assert "not complete" in answer.notice
    assert '"said"' not in answer.message.content


def test_provenance_names_the_grammar(dense_talk: Talk) -> None:
    control = SpeculationControl(mode="auto", free_max=16, provenance=True)
    drafted = {event.drafted for event in ask(dense_talk, control) if isinstance(event, TextDelta)}
    assert "grammar" in drafted
    assert not any(isinstance(event, StatsTick) and event.stats.drafted > 500 for event in ask(dense_talk, control))


def test_what_was_dictated_is_counted_alike_in_the_panel_and_in_the_answer(dense_model: TinyModel) -> None:
    with talk(dense_model.path, "", "ngram") as loaded:
        done = finished(ask(loaded, AUTO))
        assert done.reason == "stop"  # its end is dictated as well, and is no guess
        assert done.report is not None
        dictated = sum(one.matched for one in done.report.sources if one.kind == "grammar")
        assert dictated == done.stats.forced > 0
        drafted = sum(at * count for at, count in enumerate(done.report.accepted_lengths))
        assert drafted == done.stats.accepted
