"""Settings as text: what is written is read back, and what is typed is understood."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect as spec

from mtpchat.config import Config
from mtpchat.config_file import load, parse, set_value
from mtpchat.config_schema import replace_value, setting_types
from mtpchat.config_text import render, render_default, setting_manual
from mtpchat.errors import ConfigError

NOWHERE = Path("config.toml")


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    info = spec.type_info(kind)
    if isinstance(info, spec.FloatType):
        low = info.ge if info.ge is not None else info.gt
        return st.floats(low, info.le, exclude_min=info.gt is not None)
    return st.from_type(kind) if not isinstance(info, spec.IntType) else st.integers(info.ge, info.le)


@st.composite
def configs(draw: st.DrawFn) -> Config:
    config = Config(keys=draw(st.dictionaries(st.text(min_size=1), st.text(), max_size=3)))
    for key in draw(st.sets(st.sampled_from(sorted(setting_types())))):
        config = replace_value(config, key, draw(by_hand(key)))
    values = draw(st.dictionaries(st.text(), st.none() | st.integers() | st.text(), max_size=2))
    config = replace_value(config, "model.chat_template_kwargs", json.dumps(values) if values else "")
    low, high = config.speculative.draft_min, config.speculative.draft_max
    return replace_value(replace_value(config, "speculative.draft_min", min(low, high)), "speculative.draft_max", high)


def by_hand(key: str) -> st.SearchStrategy[Any]:
    info = spec.type_info(setting_types()[key])
    if isinstance(info, spec.VarTupleType):
        return st.lists(st.text(min_size=1), max_size=3).map(tuple)
    if isinstance(info, spec.LiteralType):
        return st.sampled_from(info.values)
    if isinstance(info, spec.UnionType) and any(isinstance(member, spec.IntType) for member in info.types):
        return st.one_of(*map(of_member, info.types))
    return values_of(setting_types()[key])


def of_member(info: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(info.values) if isinstance(info, spec.LiteralType) else st.integers(info.ge, info.le)


@given(configs())
def test_a_config_written_out_reads_back_equal(config: Config) -> None:
    values, profiles = parse(render(config), NOWHERE)
    again = Config()
    for key, value in values.items():
        again = replace_value(again, key, value)
    assert again == config
    assert profiles == {}


def test_the_default_file_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(render_default())
    loaded = load(path)
    assert (loaded.config, loaded.banner) == (Config(), None)


def test_the_default_file_uncommented_says_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(re.sub(r"^#(?=[a-z_]+ = |\[)", "", render_default(), flags=re.MULTILINE))
    loaded = load(path)
    assert loaded.banner is None
    assert msgspec.structs.replace(loaded.config, keys={}) == Config()
    assert loaded.config.keys
    assert loaded.profiles == ("precise",)


def test_every_setting_is_in_the_default_file_with_its_meaning() -> None:
    text, manual = " ".join(render_default().replace("\n# ", " ").split()), setting_manual()
    assert list(manual) == list(setting_types())
    for key, meaning in manual.items():
        assert " ".join(meaning.split()) in text
        assert f"#{key.partition('.')[2]} = " in text


@given(configs(), st.data())
def test_a_number_or_choice_typed_back_is_the_same_setting(config: Config, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from([k for k in setting_types() if k not in ("sampling.stop", "paths.models")]))
    section, _, name = key.partition(".")
    value = getattr(getattr(config, section), name)
    text = str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else repr(value)
    assert set_value(config, key, text) == config


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("sampling.temperature", "0.3", 0.3),
        ("sampling.temperature", "1", 1.0),
        ("sampling.stop", "END", ("END",)),
        ("sampling.stop", '["a", "b"]', ("a", "b")),
        ("sampling.stop", "", ()),
        ("model.mmap", "off", False),
        ("ui.theme", "paper", "paper"),
    ],
)
def test_typed_text_becomes_the_type_of_its_setting(key: str, text: str, value: object) -> None:
    section, _, name = key.partition(".")
    assert getattr(getattr(set_value(Config(), key, text), section), name) == value


def test_a_key_can_be_remapped() -> None:
    assert set_value(Config(), "keys.quit", "f9").keys == {"quit": "f9"}


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("sampling.temprature", "1", "sampling.temprature is not a setting"),
        ("sampling", "1", "sampling is not a setting"),
        ("", "1", "is not a setting"),
        ("keys", "1", "keys is not a setting"),
        ("sampling.temperature", "hot", 'sampling.temperature must be a number from 0 to 100, not "hot"'),
        ("sampling.temperature", "-1", "from 0 to 100, not -1"),
        ("sampling.temperature", "nan", "not nan"),
        ("sampling.top_k", "1.5", 'a whole number, 0 or more, not "1.5"'),
        ("sampling.top_k", "9" * 5000, "a whole number"),
        ("sampling.stop", "[1", "a list of texts"),
        ("sampling.stop", "[1]", "a list of texts"),
        ("model.mmap", "maybe", "true or false"),
        ("speculative.draft_min", "9", "larger than draft_max"),
    ],
)
def test_typed_text_that_does_not_fit_is_explained(key: str, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        set_value(Config(), key, text)
    assert says in caught.value.message
    assert len(caught.value.message) < 250


def test_the_nearest_key_is_offered() -> None:
    with pytest.raises(ConfigError) as caught:
        set_value(Config(), "sampling.temprature", "1")
    assert caught.value.hint == "Did you mean sampling.temperature?"
