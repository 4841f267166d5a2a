"""The bytes of a file as text, whatever their encoding; bytes that are no text are told by what they are."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

_SAMPLE = 64 << 10
_ODD_SHARE = 0.02
"""Share of control characters from which on bytes are no text in any encoding of one byte per letter."""
_USUAL_CONTROLS = frozenset(b"\t\n\r\f\x08\x1b")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_KINDS = (
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"BM", "a picture"),
    (b"RIFF", "a picture, sound or film"),
    (b"ID3", "a sound"),
    (b"OggS", "a sound or film"),
    (b"GGUF", "a model"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\x00asm", "a program"),
    (b"PK\x03\x04", "an archive or an office document"),
    (b"\xd0\xcf\x11\xe0", "an office document"),
    (b"\x1f\x8b", "a compressed file"),
    (b"BZh", "a compressed file"),
    (b"\xfd7zXZ", "a compressed file"),
    (b"\x28\xb5\x2f\xfd", "a compressed file"),
    (b"7z\xbc\xaf", "an archive"),
    (b"SQLite format 3\x00", "a database"),
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text with `\\n` as its only line end. `note` says what was not plain UTF-8, or is ""."""

    text: str
    note: str = ""


class NotText(Exception):
    """The bytes are no text. `what` says what they are: "a picture"."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def decode(data: bytes) -> Decoded:
    """The text of `data`. Raises NotText."""
    decoded = _decode(data)
    return Decoded(decoded.text.replace("\r\n", "\n").replace("\r", "\n"), decoded.note)


def _decode(data: bytes) -> Decoded:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _marked(data, encoding)
    if b"\x00" in data:
        raise NotText(_kind(data) or "binary")
    try:
        return Decoded(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _guessed(data)


def _marked(data: bytes, encoding: str) -> Decoded:
    note = "" if encoding == "utf-8-sig" else f"read as {encoding.upper()}"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
        note = f"parts are not {encoding.removesuffix('-sig').upper()}"
    if "\x00" in text:
        raise NotText(_kind(data) or "binary")
    return Decoded(text, note)


def _guessed(data: bytes) -> Decoded:
    """Bytes that are not UTF-8 throughout."""
    kind = _kind(data)
    if kind or _odd_share(data[:_SAMPLE]) > _ODD_SHARE:
        raise NotText(kind or "binary")
    text = data.decode("utf-8", "replace")
    lost = text.count("\ufffd") - data.count("\ufffd".encode())
    if sum(1 for char in text if char > "\x7f") - lost > 4 * lost:
        return Decoded(text, f"{lost:,} byte{'s are' if lost > 1 else ' is'} not UTF-8")
    encoding = _likely_encoding(data[:_SAMPLE])
    try:
        return Decoded(_without_halves(data.decode(encoding, "replace")), f"read as {encoding}")
    except LookupError as error:
        raise NotText("binary") from error


def _likely_encoding(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(sample, explain=False).best()
    if best is None:
        raise NotText("binary")
    return best.encoding.replace("_", "-")


def _without_halves(text: str) -> str:
    """Half of a surrogate pair, which some encodings let pass, can be written nowhere."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _kind(data: bytes) -> str:
    return next((kind for magic, kind in _KINDS if data.startswith(magic)), "")


def _odd_share(sample: bytes) -> float:
    odd = sum(1 for byte in sample if byte < 32 and byte not in _USUAL_CONTROLS)
    return odd / max(len(sample), 1)
