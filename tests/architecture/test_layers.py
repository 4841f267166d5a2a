"""Imports point downwards: as the contracts in pyproject.toml read them, and as a fresh interpreter sees them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCREEN = {"textual", "rich"}
NATIVE = {"llama_cpp"}
RARE = {
    "gguf", "huggingface_hub", "httpx2", "pypdf", "charset_normalizer", "pathspec", "tomlkit", "pyperclip",
    "jsonschema", "sqlite3", "cairosvg",
}  # fmt: skip
"""What is imported by what needs it, when it does: a PDF, a repository, a setting that is changed."""
HEAVY = SCREEN | NATIVE | RARE | {"numpy", "jinja2", "markdown_it"}

_IMPORT_ALL = """
import importlib, json, pkgutil, sys
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(getattr(package, "__path__", []), name + "."):
        if not module.name.startswith("mtpchat.backend.llama"):
            importlib.import_module(module.name)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""

_BEFORE_THE_FIRST_FRAME = """
import json, sys
import mtpchat.cli, mtpchat.composition, mtpchat.engine.session, mtpchat.store.chat_store, mtpchat.ui.app
print(json.dumps(sorted(sys.modules)))
"""

_RUN = """
import json, sys
from mtpchat.__main__ import main
sys.argv = ["mtpchat", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def loaded_by(script: str, *arguments: str) -> set[str]:
    """Top-level names of all modules in a fresh interpreter after `script`, whose last line of output lists them."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    names: list[str] = json.loads(done.stdout.splitlines()[-1])
    return set(names)


def test_import_contracts_hold() -> None:
    script = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, '.'); {script}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "layer",
    [
        "commands",
        "attachments",
        "bench",
        "chats",
        "exchange",
        "presets",
        "shelf",
        "store",
        "structured",
        "whole_chat",
        "engine",
        "speculate",
        "backend",
        "gguf",
        "hub",
        "config",
        "config_file",
        "config_text",
        "paths",
        "events",
        "messages",
        "stats",
        "errors",
    ],
)
def test_layers_below_the_screen_load_neither_screen_nor_llama(layer: str) -> None:
    assert not loaded_by(_IMPORT_ALL, f"mtpchat.{layer}") & (SCREEN | NATIVE)


@pytest.mark.parametrize("layer", ["ui", "cli", "composition"])
def test_screen_and_command_line_load_no_llama(layer: str) -> None:
    assert not loaded_by(_IMPORT_ALL, f"mtpchat.{layer}") & NATIVE


def test_version_and_package_load_nothing_heavy() -> None:
    assert not loaded_by(_IMPORT_ALL, "mtpchat.__main__") & HEAVY
    assert not loaded_by(_RUN, "--version") & HEAVY


def test_help_loads_neither_screen_nor_llama() -> None:
    assert not loaded_by(_RUN, "help") & (SCREEN | NATIVE)


def test_the_first_frame_waits_for_nothing_that_is_needed_later() -> None:
    """Screens that lie over the chat, formats of files and libraries for rare things come when they are asked for."""
    found = loaded_by(_BEFORE_THE_FIRST_FRAME)
    assert "mtpchat.ui.chat_screen" in found
    assert not {name.partition(".")[0] for name in found} & (RARE | NATIVE | {"jinja2"})
    screens = {
        f"mtpchat.ui.{name}"
        for name in ("chats_screen", "compact_preview", "first_run", "fit_dialog", "model_picker", "theme_picker")
    }
    assert not found & screens
    assert not [name for name in found if name.startswith(("mtpchat.exchange.", "mtpchat.bench.", "mtpchat.doctor."))]
    assert len([name for name in found if name.startswith("mtpchat.")]) < 220
