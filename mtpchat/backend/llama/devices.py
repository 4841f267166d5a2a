"""What this machine offers to llama.cpp: free memory, GPUs that this build can use, and how its CPU keeps weights."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mtpchat.gguf.memory_plan import Device, Machine
from mtpchat.machine_memory import available_ram

# enum ggml_backend_dev_type of ggml-backend.h
_GPU, _INTEGRATED = 1, 2
_TEXTS = ("name", "description")
_APPLE = ("Metal", "MTL")
_UNKNOWN = 1 << 50

_REARRANGED_BY = {
    "avx2": ("Q4_0", "Q4_K", "IQ4_NL", "MXFP4"),
    "avx512": ("Q2_K",),
    "dotprod": ("Q4_0", "Q4_K", "Q5_K", "Q6_K", "Q8_0", "IQ4_NL", "MXFP4"),
    "matmul_int8": ("Q1_0",),
}
"""CPU feature -> types of tensors that are copied into another layout for it (ggml-cpu/repack.cpp)."""


def this_machine() -> Machine:
    """Memory and GPUs as they are at this moment."""
    return Machine(available_ram(), devices(), rearranged_types())


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU as ggml tells of it; memory in bytes."""

    name: str
    description: str
    integrated: bool
    free: int
    total: int


def gpus() -> list[Gpu]:
    """The GPUs; none on a build for CPUs, or where the library does not tell."""
    found = {what: _function(f"ggml_backend_dev_{what}") for what in ("count", "get", "type", "memory", *_TEXTS)}
    if any(function is None for function in found.values()):
        return []
    found["count"].argtypes, found["count"].restype = [], ctypes.c_size_t
    found["get"].argtypes, found["get"].restype = [ctypes.c_size_t], ctypes.c_void_p
    found["type"].argtypes, found["type"].restype = [ctypes.c_void_p], ctypes.c_int
    for what in _TEXTS:
        found[what].argtypes, found[what].restype = [ctypes.c_void_p], ctypes.c_char_p
    sizes = ctypes.POINTER(ctypes.c_size_t)
    found["memory"].argtypes, found["memory"].restype = [ctypes.c_void_p, sizes, sizes], None
    handles = [found["get"](index) for index in range(found["count"]())]
    return [_gpu(found, handle) for handle in handles if found["type"](handle) in (_GPU, _INTEGRATED)]


def _gpu(found: Mapping[str, Any], handle: Any) -> Gpu:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    found["memory"](handle, ctypes.byref(free), ctypes.byref(total))
    texts = [(found[what](handle) or b"").decode("utf-8", "replace") for what in _TEXTS]
    name, description = (" ".join(text.split()) for text in texts)
    return Gpu(name, description, found["type"](handle) == _INTEGRATED, free.value, total.value)


def devices() -> tuple[Device, ...]:
    """The GPUs as a plan for memory sees them."""
    return tuple(
        _device(gpu.name or "GPU", gpu.free, gpu.total, shared=gpu.integrated or gpu.name.startswith(_APPLE))
        for gpu in gpus()
    )


def _device(label: str, free: int, total: int, *, shared: bool) -> Device:
    """A GPU; of one that tells nothing of memory, main memory is assumed, as llama.cpp does."""
    if free == total == 0:
        ram = available_ram() or _UNKNOWN
        return Device(label, ram, ram, shared=True)
    return Device(label, free, total, shared)


@cache
def rearranged_types() -> frozenset[str]:
    """Names of the types of tensors that the CPU copies into a layout of its own while loading."""
    found: set[str] = set()
    for feature, types in _REARRANGED_BY.items():
        has = _function(f"ggml_cpu_has_{feature}")
        if has is not None and has():
            found.update(types)
    return frozenset(found)


@cache
def _libraries() -> tuple[Any, ...]:
    """The libraries of ggml that belong to the one of llama.cpp in use; all of them are loaded already."""
    import llama_cpp.llama_cpp as lib

    folder = Path(str(lib.__file__)).parent / "lib"
    ending = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    own = [lib._lib]
    for path in sorted(folder.glob(f"*ggml*{ending}")):
        try:
            own.append(ctypes.CDLL(str(path)))
        except OSError:  # a variant for another processor
            continue
    return tuple(own)


def _function(name: str) -> Any:
    """A function of ggml, or None where no library has it."""
    return next((getattr(library, name) for library in _libraries() if hasattr(library, name)), None)
