"""Does it fit: choices that are true, steps that are said, and settings filled in with what there is room for."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mtpchat.config import Config
from mtpchat.config_schema import replace_values
from mtpchat.gguf.memory_fit import LEAST, Settled, assess, choices, largest_context, less, settle, step_down, verdict
from mtpchat.gguf.memory_plan import Device, Files, Machine, plan_memory
from tests.models import TinyModel
from tests.unit.test_memory_plan import files_of, settings

MB = 1_000_000
PLENTY = Machine(1 << 40)
SHARED_FIXTURES = hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)


def need(files: Files, config: Config) -> int:
    """Bytes that everything takes, with the share that is left to others on top."""
    return int(assess(files, config, PLENTY).plan.total / 0.95) + 100


def with_ram(size: int) -> Machine:
    return Machine(size)


def taken(files: Files, config: Config, machine: Machine, prefer: str) -> Settled:
    found = step_down(files, config, machine, prefer)
    assert found is not None
    return found


def test_what_fits_is_left_as_it_is(hybrid_random: TinyModel) -> None:
    files, config = files_of(hybrid_random), settings(model__context=4096, model__gpu_layers=-1)
    found = settle(files, config, PLENTY)
    assert found is not None
    assert (found.config, found.files, found.sentences) == (config, files, ())
    assert found.assessment.state == "fits"


def test_unknown_memory_refuses_nothing(hybrid_random: TinyModel) -> None:
    assert assess(files_of(hybrid_random), settings(), Machine(None)).state == "fits"


def test_without_a_gpu_auto_is_no_layer(dense_model: TinyModel) -> None:
    found = settle(files_of(dense_model), settings(), PLENTY)
    assert found is not None
    assert found.config.model.gpu_layers == 0


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9, 2.0])
def test_auto_puts_as_many_layers_on_the_gpu_as_fit_there(hybrid_random: TinyModel, share: float) -> None:
    files, config = files_of(hybrid_random), settings(model__context=4096)
    roomy = Machine(1 << 40, (Device("GPU0", 1 << 40, 1 << 40),))
    whole = plan_memory(files, config, roomy, gpu_layers=99).vram
    machine = Machine(1 << 40, (Device("GPU0", int(whole * share / 0.95), 1 << 40),))
    found = settle(files, config, machine)
    assert found is not None
    plan = found.assessment.plan
    assert plan.vram <= machine.vram * 0.95
    if plan.gpu_layers < plan.layers:
        more = plan_memory(files, config, machine, gpu_layers=plan.gpu_layers + 1)
        assert more.vram > int(machine.vram * 0.95)
        assert found.config.model.gpu_layers == plan.gpu_layers
        assert f"{plan.gpu_layers} of {plan.layers} layers are on the GPU" in found.sentences[0]
    else:
        assert found.config.model.gpu_layers == -1
        assert not found.sentences


def test_too_many_layers_for_the_gpu_become_a_choice(dense_model: TinyModel) -> None:
    files, config = files_of(dense_model, kind="none"), settings(model__context=4096, model__gpu_layers=-1)
    machine = Machine(1 << 40, (Device("GPU0", 2 * MB, 8 * MB),))
    assert settle(files, config, machine) is None
    first = choices(files, config, machine)[0]
    assert first.key == "offload"
    assert settle(files, replace_values(config, first.settings), machine) is not None
    down = taken(files, config, machine, "context")
    assert "Fewer layers" in down.sentences[0]
    assert down.config.model.context == 4096


def test_a_gpu_that_shares_main_memory_cannot_hold_more_than_that(dense_model: TinyModel) -> None:
    files, config = files_of(dense_model, kind="none"), settings(model__context=4096)
    machine = Machine(1 * MB, (Device("Metal", 1 << 40, 1 << 40, shared=True),))
    assert settle(files, config, machine) is None


def test_a_models_own_context_is_cut_to_what_fits_with_a_sentence(dense_model: TinyModel) -> None:
    files, config = files_of(dense_model, kind="none"), settings(model__context=0)
    found = settle(files, config, with_ram(need(files, settings(model__context=3072))))
    assert found is not None
    assert found.config.model.context == 3072
    assert found.sentences == ("The model's own context of 4,096 tokens does not fit; 3,072 do.",)
    assert found.assessment.state == "fits"


def test_a_models_own_context_stays_where_there_is_room(dense_model: TinyModel) -> None:
    found = settle(files_of(dense_model, kind="none"), settings(model__context=0), PLENTY)
    assert found is not None
    assert found.config.model.context == 0
    assert found.assessment.plan.context == 4096


def test_files_larger_than_the_memory_left_load_with_a_warning(dense_model: TinyModel) -> None:
    files, config = files_of(dense_model, kind="none"), settings(model__context=2048)
    plan = assess(files, config, PLENTY).plan
    found = settle(files, config, with_ram(int((plan.ram + plan.mapped // 2) / 0.95)))
    assert found is not None
    assert found.assessment.state == "slow"
    assert any("read from the disk again" in sentence for sentence in found.sentences)
    assert any("(-c " in sentence or "smaller quantisation" in sentence for sentence in found.sentences)


def test_files_that_are_not_mapped_must_fit(dense_model: TinyModel) -> None:
    files, config = files_of(dense_model, kind="none"), settings(model__context=2048, model__mmap=False)
    plan = assess(files, config, PLENTY).plan
    assert settle(files, config, with_ram(int((plan.ram - 1000) / 0.95))) is None


@SHARED_FIXTURES
@given(ram=st.integers(20 * MB, 60 * MB), context=st.integers(1, 6000), mmap=st.booleans())
def test_every_choice_fits_and_says_true_numbers(hybrid_random: TinyModel, ram: int, context: int, mmap: bool) -> None:
    files, machine = files_of(hybrid_random), with_ram(ram)
    config = settings(model__context=context, model__mmap=mmap)
    reached = 0
    for choice in choices(files, config, machine):
        chosen = replace_values(config, choice.settings)
        kind = chosen.speculative.kind if dict(choice.settings).get("speculative.kind") else "auto"
        after = files_of(hybrid_random, kind=kind)
        found = assess(after, chosen, machine)
        assert found.state != "no"
        assert choice.detail == found.numbers
        assert f"{chosen.model.context:,}" in choice.label
        assert reached < chosen.model.context <= max(context, LEAST)
        reached = chosen.model.context


@SHARED_FIXTURES
@given(ram=st.integers(20 * MB, 60 * MB), prefer=st.sampled_from(["speed", "context"]))
def test_steps_down_fit_and_each_is_said(hybrid_random: TinyModel, ram: int, prefer: str) -> None:
    files, config, machine = files_of(hybrid_random), settings(model__context=4096, model__mmap=False), with_ram(ram)
    found = step_down(files, config, machine, prefer)
    if found is None:
        assert assess(files, settings(model__context=LEAST, model__mmap=False), machine).state == "no"
        return
    assert assess(found.files, found.config, machine).state != "no"
    said = " ".join(found.sentences)
    assert ("MTP heads were left out" in said) == (found.files.kind != "mtp")
    assert ("q8_0" in said) == (found.config.model.cache_type_k == "q8_0")
    assert ("shortened from 4,096" in said) == (found.config.model.context < 4096)


def test_speed_keeps_the_heads_and_context_keeps_the_context(hybrid_random: TinyModel) -> None:
    files, config = files_of(hybrid_random), settings(model__context=4096, model__mmap=False)
    plain = need(files_of(hybrid_random, kind="none"), config)
    room = max(plain, need(files, settings(model__context=2048, model__mmap=False)))
    assert room < need(files, config)
    machine = with_ram(room)
    assert settle(files, config, machine) is None
    fast = taken(files, config, machine, "speed")
    long = taken(files, config, machine, "context")
    assert (fast.files.kind, long.files.kind) == ("mtp", "none")
    assert fast.config.model.context < long.config.model.context == 4096
    assert [choice.key for choice in choices(files, config, machine)][:2] == ["speed", "context"]


def test_nothing_fits_into_nothing(hybrid_random: TinyModel) -> None:
    files, config, machine = files_of(hybrid_random), settings(), with_ram(1000)
    assert settle(files, config, machine) is None
    assert choices(files, config, machine) == ()
    assert step_down(files, config, machine, "speed") is step_down(files, config, machine, "context") is None
    assert "smaller quantisation" in verdict(files, config, machine)


@SHARED_FIXTURES
@given(small=st.integers(1 * MB, 80 * MB), more=st.integers(0, 40 * MB))
def test_more_memory_never_makes_the_context_shorter(hybrid_random: TinyModel, small: int, more: int) -> None:
    files, config = files_of(hybrid_random), settings(model__mmap=False)
    shorter = largest_context(files, config, with_ram(small), 4096)
    assert largest_context(files, config, with_ram(small + more), 4096) >= shorter


def test_a_recurrent_model_has_no_cache_to_make_smaller(recurrent_model: TinyModel) -> None:
    files = files_of(recurrent_model, kind="none")
    assert all(choice.key != "cache" for choice in choices(files, settings(), with_ram(30 * MB)))


def test_a_cache_that_was_chosen_small_is_left_alone(dense_model: TinyModel) -> None:
    files = files_of(dense_model, kind="none")
    config = settings(model__cache_type_k="q4_0", model__cache_type_v="q4_0", model__mmap=False)
    machine = with_ram(need(files, settings(model__context=1024, model__mmap=False)))
    assert all(choice.key != "cache" for choice in choices(files, config, machine))


def test_after_running_out_the_next_plan_is_smaller(dense_model: TinyModel) -> None:
    files, config = files_of(dense_model, kind="none"), settings(model__context=4096, model__mmap=False)
    failed = assess(files, config, PLENTY).plan
    machine = less(PLENTY, failed)
    for _ in range(3):
        found = step_down(files, config, machine, "context")
        if found is None:
            return
        assert found.assessment.plan.total < failed.total
        failed = found.assessment.plan
        machine = less(machine, failed)


@pytest.mark.parametrize(
    ("ram", "begins"), [(1 << 40, "fits at 4,096 tokens: "), (1000, "does not fit at 4,096 tokens")]
)
def test_the_verdict_is_one_short_sentence(dense_model: TinyModel, ram: int, begins: str) -> None:
    words = verdict(files_of(dense_model, kind="none"), settings(model__context=4096), with_ram(ram))
    assert words.startswith(begins)
    assert "\n" not in words
