"""The machine and the library: do they fit each other, and is there anything that keeps them slow?"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from mtpchat.backend.llama.build import Build
from mtpchat.backend.llama.threads import physical_cores
from mtpchat.config import Config
from mtpchat.doctor import system
from mtpchat.doctor.finding import Finding, advice, fact, fault
from mtpchat.gguf.cursor import human_size

_FLAGS = {"AVX": "avx", "AVX2": "avx2", "FMA": "fma", "F16C": "f16c", "AVX512": "avx512f", "BMI2": "bmi2"}
"""What llama.cpp calls an instruction set -> what Linux calls it."""
_WORTH_IT = ("AVX2", "FMA", "F16C", "AVX")
_RECOMPILE = "pip install --force-reinstall --no-cache-dir --no-binary llama-cpp-python "
_GPU_FLAG = {"NVIDIA": "-DGGML_CUDA=on", "AMD": "-DGGML_HIP=on", "Apple": "-DGGML_METAL=on"}
_WSLCONFIG = r"In %UserProfile%\.wslconfig: [wsl2] memory=24GB processors=8; then: wsl --shutdown"


def look_at_machine(config: Config, build: Build, root: Path = system.ROOT) -> list[Finding]:
    """Everything about processor, memory, container and GPU."""
    return [
        *_build(build),
        *_processor(build, root),
        *_threads(config, root),
        *_memory(root),
        *_gpus(build, root),
    ]


def _build(build: Build) -> Iterator[Finding]:
    if build.trouble:
        yield fault("llama.cpp", f"{build.trouble}.", build.hint)
        return
    backends = ", ".join(build.features) or "none told"
    yield fact("llama.cpp", f"llama-cpp-python {build.version}")
    yield fact("compiled with", backends)
    pinned = _pinned()
    if pinned and build.version != pinned:
        yield fault(
            "llama.cpp",
            f"llama-cpp-python {build.version} is installed, but {pinned} is needed: speculation calls functions of "
            "that version.",
            f"pip install llama-cpp-python=={pinned}",
        )
    lacking = [why for why in (build.why_no_mtp, build.why_no_chained_heads, build.why_no_eagle3) if why]
    for why in dict.fromkeys(lacking):
        yield fault("llama.cpp", f"{why[:1].upper()}{why[1:]}.", f"{_RECOMPILE}llama-cpp-python=={pinned or '0.3.36'}")
    if not lacking:
        yield fact("speculation", "MTP, chained heads and EAGLE-3 can run")


def _pinned() -> str:
    """The version that the program asks for; "" when it is not installed."""
    try:
        wanted = requires("mtpchat") or []
    except PackageNotFoundError:
        return ""
    exact = (one.partition("==")[2] for one in wanted if one.replace(" ", "").startswith("llama-cpp-python=="))
    return next(exact, "").partition(";")[0].strip()


def _processor(build: Build, root: Path) -> Iterator[Finding]:
    name, flags = system.processor(root)
    known = [ours for ours, theirs in _FLAGS.items() if theirs in flags]
    yield fact("processor", f"{name}{' (' + ', '.join(known) + ')' if known else ''}")
    if build.trouble or not flags or platform.machine().lower() not in ("x86_64", "amd64"):
        return
    unused = [ours for ours in _WORTH_IT if _FLAGS[ours] in flags and ours not in build.features]
    if unused:
        yield advice(
            "llama.cpp",
            f"The processor has {', '.join(unused)}, and this build does not use it: it is slower than need be.",
            f"{_RECOMPILE}llama-cpp-python",
        )


def _threads(config: Config, root: Path) -> Iterator[Finding]:
    physical, logical = physical_cores(root / "sys/devices/system/cpu"), os.cpu_count() or 1
    threads, quota = config.model.threads or physical, system.cpu_quota(root)
    limit = f"; the container may use {quota:g}" if quota is not None else ""
    yield fact("cores", f"{physical} physical, {logical} logical{limit}; {threads} decode threads")
    if threads > physical:
        yield advice(
            "threads",
            f"{threads} threads are set, and there are {physical} physical cores: llama.cpp's threads wait for each "
            "other, so more of them than cores make it slower.",
            "Set threads = 0 under [model], or leave -t away.",
        )
    elif quota is not None and threads > max(quota, 1):
        yield advice(
            "threads",
            f"The container may use {quota:g} processors, and {threads} threads would share them.",
            f"Set threads = {max(int(quota), 1)} under [model], or use -t {max(int(quota), 1)}.",
        )


def _memory(root: Path) -> Iterator[Finding]:
    found = system.memory(root)
    kind = system.container(root)
    if kind:
        yield fact("container", kind)
    if found is not None:
        by = " (limit of the container)" if found.limited else ""
        yield fact("memory", f"{human_size(found.available)} free of {human_size(found.total)}{by}")
    if system.wsl(root):
        yield fact("WSL", f"Windows gives it half of the memory unless told otherwise. {_WSLCONFIG}")


def _gpus(build: Build, root: Path) -> Iterator[Finding]:
    for device in build.devices:
        free = f", {human_size(device.free)} free of {human_size(device.total)}" if device.total else ""
        yield fact("GPU", f"{device.name}: {device.description}{free}")
    if build.devices or build.trouble:
        return
    apple = platform.system() == "Darwin" and platform.machine() == "arm64"
    there = "Apple" if apple else system.hidden_gpu(root)
    if not there:
        yield fact("GPU", "none seen; everything runs on the processor")
    elif build.gpu:
        yield advice(
            "GPU",
            f"There is a driver for an {there} GPU, but llama.cpp sees no device.",
            "Check the driver (nvidia-smi, rocminfo), and in a container that the device is passed in.",
        )
    else:
        yield advice(
            "GPU",
            f"There is a driver for an {there} GPU, and this build of llama.cpp cannot use it.",
            f'CMAKE_ARGS="{_GPU_FLAG[there]}" {_RECOMPILE}llama-cpp-python=={build.version}',
        )
