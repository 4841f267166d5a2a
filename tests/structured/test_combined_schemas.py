"""Schemas that are combined of others: what the grammar allows is valid, and what is plainly valid is allowed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, event, example, given, settings

from mtpchat.backend.llama import grammar_child
from mtpchat.errors import GrammarError
from mtpchat.structured.gbnf import MOST_BYTES
from mtpchat.structured.json_schema import grammar_of
from mtpchat.structured.reading import NothingLeft
from mtpchat.structured.texts import json_text
from tests.models import TinyModel
from tests.native.talk import Talk, talk
from tests.structured.combined import COMBINED, PAIRS, Pair, Schema
from tests.structured.test_json_schema import require_valid
from tests.structured.walk import walk

GENTLE = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def loaded(dense_model: TinyModel) -> Iterator[Talk]:
    """A model, for its vocabulary."""
    with talk(dense_model.path, "", "none") as talking:
        yield talking


@pytest.fixture(scope="module")
def say(loaded: Talk) -> Callable[..., set[str]]:
    """Texts that the grammar of a schema allows."""

    def texts(schema: object, count: int = 4, liked: bytes = b"") -> set[str]:
        model = loaded.engine.probe().loaded
        found: set[str] = set()
        grammar = grammar_of(schema)
        for seed in range(count):
            assert model.make_grammar is not None
            made = model.make_grammar(grammar)
            text = walk(made, model.tokenizer, seed, liked)
            made.close()
            found |= {text} if text is not None else set()
        return found

    return texts


@pytest.fixture(scope="module")
def takes(loaded: Talk) -> Callable[[object, str], bool]:
    """Whether the grammar of a schema allows a text from beginning to end."""

    def taken(schema: object, text: str) -> bool:
        make = loaded.engine.probe().loaded.make_grammar
        assert make is not None
        made = make(grammar_of(schema))
        try:
            made.feed(text)
            return made.complete
        except GrammarError:
            return False
        finally:
            made.close()

    return taken


@GENTLE
@given(schema=COMBINED)
@example({"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}]})
@example({"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}, "else": {"required": ["ab"]}})
@example(
    {"type": "object", "properties": {"a": {}}, "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 3}}}
)
@example({"not": {"type": "string", "pattern": "\\W"}, "type": "string", "minLength": 1})
@example({"type": "number", "not": {"enum": [0, 1, 2.5]}, "minimum": 0, "maximum": 3})
def test_what_the_grammar_allows_is_valid(say: Callable[..., set[str]], schema: Schema) -> None:
    try:
        grammar_of(schema)
    except NothingLeft:
        event("nothing is left")
        assume(False)
    except GrammarError as error:
        event(f"refused: {error.key.rpartition('/')[2]}")
        assume(not error.key.startswith("#"))
    for text in say(schema, 1):
        require_valid(text, schema)


@GENTLE
@given(pair=PAIRS)
def test_a_valid_value_in_the_usual_layout_may_be_said(takes: Callable[[object, str], bool], pair: Pair) -> None:
    schema, value = pair
    jsonschema.Draft202012Validator(schema).validate(value)
    assert takes(schema, json_text(value))


BASE = {"type": "object", "properties": {"id": {"type": "integer", "minimum": 1}}, "required": ["id"]}
NAMED = {"properties": {"name": {"type": "string", "maxLength": 5}, "id": {"maximum": 9}}, "required": ["name"]}
TREE = {
    "$defs": {
        "node": {"allOf": [{"$ref": "#/$defs/plain"}, {"properties": {"more": {"items": {"$ref": "#/$defs/node"}}}}]},
        "plain": {
            "type": "object",
            "properties": {"value": {"type": "integer"}, "more": {"type": "array", "maxItems": 1}},
        },
    },
    "$ref": "#/$defs/node",
}
PET = {
    "type": "object",
    "properties": {"kind": {"enum": ["cat", "dog"]}, "lives": {"type": "integer"}, "barks": {"type": "boolean"}},
    "required": ["kind"],
    "if": {"properties": {"kind": {"const": "cat"}}},
    "then": {"required": ["lives"], "properties": {"barks": False}},
    "else": {"required": ["barks"], "not": {"required": ["lives"]}},
}


@pytest.mark.parametrize(
    ("schema", "good", "wrong"),
    [
        ({"allOf": [BASE, NAMED]}, ['{"id": 7, "name": "Ann"}'], ['{"id": 10, "name": "Ann"}', '{"id": 7}']),
        (TREE, ['{"value": 1, "more": [{"value": 2, "more": []}]}'], ['{"more": [1]}']),
        (
            PET,
            ['{"kind": "cat", "lives": 9}', '{"kind": "dog", "barks": true}'],
            ['{"kind": "cat"}', '{"kind": "dog", "lives": 1}'],
        ),
        ({"$ref": "#/$defs/a%25~1b", "$defs": {"a%/b": {"type": "null"}}}, ["null"], ["1"]),
        ({"type": "number", "minimum": 123456.5, "maximum": 9876543210.5}, ["123457.25", "9876543210"], ["123456.4"]),
        ({"type": "integer", "multipleOf": 7}, ["0", "-7", "7777777"], ["1", "8", "00", "-"]),
        ({"type": "integer", "multipleOf": 360, "minimum": 0}, ["0", "360", "36000"], ["36", "100"]),
        (
            {"type": "integer", "multipleOf": 9973, "minimum": -9973, "maximum": 20000},
            ["-9973", "0", "19946"],
            ["9974"],
        ),
        ({"type": "number", "multipleOf": 0.01}, ["19.99", "0.5", "-3", "12"], ["0.001", "1e3"]),
        (
            {"type": "number", "multipleOf": 0.05, "minimum": 0.1, "maximum": 0.3},
            ["0.1", "0.25", "0.3"],
            ["0.05", "0.12"],
        ),
        ({"allOf": [{"type": "integer", "multipleOf": 4}, {"multipleOf": 6}]}, ["12", "-24"], ["6", "4"]),
        (
            {"type": "object", "patternProperties": {"^x-": {"type": "integer"}}},
            ['{"x-a": 1}', "{}"],
            ['{"y": 1}', '{"x-a": "b"}'],
        ),
        (
            {
                "properties": {"a": {"type": "null"}},
                "patternProperties": {"^x": {"type": "integer"}, "y$": {"minimum": 5}},
            },
            ['{"a": null, "xy": 5, "x": 1}', '{"zy": 6}', '{"a": null}'],
            ['{"xy": 4}', '{"zy": 1}', '{"b": 1}'],
        ),
        (
            {"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": {"type": "null"}},
            ['{"x": 1, "y": null}'],
            ['{"x": null}', '{"y": 1}'],
        ),
        (
            {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True},
            ['["c", "a"]', "[]"],
            ['["a", "a"]'],
        ),
        (
            {
                "type": "array",
                "items": {"type": "integer", "minimum": 1, "maximum": 49},
                "uniqueItems": True,
                "minItems": 2,
            },
            ["[3, 17, 49]"],
            ["[3]", "[3, 3]"],
        ),
        ({"type": "string", "not": {"const": "no"}}, ['"yes"', '"n"', '"nope"', '""'], ['"no"', "1"]),
        ({"type": "string", "not": {"pattern": "^a"}, "maxLength": 3}, ['"bcd"', '""'], ['"abc"', '"bcde"']),
        ({"not": {"type": ["object", "array"]}}, ['"a"', "1", "null"], ["{}", "[]"]),
        ({"type": "object", "not": {"required": ["a"]}}, ['{"b": 1}', "{}"], ['{"a": 1}']),
        ({"type": "number", "not": {"minimum": 5}}, ["4", "-1.5"], ["5", "5.1"]),
        ({"type": "integer", "not": {"enum": [0, 1]}}, ["2", "-1", "10"], ["0", "1", "-0"]),
        ({"enum": [[1], [2, 3], 4], "contains": {"const": 1}}, ["[1]", "4"], ["[2, 3]"]),
        ({"enum": [1, 5, "five", 12], "type": "integer", "minimum": 3}, ["5", "12"], ["1", '"five"']),
        ({"type": "string", "format": "date", "pattern": "^2"}, ['"2024-02-03"'], ['"1999-01-01"']),
        (
            {"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}},
            ['{"a": 1, "b": 2}', '{"b": 2}'],
            ['{"a": 1}'],
        ),
        ({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 100}], "not": {"minimum": 200}}, ["5"], ["200"]),
        ({"$ref": "#/$defs/a", "maxLength": 2, "$defs": {"a": {"type": "string"}}}, ['"ab"'], ['"abc"']),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}], "not": {"const": 3}}, ['"a"', "4"], ["3"]),
        (
            {"properties": {"a": False, "b": {"type": "null"}}, "x-note": 1, "discriminator": {}},
            ['{"b": null}', "{}"],
            ['{"a": 1}'],
        ),
    ],
    ids=range(30),
)
def test_combinations_mean_what_they_say(
    takes: Callable[[object, str], bool], schema: dict[str, Any], good: list[str], wrong: list[str]
) -> None:
    checker = jsonschema.Draft202012Validator(schema)
    for text in good:
        if "multipleOf" not in schema:  # that library divides floating-point numbers
            checker.validate(json.loads(text))
        assert takes(schema, text), text
    for text in wrong:
        assert not takes(schema, text), text


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "string", "not": {"format": "date"}}, "#/not/format"),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "#/uniqueItems"),
        ({"type": "array", "contains": {"type": "string"}}, "#/contains"),
        ({"type": "object", "not": {"const": {}}}, "#"),
        ({"type": "integer", "multipleOf": 9973}, "#/multipleOf"),
        ({"type": "integer", "multipleOf": 0}, "#/multipleOf"),
        ({"type": "integer", "multipleOf": "2"}, "#/multipleOf"),
        ({"type": "string", "pattern": "^(a|b)*a(a|b){11}$", "maxLength": 40}, "#"),
        ({"patternProperties": {"f" * 990: {}}, "properties": {"f" * 4000: {}}}, "#"),
        ({"anyOf": [{"type": "string", "pattern": "f" * 2000}]}, "#/anyOf/0/pattern"),
        ({"type": "string", "format": "email", "minLength": 80}, "#/format"),
        ({"patternProperties": {"(?=a)": {}}}, "#/patternProperties/(?=a)"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "#/allOf"),
        (
            {"allOf": [{"type": "object"}, {"properties": {"a/b": {"nullable": True}}}]},
            "#/allOf/1/properties/a~1b/nullable",
        ),
        (
            {"allOf": [{"anyOf": [{"const": n} for n in range(9)]}, {"anyOf": [{"minimum": n} for n in range(9)]}]},
            "#/allOf/1",
        ),
        ({"enum": ["a"], "$ref": "https://example.org/"}, "#/$ref"),
        ({"enum": ["a"], "properties": {"a": 5}}, "#"),
        ({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {}]}}, "$ref": "#/$defs/a"}, "#/$defs/a/allOf/0/$ref"),
        ({"not": {"not": {"$ref": "#"}}}, "#/not/not/$ref"),
        ({"type": "string", "not": {}}, "#"),
    ],
    ids=range(20),
)
def test_what_cannot_be_kept_is_named_with_its_place(schema: object, place: str) -> None:
    with pytest.raises(GrammarError) as caught:
        grammar_of(schema)
    assert caught.value.key == place
    assert place in caught.value.message


def test_a_choice_that_is_impossible_is_left_out_and_its_rules_with_it() -> None:
    schema = {"anyOf": [{"type": "object", "properties": {"a": False}, "required": ["a"]}, {"const": 1}]}
    assert grammar_of(schema) == 'root ::= "1"\n'


def test_a_grammar_is_the_same_whenever_it_is_made() -> None:
    schema = {"allOf": [BASE, NAMED], "not": {"properties": {"name": {"enum": ["x", "y"]}}}}
    assert grammar_of(schema) == grammar_of(json.loads(json.dumps(schema)))


def test_listed_values_are_judged_soon_whatever_pattern_they_are_held_against() -> None:
    began = time.thread_time()
    assert grammar_of({"enum": ["a" * 40 + "!", "aa"], "pattern": "^(a+)+$"}) == 'root ::= "\\"aa\\""\n'
    assert time.thread_time() - began < 5


def test_a_grammar_that_is_too_long_is_refused_with_the_schema() -> None:
    assert MOST_BYTES == grammar_child.MOST_BYTES
    with pytest.raises(GrammarError, match="too large"):
        grammar_of({"enum": [f"value number {number} of many" for number in range(12_000)]})
