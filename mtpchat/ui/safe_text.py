"""Makes text from models, files and users harmless before it is painted.

A terminal obeys escape bytes wherever they come from. Here they become pictures of themselves: an ESC is shown as ␛.
"""

from __future__ import annotations

import re

_C0 = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
_C1 = {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
# Overrides of the writing direction can make a text read as something that it is not.
_DIRECTION = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_LINE_ENDS = {0x2028: "\n", 0x2029: "\n"}
_TABLE = {**_C0, 0x7F: "␡", **_C1, **_DIRECTION, **_LINE_ENDS}
# Half of a surrogate pair cannot be encoded: writing it would end the program.
_SURROGATE = re.compile("[\ud800-\udfff]")
_SUSPICIOUS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def safe_text(text: str) -> str:
    """`text` with control characters shown as signs; line ends and tabs stay."""
    if not _SUSPICIOUS.search(text):
        return text
    return _SURROGATE.sub("\ufffd", text.replace("\r\n", "\n")).translate(_TABLE)


def safe_line(text: str) -> str:
    """`safe_text` on one line: every run of white space becomes one space."""
    return " ".join(safe_text(text).split())
