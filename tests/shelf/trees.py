"""Small model files and the folders in which programs keep them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from gguf import GGUFWriter

from mtpchat.config import Config, ModelConfig, PathsConfig, SpeculativeConfig
from tests.models import STANDARD, Vocabulary

WIDTH = 32


def write_model(
    path: Path,
    name: str = "Tiny 1B",
    *,
    arch: str = "qwen35",
    heads: int = 0,
    only_heads: bool = False,
    blocks: int = 2,
    width: int = WIDTH,
    rows: int = 8,
    kind: str = "",
    bases: Sequence[str] = (),
    file_type: int = 0,
    vocabulary: Vocabulary = STANDARD,
    half: bool = False,
) -> Path:
    """Write a file whose header is whole and whose weights are nothing.

    Args:
        heads: prediction heads behind the blocks.
        only_heads: leave the blocks out.
        rows: of the embedding table, to make files of different sizes.
        kind: general.type, e.g. "mmproj" or "adapter".
        half: 16 bits per parameter instead of 32.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = GGUFWriter(path, arch)
    if kind:
        writer.add_type(kind)
    writer.add_name(name)
    writer.add_file_type(file_type)
    writer.add_block_count(blocks + heads)
    writer.add_context_length(4096)
    writer.add_embedding_length(width)
    if heads:
        writer.add_uint32(f"{arch}.nextn_predict_layers", heads)
    if bases:
        writer.add_base_model_count(len(bases))
        for number, base in enumerate(bases):
            writer.add_base_model_name(number, base)
    vocabulary.write(writer)
    weights = np.float16 if half else np.float32
    writer.add_tensor("token_embd.weight", np.zeros((rows, width), weights))
    for block in range(0 if not only_heads else blocks, blocks + heads):
        writer.add_tensor(f"blk.{block}.attn_norm.weight", np.zeros(width, np.float32))
    for block in range(blocks, blocks + heads):
        writer.add_tensor(f"blk.{block}.nextn.eh_proj.weight", np.zeros((width, 2 * width), weights))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_heads(path: Path, name: str = "Tiny 1B", **options: object) -> Path:
    """Write prediction heads in a file of their own."""
    return write_model(path, name, heads=1, only_heads=True, **options)  # type: ignore[arg-type]


def in_hub(hub: Path, repo: str, source: Path, name: str, commit: str = "abc") -> Path:
    """Put a file into a Hugging Face cache, as a link into its blobs."""
    folder = hub / f"models--{repo.replace('/', '--')}"
    blob = folder / "blobs" / hashlib.sha256(f"{repo}/{name}".encode()).hexdigest()
    blob.parent.mkdir(parents=True, exist_ok=True)
    if not blob.exists():
        shutil.copy(source, blob)
    link = folder / "snapshots" / commit / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(blob)
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs" / "main").write_text(commit)
    return link


def in_ollama(store: Path, name: str, source: Path, *, layers: Sequence[dict[str, object]] | None = None) -> Path:
    """Put a file into an Ollama store under "model:tag" or "host/owner/model:tag". Returns the blob."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    blob = store / "blobs" / f"sha256-{digest}"
    blob.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, blob)
    parts, _, tag = name.partition(":")
    path = parts.split("/")
    path = ["registry.ollama.ai", "library", *path][-3:] if len(path) < 3 else path
    manifest = store.joinpath("manifests", *path, tag)
    manifest.parent.mkdir(parents=True, exist_ok=True)
    usual: list[dict[str, object]] = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:" + "0" * 64, "size": 1},
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}", "size": 1},
    ]
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": usual if layers is None else list(layers)}))
    return blob


def settings(*folders: Path, model: Path | None = None, find: str = "folder") -> Config:
    """Settings with folders of models."""
    return Config(
        model=ModelConfig(path=str(model or "")),
        paths=PathsConfig(models=tuple(map(str, folders))),
        speculative=SpeculativeConfig(find=find),  # type: ignore[arg-type]
    )
