"""Another program in the same race: llama-server, started on loopback and asked the very same tokens.

It lives only as long as the context manager, and dies with this process where the system can arrange that.
"""

from __future__ import annotations

import ctypes
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from mtpchat.bench.loops import looping
from mtpchat.bench.measure import Measured, digest
from mtpchat.bench.prompts import Prompt
from mtpchat.config import ModelConfig, SamplingConfig
from mtpchat.errors import EngineError

LABEL = "llama-server"
_HOST = "127.0.0.1"
_START_S, _ANSWER_S, _STOP_S = 600.0, 3600.0, 5.0
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Peer:
    """A running server as a contender.

    Args:
        port: on loopback.
        tokens_of: the rendered prompt, as this program's own turns read it.
        label: its name in the figures.
        build: what the server says of itself.
        pid: its process.
    """

    port: int
    tokens_of: Callable[[Prompt], Sequence[int]]
    label: str = LABEL
    build: str = ""
    pid: int = 0

    def run(self, prompt: Prompt, sampling: SamplingConfig) -> Measured:
        """See Contender.run. Raises EngineError when the server refuses or goes away."""
        reply = _request(self.port, "POST", "/completion", request_body(self.tokens_of(prompt), sampling), _ANSWER_S)
        return measured(reply)


def measured(reply: Mapping[str, Any]) -> Measured:
    """The figures in a reply of /completion.

    Its clock for generating starts when the first token is there, so one token less was decoded in that time.

    Raises:
        EngineError: there are no timings in it.
    """
    timings = reply.get("timings")
    if not isinstance(timings, dict) or "predicted_n" not in timings or "predicted_ms" not in timings:
        raise EngineError(
            "The reply of llama-server has no timings", hint="Is it a llama-server of llama.cpp, and a recent one?"
        )
    tokens = [token for token in reply.get("tokens") or () if isinstance(token, int)]
    count = int(timings["predicted_n"])
    text = str(reply.get("content", ""))
    first_ms = timings.get("prompt_ms")
    return Measured(
        output_tokens=count,
        decoded_tokens=count - 1,
        decode_s=float(timings["predicted_ms"]) / 1000,
        ttft_s=None if first_ms is None else float(first_ms) / 1000,
        drafted=int(timings.get("draft_n", 0)),
        accepted=int(timings.get("draft_n_accepted", 0)),
        reason=str(reply.get("stop_type", "")),
        loops=looping(tokens or text.split()),
        digest=digest(tokens),
    )


def request_body(tokens: Sequence[int], sampling: SamplingConfig) -> dict[str, object]:
    """What /completion is asked: the same tokens, the same chain of samplers, nothing from its cache."""
    return {
        "prompt": list(tokens),
        "n_predict": sampling.max_tokens or -1,
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "repeat_penalty": sampling.repeat_penalty,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "repeat_last_n": sampling.penalty_last_n,
        "samplers": ["penalties", "top_k", "top_p", "min_p", "temperature"],
        "seed": max(0, sampling.seed) % (1 << 32),
        "stop": list(sampling.stop),
        "cache_prompt": False,
        "return_tokens": True,
        "stream": False,
    }


def command_line(server: Path, model: str, settings: ModelConfig, threads: int, port: int) -> list[str]:
    """How a server is started that runs the model as this program does: same context, threads, layers and caches."""
    return [
        *(str(server), "-m", model, "--host", _HOST, "--port", str(port)),
        *("-c", str(settings.context), "-b", str(max(settings.batch, 64)), "-ub", str(max(settings.batch, 64))),
        *("-np", "1", "-t", str(threads), "-ngl", "all" if settings.gpu_layers == -1 else str(settings.gpu_layers)),
        *("-fa", settings.flash_attention, "-ctk", settings.cache_type_k, "-ctv", settings.cache_type_v),
        *("--no-webui", *(() if settings.mmap else ("--no-mmap",))),
    ]


@contextmanager
def serving(
    command: Callable[[int], Sequence[str]],
    tokens_of: Callable[[Prompt], Sequence[int]],
    label: str = LABEL,
    wait_s: float = _START_S,
) -> Iterator[Peer]:
    """Start a server, wait until it is ready, and end it in any case.

    Args:
        command: the command line for a port.
        tokens_of: see Peer.
        label: see Peer.
        wait_s: how long loading may take.

    Raises:
        EngineError: it cannot be started, ends by itself or does not get ready; with its last words.
    """
    port = free_port()
    with tempfile.TemporaryFile() as log:
        process = start(command(port), log)
        try:
            _wait_until_ready(process, port, log, wait_s)
            yield Peer(port, tokens_of, label, _build(port), process.pid)
        finally:
            _end(process)


def free_port() -> int:
    """A port of loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        number: int = probe.getsockname()[1]
        return number


def start(command: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Run a program with all it says in `log`. Raises EngineError when it cannot be run."""
    try:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Its own group, so that Ctrl+C in the terminal reaches it through us alone.
            start_new_session=True,
            preexec_fn=_die_with_parent(),  # noqa: PLW1509 - one system call, prepared before the fork
        )
    except OSError as error:
        raise EngineError(
            f"{command[0]} cannot be started: {error.strerror or error}",
            hint="--against takes the path of llama-server.",
        ) from error


def _die_with_parent() -> Callable[[], None] | None:
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    return ask


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, log: IO[bytes], wait_s: float) -> None:
    until = time.monotonic() + wait_s
    while time.monotonic() < until:
        if process.poll() is not None:
            raise EngineError(
                f"llama-server ended with code {process.returncode}: {_last_words(log)}",
                hint="Try the same flags on its own command line.",
            )
        try:
            _request(port, "GET", "/health", None, 5.0)
        except EngineError:  # not listening yet, or 503 while it loads
            time.sleep(0.1)
            continue
        return
    raise EngineError(f"llama-server was not ready after {wait_s:.0f} s: {_last_words(log)}")


def _build(port: int) -> str:
    return str(_request(port, "GET", "/props", None, 5.0).get("build_info", ""))


def _last_words(log: IO[bytes]) -> str:
    log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
    lines = [line for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return " | ".join(lines[-3:]) or "it said nothing"


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def _request(port: int, method: str, path: str, body: object, timeout_s: float) -> dict[str, Any]:
    connection = http.client.HTTPConnection(_HOST, port, timeout=timeout_s)
    try:
        content = None if body is None else json.dumps(body).encode()
        connection.request(method, path, content, {"Content-Type": "application/json"} if content else {})
        reply = connection.getresponse()
        data = reply.read()
    except (OSError, http.client.HTTPException) as error:
        raise EngineError(f"llama-server does not answer: {error}") from error
    finally:
        connection.close()
    if reply.status != 200:
        said = data[:300].decode("utf-8", "replace")
        raise EngineError(f"llama-server refused {path} with {reply.status}: {said}")
    try:
        value = json.loads(data)
    except ValueError as error:
        raise EngineError(f"llama-server answered {path} with something that is not JSON") from error
    if not isinstance(value, dict):
        raise EngineError(f"llama-server answered {path} with something unexpected")
    return value
