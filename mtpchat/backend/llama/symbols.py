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


def _lookup(lib: Any, names: tuple[str, ...], argtypes: list[Any], restype: Any) -> Function | None:
    for name in names:
        function = getattr(lib, name, None)
        if function is None:
            continue
        function.argtypes = argtypes
        function.restype = restype
        return function  # type: ignore[no-any-return]
    return None


@cache
def symbols() -> Symbols:
    """Bind what is there. Plain C, Itanium (Linux, macOS) and MSVC names are tried in this order."""
    import llama_cpp.llama_cpp as lib

    so, ctx = lib._lib, lib.llama_context_p_ctypes
    floats = ctypes.POINTER(ctypes.c_float)
    return Symbols(
        set_embeddings_nextn=_lookup(
            so,
            (
                "llama_set_embeddings_nextn",
                "_Z26llama_set_embeddings_nextnP13llama_contextbb",
                "?llama_set_embeddings_nextn@@YAXPEAUllama_context@@_N1@Z",
            ),
            [ctx, ctypes.c_bool, ctypes.c_bool],
            None,
        ),
        get_embeddings_nextn=_lookup(
            so,
            (
                "llama_get_embeddings_nextn",
                "_Z26llama_get_embeddings_nextnP13llama_context",
                "?llama_get_embeddings_nextn@@YAPEAMPEAUllama_context@@@Z",
            ),
            [ctx],
            floats,
        ),
        get_embeddings_nextn_ith=_lookup(
            so,
            (
                "llama_get_embeddings_nextn_ith",
                "_Z30llama_get_embeddings_nextn_ithP13llama_contexti",
                "?llama_get_embeddings_nextn_ith@@YAPEAMPEAUllama_context@@H@Z",
            ),
            [ctx, ctypes.c_int32],
            floats,
        ),
        set_nextn_layer_offset=_lookup(
            so,
            (
                "llama_set_nextn_layer_offset",
                "_Z28llama_set_nextn_layer_offsetP13llama_contexti",
                "?llama_set_nextn_layer_offset@@YAXPEAUllama_context@@H@Z",
            ),
            [ctx, ctypes.c_int32],
            None,
        ),
        get_ctx_other=_lookup(
            so,
            (
                "llama_get_ctx_other",
                "_Z19llama_get_ctx_otherP13llama_context",
                "?llama_get_ctx_other@@YAPEAUllama_context@@PEAU1@@Z",
            ),
            [ctx],
            ctx,
        ),
        **_layer_inputs(lib),
    )


def _layer_inputs(lib: Any) -> dict[str, Function | None]:
    """What EAGLE-3 needs: the inputs of some of the target's layers, and which ones a drafter wants."""
    so, ctx, model = lib._lib, lib.llama_context_p_ctypes, lib.llama_model_p_ctypes
    return {
        "set_embeddings_layer_inp": _lookup(
            so,
            (
                "llama_set_embeddings_layer_inp",
                "_Z30llama_set_embeddings_layer_inpP13llama_contextjb",
                "?llama_set_embeddings_layer_inp@@YAXPEAUllama_context@@I_N@Z",
            ),
            [ctx, ctypes.c_uint32, ctypes.c_bool],
            None,
        ),
        "get_embeddings_layer_inp": _lookup(
            so,
            (
                "llama_get_embeddings_layer_inp",
                "_Z30llama_get_embeddings_layer_inpP13llama_contextj",
                "?llama_get_embeddings_layer_inp@@YAPEAMPEAUllama_context@@I@Z",
            ),
            [ctx, ctypes.c_uint32],
            ctypes.POINTER(ctypes.c_float),
        ),
        "model_target_layer_ids": _lookup(
            so,
            (
                "llama_model_target_layer_ids",
                "_Z28llama_model_target_layer_idsPK11llama_model",
                "?llama_model_target_layer_ids@@YAPEBHPEBUllama_model@@@Z",
            ),
            [model],
            ctypes.POINTER(ctypes.c_int32),
        ),
        "model_target_layer_ids_n": _lookup(
            so,
            (
                "llama_model_target_layer_ids_n",
                "_Z30llama_model_target_layer_ids_nPK11llama_model",
                "?llama_model_target_layer_ids_n@@YAIPEBUllama_model@@@Z",
            ),
            [model],
            ctypes.c_uint32,
        ),
    }


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
