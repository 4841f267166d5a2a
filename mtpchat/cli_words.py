"""Words that people bring along from other programs, and what is said here in their place."""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.config_schema import printable

_BEGIN = "mtpchat alone begins the chat, mtpchat -m MODEL with that model."
_LIST = "mtpchat models lists the models on this machine."
_FETCH = "mtpchat pull OWNER/NAME fetches a model; mtpchat alone, in a terminal, helps to choose one."
_INSPECT = "mtpchat inspect FILE tells what a model file is."
_REMOVE = (
    "mtpchat chats delete N removes a chat. A model is a file of yours, to be deleted where it lies: "
    "mtpchat inspect NAME says where, mtpchat doctor names the folder of those that were fetched."
)
_INSTALL = "pip does that: pip uninstall mtpchat, or pip install . anew. mtpchat doctor says where everything lies."
_SETTINGS = "mtpchat config show and mtpchat config set KEY VALUE are about the settings."
_CHATS = "mtpchat chats list shows your chats, mtpchat --continue goes on with the last one."
_SLOW = "mtpchat doctor looks at the machine; in the chat, /why says what is in the way of speed."
MEANT = {
    **dict.fromkeys(("chat", "start", "launch", "open", "new"), _BEGIN),
    "run": _BEGIN,
    "serve": f"There is no server here: {_BEGIN}",
    **dict.fromkeys(("list", "ls", "ps", "tags"), _LIST),
    **dict.fromkeys(("download", "get", "fetch", "add", "install"), _FETCH),
    **dict.fromkeys(("info", "show"), _INSPECT),
    **dict.fromkeys(("rm", "remove", "delete", "del"), _REMOVE),
    **dict.fromkeys(("uninstall", "update", "upgrade"), _INSTALL),
    **dict.fromkeys(("settings", "set", "configure"), _SETTINGS),
    **dict.fromkeys(("history", "continue", "resume"), _CHATS),
    **dict.fromkeys(("why", "status", "check"), _SLOW),
}
_WITH_NAME = {"run": "-m", "chat": "-m", "open": "-m", "download": "pull", "get": "pull", "fetch": "pull"}
"""Those that go on with a name, as in `run llama3`, and what stands before the name here."""


def meant_by(words: Sequence[str]) -> str:
    """What to type instead of a command of another program; "" where the words are none, or too many for one."""
    first, *rest = words
    if len(rest) > 1 or first not in MEANT:
        return ""
    if rest and first in _WITH_NAME:
        return f"Did you mean mtpchat {_WITH_NAME[first]} {printable(rest[0])}?"
    return MEANT[first]
