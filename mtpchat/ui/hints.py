"""The few keys that matter at the moment, for the end of the status line or the line below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from textual.content import Content

from mtpchat.ui.cells import key_words
from mtpchat.ui.keys import KEYS, Key, shown, written

_IDS = frozenset(key.id for key in KEYS)

Moment = Literal[
    "idle",
    "busy",
    "waiting",
    "held",
    "menu",
    "reading",
    "said",
    "answered",
    "following",
    "said_versions",
    "answered_versions",
    "finding",
    "seeking",
    "found",
    "saving",
    "editing",
    "panel",
    "quitting",
]

_SAID = (
    ("previous_prompt+next_prompt", "prompts"),
    ("edit", "edit"),
    ("regenerate", "answer anew"),
    ("copy", "copy"),
    ("fold", "fold"),
    ("fork", "fork"),
    ("find_here", "find"),
    ("open_editor", "editor"),
    ("vi_prompt", "back"),
)
_ANSWERED = (
    ("previous_prompt+next_prompt", "prompts"),
    ("copy", "copy"),
    ("copy_code", "code"),
    ("save_code", "save code"),
    ("regenerate", "anew"),
    ("edit", "edit"),
    ("fold", "fold"),
    ("fork", "fork"),
    ("find_here", "find"),
    ("vi_prompt", "back"),
)
_VERSIONS = ("older+newer", "versions")

_ROWS: dict[Moment, tuple[tuple[str, str], ...]] = {
    "idle": (
        ("send", "send"),
        ("newline", "new line"),
        ("/", "commands"),
        ("palette", "palette"),
        ("search", "history"),
        ("quit", "quit"),
    ),
    "busy": (("stop", "stop"), ("palette", "palette"), ("speculation", "speculation on/off")),
    "waiting": (("stop", "stop"), ("previous", "edit the newest"), ("unqueue", "cancel it"), ("palette", "palette")),
    "held": (("send", "back into its place"), ("stop", "leave it as it was"), ("previous", "the one before")),
    "menu": (("↑↓", "choose"), ("complete", "complete"), ("send", "take"), ("stop", "close")),
    "reading": (
        ("vi_down+vi_up", "scroll"),
        ("vi_top+vi_end", "ends"),
        ("vi_thinking", "thinking"),
        ("vi_prompt", "back to the prompt"),
    ),
    "following": (
        ("quit", "stop"),
        ("previous_prompt+next_prompt", "prompts"),
        ("copy", "copy"),
        ("copy_code", "code"),
        ("fold", "fold"),
        ("find_here", "find"),
        ("vi_prompt", "back"),
    ),
    "said": _SAID,
    "answered": _ANSWERED,
    "said_versions": (_VERSIONS, *_SAID),
    "answered_versions": (_VERSIONS, *_ANSWERED),
    "finding": (("⏎", "next"), ("↑", "match before"), ("stop", "close")),
    "seeking": (("⏎", "to the match"), ("stop", "close"), ("↑↓", "other matches")),
    "found": (("find_next", "next"), ("find_previous", "match before"), ("copy", "copy message"), ("stop", "close")),
    "saving": (("⏎", "save"), ("stop", "close"), ("↑↓", "other blocks")),
    "editing": (("send", "send as another version"), ("stop", "leave it as it is")),
    "panel": (
        ("stop", "close the panel"),
        ("page_down", "scroll"),
        ("panel", "open and close"),
        ("palette", "palette"),
    ),
    "quitting": (("quit", "once more to quit"),),
}


_SHORT: dict[Moment, tuple[tuple[str, str], ...]] = {
    **_ROWS,
    "idle": (("palette", "palette"), ("quit", "quit"), ("search", "history")),
    "busy": (("stop", "stop"), ("palette", "palette")),
    "waiting": (("stop", "stop"), ("previous", "edit"), ("unqueue", "cancel")),
}


_WIDE_PROMPT = 72


def invitation(keymap: Mapping[str, str], width: int, *, keeps_chats: bool) -> str:
    """What an empty prompt says; where there is room, how to come to the chats of yesterday.

    Args:
        width: cells of the screen.
        keeps_chats: whether chats are kept.
    """
    chats = f" · {shown('chats', keymap)} your chats" if keeps_chats and width >= _WIDE_PROMPT else ""
    return f"Ask anything · / for commands · @ to attach{chats}"


def hints(moment: Moment, keymap: Mapping[str, str], width: int, *, short: bool = False) -> Content:
    """As many hints as fit into `width` cells; the first matter most.

    Args:
        short: the choice for the end of the status line.
    """
    rows = (_SHORT if short else _ROWS)[moment]
    return key_words(((_written(key, keymap), word) for key, word in rows), width, gap="   ")


def _written(keys: str, keymap: Mapping[str, str]) -> str:
    """The keys of ids with a plus between them, `jk` or `[ ]`; what is no id is a key itself."""
    if not _IDS.issuperset(keys.split("+")):
        return keys
    signs = [shown(key, keymap) for key in keys.split("+")]
    return ("" if all(len(sign) == 1 and sign.isalpha() for sign in signs) else " ").join(signs)


def chord_hints(pending: Sequence[str], endings: Sequence[tuple[str, Key]], width: int) -> Content:
    """What was pressed of a chord, and what could come next."""
    begun = written(" ".join(pending))
    return key_words(
        [(f"{begun} …", ""), *((written(keys), row.hint or row.id) for keys, row in endings)], width, gap="   "
    )
