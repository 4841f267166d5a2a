"""Whatever the grammar of a schema lets a model say is valid by the schema; what it cannot keep is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, event, example, given, settings
from hypothesis import strategies as st

from mtpchat.errors import GrammarError
from mtpchat.structured.json_schema import grammar_of
from mtpchat.structured.patterns import language
from mtpchat.structured.regular import matches
from mtpchat.structured.texts import FORMATS
from tests.models import TinyModel
from tests.native.talk import Talk, talk
from tests.structured.strategies import SCHEMAS, Schema
from tests.structured.walk import walk

Say = Callable[..., str | None]


@pytest.fixture(scope="module")
def say(dense_model: TinyModel) -> Iterator[Say]:
    """A text that the grammar of a schema allows."""
    with talk(dense_model.path, "", "none") as loaded:
        yield lambda schema, seed, liked=b"": _said(loaded, grammar_of(schema), seed, liked)


def _said(loaded: Talk, grammar: str, seed: int, liked: bytes) -> str | None:
    model = loaded.engine.probe().loaded
    assert model.make_grammar is not None
    made = model.make_grammar(grammar)
    try:
        return walk(made, model.tokenizer, seed, liked)
    finally:
        made.close()


def require_valid(text: str | None, schema: object) -> None:
    if text is None:
        return
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    jsonschema.Draft202012Validator(schema, format_checker=checker).validate(json.loads(text))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schema=SCHEMAS, seed=st.integers(0, 9))
@example({"type": "number", "minimum": -0.5, "maximum": 2.5}, 3)
@example({"type": "integer", "exclusiveMinimum": -1, "exclusiveMaximum": 1}, 0)
@example({"type": "object", "properties": {'a"\\\n☃': {"const": "\x00\x7f\ud83d"}}, "required": ['a"\\\n☃']}, 0)
def test_what_the_grammar_allows_is_valid(say: Say, schema: Schema, seed: int) -> None:
    try:
        grammar_of(schema)
    except GrammarError as error:
        event(error.key.rpartition("/")[2])
        assume("leaves no" not in error.message and "more items" not in error.message)
    require_valid(say(schema, seed), schema)


@pytest.mark.parametrize("low", [-120, -100, -9, -1, 0, 1, 9, 10, 37, 99, 100, 101])
def test_bounds_of_whole_numbers_are_exact(say: Say, low: int) -> None:
    for high in (low, low + 1, low + 12, low + 230):
        schema = {"type": "integer", "minimum": low, "maximum": high}
        said = {int(say(schema, seed) or "0") for seed in range(40)}
        assert said <= set(range(low, high + 1))
        if high - low <= 1:
            assert said == set(range(low, high + 1))


LINKED = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
            "required": ["value", "next"],
        }
    },
}
SHAPES = {
    "type": "array",
    "minItems": 1,
    "maxItems": 4,
    "items": {
        "oneOf": [
            {
                "type": "object",
                "properties": {"kind": {"const": "dot"}, "at": {"type": "integer"}},
                "required": ["kind"],
            },
            {
                "type": "object",
                "properties": {"kind": {"const": "line"}, "to": {"type": "number"}},
                "required": ["kind"],
            },
        ]
    },
}


@pytest.mark.parametrize("schema", [LINKED, SHAPES, {}, True, {"type": "object"}, {"type": "array"}, {"title": "any"}])
def test_real_schemas_give_valid_texts(say: Say, schema: object) -> None:
    texts = [say(schema, seed) for seed in range(8)]
    for text in texts:
        require_valid(text, schema)
    assert any(texts)


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "string", "pattern": "^a(?=b)$"}, "#/pattern"),
        ({"type": "string", "pattern": "a\\b"}, "#/pattern"),
        ({"type": "string", "pattern": "(a"}, "#/pattern"),
        ({"type": "string", "pattern": "a)"}, "#/pattern"),
        ({"type": "string", "pattern": "a{9999}"}, "#/pattern"),
        ({"type": "string", "pattern": "(" * 5000}, "#/pattern"),
        ({"typ": "object"}, "#/typ"),
        ({"type": "strnig"}, "#/type"),
        ({"$ref": "https://example.org/x"}, "#/$ref"),
        ({"$ref": "#/$defs/missing"}, "#/$ref"),
        ({"$ref": "#"}, "#/$ref"),
        ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "#/anyOf/0/$ref"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "#/oneOf"),
        ({"type": "string", "maxLength": 100000}, "#/maxLength"),
        ({"type": "string", "minLength": 5, "maxLength": 2}, "#/maxLength"),
        ({"type": "string", "format": "iban"}, "#/format"),
        ({"type": "number", "minimum": float("nan")}, "#/minimum"),
        ({"type": "number", "minimum": 0.2, "maximum": 0.8}, "#"),
        ({"enum": []}, "#/enum"),
        ({"type": "string", "enum": [1]}, "#/enum"),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, "#/required"),
        (False, "#"),
        ([], "#"),
    ],
)
def test_what_cannot_be_kept_is_named_with_its_place(schema: object, place: str) -> None:
    with pytest.raises(GrammarError) as caught:
        grammar_of(schema)
    assert caught.value.key == place
    assert place in caught.value.message


PATTERNS = [
    "^[A-Z]{2}-[0-9]{4}$",
    "^(red|green|blue)+$",
    "^\\d{1,3}(\\.\\d+)?$",
    "x\\.y",
    '^[^"\\\\a-z]{3}$',
    '^"\\\\$',
    "^a|b$",
    "^\\w+@\\w+\\.[a-z]{2,}$",
    "^[\\s\\S]{2}$",
    "^[^\\w]{2}$",
    "^\\u00e9?.$",
    "^(?:ab?){2,3}c*$",
    "",
    "^$",
    "^[\\-\\]x]$",
    "^[a-]+$",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_text_under_a_pattern_matches_it(say: Say, pattern: str) -> None:
    schema = {"type": "string", "pattern": pattern}
    texts = [say(schema, seed, b'"' + pattern.encode()) for seed in range(12)]
    assert any(text is not None for text in texts)
    for text in texts:
        require_valid(text, schema)


def test_hostile_schemas_are_refused_quickly() -> None:
    deep: object = {"type": "string"}
    for _ in range(400):
        deep = {"type": "array", "items": deep}
    wide = {"type": "object", "properties": {f"p{n}": {"enum": [n, n + 1]} for n in range(5000)}}
    for schema in (deep, wide):
        with pytest.raises(GrammarError):
            grammar_of(schema)


def test_two_references_that_end_alike_are_two_things(say: Say) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/x/y"}, "b": {"$ref": "#/$defs/z/y"}},
        "required": ["a", "b"],
        "$defs": {"x": {"y": {"const": 1}}, "z": {"y": {"const": "two"}}},
    }
    assert say(schema, 0) == '{"a": 1, "b": "two"}'


@pytest.mark.parametrize(
    "bound", [10**4000, -(10**4000), float("inf"), float("nan")], ids=["huge", "low", "inf", "nan"]
)
def test_bounds_that_no_number_of_a_machine_reaches_are_refused(bound: float) -> None:
    for kind in ("integer", "number"):
        with pytest.raises(GrammarError):
            grammar_of({"type": kind, "minimum": bound})


@pytest.mark.parametrize("name", ["xn--07jt112bpxg.xn--9t4b11yi5a", "a--b.c", "-a.b", "a-.b", "a"])
def test_names_of_hosts_that_may_be_wrong_are_not_said(name: str) -> None:
    assert not matches(language(FORMATS["hostname"]), name)
    assert matches(language(FORMATS["hostname"]), "a-b.c1.d")


def test_a_length_may_be_written_as_a_fraction_of_nothing(say: Say) -> None:
    assert say({"type": "string", "pattern": "^a*$", "minLength": 2.0, "maxLength": 2}, 0) == '"aa"'
    with pytest.raises(GrammarError):
        grammar_of({"type": "string", "minLength": 2.5})
