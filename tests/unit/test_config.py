"""The settings file: strict, kind about mistakes, layered, and never lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config import Config, ModelConfig
from mtpchat.config_file import Flag, load
from mtpchat.config_schema import template_values
from mtpchat.errors import ConfigError


def write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "config.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def banner_of(path: Path) -> ConfigError:
    loaded = load(path)
    assert loaded.config == Config()
    assert loaded.banner is not None
    assert loaded.banner.path == path
    assert str(path) in loaded.banner.message
    assert "\n" not in loaded.banner.message + loaded.banner.hint
    return loaded.banner


def test_a_missing_file_means_defaults(tmp_path: Path) -> None:
    loaded = load(tmp_path / "nowhere" / "config.toml")
    assert (loaded.config, loaded.banner, loaded.profiles) == (Config(), None, ())


def test_a_missing_file_that_was_asked_for_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load(tmp_path / "config.toml", required=True)


def test_what_the_file_says_holds_and_the_rest_stays(tmp_path: Path) -> None:
    config = load(write(tmp_path, '[sampling]\ntop_k = 7\ntemperature = 1\nstop = ["a"]\n[keys]\nquit = "f9"')).config
    assert (config.sampling.top_k, config.sampling.temperature, config.sampling.stop) == (7, 1.0, ("a",))
    assert config.keys == {"quit": "f9"}
    assert config.model == Config().model


@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ("[sampling]\ntemprature = 1", "sampling.temprature", "Did you mean sampling.temperature?"),
        ("[sampling]\ntemp = 1", "sampling.temp", "Did you mean sampling.temperature?"),
        ("[model]\ntop_k = 1", "model.top_k", "Did you mean sampling.top_k?"),
        ("[samplng]\ntop_k = 1", "samplng", "Did you mean sampling?"),
        ("temperature = 1", "temperature", "Did you mean sampling.temperature?"),
        ("top_k = 1", "top_k", "Did you mean sampling.top_k?"),
        ("[ui]\nzzzzzz = 1", "ui.zzzzzz", "[ui] knows theme, system"),
        ("zzzzzz = 1", "zzzzzz", "[speculative]"),
        ("[profiles.x.ui]\n", "profiles", "Did you mean profile?"),
        ("[profile.x.ui]\nthem = 'a'", "profile.x.ui.them", "Did you mean profile.x.ui.theme?"),
        ("[profile.x.profile.y]\n", "profile.x.profile", "[sampling]"),
    ],
)
def test_an_unknown_key_is_named_with_its_nearest_valid_one(tmp_path: Path, text: str, key: str, hint: str) -> None:
    banner = banner_of(write(tmp_path, text))
    assert banner.key == key
    assert key in banner.message
    assert hint in banner.hint


@pytest.mark.parametrize(
    ("text", "key", "expected", "found"),
    [
        ("[model]\ncontext = 'big'", "model.context", "a whole number, 0 or more", '"big"'),
        ("[model]\ncontext = 1.5", "model.context", "a whole number", "1.5"),
        ("[model]\nthreads = 4096", "model.threads", "from 0 to 1024", "4096"),
        ("[model]\nmmap = 1", "model.mmap", "true or false", "1"),
        ("[model]\npath = 3", "model.path", "a text", "3"),
        ("[model]\ncontext = true", "model.context", "a whole number", "true"),
        ("[sampling]\ntop_p = 1.5", "sampling.top_p", "a number from 0 to 1", "1.5"),
        ("[sampling]\ntop_p = nan", "sampling.top_p", "a number from 0 to 1", "nan"),
        ("[sampling]\ntemperature = inf", "sampling.temperature", "a number from 0 to 100", "inf"),
        ("[sampling]\nrepeat_penalty = 0.0", "sampling.repeat_penalty", "above 0 and at most 10", "0"),
        ("[sampling]\nseed = 99999999999999999999", "sampling.seed", "-1 or more", "99999999999999999999"),
        ("[sampling]\nstop = ['']", "sampling.stop", "none of them empty", '[""]'),
        ("[sampling]\ntop_k = 2020-01-01", "sampling.top_k", "a whole number", "2020-01-01"),
        ("[speculative]\nkind = 'magic'", "speculative.kind", '"mtp", "ngram" or "none"', '"magic"'),
        ("[keys]\nquit = 1", "keys.quit", "a text", "1"),
        ("[profile.a.sampling]\ntop_p = 2", "profile.a.sampling.top_p", "from 0 to 1", "2"),
        ("sampling = 1", "sampling", "a table", "1"),
        ("profile = 1", "profile", "a table", "1"),
        ("[profile]\na = 1", "profile.a", "a table", "1"),
        ("[speculative]\ndraft_min = 6", "speculative.draft_min", "draft_max", "6"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected_and_found(
    tmp_path: Path, text: str, key: str, expected: str, found: str
) -> None:
    banner = banner_of(write(tmp_path, text))
    assert banner.key == key
    assert key in banner.message
    assert expected in banner.message
    assert found in banner.message


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"[model\n", "line 1"),
        (b"[model]\ncontext = \n", "line 2"),
        (b"[ui]\ntheme = paper\n", "line 2"),
        (b"[ui]\n# \xff\xfe\n", "line 2 is not UTF-8"),
        (b'a = "', "the end"),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"a." * 50_000 + b"a = 1", "nested too deeply"),
        (b"x = {" + b"a." * 50_000 + b"a = 1}", "nested too deeply"),
        (b"[ui]\ntheme = 1" + b"0" * 5000, "TOML"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(tmp_path: Path, data: bytes, says: str) -> None:
    assert says in banner_of(write(tmp_path, data)).message


def test_a_folder_in_place_of_the_file_is_a_banner(tmp_path: Path) -> None:
    assert "cannot be read" in banner_of(tmp_path).message


def test_an_unreadable_file_is_a_banner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "")

    def refuse(_: Path, _mode: str) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert "Permission denied" in banner_of(path).message


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    assert load(write(tmp_path, b"\xef\xbb\xbf[sampling]\r\ntop_k = 3\r\n")).config.sampling.top_k == 3


@given(data=st.binary(max_size=60))
def test_whatever_the_file_holds_it_is_read_or_shown_and_never_touched(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = write(tmp_path_factory.mktemp("any"), data)
    loaded = load(path)
    assert loaded.banner is None or loaded.config == Config()
    assert path.read_bytes() == data
    assert [p.name for p in path.parent.iterdir()] == ["config.toml"]


def test_escape_sequences_in_a_broken_file_do_not_reach_the_terminal(tmp_path: Path) -> None:
    for text in ('[ui]\n"\\u001b[2J" = 1', '[ui]\nshow_thinking = "\\u001b]0;x\\u0007"', '["\\u001b"]\na = 1'):
        banner = banner_of(write(tmp_path, text))
        assert (banner.message + banner.hint).isprintable()


PROFILES = "[sampling]\ntop_k = 1\ntop_p = 0.5\n[profile.fast.sampling]\ntop_k = 2\n[profile.slow.model]\nthreads = 1"


def test_defaults_give_way_to_file_to_profile_to_flags(tmp_path: Path) -> None:
    path = write(tmp_path, PROFILES)
    assert load(path).config.sampling.top_k == 1
    fast = load(path, profile="fast")
    assert (fast.config.sampling.top_k, fast.config.sampling.top_p, fast.config.sampling.min_p) == (2, 0.5, 0.05)
    assert fast.profiles == ("fast", "slow")
    flagged = load(path, profile="fast", flags=[Flag("--top-k", "sampling.top_k", "3")])
    assert flagged.config.sampling.top_k == 3


def test_an_unknown_profile_is_named_with_the_nearest(tmp_path: Path) -> None:
    path = write(tmp_path, PROFILES)
    with pytest.raises(ConfigError) as caught:
        load(path, profile="fats")
    assert '"fats"' in caught.value.message
    assert caught.value.hint == "Did you mean fast?"
    with pytest.raises(ConfigError) as caught:
        load(path, profile="zzz")
    assert "fast, slow" in caught.value.hint


def test_a_wrong_flag_is_raised_and_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--top-p must be a number from 0 to 1, not \"much\"$"):
        load(tmp_path / "none", flags=[Flag("--top-p", "sampling.top_p", "much")])


def test_rules_between_settings_hold_across_layers(tmp_path: Path) -> None:
    low = Flag("--draft-min", "speculative.draft_min", "6")
    high = Flag("--draft-max", "speculative.draft_max", "8")
    assert load(tmp_path / "none", flags=[low, high]).config.speculative.draft_min == 6
    with pytest.raises(ConfigError, match="draft_min must not be larger than draft_max: 6 > 4"):
        load(tmp_path / "none", flags=[low])


@pytest.mark.parametrize("text", ["[1]", "{effort}", "low", '{"a": 1} x'])
def test_values_for_the_template_must_be_a_json_object(tmp_path: Path, text: str) -> None:
    flag = Flag("--chat-template-kwargs", "model.chat_template_kwargs", text)
    with pytest.raises(ConfigError, match="must be a JSON object") as wrong:
        load(tmp_path / "none", flags=[flag])
    assert "reasoning_effort" in wrong.value.hint


def test_values_for_the_template_go_beside_thinking_and_win_over_it() -> None:
    assert template_values(ModelConfig(thinking="off")) == {"enable_thinking": False}
    given = ModelConfig(chat_template_kwargs='{"reasoning_effort": "low", "enable_thinking": false}')
    assert template_values(given) == {"enable_thinking": False, "reasoning_effort": "low"}


def test_flags_still_hold_when_the_file_is_broken(tmp_path: Path) -> None:
    loaded = load(write(tmp_path, "[x"), profile="fast", flags=[Flag("--top-k", "sampling.top_k", "3")])
    assert loaded.banner is not None
    assert loaded.config.sampling.top_k == 3
