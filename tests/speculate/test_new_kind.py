"""One more kind of drafter is one more file: that of docs/speculation.md is put into the package, and runs."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import mtpchat.speculate as package
from mtpchat.commands.speculation import kinds
from mtpchat.events import SpeculationControl
from mtpchat.speculate.base import strategies
from tests.models import TinyModel
from tests.native.talk import OFF, pinned, talk
from tests.speculate.test_kinds import makers, play

PAGE = Path(__file__).parents[2] / "docs" / "speculation.md"
NEW_KIND = re.search(r'```python\n("""Guessing that.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL)


@contextmanager
def one_file_more(folder: Path) -> Iterator[str]:
    """The kind that docs/speculation.md shows, as a file of the package; its name."""
    assert NEW_KIND is not None
    (folder / "echo_of_the_docs.py").write_text(NEW_KIND[1])
    package.__path__.append(str(folder))
    strategies.cache_clear()
    importlib.invalidate_caches()
    try:
        yield "echo"
    finally:
        package.__path__.remove(str(folder))
        strategies.cache_clear()
        sys.modules.pop("mtpchat.speculate.echo_of_the_docs", None)


@pytest.fixture
def echo(tmp_path: Path) -> Iterator[str]:
    with one_file_more(tmp_path) as name:
        yield name
    assert name not in strategies()


def test_a_kind_of_one_file_is_found_and_offered(echo: str) -> None:
    assert kinds()[echo] == "says the last sentence once more"


def test_a_kind_of_one_file_keeps_the_laws(echo: str) -> None:
    make = makers()[echo]
    turns = [(0, [1, 2, 3, 9, 1, 2, 3, 9], 12), (6, [4, 9], 12), (30, [2], 9)]
    for control in (SpeculationControl(mode="on"), SpeculationControl(mode="auto")):
        play(make, turns, [control])
    draft = make(None).propose([7, 9, 1, 2, 9], lambda made: len(made) < 4)
    assert draft.tokens == (1, 2, 9)


def test_a_kind_of_one_file_runs_on_a_real_model(echo: str, dense_model: TinyModel) -> None:
    with talk(dense_model.path, kind="none") as chat:
        assert echo in chat.facts.available
        text, _ = chat.say("again and again and again", OFF)
        same, stats = chat.say("again and again and again", pinned(3, echo))
        assert same == text
        assert stats.kind == echo
        assert stats.drafted > 0


def test_the_guide_to_the_package_names_every_file() -> None:
    guide = package.__doc__ or ""
    here = Path(str(package.__file__)).parent
    assert [one.stem for one in here.glob("*.py") if not re.search(rf"\b{one.stem}\b", guide)] == ["__init__"]
