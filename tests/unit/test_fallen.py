"""Pairs with which the program died are loaded with care the next time, wherever that is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtpchat.cli_last_run import begin_run
from mtpchat.config import Config, ModelConfig, SpeculativeConfig
from mtpchat.fallen import FallenPair, FallenPairs
from mtpchat.last_run import Death
from tests.command_fakes import ArrangedSession, FakeContext, say


def death(model: str = "/m/a.gguf", drafter: str = "/m/h.gguf", kind: str = "mtp", *, restarted: bool = False) -> Death:
    return Death(model, drafter, kind, "it was killed", "", restarted)


def config(model: str = "/m/a.gguf", **speculative: str) -> Config:
    return Config(model=ModelConfig(path=model), speculative=SpeculativeConfig(**speculative))  # type: ignore[arg-type]


def test_a_pair_is_held_back_once_however_many_runs_lie_between(tmp_path: Path) -> None:
    fallen = FallenPairs(tmp_path / "fallen.json")
    fallen.note([death()])
    assert fallen.held_back(config("/m/b.gguf"))[1] is None
    held, pair = FallenPairs(fallen.path).held_back(config())
    assert held.speculative.mode == "off"
    assert pair == FallenPair("/m/a.gguf", "/m/h.gguf", "mtp")
    assert fallen.held_back(config()) == (config(), None)


@pytest.mark.parametrize(
    "one", [death(kind="none"), death(kind=""), death(model="", kind="mtp"), death(restarted=True)], ids=str
)
def test_what_speculation_cannot_have_caused_is_not_remembered(tmp_path: Path, one: Death) -> None:
    fallen = FallenPairs(tmp_path / "fallen.json")
    fallen.note([one])
    assert fallen.all() == []


@pytest.mark.parametrize("other", [config(mode="off"), config(after_crash="keep"), config(kind="ngram")])
def test_settings_that_would_not_load_the_pair_leave_it_remembered(tmp_path: Path, other: Config) -> None:
    fallen = FallenPairs(tmp_path / "fallen.json")
    fallen.note([death()])
    assert fallen.held_back(other) == (other, None)
    assert len(fallen.all()) == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"a": 1}', b"[" * 100_000, b"\xff"])
def test_a_damaged_memory_warns_of_nothing_and_is_written_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fallen.json"
    path.write_bytes(content)
    FallenPairs(path).note([death()])
    assert json.loads(path.read_bytes())[0]["model"] == "/m/a.gguf"


def test_the_memory_is_bounded(tmp_path: Path) -> None:
    fallen = FallenPairs(tmp_path / "fallen.json")
    for number in range(80):
        fallen.note([death(f"/m/{number}.gguf")])
    assert [Path(pair.model).stem for pair in fallen.all()] == [str(number) for number in range(30, 80)]


def test_a_later_start_with_the_pair_says_why_speculation_is_off() -> None:
    FallenPairs().note([death(drafter="")])
    begun = begin_run(config(), resumes=True)
    begun.record.close()
    assert begun.config.speculative.mode == "off"
    assert begun.sentence == (
        "The program ended abruptly with a.gguf and its own MTP heads in use. "
        "Speculation is off to begin with; /mtp auto switches it on."
    )


@pytest.mark.parametrize("line", ["/model {model}", "/drafter {drafter}"])
def test_a_command_that_loads_the_pair_is_held_back_as_a_start_is(tmp_path: Path, line: str) -> None:
    model, drafter = tmp_path / "a.gguf", tmp_path / "h.gguf"
    model.touch()
    drafter.touch()
    FallenPairs().note([death(str(model), str(drafter))])
    session = ArrangedSession(config(str(model)), facts=None)
    for mode, warned in (("off", True), ("auto", False)):
        session.set_control(type(session.control)())
        reply = say(FakeContext(session), line.format(model=model, drafter=drafter))
        assert ("ended abruptly with a.gguf and h.gguf" in reply.text) is warned
        assert session.control.mode == mode
