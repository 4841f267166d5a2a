"""Hypothesis strategies for JSON schemas that a grammar can keep."""

from __future__ import annotations

from hypothesis import strategies as st

Schema = dict[str, object]
_NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=5)
_VALUES = st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9, allow_nan=False) | st.text(max_size=4)
FORMATS = ("date", "time", "date-time", "uuid", "ipv4", "ipv6", "duration", "email", "hostname", "uri")


@st.composite
def _integers(draw: st.DrawFn) -> Schema:
    low = draw(st.integers(-3000, 3000))
    schema: Schema = {"type": "integer"}
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["minimum", "exclusiveMinimum"]))] = low
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["maximum", "exclusiveMaximum"]))] = low + draw(st.integers(2, 2500))
    return schema


@st.composite
def _numbers(draw: st.DrawFn) -> Schema:
    low = draw(st.floats(-1500, 1500, allow_nan=False))
    schema: Schema = {"type": "number"}
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["minimum", "exclusiveMinimum"]))] = low
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["maximum", "exclusiveMaximum"]))] = low + draw(st.floats(3, 900))
    return schema


@st.composite
def _strings(draw: st.DrawFn) -> Schema:
    if draw(st.booleans()):
        schema: Schema = {"type": "string", "format": draw(st.sampled_from(FORMATS))}
        return schema | draw(st.sampled_from([{}, {"maxLength": 40}, {"minLength": 8, "maxLength": 300}]))
    least = draw(st.integers(0, 3))
    return {"type": "string", "minLength": least, "maxLength": least + draw(st.integers(0, 4))}


@st.composite
def _arrays(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    least = draw(st.integers(0, 2))
    schema: Schema = {"type": "array", "items": draw(inner), "maxItems": least + draw(st.integers(0, 2))}
    if least:
        schema["minItems"] = least
    if draw(st.booleans()):
        schema["prefixItems"] = draw(st.lists(inner, min_size=1, max_size=2))
    return schema


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    properties = draw(st.dictionaries(_NAMES, inner, max_size=4))
    required = [name for name in properties if draw(st.booleans())]
    schema: Schema = {"type": "object", "properties": properties, "required": required}
    if properties and draw(st.booleans()):
        schema["additionalProperties"] = False
    return schema


_LEAVES = (
    _integers()
    | _numbers()
    | _strings()
    | st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"type": ["integer", "null"]}])
    | st.builds(lambda values: {"enum": values}, st.lists(_VALUES, min_size=1, max_size=3))
    | st.builds(lambda value: {"const": value}, _VALUES)
)


def _nested(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    several = st.lists(inner, min_size=1, max_size=3)
    return _arrays(inner) | _objects(inner) | st.builds(lambda found: {"anyOf": found}, several)


SCHEMAS: st.SearchStrategy[Schema] = st.recursive(_LEAVES, _nested, max_leaves=6)
