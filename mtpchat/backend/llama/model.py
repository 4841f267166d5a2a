"""A loaded GGUF: weights, vocabulary and the facts that decide what may be done with it."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.long_runs import LONGEST_MARK, pieces
from mtpchat.errors import LoadCancelled, MisuseRefused, ModelError, ModelUnsupported
from mtpchat.gguf.cursor import quoted

Progress = Callable[[float], bool]
_UNKNOWN_ARCHITECTURE = re.compile(r"unknown model architecture: '([^']*)'")


class LlamaModel:
    """Owner of one llama_model. Close every context made from it first.

    Args:
        path: a GGUF whose header has been read and judged before.
        gpu_layers: -1 offloads all.
        load_mtp: load the MTP blocks too. A context of type MTP on a model without them aborts the process.
        progress: called with 0..1; False cancels.
        overrides: integer metadata to correct, for files whose announced heads were left out.

    Raises:
        LoadCancelled, ModelError.
    """

    def __init__(
        self,
        path: Path,
        *,
        gpu_layers: int,
        load_mtp: bool,
        mmap: bool,
        progress: Progress,
        log: LlamaLog,
        overrides: Sequence[tuple[str, int]] = (),
    ) -> None:
        import llama_cpp.llama_cpp as lib

        self._lib = lib
        self.path = path
        self.load_mtp = load_mtp
        params = lib.llama_model_default_params()
        params.n_gpu_layers = gpu_layers if gpu_layers >= 0 else 999
        params.load_mode = lib.LLAMA_LOAD_MODE_MMAP if mmap else lib.LLAMA_LOAD_MODE_NONE
        params.load_mtp = load_mtp
        corrections = _overrides(lib, overrides)
        if overrides:
            params.kv_overrides = corrections
        log.forget()
        self.handle: Any = _load(lib, path, params, progress, log)
        try:
            self.vocab = LlamaVocabulary(lib, lib.llama_model_get_vocab(self.handle))
            self._note_facts()
        except BaseException:
            self.close()
            raise

    def _note_facts(self) -> None:
        lib, handle = self._lib, self.handle
        self.heads = int(lib.llama_model_n_layer_nextn(handle)) if self.load_mtp else 0
        self.hidden_width = int(lib.llama_model_n_embd_out(handle))
        self.architecture = self._text_setting("general.architecture")
        self.is_assistant = self.architecture in ("gemma4-assistant", "gemma4_assistant")
        self.width = int(lib.llama_model_n_embd(handle))
        self.layers = int(lib.llama_model_n_layer(handle))
        # Both are unsigned in the file and signed in the library: what is not positive here says nothing.
        self.trained_context = max(0, int(lib.llama_model_n_ctx_train(handle)))
        self.window = max(0, int(lib.llama_model_n_swa(handle)))
        self.recurrent = bool(lib.llama_model_is_recurrent(handle) or lib.llama_model_is_hybrid(handle))
        # Stretched to longer contexts; then the size of the context may decide how positions are encoded.
        self.stretches = bool(self._text_setting(f"{self.architecture}.rope.scaling.original_context_length"))
        self.can_chat = bool(lib.llama_model_has_decoder(handle)) and not lib.llama_model_is_diffusion(handle)

    def _text_setting(self, key: str) -> str:
        buffer = ctypes.create_string_buffer(256)
        found = self._lib.llama_model_meta_val_str(self.handle, key.encode(), buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace") if found >= 0 else ""

    def close(self) -> None:
        """Free the weights."""
        if self.handle:
            self._lib.llama_model_free(self.handle)
            self.handle = None


def _load(lib: Any, path: Path, params: Any, progress: Progress, log: LlamaLog) -> Any:
    """The handle of the loaded model; what it was made with must live until then. Raises as LlamaModel does."""
    cancelled = False

    @lib.llama_progress_callback  # type: ignore[untyped-decorator]
    def report(fraction: float, _user: object) -> bool:
        nonlocal cancelled
        cancelled = not progress(fraction)
        return not cancelled

    params.progress_callback = report
    handle = lib.llama_model_load_from_file(os.fsencode(path), params)
    if handle:
        return handle
    if cancelled:
        raise LoadCancelled(f"Loading {path.name} was cancelled.")
    raise load_failure(path.name, log.last_error())


def load_failure(file: str, reason: str) -> ModelError:
    """The error for a model that llama.cpp did not load.

    Args:
        reason: what llama.cpp said last; "" for nothing.
    """
    unknown = _UNKNOWN_ARCHITECTURE.search(reason)
    if unknown:
        return ModelUnsupported(
            f"{file} cannot be used: this build of llama.cpp knows no models of the architecture {quoted(unknown[1])}.",
            hint="It is newer than this mtpchat, or no model for chatting; choose another one.",
        )
    return ModelError(
        f"{file} could not be loaded: {reason or 'llama.cpp gave no reason'}",
        hint="If memory ran out, try a smaller quantisation or fewer --gpu-layers; llama.log has the details.",
    )


def _overrides(lib: Any, overrides: Sequence[tuple[str, int]]) -> Any:
    """A native array of integer overrides, ended by an entry without a key."""
    array = (lib.llama_model_kv_override * (len(overrides) + 1))()
    for entry, (key, value) in zip(array, overrides, strict=False):
        entry.key = key.encode()
        entry.tag = lib.LLAMA_KV_OVERRIDE_TYPE_INT
        entry.value.val_i64 = value
    return array


class LlamaVocabulary:
    """The Tokenizer of the backend protocol over a llama_vocab.

    What some vocabularies have no token for is left out of what is encoded, as llama.cpp does.
    """

    def __init__(self, lib: Any, handle: Any) -> None:
        self._lib = self.lib = lib
        self._handle = self.handle = handle
        self.n_vocab = int(lib.llama_vocab_n_tokens(handle))
        self.adds_bos = bool(lib.llama_vocab_get_add_bos(handle))
        self.eog = frozenset(t for t in range(self.n_vocab) if lib.llama_vocab_is_eog(handle, t))
        self.bos_text = self._text(lib.llama_vocab_bos(handle))
        self.eos_text = self._text(lib.llama_vocab_eos(handle))
        ends = (lib.llama_vocab_eot(handle), lib.llama_vocab_eos(handle), *sorted(self.eog))
        self.end = next((token for token in ends if token in self.eog), -1)
        self._pieces: dict[tuple[int, bool], bytes] = {}
        kind = lib.llama_vocab_type(handle)
        self._splits_by_regex = kind == lib.LLAMA_VOCAB_TYPE_BPE
        if kind == lib.LLAMA_VOCAB_TYPE_RWKV:
            self._require_first_bytes()
        self._marks: re.Pattern[str] | None = None
        # A vocabulary that wants these tokens in every text and has none of them ends the process when it is asked.
        adds_eos = bool(lib.llama_vocab_get_add_eos(handle))
        lacks_bos = self.adds_bos and lib.llama_vocab_bos(handle) < 0
        lacks_eos = adds_eos and lib.llama_vocab_eos(handle) < 0
        if kind == lib.LLAMA_VOCAB_TYPE_WPM:  # has both in every text, whatever it says that it wants
            lacks_bos, lacks_eos = lib.llama_vocab_bos(handle) < 0, lib.llama_vocab_sep(handle) < 0
        self._can_add = not lacks_bos and not lacks_eos

    def _require_first_bytes(self) -> None:
        """Raise where llama.cpp would look for ever for the token of a byte that longer ones begin with."""
        pieces = [self.piece(token, special=True) for token in range(self.n_vocab)]
        missing = {piece[0] for piece in pieces if piece} - {piece[0] for piece in pieces if len(piece) == 1}
        if missing:
            raise ModelUnsupported(
                f"The vocabulary has no token for the byte {min(missing):#04x} alone.",
                hint="The file was badly made: get another conversion.",
            )

    def _text(self, token: int) -> str:
        return self._lib.llama_vocab_get_text(self._handle, token).decode("utf-8", "replace") if token >= 0 else ""

    def encode(self, text: str, *, special: bool = True, add_bos: bool = False) -> list[int]:
        """See Tokenizer.encode."""
        if not self._splits_by_regex:
            return self._encode(text, special, add_bos)
        parts = (self._encode(part, special, add_bos and not at) for at, part in enumerate(pieces(text, self._whole)))
        return [token for part in parts for token in part]

    def _encode(self, text: str, special: bool, add_bos: bool) -> list[int]:
        # A lone surrogate (a paste can carry one) has no UTF-8 form; the tokenizer gets a question mark in its place.
        raw = text.encode("utf-8", "replace")
        room = len(raw) + 2
        for _attempt in range(2):
            buffer = (ctypes.c_int32 * room)()
            adds = add_bos and self._can_add
            count = self._lib.llama_tokenize(self._handle, raw, len(raw), buffer, room, adds, special)
            if count >= 0:
                # Where a vocabulary without "unknown" has no token for something there is -1 in its place.
                return [token for token in buffer[:count] if token >= 0]
            room = -count
        raise ModelError("The tokenizer of this model failed on the text.", hint="Try another file of the same model.")

    def _whole(self) -> re.Pattern[str]:
        """Texts of tokens that are parsed as such, which must not be cut."""
        if self._marks is None:
            lib = self._lib
            wanted = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_USER_DEFINED
            marked = (t for t in range(self.n_vocab) if lib.llama_vocab_get_attr(self._handle, t) & wanted)
            texts = {text for text in map(self._text, marked) if 1 < len(text) <= LONGEST_MARK}
            self._marks = re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or "(?!)")
        return self._marks

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """See Tokenizer.piece."""
        key = (token, special)
        known = self._pieces.get(key)
        if known is None:
            if not 0 <= token < self.n_vocab:
                raise MisuseRefused(f"Token {token} of a vocabulary of {self.n_vocab}.")
            known = self._pieces[key] = self._piece(token, special)
        return known

    def _piece(self, token: int, special: bool) -> bytes:
        room = 64
        for _attempt in range(2):
            buffer = ctypes.create_string_buffer(room)
            count = int(self._lib.llama_token_to_piece(self._handle, token, buffer, room, 0, special))
            if count >= 0:
                return buffer.raw[:count]
            room = -count
        return b""
