"""The race against another program: what it is asked, how its clock is read, and that it never outlives the race."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import HTTPServer
from itertools import pairwise
from pathlib import Path

import pytest

from mtpchat.bench import peer
from mtpchat.bench.prompts import Prompt
from mtpchat.config import ModelConfig, SamplingConfig
from mtpchat.errors import EngineError
from tests.bench import fake_server

PROMPT = Prompt("p", "hello")
SAMPLING = SamplingConfig(temperature=0.3, top_k=5, seed=9, max_tokens=21, stop=("END",))


@pytest.fixture
def serve() -> Iterator[Callable[[str], peer.Peer]]:
    """serve(mode): a fake server in a thread."""
    servers: list[HTTPServer] = []

    def start(mode: str) -> peer.Peer:
        handler = type("Handler", (fake_server.Handler,), {"mode": mode})
        server = HTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return peer.Peer(server.server_port, lambda _prompt: (5, 6, 7))

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def script(*arguments: str) -> Callable[[int], list[str]]:
    """The command line of the fake as a process of its own."""
    return lambda port: [sys.executable, str(Path(fake_server.__file__)), str(port), *arguments]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_clock_of_the_server_starts_with_its_first_token(serve: Callable[[str], peer.Peer]) -> None:
    measured = serve("").run(PROMPT, SAMPLING)
    assert measured.output_tokens == 21
    assert measured.rate == pytest.approx(10.0)
    assert measured.ttft_s == pytest.approx(0.25)
    assert (measured.drafted, measured.accepted, measured.reason) == (10, 4, "limit")
    assert not measured.loops


def test_the_server_is_asked_the_same_tokens_with_the_same_sampling() -> None:
    asked = peer.request_body((5, 6, 7), SAMPLING)
    assert asked["prompt"] == [5, 6, 7]
    assert {key: asked[key] for key in ("temperature", "top_k", "top_p", "min_p", "seed", "n_predict", "stop")} == {
        "temperature": 0.3,
        "top_k": 5,
        "top_p": SAMPLING.top_p,
        "min_p": SAMPLING.min_p,
        "seed": 9,
        "n_predict": 21,
        "stop": ["END"],
    }
    assert asked["cache_prompt"] is False


@pytest.mark.parametrize(("mode", "said"), [("no timings", "no timings"), ("refuse", "exceeds the context")])
def test_a_reply_that_is_of_no_use_is_explained(serve: Callable[[str], peer.Peer], mode: str, said: str) -> None:
    with pytest.raises(EngineError, match=said):
        serve(mode).run(PROMPT, SAMPLING)


def test_a_server_that_has_gone_away_is_an_error() -> None:
    with pytest.raises(EngineError, match="does not answer"):
        peer.Peer(peer.free_port(), lambda _prompt: (1,)).run(PROMPT, SAMPLING)


def test_a_server_is_waited_for_used_and_ended(tmp_path: Path) -> None:
    with peer.serving(script(), lambda _prompt: (1, 2), "other") as running:
        assert (running.label, running.build) == ("other", "b1-fake")
        assert running.run(PROMPT, SAMPLING).output_tokens == 21
    with pytest.raises(EngineError):
        running.run(PROMPT, SAMPLING)


def test_a_server_is_ended_when_the_race_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    start = peer.start

    def note(*arguments: object) -> object:
        process = start(*arguments)  # type: ignore[arg-type]
        started.append(process.pid)
        return process

    monkeypatch.setattr(peer, "start", note)
    with pytest.raises(KeyboardInterrupt), peer.serving(script(), lambda _prompt: (1,)):
        raise KeyboardInterrupt
    assert len(started) == 1
    assert not alive(started[0])


def test_the_last_words_of_a_server_that_dies_are_told() -> None:
    with pytest.raises(EngineError, match="failed to load model"), peer.serving(script("die"), lambda _prompt: (1,)):
        raise AssertionError("it cannot be ready")


def test_a_program_that_is_not_there_is_an_error() -> None:
    command = ["/nowhere/llama-server"]
    with pytest.raises(EngineError, match="cannot be started"), peer.serving(lambda _port: command, lambda _p: (1,)):
        raise AssertionError("it cannot be ready")


def test_the_server_runs_the_model_as_this_program_does() -> None:
    settings = ModelConfig(context=4096, batch=256, gpu_layers=3, cache_type_k="q8_0", mmap=False)
    line = peer.command_line(Path("/bin/llama-server"), "/models/m.gguf", settings, 6, 8123)
    pairs = dict(pairwise(line))
    assert line[0] == "/bin/llama-server"
    wanted = {"-m": "/models/m.gguf", "-c": "4096", "-t": "6", "-ngl": "3", "-ctk": "q8_0", "--host": "127.0.0.1"}
    assert wanted.items() <= pairs.items()
    assert "--no-mmap" in line
