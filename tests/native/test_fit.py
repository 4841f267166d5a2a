"""What happens to a load when memory is short: pretended through what the backend is told is free."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mtpchat import headless
from mtpchat.backend.llama.devices import devices
from mtpchat.backend.llama.fit import Fitting
from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.llama.reported import buffer_in
from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config
from mtpchat.config_schema import replace_values
from mtpchat.engine.engine import ChatEngine
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.errors import DoesNotFit, LoadCancelled, ModelError
from mtpchat.gguf.choice import choose_drafter
from mtpchat.gguf.facts import read_model
from mtpchat.gguf.memory_fit import assess, choices
from mtpchat.gguf.memory_plan import Machine, read_files
from mtpchat.headless_output import EXIT_OK, EXIT_USAGE, TextOutput
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.fit_dialog import FitDialog
from tests.models import TinyModel
from tests.ui.conftest import settled, until

WHOLE = 4096


def config_for(model: TinyModel, **values: object) -> Config:
    usual = {"model.path": str(model.path), "model.context": WHOLE, "model.threads": 1, "model.trial": "off"}
    usual |= {"model.mmap": False, "sampling.max_tokens": 8, "speculative.off_rebuild": "never"}
    usual |= {"ui.reduced_motion": True, "speculative.learn": False}
    return replace_values(
        Config(), [*usual.items(), *((key.replace("__", "."), value) for key, value in values.items())]
    )


def needs(model: TinyModel, kind: str, **values: object) -> int:
    """Main memory with which this just fits, without the reserve."""
    header = read_model(model.path)
    files = read_files(header, choose_drafter(header, kind, ""))
    return int(assess(files, config_for(model, **values), Machine()).plan.total / 0.95) + 100


@contextmanager
def session_with(ram: int, config: Config) -> Iterator[Session]:
    """A session on a machine that has so much memory free."""
    service = EngineService(lambda: ChatEngine(LlamaBackend(machine=lambda: Machine(ram))))
    service.start()
    try:
        yield Session(service, config)
    finally:
        assert service.close(10)


def answered(session: Session) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of one question."""
    out, err = io.StringIO(), io.StringIO()
    code = headless.answer(session, "say something", TextOutput(out, err, plain=True))
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def short(hybrid_random: TinyModel) -> int:
    """Memory for the whole context without the heads, or for half of it with them."""
    return max(needs(hybrid_random, "none"), needs(hybrid_random, "auto", model__context=2048))


def test_without_a_preference_nothing_is_loaded_and_the_flags_are_named(hybrid_random: TinyModel, short: int) -> None:
    with session_with(short, config_for(hybrid_random)) as session:
        code, said, noted = answered(session)
    assert (code, said) == (EXIT_USAGE, "")
    assert "with its MTP heads does not fit into memory at a context of 4,096 tokens" in noted
    assert "--prefer speed" in noted
    assert "no drafter, context 4,096 (--prefer context)" in noted


def test_preferring_the_context_leaves_the_heads_out_and_says_so(hybrid_random: TinyModel, short: int) -> None:
    with session_with(short, config_for(hybrid_random, model__prefer="context")) as session:
        code, said, noted = answered(session)
        facts = session.facts
    assert code == EXIT_OK
    assert said.strip()
    assert "The MTP heads were left out to make room." in noted
    assert facts is not None
    assert (facts.context_size, facts.kind, facts.drafter) == (WHOLE, "none", "")


def test_preferring_speed_shortens_the_context_and_says_so(hybrid_random: TinyModel, short: int) -> None:
    with session_with(short, config_for(hybrid_random, model__prefer="speed")) as session:
        code, _, noted = answered(session)
        facts = session.facts
    assert code == EXIT_OK
    assert "The context was shortened from 4,096 to " in noted
    assert facts is not None
    assert facts.kind == "mtp"
    assert 2048 <= facts.context_size < WHOLE


def test_what_fits_is_loaded_without_a_word(hybrid_random: TinyModel) -> None:
    with session_with(1 << 40, config_for(hybrid_random)) as session:
        code, _, noted = answered(session)
        assert session.facts is not None
        assert (session.facts.context_size, session.facts.kind) == (WHOLE, "mtp")
        assert session.facts.warnings == ()
    assert code == EXIT_OK
    assert "context" not in noted


def test_a_models_own_context_is_cut_with_a_sentence(hybrid_random: TinyModel, short: int) -> None:
    with session_with(short, config_for(hybrid_random, model__context=0)) as session:
        code, _, noted = answered(session)
    assert code == EXIT_OK
    assert "The model's own context of 4,096 tokens does not fit" in noted


async def test_the_app_asks_and_loads_what_is_chosen(hybrid_random: TinyModel, short: int) -> None:
    config = config_for(hybrid_random)
    with session_with(short, config) as session:
        app = MtpChatApp(session)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: isinstance(app.screen, FitDialog))
            await pilot.press("down", "enter")
            await until(pilot, lambda: session.facts is not None)
            await settled(pilot)
            assert session.facts is not None
            assert (session.facts.context_size, session.facts.drafter) == (WHOLE, "")
            assert session.config.speculative.kind == "none"


@pytest.mark.parametrize("share", [0.75, 0.85, 0.95])
def test_every_choice_loads_and_stays_within_the_memory(hybrid_random: TinyModel, share: float, tmp_path: Path) -> None:
    config, header = config_for(hybrid_random), read_model(hybrid_random.path)
    files = read_files(header, choose_drafter(header, "auto", ""))
    machine = Machine(int(needs(hybrid_random, "auto") * share))
    ways = choices(files, config, machine)
    assert ways
    for number, way in enumerate(ways):
        log = tmp_path / f"{number}.log"
        backend, chosen = LlamaBackend(log, machine=lambda: machine), replace_values(config, way.settings)
        plan = LoadPlan(str(hybrid_random.path), "", chosen.speculative.kind, chosen)
        try:
            loaded = backend.load(plan, lambda *_: None, lambda: False)
            assert loaded.target.capabilities.context >= chosen.model.context
            assert loaded.warnings == ()
            loaded.close()
        finally:
            backend.close()
        buffers = [buffer for buffer in map(buffer_in, log.read_text("utf-8").splitlines()) if buffer is not None]
        assert 0 < sum(buffer.size for buffer in buffers) <= (machine.ram or 0)


def test_a_build_for_cpus_has_no_devices() -> None:
    import llama_cpp.llama_cpp as lib

    found = devices()
    assert bool(found) == bool(lib.llama_supports_gpu_offload())
    assert all(0 <= device.free <= device.total for device in found)


# Where llama.cpp runs out although the plan fits.


def fitted(model: TinyModel, prefer: str) -> tuple[Fitting, Callable[[ModelError], object]]:
    header = read_model(model.path)
    fitting = Fitting(lambda: Machine(1 << 40))
    plan = LoadPlan(str(model.path), "", "auto", config_for(model, model__prefer=prefer))
    first = fitting.settle(header, choose_drafter(header, "auto", ""), plan)
    return fitting, lambda error: fitting.shrink(first, error)


RAN_OUT = ModelError("No context could be made: failed to allocate buffer for kv cache")


def test_running_out_of_memory_becomes_a_question_without_a_preference(hybrid_random: TinyModel) -> None:
    _, shrink = fitted(hybrid_random, "ask")
    with pytest.raises(DoesNotFit, match="Memory ran out") as caught:
        shrink(RAN_OUT)
    assert caught.value.choices


@pytest.mark.parametrize("prefer", ["speed", "context"])
def test_running_out_of_memory_goes_one_step_down_with_a_preference(hybrid_random: TinyModel, prefer: str) -> None:
    _, shrink = fitted(hybrid_random, prefer)
    smaller = shrink(RAN_OUT)
    assert "Memory ran out" in " ".join(smaller.sentences)  # type: ignore[attr-defined]
    assert smaller.steps == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "error", [ModelError("not a GGUF"), LoadCancelled("out of memory"), DoesNotFit("out of memory")]
)
def test_other_failures_are_not_tried_again(hybrid_random: TinyModel, error: ModelError) -> None:
    _, shrink = fitted(hybrid_random, "context")
    with pytest.raises(type(error)) as caught:
        shrink(error)
    assert caught.value is error


def test_a_plan_that_keeps_failing_is_given_up(hybrid_random: TinyModel) -> None:
    header = read_model(hybrid_random.path)
    fitting = Fitting(lambda: Machine(1 << 40))
    plan = LoadPlan(str(hybrid_random.path), "", "auto", config_for(hybrid_random, model__prefer="context"))
    now = fitting.settle(header, choose_drafter(header, "auto", ""), plan)
    sizes = [now.memory.total]
    while True:
        try:
            now = fitting.shrink(now, RAN_OUT)
        except ModelError:
            break
        sizes.append(now.memory.total)
    assert 1 < len(sizes) < 10
    assert sizes == sorted(set(sizes), reverse=True)


_CHILD = """
import resource, sys
from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config
from mtpchat.config_schema import replace_values
from mtpchat.errors import DoesNotFit
from mtpchat.gguf.memory_plan import Machine

path, prefer = sys.argv[1:]
backend = LlamaBackend(machine=lambda: Machine(1 << 40))
settings = {"model.context": 4096, "model.threads": 1, "model.batch": 4096, "model.flash_attention": "off"}
config = replace_values(Config(), [*settings.items(), ("model.prefer", prefer), ("model.trial", "off")])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (80 << 20), used + (80 << 20)))
try:
    loaded = backend.load(LoadPlan(path, "", "none", config), lambda *_: None, lambda: False)
except DoesNotFit as error:
    print("asked", len(error.choices), error.message)
else:
    print("loaded", loaded.target.capabilities.context, *loaded.warnings)
    loaded.close()
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits address space as Linux does")
@pytest.mark.parametrize(("prefer", "outcome"), [("ask", "asked"), ("context", "loaded")])
def test_a_limit_that_no_plan_knows_of_is_met_with_consent_alone(
    dense_model: TinyModel, prefer: str, outcome: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(dense_model.path), prefer],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith(outcome), done.stdout + done.stderr
    assert "Memory ran out while loading" in done.stdout
