"""Ollama's store: a manifest per name and tag says which blob is the model. Blobs are named by their digests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mtpchat.shelf.walk import Walk

MODEL_LAYER = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})")
_DEFAULT_HOST, _DEFAULT_OWNER = "registry.ollama.ai", "library"
_MOST_MANIFEST = 1 << 20


class _Layer(msgspec.Struct):
    media_type: str = msgspec.field(name="mediaType", default="")
    digest: str = ""


class _Manifest(msgspec.Struct):
    layers: list[_Layer] = []


def ollama_models(folder: Path, walk: Walk) -> Iterator[tuple[str, Path]]:
    """(name, blob) of every model in a store; manifests that make no sense are passed by.

    Args:
        folder: with `manifests` and `blobs` in it.
    """
    for host in walk.listed(folder / "manifests"):
        for owner in walk.listed(Path(host.path)):
            for model in walk.listed(Path(owner.path)):
                for tag in walk.listed(Path(model.path)):
                    blob = _model_blob(Path(tag.path), folder / "blobs")
                    if blob is not None:
                        yield ollama_name(host.name, owner.name, model.name, tag.name), blob


def ollama_name(host: str, owner: str, model: str, tag: str) -> str:
    """The name as Ollama shows it: what is the default is left out."""
    parts = [host, owner, model]
    if host == _DEFAULT_HOST:
        parts = [model] if owner == _DEFAULT_OWNER else [owner, model]
    return f"{'/'.join(parts)}:{tag}"


def _model_blob(manifest: Path, blobs: Path) -> Path | None:
    try:
        if not manifest.is_file() or manifest.stat().st_size > _MOST_MANIFEST:
            return None
        layers = msgspec.json.decode(manifest.read_bytes(), type=_Manifest).layers
    except (OSError, ValueError):  # ValueError: also what msgspec says of a text that is no manifest
        return None
    for layer in layers:
        # A digest is believed only in its exact form: it becomes a part of a path.
        digest = _DIGEST.fullmatch(layer.digest)
        if layer.media_type == MODEL_LAYER and digest is not None:
            blob = blobs / f"sha256-{digest[1]}"
            return blob if blob.is_file() else None
    return None
