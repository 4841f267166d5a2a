"""The app on a fake engine in a real terminal, taken through everything hostile that it can be shown.

    python -m tests.e2e.hostile_app FOLDER

Whoever reads the terminal gets a mark in the stream after each stage, and in `FOLDER/stages.json` what the app itself
believes to be on the screen there.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from textual import events
from textual.pilot import Pilot

from mtpchat.config import Config, ModelConfig, PathsConfig, UiConfig
from mtpchat.events import Failed, Finished, LoadFinished, TextDelta
from mtpchat.messages import Message
from mtpchat.store.chat_store import ChatStore
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.chats_screen import ChatsScreen
from mtpchat.ui.model_picker import ModelPicker
from tests.models import dense
from tests.store.talk import Talk
from tests.ui.conftest import chat, seen, settled, until
from tests.ui.fake_session import FACTS, STATS, FakeSession, Step, says
from tests.ui.hostile import GALLERY

MARK = "\x1b]7777;stage {number}\x07"
NASTY = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u202etxt.exe\x9b5m\x00 [bold]x[/]"
"""One line of everything; as a name of a file, of a model, of a chat, of a persona and of a theme."""
FILE = NASTY.replace("\x00", "").replace("/", "\u2215")
"""What of it a name of a file can have."""

Stage = Callable[[Pilot[Any]], Awaitable[None]]


def gallery(every: int | None = None) -> dict[str, str]:
    """Hostile texts, or some of them."""
    step = every or int(os.environ.get("HOSTILE_EVERY", "1"))
    return dict(islice(GALLERY.items(), 0, None, step))


def session_in(folder: Path) -> FakeSession:
    """A session in which every name and every text is hostile."""
    turns: list[list[Step]] = [[*_pieces(text), _finished(text)] for text in gallery().values()]
    failed: list[Step] = [TextDelta(NASTY), Failed(NASTY, NASTY, Message("assistant", NASTY, complete=False), STATS)]
    theme = os.environ.get("HOSTILE_THEME", "harbour-night")
    config = Config(
        model=ModelConfig(path=f"/models/{FILE}.gguf"),
        paths=PathsConfig(models=str(folder / "models")),
        ui=UiConfig(theme=theme, reduced_motion=True),
    )
    facts = replace(FACTS, name=NASTY, path=f"/models/{FILE}.gguf", choice=NASTY, suggestion=NASTY, warnings=(NASTY,))
    session = FakeSession([*turns, failed, says("After all of it.")], load=[LoadFinished(facts)], config=config)
    session.title = NASTY
    session.archive = store = ChatStore(folder / "chats.db")
    Talk(store, "nasty0000000").turn(NASTY, f"Said {NASTY}", at=1_301_000.0)
    return session


def _pieces(text: str) -> list[Step]:
    size = max(97, len(text) // 8)
    return [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]


def _finished(text: str) -> Step:
    return Finished(Message("assistant", text, NASTY), STATS, "stop")


def prepare(folder: Path) -> None:
    """Files whose names and contents are hostile: a model, a persona, themes, one to be attached."""
    for name in ("models", "themes", "personas", "work"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    dense(folder / "models" / f"{FILE[:40]}.gguf")
    spelled = msgspec.json.encode(NASTY).decode()
    (folder / "themes" / f"{FILE}.toml").write_text(
        f'background = "#101010"\naccent = "#fff"\nabout = {_toml(spelled)}'
    )
    (folder / "themes" / f"bad {FILE}.toml").write_text(f'background = {_toml(spelled)}\naccent = "#fff"')
    (folder / "personas" / f"{FILE}.toml").write_text(f'description = {_toml(spelled)}\nsystem = "x"')
    (folder / "personas" / "odd.toml").write_text(f'description = {_toml(spelled)}\nsystem = "x"')
    for name in (f"{FILE}.txt", "plain.txt"):  # with a null byte it would be taken for no text at all
        (folder / "work" / name).write_text(f"{NASTY}\n".replace("\x00", "") * 30)


def _toml(text: str) -> str:
    """JSON's way to spell a text is TOML's, but for what stands for itself there."""
    return text.replace("\x9b", "\\u009b").replace("\x7f", "\\u007f")


async def _answer(pilot: Pilot[Any]) -> None:
    before = len(chat(pilot.app).session.messages)
    await pilot.press("h", "enter")
    await until(pilot, lambda: len(chat(pilot.app).session.messages) > before + 1)
    await settled(pilot)


async def _failure(pilot: Pilot[Any]) -> None:
    await pilot.press("h", "enter")
    await settled(pilot)


def _typed(*keys: str) -> Stage:
    async def run(pilot: Pilot[Any]) -> None:
        await pilot.press(*keys)

    return run


def _pasted(text: str, *then: str) -> Stage:
    async def run(pilot: Pilot[Any]) -> None:
        assert pilot.app.focused is not None
        pilot.app.focused.post_message(events.Paste(text))
        await pilot.pause()
        await pilot.press(*then)

    return run


async def _chats(pilot: Pilot[Any]) -> None:
    await pilot.press("ctrl+o")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatsScreen) and not pilot.app.screen.looking)
    await until(pilot, lambda: "Said" in seen(pilot.app))  # type: ignore[arg-type]


async def _models(pilot: Pilot[Any]) -> None:
    await chat(pilot.app).run_command("/model")
    await until(pilot, lambda: isinstance(pilot.app.screen, ModelPicker) and not pilot.app.screen.searching)
    await until(pilot, lambda: "memory: looking" not in seen(pilot.app))  # type: ignore[arg-type]


def _command(line: str) -> Stage:
    async def run(pilot: Pilot[Any]) -> None:
        await chat(pilot.app).run_command(line)

    return run


async def _toast(pilot: Pilot[Any]) -> None:
    del pilot.app.notify  # the class has one
    chat(pilot.app).chat_app._wardrobe._tell_failures()
    await until(pilot, lambda: "Theme left out" in seen(pilot.app))  # type: ignore[arg-type]


def stages(every: int | None = None) -> list[tuple[str, Stage]]:
    """Name and what is done, in order; of the texts every one, or each second, ... as the environment says."""
    leave = _typed("escape")
    answers = [(f"an answer: {name}", _answer) for name in gallery(every)]
    return [
        ("the start", settled),
        *answers,
        ("a failure", _failure),
        ("a copy", _typed("tab", "y", "escape")),
        ("a long paste", _pasted(f"{NASTY}\n" * 40)),
        ("a short paste", _pasted(NASTY, "enter")),
        ("an answer to it", settled),
        ("a mention", _typed("@")),
        ("a mention of a file", _typed(*"plain.txt", "space")),
        ("a message with a file", _typed("enter")),
        ("an answer to that", settled),
        ("a search", _typed("ctrl+f")),
        ("a hostile search", _pasted(NASTY, "enter")),
        ("no search", leave),
        ("the chats", _chats),
        ("a hostile title", _typed("f2")),
        ("another title", _pasted(NASTY, "enter")),
        ("no chats", leave),
        ("models", _models),
        ("no models", leave),
        ("personas", _command("/persona")),
        ("no personas", leave),
        ("a persona", _typed(*"/persona ")),
        ("no persona", _typed("escape", "ctrl+u")),
        ("themes", _command("/theme")),
        ("the next theme", _typed("down", "down")),
        ("no themes", leave),
        ("the palette", _typed("ctrl+p")),
        ("no palette", leave),
        ("a title", _command(f"/title {NASTY}")),
        ("help", _typed("f1")),
        ("no help", leave),
        ("a command that is none", _pasted(f"/{NASTY}", "enter")),
        ("what is wrong with a theme", _toast),
    ]


def main(folder: Path) -> None:
    """Run all stages, then leave."""
    prepare(folder)
    os.chdir(folder / "work")
    app = MtpChatApp(session_in(folder), config_path=str(folder / "config.toml"))  # type: ignore[arg-type]
    # They go by themselves, between two looks; the last stage has one.
    app.notify = lambda *_args, **_options: None  # type: ignore[method-assign]
    told: list[dict[str, object]] = []

    async def drive(pilot: Pilot[Any]) -> None:
        try:
            for number, (name, stage) in enumerate(stages()):
                await stage(pilot)
                await pilot.pause()
                assert app._driver is not None
                app._driver.write(MARK.format(number=number))
                told.append({"name": name, "rows": seen(app).split("\n")})
        finally:
            (folder / "stages.json").write_text(json.dumps(told))
            app.exit()

    app.run(auto_pilot=drive)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
