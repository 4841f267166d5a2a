"""Vocabularies of every kind are read, written and held to grammars; no text ends the process or takes long."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gguf import TokenType

from mtpchat.backend.llama.grammar import LlamaGrammar
from mtpchat.backend.llama.token_table import TokenTable
from mtpchat.errors import MisuseRefused, ModelUnsupported
from tests.models.vocabularies import KINDS, Token, write_byte_pairs, write_vocabulary
from tests.native.vocabularies import in_child, opened

SPLITTERS = ("gpt-2", "llama-bpe", "bloom", "deepseek-llm", "gpt-4o", "exaone-moe", "superbpe", "tiny_aya", "falcon")
"""Each splits texts by expressions of another shape."""
ODD = (
    Token(""),
    Token("\u0120" * 10_000),
    Token("yes", TokenType.CONTROL),
    Token("no", TokenType.USER_DEFINED),
    Token("\u0100\u0101", TokenType.NORMAL),
    Token("never", TokenType.UNUSED),
    Token("\u00e6\u00b0", TokenType.NORMAL),
)
ODD_PIECES = (
    Token(""),
    Token("\u2581" * 5_000),
    Token("yes", TokenType.CONTROL),
    Token("no", TokenType.USER_DEFINED),
    Token("never", TokenType.UNUSED),
    Token("q\0r"),
)
"""Nothing, thousands of spaces, control tokens that look like words, null bytes, and part of a character."""

CANNOT_SAY = {"t5", "bert"}
"""Lack the signs of JSON, and models that could say them."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One file of each kind."""
    folder = tmp_path_factory.mktemp("vocabularies")
    found = {kind: write_vocabulary(folder / f"{kind}.gguf", kind, make()) for kind, make in KINDS.items()}
    found |= {name: write_byte_pairs(folder / f"{name}.gguf", name) for name in SPLITTERS}
    return found | {
        "odd": write_byte_pairs(folder / "odd.gguf", "gpt-2", ODD),
        "odd llama": write_vocabulary(folder / "odd-llama.gguf", "llama", [*KINDS["llama"](), *ODD_PIECES]),
        "bare bert": write_vocabulary(folder / "bare-bert.gguf", "bert", KINDS["bert"](), end=None),
        "odd rwkv": write_vocabulary(folder / "odd-rwkv.gguf", "rwkv", [*KINDS["rwkv"](), Token("\\x61" * 10_000)]),
    }


def test_texts_come_back_as_they_were(files: dict[str, Path]) -> None:
    # Llama's adds spaces, T5's has letters that it does not know, and PLaMo-2's leaves a mark of byte order out.
    for what, names in (
        ("exact texts", ("rwkv", "odd rwkv", "gpt-2", "odd", "bloom")),
        ("texts but for spaces", ("llama", "odd llama")),
        ("texts", ("t5", "plamo2", "bert", "bare bert")),
    ):
        done = in_child(what, *(files[name] for name in names))
        assert done.returncode == 0, done.stderr[-2000:]


def test_grammars_hold_over_every_vocabulary(files: dict[str, Path]) -> None:
    done = in_child(
        "grammars",
        *(files[kind] for kind in (*KINDS, "gpt-2", "odd", "odd llama", "odd rwkv") if kind not in CANNOT_SAY),
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("half", [0, 1])
def test_long_runs_end_no_process_and_take_seconds(files: dict[str, Path], half: int) -> None:
    names = [*KINDS, *SPLITTERS][half::2]
    done = in_child("runs", *(files[name] for name in names))
    assert done.returncode == 0, done.stderr[-2000:]


def test_what_a_vocabulary_has_no_token_for_is_left_out(tmp_path: Path) -> None:
    tokens = [token for token in KINDS["rwkv"]() if token.text != "\\x7a"]
    with opened(write_vocabulary(tmp_path / "rwkv.gguf", "rwkv", tokens)) as vocabulary:
        assert [vocabulary.piece(token) for token in vocabulary.encode("azb")] == [b"a", b"b"]


def test_a_vocabulary_in_which_looking_for_a_token_never_ends_is_refused(tmp_path: Path) -> None:
    tokens = [token for token in KINDS["rwkv"]() if token.text != "\\x74"]  # "the" begins with it
    path = write_vocabulary(tmp_path / "rwkv.gguf", "rwkv", tokens)
    with pytest.raises(ModelUnsupported, match="0x74"), opened(path):
        pass


def test_an_answer_ends_at_no_place_within_a_character(files: dict[str, Path]) -> None:
    with opened(files["gpt-2"]) as vocabulary:
        grammar = LlamaGrammar(vocabulary, TokenTable(vocabulary), 'root ::= "a" "水"?\n')
        first, *rest = vocabulary.encode("水")
        row = np.zeros(vocabulary.n_vocab, np.float32)
        grammar.accept(vocabulary.encode("a")[0])
        assert grammar.complete
        for token in rest:
            grammar.accept(first)
            assert not grammar.complete
            assert vocabulary.eog.isdisjoint(grammar.likeliest(row, 0).tolist())
            assert grammar.holds([min(vocabulary.eog)]) == 0
            first = token
        grammar.accept(first)
        assert grammar.complete
        grammar.close()


def test_an_answer_ends_with_whatever_token_ends_one(tmp_path: Path) -> None:
    tokens = [*KINDS["rwkv"](), Token("<|eom_id|>", TokenType.CONTROL)]
    with opened(write_vocabulary(tmp_path / "rwkv.gguf", "rwkv", tokens, end=None)) as vocabulary:
        assert vocabulary.eog == {len(tokens) - 1}
        grammar = LlamaGrammar(vocabulary, TokenTable(vocabulary), 'root ::= "a"\n')
        grammar.accept(vocabulary.encode("a")[0])
        assert grammar.forced() == len(tokens) - 1
        grammar.close()


def test_a_token_that_is_none_has_no_piece(files: dict[str, Path]) -> None:
    with opened(files["llama"]) as vocabulary:
        for token in (-1, vocabulary.n_vocab):
            with pytest.raises(MisuseRefused):
                vocabulary.piece(token)
