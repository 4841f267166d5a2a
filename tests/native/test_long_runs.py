"""A file with a very long line ends no process, whatever splits the text for its vocabulary."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.backend.llama.long_runs import LONGEST_MARK, RUNS, pieces
from tests.models import TinyModel
from tests.native.contexts import load

REPEATED = st.tuples(
    st.sampled_from(["x", " ", "\n", "=", "7", "水", "a\u0301", "<|im_end|>", ".", "the "]), st.integers(1, 9000)
)
TEXTS = st.lists(REPEATED, max_size=4).map(lambda runs: "".join(sign * count for sign, count in runs))

CONTROL = re.compile(re.escape("<|im_end|>"))


def cut(text: str) -> list[str]:
    return list(pieces(text, lambda: CONTROL))


_ENCODE = """
import sys
from tests.native.contexts import load
from pathlib import Path
vocabulary = load(Path(sys.argv[1])).vocab
for sign in ("x", " ", "=", "7", "<|im_end|>"):
    tokens = vocabulary.encode(sign * 60_000)
    assert b"".join(vocabulary.piece(token, special=True) for token in tokens).decode() == sign * 60_000
"""


@given(TEXTS)
def test_pieces_are_the_text_and_none_has_a_run_that_is_too_long(text: str) -> None:
    found = cut(text)
    assert "".join(found) == text
    for piece in found:
        for kind, longest in RUNS:
            assert max((len(run[0]) for run in kind.finditer(piece)), default=0) <= longest + 3 * LONGEST_MARK


@given(TEXTS)
def test_cuts_lie_inside_runs_and_never_near_their_ends(text: str) -> None:
    place = 0
    for piece in cut(text)[:-1]:
        place += len(piece)
        runs = (run for kind, _longest in RUNS for run in kind.finditer(text))
        assert any(run.start() + LONGEST_MARK < place < run.end() - LONGEST_MARK for run in runs)
    assert sum(len(CONTROL.findall(piece)) for piece in cut(text)) == len(CONTROL.findall(text))


@given(TEXTS, TEXTS)
def test_a_text_that_grows_keeps_its_cuts(text: str, more: str) -> None:
    settled = cut(text)[:-1]
    assert cut(text + more)[: len(settled)] == settled


def test_words_are_cut_before_a_space() -> None:
    found = cut("word after word " * 3_000)
    assert len(found) > 1
    assert all(piece.startswith(" ") and not piece[1].isspace() for piece in found[1:])


def test_ordinary_text_is_one_piece() -> None:
    text = "Rivers bend. " * 10_000
    assert cut(text) == [text]


def test_what_is_cut_is_spelled_with_the_same_letters(dense_model: TinyModel) -> None:
    model = load(dense_model.path)
    try:
        for before in range(3985, 4005):  # so that a cut would fall into the control token
            text = f"{'=' * before}<|im_end|>{'=' * 5000}<|im_end|>{' ' * 5000}this"
            tokens = model.vocab.encode(text, special=True)
            assert b"".join(model.vocab.piece(token, special=True) for token in tokens).decode() == text
            assert sum(1 for token in tokens if model.vocab.piece(token, special=True) == b"<|im_end|>") == 2
    finally:
        model.close()


@pytest.fixture
def split_by_regex(dense_model: TinyModel, tmp_path: Path) -> Path:
    """The model with a vocabulary that llama.cpp splits texts for with std::regex."""
    path = tmp_path / "bloom.gguf"
    path.write_bytes(dense_model.path.read_bytes().replace(b"gpt-2", b"bloom"))
    return path


def test_sixty_thousand_signs_in_a_row_end_no_process(split_by_regex: Path) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", _ENCODE, str(split_by_regex)],
        cwd=root,
        env={"PYTHONPATH": str(root), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
