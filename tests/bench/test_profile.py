"""A tuned profile goes into the settings file without costing the user a comment."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.bench.profile import profile_block, profile_name, replaced, write_profile
from mtpchat.bench.variants import PLAIN, variants
from mtpchat.cli_tune import profile_settings
from mtpchat.config import Config, ModelConfig, SpeculativeConfig
from mtpchat.config_file import load
from mtpchat.errors import ConfigError
from mtpchat.events import SpeculationControl
from mtpchat.paths import backup_of

SETTINGS: dict[str, dict[str, object]] = {
    "model": {"path": "/m/a.gguf", "threads": 3},
    "speculative": {"kind": "ngram", "mode": "auto", "draft_max": 8},
}
BLOCK = profile_block("tuned-a", SETTINGS, ("a remark\nof two lines",))
MINE = """\
# my settings [really]
[model]
context = 2048   # small

[profile.code.sampling]  # keep
temperature = 0.2
"""


def test_the_profile_loads_and_the_rest_stays_word_for_word(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(MINE)
    write_profile(path, "tuned-a", BLOCK)
    assert path.read_text().startswith(MINE)
    assert backup_of(path).read_text() == MINE
    loaded = load(path, profile="tuned-a")
    assert loaded.banner is None
    assert loaded.config.model.threads == 3
    assert loaded.config.model.context == 2048
    assert loaded.config.speculative.draft_max == 8
    assert loaded.profiles == ("code", "tuned-a")


def test_without_a_file_one_is_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "config.toml"
    write_profile(path, "tuned-a", BLOCK)
    assert load(path, profile="tuned-a").config.model.threads == 3


def test_the_same_model_again_replaces_its_profile_in_place(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    after = "\n# about the next\n[profile.z.sampling]\nseed = 1  # one\n"
    path.write_text(MINE + "\n" + BLOCK + after)
    other = profile_block("tuned-a", {"model": {"threads": 1}})
    write_profile(path, "tuned-a", other)
    text = path.read_text()
    assert text == MINE + "\n" + other + after
    assert "a remark" not in text


def test_a_comment_put_into_the_old_profile_does_not_break_the_new_one() -> None:
    edited = BLOCK.replace("threads = 3", "# why three?\nthreads = 3")
    document = tomllib.loads(replaced(MINE + edited + "\n[keys]\nquit = 'q'\n", "tuned-a", BLOCK))
    assert document["profile"]["tuned-a"] == SETTINGS
    assert document["keys"] == {"quit": "q"}


names = st.from_regex(r"tuned-[a-z0-9-]{1,8}", fullmatch=True)


@given(st.lists(st.tuples(names, st.integers(1, 99)), min_size=1, max_size=8), st.booleans())
def test_any_number_of_profiles_live_beside_one_another(runs: list[tuple[str, int]], crlf: bool) -> None:
    text = MINE.replace("\n", "\r\n") if crlf else MINE
    for name, threads in runs:
        text = replaced(text, name, profile_block(name, {"model": {"threads": threads}, "speculative": {"mode": "on"}}))
    document = tomllib.loads(text)
    expected = dict(runs)
    found = {name: body["model"]["threads"] for name, body in document["profile"].items() if name != "code"}
    assert found == expected
    assert "# small" in text
    assert ("\n" in text.replace("\r\n", "")) is not crlf


def test_a_profile_written_inline_is_left_to_the_user(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    text = "[profile]\ntuned-a = {model = {threads = 1}}\n"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        write_profile(path, "tuned-a", BLOCK)
    assert "[profile.tuned-a.model]" in caught.value.hint
    assert path.read_text() == text


def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[model\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        write_profile(path, "tuned-a", BLOCK)
    assert path.read_text() == "[model\n"


@given(st.text(min_size=1, max_size=30))
def test_any_model_gets_a_name_that_needs_no_quotes(stem: str) -> None:
    name = profile_name(Path("x") / (stem.replace("/", "") + ".gguf"))
    assert tomllib.loads(f"[profile.{name}]\n") == {"profile": {name: {}}}


def test_what_was_chosen_becomes_settings_that_say_it() -> None:
    config = Config(model=ModelConfig(path="/m/a.gguf"), speculative=SpeculativeConfig(drafter="/m/d.gguf"))
    made = variants(("mtp", "ngram"), lambda _kind: 4, SpeculationControl(draft_max=4), depths=(1,))
    by_label = {one.label: profile_settings(config, {"threads": 2}, one) for one in made}
    assert by_label["mtp auto"]["speculative"]["drafter"] == "/m/d.gguf"
    assert "drafter" not in by_label["ngram auto"]["speculative"]
    assert profile_settings(config, {"threads": 2}, PLAIN) == {
        "model": {"path": "/m/a.gguf", "threads": 2},
        "speculative": {"mode": "off"},
    }
