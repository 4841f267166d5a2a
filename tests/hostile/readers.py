"""Everything that reads a file which people, other programs or an earlier run may have written, as one list."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mtpchat.attachments.reading import read_file
from mtpchat.attachments.walk import walk
from mtpchat.chats import Circumstances, Grown, Said, TurnBegun, TurnEnded
from mtpchat.config_edit import save_value
from mtpchat.config_file import load
from mtpchat.config_text import render_default
from mtpchat.engine.template import CHATML, CompiledTemplate
from mtpchat.exchange.intake import findings
from mtpchat.presets.personas import read_personas, sampling_values
from mtpchat.presets.templates import read_templates
from mtpchat.shelf.last_use import LastUse
from mtpchat.speculate.calibration import Calibration
from mtpchat.speculate.costs import Costs
from mtpchat.speculate.learned import Lessons, Setup
from mtpchat.state_record import StateRecord
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.states import StateFolder
from mtpchat.structured.forms import schema_form
from mtpchat.ui.drafts import Drafts
from mtpchat.ui.history import History
from mtpchat.ui.themes import load_themes
from tests.attachments.pdfs import pdf
from tests.exchange.test_any_bytes import GOOD

Read = Callable[[Path], object]


class Reader(NamedTuple):
    """A kind of file.

    Attributes:
        place: where it lies in the folder that `read` is given.
        good: sound ones.
        read: the way of the program; may raise MtpChatError alone.
    """

    name: str
    place: str
    good: tuple[bytes, ...]
    read: Read


def _personas(folder: Path) -> None:
    shelf = read_personas(folder)
    for one in shelf.found.values():
        sampling_values(one)
    assert all(error.message for error in shelf.failures)


def _templates(folder: Path) -> None:
    shelf = read_templates(folder)
    _ = [one.fields for one in shelf.found.values()]
    assert all(error.message for error in shelf.failures)


def _themes(folder: Path) -> None:
    assert all(error.message for error in load_themes(folder).failures)


def _settings(folder: Path) -> None:
    loaded = load(folder / "config.toml")
    if loaded.banner is not None:
        raise loaded.banner


def _setting_changed(folder: Path) -> None:
    save_value(folder / "config.toml", "sampling.temperature", "0.5")


def _ignored(folder: Path) -> None:
    (folder / "below").mkdir(exist_ok=True)
    (folder / ".git").mkdir(exist_ok=True)
    for name in ("one.py", "two.txt", "below/three.md", "a" * 200):
        (folder / name).touch()
    walk(folder)
    walk(folder / "below")


def _schema(folder: Path) -> None:
    schema_form(str(folder / "schema.json"))


def _chats(folder: Path) -> None:
    for _ in findings((folder / "export").read_bytes(), 1_700_000_000.0):
        pass


def _attached(folder: Path) -> None:
    read_file(folder / "file.pdf", "file.pdf", 5)


def _draft(folder: Path) -> None:
    Drafts(folder).read("new")


def _history(folder: Path) -> None:
    _ = History(folder / "history", 100).entries


def _rescued(folder: Path) -> None:
    (folder / "chats.db").unlink(missing_ok=True)
    store = ChatStore(folder / "chats.db")
    asyncio.run(store.recent(1))
    assert store.close() == ""


def _states(folder: Path) -> None:
    states = StateFolder(folder, 1 << 30)
    states.records("k" * 32)
    states.read("one.state")


def _lessons(folder: Path) -> None:
    costs, calibration = Costs(lambda: 0.0), Calibration(frozenset({"ngram"}))
    Lessons(folder / "speculation.json").recall(_SETUP, costs, calibration)
    assert all(0 < costs.verify_s(width) < 1e6 for width in range(1, 66))
    assert all(0 <= rate <= 1 for seen in calibration.sources().values() for rate in seen.rates())


def _used(folder: Path) -> None:
    LastUse(folder / "models.json").all()


def _jinja(folder: Path) -> None:
    source = (folder / "chat.jinja").read_bytes().decode("utf-8", "replace")
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    CompiledTemplate(source).render({"messages": said, "add_generation_prompt": True, "bos_token": "<s>"})


def _state() -> bytes:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as name:
        folder = StateFolder(Path(name), 1 << 30)
        record = StateRecord("k" * 32, "chat", np.arange(50, dtype=np.int32).tobytes())
        folder.write(record, [np.arange(size, dtype=np.uint8) for size in (200, 20, 0)])
        return next(Path(name).glob("*.state")).read_bytes()


def _learnt() -> bytes:
    from tempfile import TemporaryDirectory

    costs, calibration = Costs(lambda: 0.0), Calibration(frozenset({"ngram"}))
    for width in (1, 1, 1, 2, 4):
        costs.observe(width, 0.01 * width)
    costs.observe_guesses("mtp", 2, 0.002)
    for kind in ("mtp", "ngram"):
        calibration.of(kind).observe(1, 0.9, hit=True)
    with TemporaryDirectory() as name:
        lessons = Lessons(Path(name, "speculation.json"), lambda: 1.0)
        lessons.note(_SETUP, 10, costs, calibration)
        lessons.save()
        return Path(name, "speculation.json").read_bytes()


def _unsaved() -> bytes:
    import msgspec

    asked = Said("q", "", "user", "Why?")
    begun = TurnBegun("chat00000001", "Why", (asked,), "a", "t", 1.0, Circumstances())
    ended = TurnEnded(begun, Said("a", "q", "assistant", "Because."), "a", "stop", 2.0)
    return b"".join(msgspec.json.encode(one) + b"\n" for one in (begun, Grown("a", "answer", "Be"), ended))


_PERSONA = b'description = "calm"\nsystem = """\nYou are calm.\n"""\nthinking = "off"\n[sampling]\ntemperature = 0.4\n'
_TEMPLATE = b'name = "fix"\ndescription = "x"\ntext = """\nFix {input} in {language}:\n"""\nsystem = "You fix."\n'
_THEME = b'background = "#10161d"\naccent = "#7fb3d5"\nabout = "calm"\ndark = true\nuser = "#aabbcc"\n'
_IGNORE = b"# built\n*.pyc\n/build/\n!keep.me\n**/node_modules/**\nfoo[a-z]?.txt\n\\#literal\ntrailing\\ \n"
_SCHEMA = json.dumps(
    {
        "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}, "required": []}},
        "type": "object",
        "properties": {
            "a": {"type": "integer", "minimum": -5, "maximum": 999},
            "b": {"type": "array", "items": {"enum": ["x", 1, None]}, "minItems": 1, "maxItems": 9},
            "c": {"type": "string", "pattern": "^[a-z]{2,5}(-[0-9]+)?$"},
            "d": {"anyOf": [{"type": "string", "format": "date"}, {"$ref": "#/$defs/n"}]},
            "e": {"enum": ["u", "v", 2], "minLength": 1, "uniqueItems": True},
        },
        "patternProperties": {"^x-[0-9]{1,3}$": {"multipleOf": 0.25, "type": "number"}},
        "allOf": [
            {"not": {"properties": {"a": {"const": 3}}}},
            {"if": {"required": ["b"]}, "then": {"required": ["c"]}},
        ],
        "required": ["a"],
        "additionalProperties": False,
    },
    indent=1,
).encode()
_DRAFT = json.dumps({"text": "hel\nlo", "folds": [[0, 3]], "waiting": [{"text": "x", "folds": []}]}).encode()
_SETUP = Setup("model", "drafter", 2, 0)

READERS = (
    Reader("persona", "personas/mine.toml", (_PERSONA,), _personas),
    Reader("template", "prompts/mine.toml", (_TEMPLATE,), _templates),
    Reader("theme", "mine.toml", (_THEME,), _themes),
    Reader("settings", "config.toml", (render_default().encode(), b"[sampling]\ntemperature = 1.0\n"), _settings),
    Reader("setting", "config.toml", (b"[sampling]\ntemperature = 1.0\n[ui]\ntheme='x'\n",), _setting_changed),
    Reader("gitignore", ".gitignore", (_IGNORE,), _ignored),
    Reader("schema", "schema.json", (_SCHEMA,), _schema),
    Reader("export", "export", tuple(one.encode() for one in GOOD), _chats),
    Reader("attachment", "file.pdf", (pdf("One page", "and another"), b"plain text\n"), _attached),
    Reader("draft", "new.json", (_DRAFT,), _draft),
    Reader("history", "history", (b'"one"\n{"text": "two", "folds": [[0, 1]]}\n',), _history),
    Reader("unsaved", "chats.db.unsaved-20260101-000000-123456.jsonl", (_unsaved(),), _rescued),
    Reader("state", "one.state", (_state(),), _states),
    Reader("lessons", "speculation.json", (_learnt(),), _lessons),
    Reader("use", "models.json", (b'{"/a/model.gguf": 1700000000.0}',), _used),
    Reader("jinja", "chat.jinja", (CHATML.encode(), b"{% for m in messages %}{{ m.content * 3 }}{% endfor %}"), _jinja),
)
