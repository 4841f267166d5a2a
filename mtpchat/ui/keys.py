"""Every key of the app, one row each. The `[keys]` table of the config gives an id another key.

A row says where it works: on every screen, everywhere in the chat, in the prompt, or in the transcript while it has the
focus (vi keys). Keys with a space between them are pressed one after the other, such as "ctrl+x ctrl+e"; see chords.py.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from textual.binding import Binding, BindingType
from textual.keys import KEY_NAME_REPLACEMENTS

from mtpchat.config_schema import nearest
from mtpchat.ui.safe_text import safe_line

Scope = Literal["app", "chat", "prompt", "transcript"]


@dataclass(frozen=True, slots=True)
class Key:
    """One row.

    Attributes:
        id: the name in `[keys]`.
        keys: comma separated, in Textual's spelling; those of a chord with a space between them.
        action: the method `action_...` of the widget that owns the scope.
        description: for help and palette.
        scope: where it works.
        hint: word in the key hints at the bottom, or "".
        priority: goes before what the focused widget does with the key.
    """

    id: str
    keys: str
    action: str
    description: str
    scope: Scope = "chat"
    hint: str = ""
    priority: bool = False


_SIGNS = {
    "enter": "⏎", "escape": "esc", "tab": "⇥", "pageup": "PgUp", "pagedown": "PgDn", "up": "↑", "down": "↓",
    "left": "←", "right": "→", "delete": "del", "backspace": "⌫", "space": "space", "home": "Home", "end": "End",
    "slash": "/", "left_square_bracket": "[", "right_square_bracket": "]",
}  # fmt: skip
_HELD = {"ctrl": "^", "shift": "⇧", "alt": "alt+"}

KEYS: tuple[Key, ...] = (
    Key("send", "enter", "send", "Send the prompt, or take the marked row of the menu", "prompt", "send"),
    Key("newline", "shift+enter,ctrl+j,alt+enter", "newline", "New line in the prompt", "prompt", "new line"),
    Key("complete", "tab", "complete", "Complete the marked row, or go to the next field, or to the chat", "prompt"),
    Key("previous", "up", "previous", "Row above in the menu; on the first line, waiting or earlier prompts", "prompt"),
    Key("next", "down", "next", "Row below in the menu; later prompt on the last line", "prompt"),
    Key("search", "ctrl+r", "search_history", "Search earlier prompts; once more goes further back", "prompt"),
    Key("editor", "ctrl+g,ctrl+x ctrl+e", "edit_outside", "Write in your own editor ($EDITOR)", "prompt", "editor"),
    Key("unqueue", "delete,ctrl+d", "drop_waiting", "In an empty prompt: cancel the newest waiting one", "prompt"),
    Key("undo", "ctrl+underscore,super+z", "undo", "Undo what was typed; Ctrl+Y does it again", "prompt"),
    Key("stop", "escape", "stop", "Close the menu, or stop the answer and keep what was said", "chat", "stop", True),
    Key("palette", "ctrl+p", "app.command_palette", "Command palette", "chat", "palette", True),
    Key("chats", "ctrl+o", "chats", "Chats that are kept: search, open, name, pin, delete", "chat", "chats", True),
    Key("quit", "ctrl+c", "copy_or_quit", "Copy what is marked, or stop the answer; twice quits", "chat", "quit", True),
    Key("suspend", "ctrl+z", "app.suspend_process", "Suspend to the shell; fg comes back", "app", "", True),
    Key("redraw", "ctrl+l", "redraw", "Draw the screen anew and go to the end", "chat", "", True),
    Key("theme", "ctrl+t", "next_theme", "Next theme", "chat", "theme", True),
    Key("speculation", "f2", "toggle_speculation", "Switch speculation on or off", "chat", "speculation", True),
    Key("provenance", "f3", "toggle_provenance", "Mark guessed text by who had guessed it", "chat", "origin", True),
    Key("panel", "f4", "toggle_panel", "Open or close the panel of speculation", "chat", "panel", True),
    Key("help", "f1", "help", "Help", "chat", "help", True),
    Key("page_up", "pageup", "page_up", "Page up", "chat", "", True),
    Key("page_down", "pagedown", "page_down", "Page down", "chat", "", True),
    Key("panel_up", "shift+pageup,ctrl+pageup", "page_up(True)", "Page up in the panel", "chat", "", True),
    Key("panel_down", "shift+pagedown,ctrl+pagedown", "page_down(True)", "Page down in the panel", "chat", "", True),
    Key("find", "ctrl+f", "find", "Find words in the chat; once more goes to the next match", "chat", "", True),
    Key("top", "ctrl+home", "top", "Beginning of the chat", "chat", "", True),
    Key("end", "ctrl+end", "end", "End of the chat", "chat", "", True),
    Key("vi_down", "j,down", "line_down", "Line down", "transcript"),
    Key("vi_up", "k,up", "line_up", "Line up", "transcript"),
    Key("vi_half_down", "d,ctrl+d", "half_down", "Half a page down", "transcript"),
    Key("vi_half_up", "u,ctrl+u", "half_up", "Half a page up", "transcript"),
    Key("vi_page_down", "space,f", "page_down", "Page down", "transcript"),
    Key("vi_page_up", "b,ctrl+b", "page_up", "Page up", "transcript"),
    Key("vi_top", "g,home", "top", "Beginning of the chat", "transcript"),
    Key("vi_end", "G,shift+g,end", "end", "End of the chat", "transcript"),
    Key("next_prompt", "right_square_bracket", "message(1, True)", "Mark the next prompt", "transcript"),
    Key("previous_prompt", "left_square_bracket", "message(-1, True)", "Mark the prompt before", "transcript"),
    Key("next_message", "J,shift+j", "message(1)", "Mark the next message", "transcript"),
    Key("previous_message", "K,shift+k", "message(-1)", "Mark the message before", "transcript"),
    Key("edit", "e", "act('edit')", "Edit the marked prompt; put an answer in your words", "transcript"),
    Key("regenerate", "r", "act('retry')", "Answer the marked prompt anew, beside the old answer", "transcript"),
    Key("copy", "y", "act('copy')", "Copy the marked message", "transcript"),
    Key("copy_code", "c", "act('copy_code')", "Copy its code; once more, its next block", "transcript"),
    Key("save_code", "s", "act('save_code')", "Save its code to a file", "transcript"),
    Key("open_editor", "o", "act('editor')", "Open the marked message in your own editor", "transcript"),
    Key("older", "h,left", "walk(-1)", "The version before of the marked message", "transcript"),
    Key("newer", "l,right", "walk(1)", "The next version of the marked message", "transcript"),
    Key("fold", "z", "fold", "Fold the marked message, or show all of it", "transcript"),
    Key("fork", "F,shift+f", "act('fork')", "Begin a new chat with all up to the marked message", "transcript"),
    Key("copy_chat", "Y,shift+y", "act('copy_chat')", "Copy the whole chat", "transcript"),
    Key("find_here", "slash", "screen.find", "Find words in the chat", "transcript"),
    Key("find_next", "n", "screen.find_step(1)", "Next match", "transcript"),
    Key("find_previous", "N,shift+n", "screen.find_step(-1)", "Match before", "transcript"),
    Key("vi_thinking", "t", "unfold", "Open or fold the thinking of the marked answer", "transcript"),
    Key("vi_prompt", "i,a,q,enter", "leave", "Back to the prompt", "transcript"),
)


def bindings(scope: Scope) -> list[BindingType]:
    """Textual's bindings of a scope."""
    return [
        Binding(key.keys, key.action, key.description, show=False, priority=key.priority, id=key.id)
        for key in KEYS
        if key.scope == scope
    ]


def actions(scope: Scope, keymap: Mapping[str, str]) -> dict[str, str]:
    """Key to action of a scope, for a widget that looks at its keys in the order in which they were typed."""
    return {
        key_name(name): key.action
        for key in KEYS
        if key.scope == scope
        for name in keymap.get(key.id, key.keys).split(",")
    }


def key_name(name: str) -> str:
    """A key as Textual calls it: signs go by their names. Those of a chord have one space between them."""
    return " ".join(map(_one_name, name.split()))


def _one_name(name: str) -> str:
    if len(name) != 1 or name.isalnum():
        return name
    full = unicodedata.name(name, name).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(full, full)


def split_keymap(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """What of `[keys]` can be used, and the ids that do not exist."""
    known = {key.id for key in KEYS}
    used = {name: ",".join(map(key_name, keys.split(","))) for name, keys in wanted.items() if name in known}
    return used, sorted(set(wanted) - known)


def why_unknown(key_id: str) -> str:
    """A sentence about an id that does not exist, with the nearest that does."""
    near = nearest(key_id, [key.id for key in KEYS])
    hint = f"; did you mean {near}?" if near else ": " + ", ".join(key.id for key in KEYS)
    return f"keys.{safe_line(key_id)} is not a key of the app{hint}"


def shown(key_id: str, keymap: Mapping[str, str]) -> str:
    """The key of an id as it is written on the screen: `^P`, `esc`, `⏎`."""
    return written(_names(key_id, keymap)[0])


def shown_all(key_id: str, keymap: Mapping[str, str]) -> str:
    """All keys of an id, as `shown` writes them."""
    return " ".join(dict.fromkeys(map(written, _names(key_id, keymap))))


def _names(key_id: str, keymap: Mapping[str, str]) -> list[str]:
    own = next(key for key in KEYS if key.id == key_id)
    return [name.strip() for name in keymap.get(key_id, own.keys).split(",")]


def written(name: str) -> str:
    """A key, or the keys of a chord, as they are written on the screen."""
    return " ".join(map(_written, name.split())) or name


def _written(name: str) -> str:
    if name in _SIGNS:
        return _SIGNS[name]
    held, _, rest = name.partition("+")
    if rest and held in _HELD:
        if len(rest) == 1:
            return ("" if held == "shift" else _HELD[held]) + rest.upper()
        return _HELD[held] + _written(rest)
    return name.upper() if 1 < len(name) <= 3 else name
