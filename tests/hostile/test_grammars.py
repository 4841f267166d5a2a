"""Grammars that nobody means well: judged soon, whatever is left open in them."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from mtpchat.backend.llama.grammar_check import require_grammar
from mtpchat.errors import GrammarError

LONG = 100_000


@pytest.mark.parametrize("sign", ["[", '"', "{", "(", "{1", "<", "\\", '["', '"\\', "!", "root ::= root ", "#", "\n"])
def test_a_file_full_of_one_sign_is_judged_soon(sign: str) -> None:
    began = time.thread_time()
    with suppress(GrammarError):  # two quotes are an empty literal, and so on
        require_grammar("root ::= " + sign * (LONG // len(sign)))
    assert time.thread_time() - began < 5
