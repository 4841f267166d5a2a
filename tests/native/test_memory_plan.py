"""The plan says before loading what llama.cpp reports after it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mtpchat.backend.llama.devices import this_machine
from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.llama.reported import Comparison, buffer_in, compare
from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config, ModelConfig, SpeculativeConfig
from mtpchat.gguf.choice import choose_drafter
from mtpchat.gguf.facts import read_model
from mtpchat.gguf.memory_plan import plan_memory, read_files
from tests.models import TinyModel

MIB = 1 << 20
LARGER = {"context": 4096, "batch": 256}
SCORES = {"flash_attention": "off"}
SMALL_CACHE = {"cache_type_k": "q8_0", "cache_type_v": "q8_0", "flash_attention": "on"}
COPIED = {"mmap": False}
PAIRS = [
    ("dense_model", "", "none", {}),
    ("dense_model", "", "auto", SCORES),
    ("dense_model", "", "auto", LARGER),
    ("dense_model", "", "auto", SMALL_CACHE),
    ("dense_model", "", "auto", COPIED),
    ("dense_model", "draft_model", "draft", {}),
    ("hybrid_random", "", "auto", {}),
    ("hybrid_random", "", "none", {}),
    ("hybrid_random", "", "auto", LARGER | SCORES),
    ("hybrid_trunk", "hybrid_head", "mtp", {}),
    ("chained", "", "auto", {}),
    ("chained_trunk", "chained_head_file", "mtp", {}),
    ("gemma", "", "none", {}),
    ("gemma", "assistant", "mtp", {}),
    ("sliding", "", "auto", LARGER),
    ("recurrent_model", "", "auto", {}),
    ("eagle3_model", "eagle3", "eagle3", {}),
]


def path_of(name: str, request: pytest.FixtureRequest) -> Path | str:
    if not name:
        return ""
    found: TinyModel | Callable[[float], TinyModel] = request.getfixturevalue(name)
    return found.path if isinstance(found, TinyModel) else found(0.7).path


def config_of(settings: dict[str, object]) -> Config:
    model = msgspec.convert({"context": 2048, "threads": 1, "trial": "off", **settings}, ModelConfig)
    return Config(model=model, speculative=SpeculativeConfig(checkpoint_rollback="off", find="off"))


def compared(model: Path | str, drafter: Path | str, kind: str, config: Config, log: Path) -> Comparison:
    """Plan, load, and hold one against the other."""
    header = read_model(model)
    files = read_files(header, choose_drafter(header, kind, str(drafter)))
    plan = plan_memory(files, config, this_machine())
    backend = LlamaBackend(log)
    try:
        loaded = backend.load(LoadPlan(str(model), str(drafter), kind, config), lambda *_: None, lambda: False)
        assert not loaded.fallback_reason
        loaded.close()
    finally:
        backend.close()
    return compare(plan, filter(None, map(buffer_in, log.read_text("utf-8").splitlines())))


@pytest.mark.parametrize("pair", PAIRS)
def test_the_plan_is_what_llama_cpp_reports(
    pair: tuple[str, str, str, dict[str, object]], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    model, drafter, kind, settings = pair
    paths = path_of(model, request), path_of(drafter, request)
    found = compared(*paths, kind, config_of(settings), tmp_path / "llama.log")
    for what, planned, reported in found.rows:
        exact = what in ("KV", "RS")
        assert abs(planned - reported) <= (0.02 * MIB if exact else 0.15 * reported), str(found)
    assert abs(found.planned - found.reported) <= 0.1 * found.reported, str(found)


def test_weights_that_the_cpu_rearranges_are_memory_and_not_the_file(dense_model: TinyModel, tmp_path: Path) -> None:
    import llama_cpp.llama_cpp as lib

    quantized, log = tmp_path / "q4_0.gguf", tmp_path / "llama.log"
    backend = LlamaBackend(tmp_path / "other.log")
    params = lib.llama_model_quantize_default_params()
    params.ftype, params.nthread = lib.LLAMA_FTYPE_MOSTLY_Q4_0, 1
    assert lib.llama_model_quantize(bytes(dense_model.path), bytes(quantized), ctypes.byref(params)) == 0
    backend.close()
    found = compared(quantized, "", "none", config_of({}), log)
    header = read_model(quantized)
    plan = plan_memory(read_files(header, choose_drafter(header, "none", "")), config_of({}), this_machine())
    reported = [buffer for buffer in map(buffer_in, log.read_text("utf-8").splitlines()) if buffer is not None]
    rearranged = sum(buffer.size for buffer in reported if "REPACK" in buffer.place)
    assert abs(sum(line.ram for line in plan.lines if line.what == "weights") - rearranged) < 0.02 * MIB
    assert abs(found.planned - found.reported) <= 0.1 * found.reported, str(found)


def test_the_log_tells_what_was_planned_and_what_was_taken(dense_model: TinyModel, tmp_path: Path) -> None:
    compared(dense_model.path, "", "none", config_of({}), tmp_path / "llama.log")
    text = (tmp_path / "llama.log").read_text("utf-8")
    assert re.search(r"mtpchat: memory planned/reported \d+\.\d\d/\d+\.\d\d MiB: model .*KV .*compute", text)
