"""Hypothesis strategies for schemas that are combined of others, and for schemas with a value that meets them."""

from __future__ import annotations

from hypothesis import strategies as st

Schema = dict[str, object]
Pair = tuple[Schema, object]
_NAMES = ("a", "b", "ab", "x-1")
_PATTERNS = ("^a", "b$", "^x-[0-9]$", "^[ab]{1,2}$", "a|x")
_WORDS = ("", "a", "ab", "b", "aab", "x-1", 'q"\\')


@st.composite
def _texts(draw: st.DrawFn) -> Schema:
    schema: Schema = {"type": "string"}
    if draw(st.booleans()):
        schema["pattern"] = draw(st.sampled_from(_PATTERNS))
    if draw(st.booleans()):
        schema["minLength"] = draw(st.integers(0, 2))
    if draw(st.booleans()):
        schema["maxLength"] = draw(st.integers(2, 4))
    return schema


@st.composite
def _numbers(draw: st.DrawFn) -> Schema:
    schema: Schema = {"type": draw(st.sampled_from(["integer", "number"]))}
    if draw(st.booleans()):
        schema["multipleOf"] = draw(st.sampled_from([1, 2, 3, 5, 7, 10, 12, 0.5, 0.25, 2.5]))
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["minimum", "exclusiveMinimum"]))] = draw(st.integers(-30, 10))
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["maximum", "exclusiveMaximum"]))] = draw(st.integers(10, 5000))
    return schema


_LISTED = st.builds(
    lambda values: {"enum": values}, st.lists(st.sampled_from([None, True, 0, 1, 2.5, *_WORDS]), min_size=1, max_size=4)
)
_LEAVES = _texts() | _numbers() | _LISTED | st.sampled_from([{"type": "boolean"}, {"type": ["null", "string"]}])


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    schema: Schema = {"type": "object"}
    schema["properties"] = draw(st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3))
    schema["required"] = draw(st.lists(st.sampled_from(_NAMES), unique=True, max_size=2))
    if draw(st.booleans()):
        schema["patternProperties"] = draw(st.dictionaries(st.sampled_from(_PATTERNS), inner, min_size=1, max_size=2))
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(st.booleans() | inner)
    return schema


@st.composite
def _arrays(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    schema: Schema = {"type": "array", "items": draw(inner), "maxItems": draw(st.integers(0, 4))}
    if draw(st.booleans()):
        schema["minItems"] = draw(st.integers(0, 2))
    if draw(st.booleans()):
        schema |= {"items": draw(_LISTED | st.just({"type": "boolean"})), "uniqueItems": True}
    return schema


@st.composite
def _combined(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    schema = dict(draw(inner)) if draw(st.booleans()) else {}
    match draw(st.sampled_from(["allOf", "anyOf", "oneOf", "not", "if"])):
        case "not":
            return schema | {"not": draw(inner)}
        case "if":
            return schema | {"if": draw(inner), "then": draw(inner), "else": draw(inner)}
        case key:
            return schema | {key: draw(st.lists(inner, min_size=1, max_size=3))}


COMBINED: st.SearchStrategy[Schema] = st.recursive(
    _LEAVES, lambda inner: _objects(inner) | _arrays(inner) | _combined(inner) | _combined(inner), max_leaves=6
)


@st.composite
def _whole_numbers(draw: st.DrawFn) -> Pair:
    step, count, room = draw(st.integers(1, 12)), draw(st.integers(-300, 300)), draw(st.integers(0, 90))
    schema: Schema = {"type": "integer"}
    if draw(st.booleans()):
        schema["multipleOf"] = step
    if draw(st.booleans()):
        schema["minimum"] = step * count - room
    if draw(st.booleans()):
        schema["exclusiveMaximum"] = step * count + room + 1
    return schema, step * count


@st.composite
def _strings(draw: st.DrawFn) -> Pair:
    value = draw(st.text(st.characters(codec="utf-8"), max_size=5))
    return {"type": "string", "minLength": max(0, len(value) - 1), "maxLength": len(value) + 1}, value


@st.composite
def _one_of_list(draw: st.DrawFn) -> Pair:
    values = draw(
        st.lists(st.none() | st.booleans() | st.integers(-9, 99) | st.text(max_size=3), min_size=1, max_size=4)
    )
    return {"enum": values}, draw(st.sampled_from(values))


@st.composite
def _sets(draw: st.DrawFn) -> Pair:
    values = draw(st.lists(st.integers(0, 99), min_size=1, max_size=10, unique=True))
    kept = [value for value in values if draw(st.booleans())]
    return {"type": "array", "items": {"enum": values}, "uniqueItems": True, "minItems": len(kept)}, kept


@st.composite
def _lists(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    schema, value = draw(inner)
    count = draw(st.integers(0, 3))
    return {"type": "array", "items": schema, "minItems": min(1, count), "maxItems": 3}, [value] * count


@st.composite
def _records(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    pairs = draw(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), inner, max_size=4))
    said = {name: value for name, (_schema, value) in pairs.items() if draw(st.booleans())}
    properties = {name: schema for name, (schema, _value) in pairs.items()}
    if not properties:
        return {"type": "object", "additionalProperties": False}, {}
    needed = [name for name in said if draw(st.booleans())]
    return {"type": "object", "properties": properties, "required": needed}, said


@st.composite
def _split(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    """The same demands, laid into several schemas."""
    schema, value = draw(inner)
    parts: list[Schema] = [{}, {}, {}]
    for key, demand in schema.items():
        parts[draw(st.integers(0, 2))][key] = demand
    if "enum" in schema or "additionalProperties" in schema:
        return schema, value
    return {**parts[0], "allOf": [part for part in parts[1:] if part] or [{}]}, value


PAIRS: st.SearchStrategy[Pair] = st.recursive(
    _whole_numbers() | _strings() | _one_of_list() | _sets() | st.just(({"type": "boolean"}, True)),
    lambda inner: _lists(inner) | _records(inner) | _split(inner),
    max_leaves=6,
)
