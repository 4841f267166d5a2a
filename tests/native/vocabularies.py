"""A vocabulary of a file without weights, loaded; and, run with `python -m`, a child that does things with one.

    python -m tests.native.vocabularies texts|"exact texts"|"texts but for spaces"|runs|grammars FILE ...

A vocabulary that does not fit ends the process inside llama.cpp, which must not be the one that runs the tests.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from mtpchat.backend.llama.grammar import LlamaGrammar
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.model import LlamaVocabulary
from mtpchat.backend.llama.token_table import TokenTable
from tests.structured.walk import walk

TEXTS = (
    "", " ", "  ", "\n", "a", " a", "the river is deep", '{"name": "the", "deep": true}', "水 été", "e\u0301",
    "\U0001f600",
    "\ud83d", "\0", "a\0b", "\x7f\x1b[31m", "<|im_end|>", "<s></s><unk><tool>", "\u202e\ufeff", "\r\n\t",
    "\u0378\U0010ffff",
    "123,456", "'ll don't", "\u00a0\u2003", "▁", "▁▁the", "<0x41>", "\\x41",
)  # fmt: skip
SIGNS = ("x", " ", "\n", ".", "=", "水", "\U0001f600", "e\u0301", "\t", "Aa", "1,", "\u0e01", "'")
RUNS = {**dict.fromkeys(SIGNS, 30_000), "7": 100_000, "a b ": 200_000, "the river ": 200_000}
"""Signs, and how many letters of them are given at once."""
_LONGEST_S = 5.0
"""Processor time of a run of one sign, on a machine that has a bad day."""
_GRAMMAR = r"""
root ::= "{\"name\": " text ", \"deep\": " ("true" | "false") "}"
text ::= "\"" [^"\\\x00-\x1F]{0,12} "\""
"""


@contextmanager
def opened(path: Path) -> Iterator[LlamaVocabulary]:
    """The vocabulary of a file, without its weights."""
    import llama_cpp.llama_cpp as lib

    LlamaLog(None).install()
    params = lib.llama_model_default_params()
    params.vocab_only = True
    handle = lib.llama_model_load_from_file(str(path).encode(), params)
    assert handle, path
    try:
        yield LlamaVocabulary(lib, lib.llama_model_get_vocab(handle))
    finally:
        lib.llama_model_free(handle)


def in_child(what: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    """Do something with vocabularies in a process of its own."""
    root = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-m", "tests.native.vocabularies", what, *map(str, paths)],
        cwd=root, env={"PYTHONPATH": str(root), "PATH": ""}, capture_output=True, text=True, timeout=55, check=False,
    )  # fmt: skip


def told(vocabulary: LlamaVocabulary, text: str, *, special: bool) -> str:
    """A text in tokens and back."""
    tokens = vocabulary.encode(text, special=special)
    assert all(0 <= token < vocabulary.n_vocab for token in tokens), (text[:40], tokens[:40])
    return b"".join(vocabulary.piece(token, special=True) for token in tokens).decode("utf-8", "replace")


def _texts(vocabulary: LlamaVocabulary, *, but: str | None) -> None:
    """Texts come back as they were, but for some signs; None: they only have to be read."""
    dice = random.Random(7)
    many = ["".join(dice.choice(TEXTS) for _ in range(dice.randint(1, 9))) for _ in range(300)]
    letters = [
        "".join(chr(dice.choice((dice.randint(0, 0x10FFFF), dice.randint(0, 0x250)))) for _ in range(12))
        for _ in range(300)
    ]
    for text in (*TEXTS, *many, *letters):
        for special in (True, False):
            back = told(vocabulary, text, special=special)
            said = text.encode("utf-8", "replace").decode()
            assert but is None or _without(back, but) == _without(said, but), (text, back)
        assert len(vocabulary.encode(text, add_bos=True)) >= len(vocabulary.encode(text))
    for token in range(vocabulary.n_vocab):
        assert vocabulary.piece(token) in (b"", vocabulary.piece(token, special=True))


def _without(text: str, signs: str) -> str:
    return "".join(sign for sign in text if sign not in signs)


def _runs(vocabulary: LlamaVocabulary) -> None:
    for sign, length in RUNS.items():
        text = sign * (length // len(sign))
        began = time.thread_time()
        print(f"{sign!r} ...", end="", file=sys.stderr, flush=True)
        tokens = vocabulary.encode(text)
        took = time.thread_time() - began
        print(f" {took:.2f} s, {len(tokens)} tokens", file=sys.stderr, flush=True)
        assert took < _LONGEST_S


def _grammars(vocabulary: LlamaVocabulary) -> None:
    table = TokenTable(vocabulary)
    row = np.zeros(vocabulary.n_vocab, np.float32)
    for seed in range(6):
        grammar = LlamaGrammar(vocabulary, table, _GRAMMAR)
        text = walk(grammar, vocabulary, seed)
        grammar.close()
        assert text is not None
        assert json.loads(text)["deep"] in (True, False)
    grammar = LlamaGrammar(vocabulary, table, 'root ::= [^a-z]* "水"\n')
    for _ in range(20):
        every = np.arange(vocabulary.n_vocab)
        allowed = grammar.likeliest(row, 0)
        assert allowed.tolist() == every[grammar.allowed(every)].tolist()
        texts = [token for token in allowed.tolist() if token not in vocabulary.eog]
        grammar.accept(texts[len(texts) // 3])
    grammar.close()


def main(what: str, *paths: str) -> None:
    """The child."""
    for path in paths:
        print(path, file=sys.stderr, flush=True)
        with opened(Path(path)) as vocabulary:
            match what:
                case "texts":
                    _texts(vocabulary, but=None)
                case "exact texts":
                    _texts(vocabulary, but="")
                case "texts but for spaces":
                    _texts(vocabulary, but=" ▁")
                case "runs":
                    _runs(vocabulary)
                case "grammars":
                    _grammars(vocabulary)
                case _:
                    raise AssertionError(what)


if __name__ == "__main__":
    main(*sys.argv[1:])
