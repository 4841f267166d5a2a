"""`mtpchat plan`: the table, the JSON, the exit code."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from mtpchat.cli_plan import plan
from mtpchat.config import Config
from mtpchat.config_schema import replace_values
from mtpchat.errors import ModelError, ModelNotFound
from mtpchat.gguf.memory_plan import Device, Machine
from mtpchat.headless_output import EXIT_FAILED, EXIT_OK
from tests.models import TinyModel

ROOMY = Machine(1 << 40)
SHORT = Machine(40_000_000)
WITH_GPU = Machine(1 << 40, (Device("GPU0", 17_000_000, 18_000_000),))


def config_for(path: Path, **values: object) -> Config:
    named = [(name.replace("__", "."), value) for name, value in values.items()]
    return replace_values(Config(), [("model.path", str(path)), ("model.mmap", False), *named])


def told(config: Config, machine: Machine) -> tuple[int, str]:
    out = io.StringIO()
    return plan(config, out, as_json=False, machine=machine), out.getvalue()


def as_json(config: Config, machine: Machine) -> tuple[int, dict[str, object]]:
    out = io.StringIO()
    code = plan(config, out, as_json=True, machine=machine)
    return code, json.loads(out.getvalue())


def test_the_table_names_every_part_and_the_sum(hybrid_random: TinyModel) -> None:
    code, text = told(config_for(hybrid_random.path), ROOMY)
    assert code == EXIT_OK
    assert "Fits at 4,096 tokens" in text
    for word in ("weights", "KV cache", "state", "snapshots", "compute", "MTP heads", "overhead", "total", "free"):
        assert word in text
    assert "GPU" not in text


def test_without_room_it_says_what_fits(hybrid_random: TinyModel) -> None:
    code, text = told(config_for(hybrid_random.path), SHORT)
    assert code == EXIT_FAILED
    assert "Does not fit at 4,096 tokens" in text
    assert "What fits:" in text
    assert "no drafter" in text.lower()


def test_a_preference_shows_what_would_be_given_up(hybrid_random: TinyModel) -> None:
    code, text = told(config_for(hybrid_random.path, model__prefer="context"), SHORT)
    assert code == EXIT_OK
    assert "→ The MTP heads were left out to make room." in text


def test_json_is_bytes_that_add_up(hybrid_random: TinyModel) -> None:
    code, found = as_json(config_for(hybrid_random.path), WITH_GPU)
    assert code == EXIT_OK
    lines, total = found["lines"], found["total"]
    assert isinstance(lines, list)
    assert isinstance(total, dict)
    for place in ("mapped", "ram", "vram"):
        assert sum(line[place] for line in lines) == total[place]
    assert found["state"] == "fits"
    assert found["devices"] == [{"name": "GPU0", "free": 17_000_000, "total": 18_000_000, "shared": False}]
    assert 0 < total["vram"] <= 17_000_000
    assert found["choices"] == []


def test_json_holds_the_choices_as_settings(hybrid_random: TinyModel) -> None:
    code, found = as_json(config_for(hybrid_random.path), SHORT)
    assert code == EXIT_FAILED
    choices = found["choices"]
    assert isinstance(choices, list)
    assert {choice["key"] for choice in choices} <= {"speed", "context", "cache", "plain"}
    assert all(choice["settings"]["model.context"] < 4096 or choice["key"] != "speed" for choice in choices)


def test_a_file_that_is_not_there_or_no_model_is_refused(hybrid_head: TinyModel, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound):
        plan(config_for(tmp_path / "nothing.gguf"), io.StringIO(), as_json=False, machine=ROOMY)
    with pytest.raises(ModelError, match="heads alone"):
        plan(config_for(hybrid_head.path), io.StringIO(), as_json=False, machine=ROOMY)


def test_a_context_beyond_the_models_own_is_said_to_be_cut(hybrid_random: TinyModel) -> None:
    _, text = told(config_for(hybrid_random.path, model__context=20_000), ROOMY)
    assert "Fits at 4,096 tokens" in text
    assert "→ It was trained for 4,096 tokens; a context of 20,000 is cut to that." in text
