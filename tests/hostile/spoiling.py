"""Damage as it befalls files that people write, and as an enemy would do it; the same for the same number."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_SIGNS = (
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1b[2J", b"\xe2\x80\xae", b"\r", b"\n", b'"', b"'",
    b'"""', b"[", b"]", b"{", b"}", b"(", b")", b"*", b"**", b"/", b"\\", b"!", b"#", b"::=", b"|", b"=",
    b",", b":", b"%", b"{{", b"}}",
)  # fmt: skip
_WORDS = (
    b"-1", b"0", b"1e999", b"NaN", b"-Infinity", b"9" * 400, b"0x" + b"f" * 4000, b"true", b"null", b'""', b"[]", b"{}",
    b"[[]]", b"1979-05-27T07:32:00Z", b'"\\ud800"', b'"\\u0000\\u001b[2J"', b'"' + b"x" * 70_000 + b'"',
    b"{a = {b = 1}}",
    b'{"$ref": "#"}', b'{"type": ["null", "object"]}', b'{"pattern": "(a*)*$"}', b"root ::= root", b"a*" * 400,
    b"/" * 3000, b"9999999", b"99999999999999999999", b"{0,99999}", b"{1000}",
)  # fmt: skip
_PIECES = re.compile(rb"[A-Za-z_]+|\d+|\s+|[^\w\s]")

MOST_BYTES = 4 << 20
"""No way of spoiling makes a file larger."""

Spoil = Callable[[random.Random, bytes], bytes]


def spoiled(good: bytes, number: int) -> bytes:
    """A damaged version of a file."""
    chance = random.Random(number)
    data = good
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        data = chance.choice(_WAYS)(chance, data)[:MOST_BYTES]
    return data


def _change_piece(chance: random.Random, data: bytes) -> bytes:
    pieces = _PIECES.findall(data) or [b""]
    at = chance.randrange(len(pieces))
    pieces[at] = chance.choice((*_WORDS, *_SIGNS, pieces[chance.randrange(len(pieces))]))
    return b"".join(pieces)


def _drop_piece(chance: random.Random, data: bytes) -> bytes:
    pieces = _PIECES.findall(data) or [b""]
    begin = chance.randrange(len(pieces))
    del pieces[begin : begin + chance.choice((1, 1, 3, 20))]
    return b"".join(pieces)


def _repeat_piece(chance: random.Random, data: bytes) -> bytes:
    pieces = _PIECES.findall(data) or [b""]
    at = chance.randrange(len(pieces))
    some = b"".join(pieces[at : at + (count := chance.choice((1, 2, 6, 30)))])
    times = min(chance.choice((2, 2, 40, 3_000)), 1 + MOST_BYTES // max(1, len(some)))
    return b"".join((*pieces[:at], some * times, *pieces[at + count :]))


def _insert(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice((*_SIGNS, *_WORDS, chance.randbytes(30))) + data[at:]


def _flip(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data or b"x")
    for _ in range(chance.choice((1, 1, 4, 30))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _nest(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    opened, closed = chance.choice(((b"[", b"]"), (b"{", b"}"), (b"(", b")"), (b'{"a":', b"}"), (b'{"not":', b"}")))
    depth = chance.choice((40, 900, 30_000, 300_000))
    return data[:at] + opened * depth + chance.choice((b"", b"1")) + closed * chance.choice((0, depth)) + data[at:]


def _double(chance: random.Random, data: bytes) -> bytes:
    return data + chance.choice((b"", b"\n", b",")) + data


def _recode(chance: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(chance.choice(("utf-16", "utf-32", "utf-8-sig", "latin-1")), "replace")


def _replace_all(chance: random.Random, _data: bytes) -> bytes:
    return chance.choice((b"", chance.randbytes(3000), b"\x00" * 5000, b"a." * 100_000, b"\xff\xfe", b"\n" * 100_000))


_WAYS: tuple[Spoil, ...] = (
    _change_piece, _change_piece, _change_piece, _drop_piece, _repeat_piece, _insert, _insert, _flip, _flip,
    _cut, _nest,
    _double, _recode, _replace_all,
)  # fmt: skip
