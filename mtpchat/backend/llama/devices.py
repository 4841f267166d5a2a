"""What this machine offers to llama.cpp: free memory, GPUs that this build can use, and how its CPU keeps weights."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any

from mtpchat.gguf.memory_plan import Device, Machine
from mtpchat.machine_memory import available_ram

# enum ggml_backend_dev_type of ggml-backend.h
_GPU, _INTEGRATED = 1, 2
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


def devices() -> tuple[Device, ...]:
    """The GPUs; none on a build for CPUs, or where the library does not tell."""
    count, get = _function("ggml_backend_dev_count"), _function("ggml_backend_dev_get")
    kind, name = _function("ggml_backend_dev_type"), _function("ggml_backend_dev_name")
    memory = _function("ggml_backend_dev_memory")
    if count is None or get is None or kind is None or name is None or memory is None:
        return ()
    count.restype, get.restype, name.restype = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p
    get.argtypes, kind.argtypes, name.argtypes = [ctypes.c_size_t], [ctypes.c_void_p], [ctypes.c_void_p]
    sizes = ctypes.POINTER(ctypes.c_size_t)
    memory.argtypes, memory.restype = [ctypes.c_void_p, sizes, sizes], None
    found = []
    for index in range(count()):
        handle = get(index)
        if kind(handle) not in (_GPU, _INTEGRATED):
            continue
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        memory(handle, ctypes.byref(free), ctypes.byref(total))
        label = (name(handle) or b"GPU").decode("utf-8", "replace")
        shared = kind(handle) == _INTEGRATED or label.startswith(_APPLE)
        found.append(_device(label, free.value, total.value, shared=shared))
    return tuple(found)


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
