"""How a llama_context is made, of the target or of a drafter, without the combinations that llama.cpp aborts on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.model import LlamaModel
from mtpchat.errors import MisuseRefused, ModelError

_CONTEXT_STEP = 256


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How a context is made. `snapshots` is n_rs_seq, `max_rows` is n_outputs_max.

    `copies`: take a recurrent model without snapshots back by a copy of its state, made before each decode of a draft.
    `whole_steps`: such copies also where there are snapshots, which reach back to the first token of a decode but not
    behind it.
    """

    context: int
    batch: int
    threads: int
    snapshots: int = 0
    max_rows: int = 1
    hidden_rows: bool = False
    flash_attention: int = -1
    cache_type_k: int = 1
    cache_type_v: int = 1
    kind: int = 0
    copies: Literal["auto", "on", "off"] = "off"
    whole_steps: bool = False


def context_params(settings: ContextSettings) -> Any:
    """llama_context_params for `settings`. Raises MisuseRefused for a combination that aborts the process."""
    import llama_cpp.llama_cpp as lib

    if settings.batch <= settings.snapshots + 1:
        raise MisuseRefused(
            f"A batch of {settings.batch} is too small for {settings.snapshots} snapshots.",
            hint=f"Set model.batch to at least {settings.snapshots + 2}.",
        )
    params = lib.llama_context_default_params()
    # llama.cpp rounds the context up, but first cuts the batch to the context as it was asked for; tokens that the one
    # has room for and the other has not end the process.
    params.n_ctx = -(-settings.context // _CONTEXT_STEP) * _CONTEXT_STEP
    params.n_batch = params.n_ubatch = settings.batch
    params.n_seq_max = 1
    params.n_rs_seq = settings.snapshots
    params.n_outputs_max = params.n_outputs_max_per_seq = min(settings.max_rows, settings.batch)
    params.n_threads = params.n_threads_batch = settings.threads
    params.flash_attn_type = settings.flash_attention
    params.type_k, params.type_v = settings.cache_type_k, settings.cache_type_v
    params.ctx_type = settings.kind
    params.swa_full = False  # as llama-server: the window only, at a fraction of the memory
    params.no_perf = True
    return params


def create_context(model: LlamaModel, params: Any, log: LlamaLog, what: str) -> Any:
    """A llama_context of `model`. Raises ModelError when llama.cpp cannot make one (most often: memory)."""
    import llama_cpp.llama_cpp as lib

    log.forget()
    handle = lib.llama_init_from_model(model.handle, params)
    if not handle:
        raise ModelError(
            f"No context of {params.n_ctx:,} tokens could be made for {what}: {log.last_error() or 'out of memory?'}",
            hint="Try a smaller context (-c 4096).",
        )
    return handle
