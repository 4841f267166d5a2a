"""JSON Schema's own test suite, held against the grammars that are made of its schemas.

    python -m benchmarks.schema_suite FOLDER

FOLDER is tests/draft2020-12 of https://github.com/json-schema-org/JSON-Schema-Test-Suite. Told is how many schemas are
kept; of these, how many values that the suite calls valid may be said in the one layout that answers have; and each
value that it calls invalid and that may be said all the same, of which there must be none.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.bounded import bounded
from mtpchat.backend.llama.grammar import GrammarMaker
from mtpchat.errors import GrammarError
from mtpchat.structured.json_schema import grammar_of
from mtpchat.structured.texts import json_text
from tests.models.vocabularies import write_byte_pairs
from tests.native.vocabularies import opened

_UNSAID, _WRONG = "valid values that are written or laid out in another way", "invalid values that may be said"


def judge(make: GrammarMaker, case: dict[str, Any]) -> Iterator[str]:
    """What becomes of a schema and its values."""
    try:
        grammar = grammar_of(case["schema"])
    except GrammarError:
        yield "schemas refused"
        return
    yield "schemas kept"
    for test in case["tests"]:
        if test["valid"]:
            yield "valid values that may be said" if may_say(make, grammar, test["data"]) else _UNSAID
        elif may_say(make, grammar, test["data"]):
            print(f"  {case['description']}: {test['description']}: {json.dumps(test['data'])[:100]}")
            yield _WRONG


def may_say(make: GrammarMaker, text: str, value: object) -> bool:
    """Whether a grammar allows a value from beginning to end."""
    grammar = make(text)
    try:
        grammar.feed(json_text(value))
        return grammar.complete
    except GrammarError:
        return False
    finally:
        grammar.close()


def main() -> None:
    """Run and tell."""
    found = Counter({_WRONG: 0})
    with tempfile.TemporaryDirectory() as name, opened(write_byte_pairs(Path(name) / "v.gguf", "gpt-2")) as vocabulary:
        make = GrammarMaker(vocabulary)
        for path in sorted(Path(sys.argv[1]).rglob("*.json")):
            for case in json.loads(path.read_text()):
                found.update(judge(make, case))
    for what, count in found.items():
        print(f"{count:6,}  {what}")


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=60))
