"""What a loaded model remembers, as bytes for another run, and the names of everything that such bytes hang on.

A state that does not fit can end the process: llama.cpp asserts where it should refuse. So a key names the content of
the files, the build of llama.cpp and all settings that shape a memory or the numbers in it. Where the layers are
computed is one of them: the same text gives slightly different numbers on another device.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from mtpchat.backend.llama.context import ContextSettings
from mtpchat.backend.llama.draft import LlamaDraft
from mtpchat.backend.llama.identity import identity, library_identity
from mtpchat.backend.llama.model import LlamaModel
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.backend.protocol import Bytes

_FORMAT = 1
"""Counted up when what is kept of a memory changes its meaning."""


@dataclass(frozen=True, slots=True)
class LlamaStates:
    """The ContextStates of the protocol.

    Attributes:
        named: digest of the target's file and of what it was loaded with.
        draft_named: the same for the drafter, its kind included; "" without one that has a context.
    """

    model: LlamaModel
    target: LlamaTarget
    draft: LlamaDraft | None
    named: str
    draft_named: str

    @property
    def key(self) -> str:
        """See ContextStates.key; a context that was made anew for plain decoding may have another one."""
        if not self.named:
            return ""
        # Snapshots and rows for heads are no part of a memory that can be cut anywhere.
        planes = self.target.snapshots if self.model.recurrent else 0
        return _digest(self.named, planes, *_shape(self.model, self.target.settings))

    @property
    def draft_key(self) -> str:
        """See ContextStates.draft_key."""
        if self.draft is None or not self.draft_named or not self.draft.handle:
            return ""
        return _digest(self.named, self.draft_named, self.draft.heads, self.draft.hidden_width, self.draft.shared)

    def size(self) -> int:
        """See ContextStates.size."""
        return self.target.size_held() + (self.draft.size_held() if self.draft is not None else 0)

    def copy(self) -> Bytes | None:
        """See ContextStates.copy."""
        return self.target.copy_all()

    def copy_draft(self) -> tuple[Bytes, int] | None:
        """See ContextStates.copy_draft."""
        state = self.draft.copy_all() if self.draft is not None else None
        return None if state is None or self.draft is None else (state, self.draft.length)

    def put(self, state: Bytes, length: int) -> bool:
        """See ContextStates.put."""
        return self.target.fill(state, length)

    def put_draft(self, state: Bytes, length: int) -> bool:
        """See ContextStates.put_draft."""
        return self.draft is not None and self.draft.fill(state, length)


def name_files(
    model: LlamaModel, gpu_layers: int, drafter: Path | None, kind: str, draft_layers: int
) -> tuple[str, str]:
    """The two names that LlamaStates wants; "" for the first where the file cannot be read any more."""
    content = identity(model.path)
    if not content:
        return "", ""
    named = _digest(_FORMAT, library_identity(), content, gpu_layers, model.load_mtp)
    drafts = identity(drafter) if drafter is not None else "own"
    return named, _digest(kind, drafts, draft_layers) if kind and drafts else ""


def _shape(model: LlamaModel, settings: ContextSettings) -> tuple[object, ...]:
    """Settings of a context that its memory hangs on. Its size does not matter, but where it chooses how positions are
    told apart (models that were stretched to longer contexts)."""
    stretched = model.stretches and settings.context
    return settings.flash_attention, settings.cache_type_k, settings.cache_type_v, settings.kind, stretched


def _digest(*parts: object) -> str:
    return hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=16).hexdigest()
