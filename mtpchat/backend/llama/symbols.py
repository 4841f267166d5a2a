"""The experimental functions of llama.cpp that speculation needs, looked up by every name a compiler gives them.

They live in `src/llama-ext.h` ("breaking changes allowed"), have C++ linkage in some builds, and may be absent: `probe`
says in words what this build can and cannot do, and nobody calls what is not there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Symbols:
    """Bound functions, None where the library has none."""

    set_embeddings_nextn: Function | None
    get_embeddings_nextn: Function | None
    get_embeddings_nextn_ith: Function | None
    set_nextn_layer_offset: Function | None
    get_ctx_other: Function | None
    set_embeddings_layer_inp: Function | None = None
    get_embeddings_layer_inp: Function | None = None
    model_target_layer_ids: Function | None = None
    model_target_layer_ids_n: Function | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """What this build of llama.cpp offers.

    Attributes:
        why_no_mtp: why MTP heads cannot be run, or "".
        why_no_chained_heads: why several chained heads cannot be run, or "".
        why_no_eagle3: why EAGLE-3 heads cannot be run, or "".
    """

    why_no_mtp: str
    why_no_chained_heads: str
    why_no_eagle3: str = ""


@dataclass(frozen=True, slots=True)
class _Signature:
    """Parameters as compilers write them into a name, and as ctypes calls them.

    Attributes:
        itanium: after the name, on Linux and macOS.
        msvc: after the name and "@@", on Windows; with the type that is returned.
    """

    itanium: str
    msvc: str
    arguments: tuple[Any, ...]
    result: Any

    def names(self, name: str) -> tuple[str, str, str]:
        """What the function may be called in a library: plain C, Itanium, MSVC."""
        return name, f"_Z{len(name)}{name}{self.itanium}", f"?{name}@@{self.msvc}"


_HANDLE = ctypes.c_void_p
_FLOATS = ctypes.POINTER(ctypes.c_float)
_CONTEXT, _CONTEXT_MSVC = "P13llama_context", "PEAUllama_context@@"
_MODEL, _MODEL_MSVC = "PK11llama_model", "PEBUllama_model@@"

_SIGNATURES = {
    "set_embeddings_nextn": _Signature(
        f"{_CONTEXT}bb", f"YAX{_CONTEXT_MSVC}_N1@Z", (_HANDLE, ctypes.c_bool, ctypes.c_bool), None
    ),
    "get_embeddings_nextn": _Signature(_CONTEXT, f"YAPEAM{_CONTEXT_MSVC}@Z", (_HANDLE,), _FLOATS),
    "get_embeddings_nextn_ith": _Signature(
        f"{_CONTEXT}i", f"YAPEAM{_CONTEXT_MSVC}H@Z", (_HANDLE, ctypes.c_int32), _FLOATS
    ),
    "set_nextn_layer_offset": _Signature(f"{_CONTEXT}i", f"YAX{_CONTEXT_MSVC}H@Z", (_HANDLE, ctypes.c_int32), None),
    "get_ctx_other": _Signature(_CONTEXT, "YAPEAUllama_context@@PEAU1@@Z", (_HANDLE,), _HANDLE),
    "set_embeddings_layer_inp": _Signature(
        f"{_CONTEXT}jb", f"YAX{_CONTEXT_MSVC}I_N@Z", (_HANDLE, ctypes.c_uint32, ctypes.c_bool), None
    ),
    "get_embeddings_layer_inp": _Signature(
        f"{_CONTEXT}j", f"YAPEAM{_CONTEXT_MSVC}I@Z", (_HANDLE, ctypes.c_uint32), _FLOATS
    ),
    "model_target_layer_ids": _Signature(_MODEL, f"YAPEBH{_MODEL_MSVC}@Z", (_HANDLE,), ctypes.POINTER(ctypes.c_int32)),
    "model_target_layer_ids_n": _Signature(_MODEL, f"YAI{_MODEL_MSVC}@Z", (_HANDLE,), ctypes.c_uint32),
}
"""By the names of the fields of Symbols; in the library "llama_" stands before each."""


def _lookup(lib: Any, name: str, signature: _Signature) -> Function | None:
    for called in signature.names(f"llama_{name}"):
        function = getattr(lib, called, None)
        if function is None:
            continue
        function.argtypes = list(signature.arguments)
        function.restype = signature.result
        return function  # type: ignore[no-any-return]
    return None


@cache
def symbols() -> Symbols:
    """Bind what is there."""
    import llama_cpp.llama_cpp as lib

    return Symbols(**{name: _lookup(lib._lib, name, signature) for name, signature in _SIGNATURES.items()})


def probe(found: Symbols | None = None) -> Probe:
    """Say in words what this build offers.

    Args:
        found: the bound functions; by default those of the library in this process.
    """
    found = found or symbols()
    heads = (found.set_embeddings_nextn, found.get_embeddings_nextn, found.get_embeddings_nextn_ith)
    no_mtp = "" if all(heads) else "this build of llama.cpp does not export the hidden rows that MTP heads need"
    no_chain = "" if found.set_nextn_layer_offset else "this build of llama.cpp cannot select one of several MTP heads"
    layers = (
        found.set_embeddings_layer_inp,
        found.get_embeddings_layer_inp,
        found.model_target_layer_ids,
        found.model_target_layer_ids_n,
    )
    no_layers = "" if all(layers) else "this build of llama.cpp does not export the layer inputs that EAGLE-3 needs"
    return Probe(no_mtp, no_mtp or no_chain, no_mtp or no_layers)
