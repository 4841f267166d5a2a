"""Sizes and habits that keep the code readable, checked instead of remembered."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "mtpchat"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MOST_LINES = 400
MOST_APP_LINES = 200
MOST_METHODS = 25
MOST_FUNCTION_LINES = 40
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}
CATCH_ALLS = {"engine/service.py", "commands/registry.py", "store/scribe.py"}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Everything in a file, the module itself first."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def classes_of(path: Path) -> list[ast.ClassDef]:
    return [node for node in nodes_of(path) if isinstance(node, ast.ClassDef)]


def too_long(paths: list[Path]) -> dict[str, int]:
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in paths}
    return {name: length for name, length in lengths.items() if length > MOST_LINES}


def test_no_file_is_longer_than_its_budget() -> None:
    assert len(SOURCES) > 20
    assert too_long(SOURCES + TESTS) == {}


def test_app_class_stays_small() -> None:
    apps = [one for one in classes_of(PACKAGE / "ui" / "app.py") if one.name == "MtpChatApp"]
    assert len(apps) == 1
    assert (apps[0].end_lineno or 0) - apps[0].lineno < MOST_APP_LINES


def test_no_class_has_more_public_methods_than_its_budget() -> None:
    def public(one: ast.ClassDef) -> list[str]:
        functions = [node.name for node in one.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        return [name for name in functions if not name.startswith(("_", "action_"))]

    counts = {f"{name_of(path)}:{one.name}": len(public(one)) for path in SOURCES for one in classes_of(path)}
    assert {name: count for name, count in counts.items() if count > MOST_METHODS} == {}


def test_no_function_is_longer_than_its_budget() -> None:
    lengths = {
        f"{name_of(path)}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in SOURCES
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: length for name, length in lengths.items() if length > MOST_FUNCTION_LINES} == {}


def test_files_are_named_for_what_they_hold() -> None:
    names = {path.stem for path in SOURCES} | {path.parent.name for path in SOURCES}
    assert not names & VAGUE_NAMES


def test_every_module_says_why_it_exists() -> None:
    modules = {name_of(path): nodes_of(path)[0] for path in SOURCES}
    silent = [
        name for name, one in modules.items() if isinstance(one, ast.Module) and one.body and not ast.get_docstring(one)
    ]
    assert silent == []


def swallowing_catch_alls(path: Path) -> int:
    """Handlers of everything that do not raise again."""

    def names(node: ast.expr | None) -> set[str]:
        if node is None:
            return {"Exception"}
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return {part.id for part in parts if isinstance(part, ast.Name)}

    handlers = [node for node in nodes_of(path) if isinstance(node, ast.ExceptHandler)]
    return sum(
        bool(names(one.type) & {"Exception", "BaseException"}) and not isinstance(one.body[-1], ast.Raise)
        for one in handlers
    )


def test_everything_is_caught_only_by_engine_loop_turn_worker_and_dispatch() -> None:
    found = {name_of(path) for path in SOURCES if swallowing_catch_alls(path)}
    assert found >= CATCH_ALLS
    others = found - CATCH_ALLS
    assert len(others) <= 1, others
    assert all(name.startswith("ui/") for name in others), others


@pytest.mark.parametrize("folder", ["mtpchat", "docs", "scripts", "themes", ".ci", "tests", "benchmarks"])
def test_no_text_holds_loose_ends_or_paths_of_one_machine(folder: str) -> None:
    loose = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b|(?<![\w.~])/(?:work|root|home/[a-z]+)/")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".md", ".toml", ".sh", ".tcss", ""} and path.is_file()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if loose.search(line)
    ]
    assert found == []
