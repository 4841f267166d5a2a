"""Imports point downwards: as the contracts in pyproject.toml read them, and as a fresh interpreter sees them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCREEN = {"textual", "rich"}
NATIVE = {"llama_cpp"}
RARE = {
    "gguf", "huggingface_hub", "httpx2", "pypdf", "charset_normalizer", "pathspec", "tomlkit", "pyperclip",
    "jsonschema", "sqlite3", "cairosvg",
}  # fmt: skip
"""What is imported by what needs it, when it does: a PDF, a repository, a setting that is changed."""
HEAVY = SCREEN | NATIVE | RARE | {"numpy", "jinja2", "markdown_it"}

TOP = {"composition", "headless", "ui"}
EVERYTHING = sorted(
    path.stem for path in (ROOT / "mtpchat").iterdir() if path.suffix in {"", ".py"} and path.stem[0] != "_"
)
BELOW_THE_SCREEN = [name for name in EVERYTHING if name not in TOP and not name.startswith("cli")]

_IMPORT_ALL = """
import importlib, json, pkgutil, sys
brought, known = {}, set()
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(getattr(package, "__path__", []), name + "."):
        if not module.name.startswith("mtpchat.backend.llama"):
            importlib.import_module(module.name)
    loaded = {name.partition(".")[0] for name in sys.modules}
    brought[name], known = sorted(loaded - known), known | loaded
print(json.dumps(brought))
"""

_BEFORE_THE_FIRST_FRAME = """
import json, sys
import mtpchat.cli, mtpchat.composition, mtpchat.engine.session, mtpchat.store.chat_store, mtpchat.ui.app
print(json.dumps(sorted(sys.modules)))
"""

_RUN = """
import json, sys
from mtpchat.__main__ import main
for argument in sys.argv[1:]:
    sys.argv = ["mtpchat", argument]
    try:
        code = main()
    except SystemExit as end:
        code = end.code or 0
    assert code == (2 if argument == "--temprature" else 0), (argument, code)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def told_by(script: str, *arguments: str) -> Any:
    """What a script tells in a fresh interpreter: the last line of its output, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def loaded_by(script: str, *arguments: str) -> set[str]:
    """Names of all modules after `script`."""
    return set(told_by(script, *arguments))


def brought_by(layers: Sequence[str], unwanted: set[str]) -> dict[str, set[str]]:
    """Which of the layers, imported one after the other, is the first to bring what is unwanted, and what."""
    brought = told_by(_IMPORT_ALL, *(f"mtpchat.{layer}" for layer in layers))
    assert len(brought) == len(layers)
    return {layer: found for layer, names in brought.items() if (found := set(names) & unwanted)}


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


def test_layers_below_the_screen_load_neither_screen_nor_llama() -> None:
    assert len(BELOW_THE_SCREEN) > 25
    assert brought_by(BELOW_THE_SCREEN, SCREEN | NATIVE) == {}


def test_screen_and_command_line_load_no_llama() -> None:
    assert brought_by([name for name in EVERYTHING if name not in BELOW_THE_SCREEN], NATIVE) == {}


def test_what_a_layer_brings_is_seen() -> None:
    assert brought_by(["errors", "ui.app"], SCREEN) == {"mtpchat.ui.app": SCREEN}


def test_quick_answers_load_nothing_heavy() -> None:
    assert brought_by(["__main__"], HEAVY | {"asyncio"}) == {}
    assert not loaded_by(_RUN, "--version", "--help", "--temprature") & (HEAVY | {"asyncio"})


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
