"""One setting of a file is changed, and nothing else in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config_edit import save_value
from mtpchat.config_file import load, parse
from mtpchat.config_text import render_default
from mtpchat.errors import ConfigError

KEYS = st.sampled_from(
    [("ui.theme", "paper"), ("ui.reduced_motion", "true"), ("model.context", "4096"), ("sampling.temperature", "0.5"),
     ("keys.a (b", "x"), ("keys.a.b", "y"),
     ("sampling.stop", '["a", "#b"]'), ("ui.system", 'He said "hi"\n[ui]\ntheme = "x"')]
)  # fmt: skip
FILES = st.sampled_from(
    [
        "",
        "# mine\n",
        '[ui]\ntheme = "ember" # nice\n\n# next\n[model]\ncontext = 1\n',
        '[ui]\r\n# theme = "x"\r\nreduced_motion = false\r\n',
        '[ui]\nsystem = """\n[model]\ncontext = 3\n"""\n[model] # here\n',
        '[profile.fast.ui]\ntheme = "paper"\n',
        render_default(),
    ]
)


@given(FILES, KEYS)
def test_only_that_setting_changes_and_every_comment_stays(
    tmp_path_factory: pytest.TempPathFactory, text: str, setting: tuple[str, str]
) -> None:
    path = tmp_path_factory.mktemp("config") / "config.toml"
    path.write_bytes(text.encode())
    value = save_value(path, *setting)
    after = path.read_bytes().decode()
    assert parse(after, path)[0] == parse(text, path)[0] | {setting[0]: value}
    assert parse(after, path)[1] == parse(text, path)[1]
    for comment in ("# nice", "# next", "# here", "# mine"):
        assert (comment in text) == (comment in after)


@given(FILES, KEYS)
def test_a_setting_of_a_profile_changes_that_profile_alone(
    tmp_path_factory: pytest.TempPathFactory, text: str, setting: tuple[str, str]
) -> None:
    path = tmp_path_factory.mktemp("config") / "config.toml"
    path.write_bytes(text.encode())
    value = save_value(path, f"profile.fast.{setting[0]}", setting[1])
    after = path.read_bytes().decode()
    assert parse(after, path)[0] == parse(text, path)[0]
    before = parse(text, path)[1].get("fast", {})
    assert parse(after, path)[1] == {"fast": before | {setting[0]: value}}
    for comment in ("# nice", "# next", "# here", "# mine"):
        assert (comment in text) == (comment in after)


def test_the_commented_default_gives_its_place(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(render_default())
    before = render_default().split("\n")
    save_value(path, "ui.theme", "paper")
    after = path.read_text().split("\n")
    assert [(old, new) for old, new in zip(before, after, strict=True) if old != new] == [
        ('#theme = "harbour-night"', 'theme = "paper"')
    ]


def test_a_file_that_is_missing_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    save_value(path, "model.context", "2048")
    assert load(path).config.model.context == 2048


@pytest.mark.parametrize(
    ("text", "key", "value", "words"),
    [
        ("[ui\n", "ui.theme", "paper", "not valid TOML"),
        ("", "ui.thme", "paper", "is not a setting"),
        ("", "ui.reduced_motion", "perhaps", "true or false"),
        ("ui = 3\n", "ui.theme", "paper", "ui"),
        ("", "ui", "paper", "is not a setting"),
        ("", "profile.fast.ui.thme", "paper", "profile.fast.ui.thme is not a setting"),
        ("", "profile.fast", "paper", "is not a setting"),
        ("", "profile.fast.sampling.seed", "often", "profile.fast.sampling.seed must be"),
    ],
)
def test_what_is_wrong_is_said_and_the_file_stays(tmp_path: Path, text: str, key: str, value: str, words: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        save_value(path, key, value)
    assert path.read_text() == text


def test_a_file_that_is_much_too_large_is_left_alone_at_once(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    text = "\n" * 4_000_000 + '[ui]\ntheme = "paper"\n'
    path.write_text(text)
    with pytest.raises(ConfigError, match="too large") as caught:
        save_value(path, "ui.theme", "ink")
    assert "editor" in caught.value.hint
    assert path.read_text() == text
