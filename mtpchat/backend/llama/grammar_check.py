"""Whether llama.cpp can take a grammar, and where it is wrong if not; see grammar_child.py for why a child is asked."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from mtpchat.backend.llama import grammar_child
from mtpchat.errors import GrammarError
from mtpchat.structured.gbnf import MOST_REPEATED

_LONGEST_S = 20.0
_MOST_DIGITS = 9
_SIGNS = re.compile(
    r'"(?:\\.|[^"\\])*(?:"|\\?\Z)|\[(?:\\.|[^\]\\])*(?:\]|\\?\Z)|#[^\n]*|([<!])|\{([\d, \t]*)\}', re.DOTALL
)
"""Literals, ranges and comments, up to the end where one is not closed: looking for the end of each bracket anew would
take minutes. Outside of them, what names a token, and how often something is repeated."""
_UNDEFINED = re.compile(r"Undefined rule identifier '(.*)'")


def require_grammar(text: str) -> None:
    """Raise GrammarError, with the line, for a grammar that llama.cpp would refuse, die of or hang at.

    Texts that passed are remembered.
    """
    if "\0" in text:
        raise GrammarError("The grammar has a null byte in it.", hint="Save it as plain text.")
    if len(text.encode("utf-8", "surrogatepass")) > grammar_child.MOST_BYTES:
        raise GrammarError(f"The grammar is longer than {grammar_child.MOST_BYTES >> 10} KB.", hint="Make it smaller.")
    for found in _SIGNS.finditer(text):
        token, times = found.groups()
        place = f"line {text.count(chr(10), 0, found.start()) + 1}"
        if token:
            raise GrammarError(
                f"The grammar names a token in {place} ({token}); only text can be asked for.",
                key=place,
                hint="Tokens belong to one model: spell out the text instead.",
            )
        # llama.cpp takes more for "without end", and does not say so.
        if any(len(number) > _MOST_DIGITS or int(number) > MOST_REPEATED for number in re.findall(r"\d+", times or "")):
            raise GrammarError(
                f"Something is repeated more than {MOST_REPEATED:,} times in {place} of the grammar.",
                key=place,
                hint="Write {n,} for without end.",
            )
    trouble = _trouble(text)
    if trouble:
        raise trouble


@lru_cache(maxsize=32)
def _trouble(text: str) -> GrammarError | None:
    raw = text.encode("utf-8", "replace")
    command = [sys.executable, "-I", grammar_child.__file__, str(_library())]
    try:
        done = subprocess.run(command, input=raw, capture_output=True, timeout=_LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        return _too_much()
    except OSError as error:
        raise GrammarError(f"The grammar cannot be tried: {error.strerror or error}.") from error
    if done.returncode == 0:
        return None
    if done.returncode < 0:
        return _too_much()
    return _explained(done.stderr.decode("utf-8", "replace"), text)


def _library() -> Path:
    """libllama, without importing the package that it comes with."""
    found = importlib.util.find_spec("llama_cpp")
    folder = Path(found.submodule_search_locations[0]) / "lib" if found and found.submodule_search_locations else Path()
    names = ("libllama.so", "libllama.dylib", "llama.dll")
    return next((folder / name for name in names if (folder / name).exists()), folder / names[0])


def _too_much() -> GrammarError:
    return GrammarError(
        "The grammar is too deep or too tangled: llama.cpp was not done with it, or died of it.",
        hint="Nest less, and do not let things that may be empty follow or repeat one another.",
    )


def _explained(said: str, text: str) -> GrammarError:
    """What llama.cpp wrote, with the line: it quotes the rest of the grammar from where it stumbled."""
    _, found, rest = said.partition("error parsing grammar: ")
    if not found:
        if "left recursion" in said:
            return GrammarError(
                "A rule of the grammar begins with itself (left recursion).",
                hint="Write a ::= b (c)* instead of a ::= a c | b.",
            )
        if "does not contain" in said:
            return GrammarError('The grammar has no rule "root".', hint="root ::= ... is where an answer begins.")
        last = next((line for line in reversed(said.splitlines()) if line.strip()), "no reason was given")
        return GrammarError(f"The grammar cannot be used: {last[:200]}.")
    what = rest.partition("\n\n" + text)[0]
    reason, quoted, left = what.partition(" at ")
    line = _line_of(text, left) if quoted else 0
    undefined = _UNDEFINED.match(what)
    if undefined:
        at = re.search(rf"(?<![\w-]){re.escape(undefined.group(1))}(?![\w-])", text)
        line = text.count("\n", 0, at.start()) + 1 if at else 0
        reason = f'there is no rule "{undefined.group(1)}"'
    elif "sane defaults" in reason:
        reason = "something is repeated too often (2,000 times is the most)"
    elif "unexpected end of input" in reason:
        line = text.rstrip().count("\n") + 1
    here = f", line {line}: {text.splitlines()[line - 1].strip()[:80]}" if 0 < line <= len(text.splitlines()) else ""
    return GrammarError(f"The grammar is wrong{here or ''} ({reason}).", key=f"line {line}" if line else "")


def _line_of(text: str, left: str) -> int:
    """The line in which the rest of a text begins."""
    at = len(text) - len(left) if left and text.endswith(left) else len(text.rstrip())
    return text.count("\n", 0, at) + 1
