"""What this build of llama.cpp is: instruction sets, devices, experimental functions. Asked in a process of its own.

A library that was compiled for another processor ends the process that imports it, and a broken GPU driver can hang:
whoever wants to know asks a child, with a time limit. Run as `python -m mtpchat.backend.llama.build` this module is
that child: JSON on stdout.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

COMMAND = (sys.executable, "-m", "mtpchat.backend.llama.build")
_LONGEST_S = 60.0


class Device(msgspec.Struct, frozen=True):
    """A GPU that llama.cpp can use; memory in bytes. `shared`: it is main memory."""

    name: str
    description: str
    free: int
    total: int
    shared: bool = False


class Build(msgspec.Struct, frozen=True):
    """The library as it is installed.

    Attributes:
        version: of llama-cpp-python; "" when it is not installed.
        features: names of what llama.cpp was compiled with: AVX2, CUDA, ...
        gpu: layers can be put on a GPU.
        devices: the GPUs that it sees.
        why_no_mtp / why_no_chained_heads / why_no_eagle3: what its experimental functions lack, or "".
        trouble: why the library could not be asked; the rest is then empty.
        hint: what to do about it.
    """

    version: str = ""
    features: tuple[str, ...] = ()
    gpu: bool = False
    devices: tuple[Device, ...] = ()
    why_no_mtp: str = ""
    why_no_chained_heads: str = ""
    why_no_eagle3: str = ""
    trouble: str = ""
    hint: str = ""


def ask_build(command: Sequence[str] = COMMAND, longest_s: float = _LONGEST_S) -> Build:
    """Ask a child about the library. Whatever becomes of it, an answer comes back."""
    paths = [str(Path(__file__).parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "GGML_NO_BACKTRACE": "1"}
    try:
        done = subprocess.run(command, capture_output=True, env=environment, timeout=longest_s, check=False)
    except subprocess.TimeoutExpired:
        return _failed(f"llama.cpp did not start within {longest_s:.0f} s", "A driver of the GPU may hang: restart it.")
    except OSError as error:
        return _failed(f"a child process cannot be started: {error.strerror or error}", "Check the installation.")
    if done.returncode == 0:
        try:
            return msgspec.json.decode(done.stdout.splitlines()[-1], type=Build)
        except (msgspec.MsgspecError, IndexError):
            return _failed("llama.cpp gave no answer", "Install it again (README, When something is wrong).")
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    if -done.returncode == getattr(signal, "SIGILL", 4):
        return _failed(
            "llama.cpp was compiled for another processor (illegal instruction)",
            "Compile it here: pip install --force-reinstall --no-cache-dir --no-binary llama-cpp-python "
            f"llama-cpp-python=={_version() or '0.3.36'}",
        )
    end = f"signal {-done.returncode}" if done.returncode < 0 else f"code {done.returncode}"
    last = f": {said[-1]}" if said else ""
    return _failed(f"llama.cpp cannot be loaded ({end}){last}", "Install it again (README, Install).")


def _failed(trouble: str, hint: str) -> Build:
    return Build(version=_version(), trouble=trouble, hint=hint)


def _version() -> str:
    try:
        return version("llama-cpp-python")
    except PackageNotFoundError:
        return ""


def features_of(system_info: str) -> tuple[str, ...]:
    """What is on in the text of llama_print_system_info, backends first: "CUDA : ARCHS = 890 | CPU : AVX2 = 1 |"."""
    found: dict[str, None] = {}
    for part in system_info.split("|"):
        backend, colon, rest = part.partition(":")
        if colon and backend.strip() not in ("", "CPU"):
            found[backend.strip()] = None
        name, equals, value = (rest if colon else part).partition("=")
        if equals and value.strip() == "1":
            found[name.strip()] = None
    return tuple(found)


def describe() -> Build:
    """Look at the library in this process."""
    import llama_cpp.llama_cpp as lib

    from mtpchat.backend.llama.devices import gpus
    from mtpchat.backend.llama.logs import LlamaLog
    from mtpchat.backend.llama.symbols import probe

    log = LlamaLog(None, "error")
    log.install()
    lib.llama_backend_init()
    found = probe()
    return Build(
        version=_version(),
        features=features_of(lib.llama_print_system_info().decode("utf-8", "replace")),
        gpu=bool(lib.llama_supports_gpu_offload()),
        devices=tuple(Device(gpu.name, gpu.description, gpu.free, gpu.total, gpu.integrated) for gpu in gpus()),
        why_no_mtp=found.why_no_mtp,
        why_no_chained_heads=found.why_no_chained_heads,
        why_no_eagle3=found.why_no_eagle3,
    )


def main() -> int:
    """The child."""
    sys.stdout.write(json.dumps(msgspec.to_builtins(describe())) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
