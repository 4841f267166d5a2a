"""Small contexts of the tiny models, made without the loader."""

from __future__ import annotations

from pathlib import Path

from mtpchat.backend.llama.context import ContextSettings
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.model import LlamaModel

LOG = LlamaLog(None)


def load(path: Path, *, load_mtp: bool = False) -> LlamaModel:
    LOG.install()
    return LlamaModel(path, gpu_layers=0, load_mtp=load_mtp, mmap=True, progress=lambda _: True, log=LOG)


def settings(**changes: int | bool | str) -> ContextSettings:
    return ContextSettings(**{"context": 256, "batch": 32, "threads": 1, "max_rows": 5, **changes})  # type: ignore[arg-type]
