"""Flags as llama.cpp has them: those that mean the same are taken, the others are told what stands in their place."""

from __future__ import annotations

import re

import pytest

from mtpchat import cli_llama_flags
from mtpchat.cli_flags import COMMANDS, build_parser, parse_arguments
from mtpchat.config_file import load
from mtpchat.config_schema import setting_types
from mtpchat.errors import ConfigError
from mtpchat.paths import config_file


@pytest.mark.parametrize(
    ("argv", "name", "value"),
    [
        (["--spec-draft-n-max", "6"], "draft_max", 6),
        (["--spec-draft-n-min=1"], "draft_min", 1),
        (["--spec-draft-p-min", "0.5"], "p_min", 0.5),
        (["--spec-draft-ngl", "auto"], "drafter_gpu_layers", -1),
        (["--spec-draft-model", "x.gguf"], "drafter", "x.gguf"),
        (["--spec-type", "draft-mtp"], "kind", "mtp"),
        (["--spec-type", "ngram-mod,draft-simple"], "kind", "draft"),
        (["--spec-type", "ngram-cache"], "kind", "ngram"),
        (["--spec-type", "none"], "kind", "none"),
    ],
)
def test_the_newer_names_of_llama_cpp_set_what_the_older_ones_do(argv: list[str], name: str, value: object) -> None:
    config = load(config_file(), flags=parse_arguments(argv).flags).config
    assert getattr(config.speculative, name) == value


@pytest.mark.parametrize("kind", ["draft-dflash", "mtp,eagle3"])
def test_a_kind_that_is_not_there_is_refused(kind: str) -> None:
    with pytest.raises(ConfigError, match="--spec-type must be"):
        load(config_file(), flags=parse_arguments(["--spec-type", kind]).flags)


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["-cd", "4096"], "as long as the model's: -c"),
        (["-td", "4"], "-t"),
        (["--spec-ngram-mod-n-max=64"], "speculative.ngram_max"),
        (["-r", "User:"], "sampling.stop"),
        (["--jinja"], "leave it out"),
        (["-hfd", "a/b"], "mtpchat pull"),
    ],
)
def test_a_flag_that_is_not_there_is_told_what_stands_in_its_place(argv: list[str], hint: str) -> None:
    with pytest.raises(ConfigError, match="Unknown flag") as caught:
        parse_arguments(argv)
    assert hint in caught.value.hint


def test_what_stands_in_the_place_of_a_flag_exists() -> None:
    known = build_parser()._option_string_actions
    for flag, hint in cli_llama_flags._INSTEAD.items():
        assert flag not in known
        for named in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", hint):
            assert named in known, hint
        for key in re.findall(r"\b(?:speculative|sampling)\.[a-z_]+", hint):
            assert key in setting_types(), hint
        for command in re.findall(r"mtpchat ((?:config )?[a-z]+)\b", hint):
            assert command in COMMANDS, hint
