"""What heads read of the target: its last hidden state, or the inputs of some of its layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mtpchat.backend.llama.batch import floats_at
from mtpchat.backend.llama.model import LlamaModel
from mtpchat.backend.llama.symbols import symbols
from mtpchat.backend.protocol import Floats
from mtpchat.errors import MisuseRefused


class HiddenRows:
    """Hidden rows of one context; none until they are exposed.

    Attributes:
        width: floats per row; 0 while nothing is exposed.
    """

    def __init__(self, model: LlamaModel, handle: Any) -> None:
        self._model = model
        self._handle = handle
        self._state = False
        self._layers: tuple[int, ...] = ()
        self.width = 0

    def expose_state(self) -> None:
        """From now on a row is the last hidden state of a token."""
        # Unmasked: a row for every token. Masked rows would be paired with the wrong tokens.
        symbols().set_embeddings_nextn(self._handle, True, False)  # type: ignore[misc]
        self._state, self.width = True, self._model.hidden_width

    def expose_layers(self, layers: Sequence[int]) -> None:
        """From now on a row is the inputs of these layers side by side. Raises MisuseRefused; see LlamaTarget."""
        known, last = symbols(), self._model.layers
        if known.set_embeddings_layer_inp is None or not layers or not 0 <= min(layers) <= max(layers):
            raise MisuseRefused("The inputs of this model's layers cannot be read.")
        if max(layers) > last:
            raise MisuseRefused(f"Layer {max(layers)} of a model that has {last}.")
        for layer in layers:
            self._show(layer, True)
        self._layers, self.width = tuple(layers), len(layers) * self._model.width

    def hide_layers(self) -> None:
        """Undo `expose_layers`: copying rows that nobody reads costs time in every decode."""
        for layer in self._layers:
            self._show(layer, False)
        self._layers, self.width = (), 0

    def _show(self, layer: int, wanted: bool) -> None:
        if layer < self._model.layers:
            symbols().set_embeddings_layer_inp(self._handle, layer, wanted)  # type: ignore[misc]
        else:
            symbols().set_embeddings_nextn(self._handle, wanted, False)  # type: ignore[misc]

    def read(self, count: int) -> Floats:
        """Copy of the rows of the last decode, shape (count, width). Raises MisuseRefused where there are none."""
        if self._layers:
            return np.concatenate([self._read_layer(layer, count) for layer in self._layers], axis=1)
        pointer = symbols().get_embeddings_nextn(self._handle) if self._state else None  # type: ignore[misc]
        if not pointer:
            raise MisuseRefused("This context was made without hidden rows.")
        return floats_at(pointer, count * self.width).reshape(count, self.width).copy()

    def _read_layer(self, layer: int, count: int) -> Floats:
        if layer < self._model.layers:
            pointer = symbols().get_embeddings_layer_inp(self._handle, layer)  # type: ignore[misc]
        else:
            pointer = symbols().get_embeddings_nextn(self._handle)  # type: ignore[misc]
        if not pointer:
            raise MisuseRefused(f"llama.cpp gave no input of layer {layer}.")
        return floats_at(pointer, count * self._model.width).reshape(count, self._model.width)
