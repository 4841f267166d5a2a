"""The page behind F1: first the keys of the place where one is, then the others, then the commands."""

from __future__ import annotations

from collections.abc import Mapping

from mtpchat.commands.page import code, plain, table
from mtpchat.commands.registry import command_table
from mtpchat.ui.glyphs import key_in_words
from mtpchat.ui.hints import Moment
from mtpchat.ui.keys import KEYS, Scope, shown_all

_TITLES: dict[Scope, str] = {
    "prompt": "In the prompt",
    "transcript": "In the chat (Tab leads there)",
    "chat": "Everywhere",
    "app": "On every screen",
}
_PLACES: dict[Moment, tuple[str, tuple[Scope, ...]]] = {
    "idle": ("Type and press Enter. `/` begins a command, `@` a file.", ("prompt", "chat", "transcript")),
    "busy": (
        "An answer is coming. Esc stops it and keeps what was said; what you send meanwhile waits its turn.",
        ("chat", "prompt", "transcript"),
    ),
    "waiting": (
        "What you sent waits its turn. In the empty prompt ↑ takes one back to be edited, and Esc stops everything.",
        ("prompt", "chat", "transcript"),
    ),
    "held": (
        "A prompt that waits is being edited: Enter puts it back into its place, Esc leaves it as it was.",
        ("prompt", "chat", "transcript"),
    ),
    "editing": (
        "An earlier prompt is being edited: Enter sends it as another version, Esc leaves it as it is.",
        ("prompt", "chat", "transcript"),
    ),
    "menu": ("↑ ↓ choose, Tab completes, Enter takes, Esc closes the menu.", ("prompt", "chat", "transcript")),
    "reading": ("You are in the chat: keys act on it instead of being typed.", ("transcript", "chat", "prompt")),
    "panel": (
        "The panel tells how much guessing ahead brings: how many guesses hold, what steps cost, and why the depth is"
        " what it is. `/why` says it in words.",
        ("chat", "transcript", "prompt"),
    ),
}
_READING: Moment = "reading"
_LAST: Scope = "app"


def help_page(moment: Moment, keymap: Mapping[str, str]) -> str:
    """Markdown.

    Args:
        moment: where the user is.
        keymap: keys of the user's own, by id.
    """
    words, scopes = _PLACES.get("idle" if moment == "quitting" else moment, _PLACES[_READING])
    parts = [words]
    for scope in (*scopes, _LAST):
        rows = [
            (plain(key_in_words(shown_all(key.id, keymap))), plain(key.description))
            for key in KEYS
            if key.scope == scope
        ]
        parts += [f"## {_TITLES[scope]}", table(("Key", "What it does"), rows)]
    parts += ["## Commands", command_table()]
    parts.append(
        f"Other keys for any of these: `[keys]` in the settings ({code('mtpchat config path')}). Everything outside the"
        f" chat: {code('mtpchat help')}."
    )
    return "\n\n".join(parts)
