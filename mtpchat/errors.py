"""Every error a user can meet, as one tree.

MtpChatError                 .hint says what to do next
├── ConfigError              a settings file or flag: .path, .key
├── ThemeError               a theme file: .path, .key
├── StorageError             a file or folder of ours cannot be read or written: .path
├── AttachmentError          a file that a message names cannot go along: .path
├── ExchangeError            a file of chats cannot be read, or from a place on: .path, .key
├── ModelError               a model file cannot be used
│   ├── ModelNotFound        no such file
│   ├── ModelUnreadable      truncated, not a GGUF, hostile header
│   ├── ModelUnsupported     readable, but nothing here can run it
│   ├── DoesNotFit           more memory is needed than there is: .choices
│   └── LoadCancelled        the user stopped the load
├── DrafterError             the drafter cannot be used with this model
│   ├── DrafterMismatch      wrong pair: vocabulary, width, architecture
│   └── DrafterUnsupported   right pair perhaps, but this build or version has no way to run it
├── GrammarError             a schema or grammar for answers cannot be used: .path, .key
├── EngineError              while a turn runs
│   ├── MisuseRefused        would have aborted the process inside llama.cpp; refused before the call
│   ├── DecodeFailed         llama.cpp returned an error code: .code
│   ├── RollbackImpossible   memory cannot return to that length
│   ├── ContextFull          no room for another token
│   │   └── MessageTooLong   one message alone has no room
│   ├── Interrupted          stopped by the user; what was produced is kept
│   └── EngineClosed         the engine has gone away
├── HubError                 a repository cannot be listed, or a file of it not fetched
│   ├── HubNotFound          no such repository, revision, quantisation or file
│   ├── HubDenied            private, gated, or the token is not accepted
│   ├── HubUnreachable       no answer, or "later": .after_s
│   ├── HubDamaged           what came is not what was announced
│   └── FetchCancelled       stopped by the user; what has come is kept
├── TemplateError            the chat template failed on these messages
├── PresetError              a file of a prompt template or persona: .path, .key
├── EditorFailed             the user's own editor did not give the text back
└── CommandError             a slash command was not understood
"""

from __future__ import annotations

from pathlib import Path

from mtpchat.fitting import FitChoice

_ENDS = (".", "!", "?", "…", ":")
_NAMES = frozenset({"mtpchat", "pip"})
"""Programs: a hint that begins with one is a line to be typed."""


class MtpChatError(Exception):
    """Base of all errors that are shown to the user.

    Attributes:
        hint: one sentence that says what the user can do, or a line to be typed; may be empty.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def message(self) -> str:
        """What happened, with a full stop. `str()` has the words as they were given, to be put into other sentences."""
        return closed(str(self.args[0]))

    @property
    def sentence(self) -> str:
        """What happened and what to do, on one line."""
        return sentence(str(self.args[0]), self.hint)


def closed(words: str) -> str:
    """Words with a full stop, unless they end with a mark of their own."""
    bare = words.rstrip()
    return bare if not bare or bare.endswith(_ENDS) else f"{bare}."


def advice(hint: str) -> str:
    """A hint as it begins a line: with a capital, unless it is a line to be typed."""
    first = hint.split(maxsplit=1)[0] if hint.strip() else ""
    return hint if first in _NAMES else hint[:1].upper() + hint[1:]


def sentence(what: str, hint: str = "") -> str:
    """What happened and what to do, on one line."""
    return " ".join(f"{closed(what)} {advice(hint)}".split())


class _FileError(MtpChatError):
    """An error that belongs to a place in a file."""

    def __init__(self, message: str, *, path: Path | None = None, key: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.key = key


class ConfigError(_FileError):
    """A setting is unknown, of the wrong type or out of range."""


class ThemeError(_FileError):
    """A theme file is malformed."""


class StorageError(_FileError):
    """A file or folder that the program keeps for itself cannot be read or written."""


class AttachmentError(_FileError):
    """A file that a message names cannot go along with it."""


class ExchangeError(_FileError):
    """A file of chats, ours or another program's, cannot be read; `key` is the line from which on, or ""."""


class GrammarError(_FileError):
    """A JSON schema or a grammar that answers have to follow cannot be used; `key` is the place in it."""


class ModelError(MtpChatError):
    """A model file cannot be used."""


class ModelNotFound(ModelError):
    """There is no such file."""


class ModelUnreadable(ModelError):
    """The file is not a (complete) GGUF."""


class ModelUnsupported(ModelError):
    """The file is a GGUF, but it cannot be run as a chat model."""


class DoesNotFit(ModelError):
    """The model, its drafter and their contexts need more memory than is free.

    Attributes:
        choices: what would fit, for the user to choose from; may be empty.
    """

    def __init__(self, message: str, *, choices: tuple[FitChoice, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.choices = choices


class LoadCancelled(ModelError):
    """The load was stopped by the user."""


class DrafterError(MtpChatError):
    """The drafter cannot be used."""


class DrafterMismatch(DrafterError):
    """Drafter and model do not belong together."""


class DrafterUnsupported(DrafterError):
    """This build or version cannot run such a drafter."""


class EngineError(MtpChatError):
    """Something went wrong while a turn ran."""


class MisuseRefused(EngineError):
    """A call that would have aborted the process inside llama.cpp."""


class DecodeFailed(EngineError):
    """llama.cpp refused or failed a decode."""

    def __init__(self, message: str, *, code: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class RollbackImpossible(EngineError):
    """The memory cannot be cut back to the wanted length."""


class ContextFull(EngineError):
    """The context has no room left."""


class MessageTooLong(ContextFull):
    """One message alone has no room, whatever is done about the others."""


class Interrupted(EngineError):
    """The user stopped the work."""


class EngineClosed(EngineError):
    """The engine was closed."""


class HubError(MtpChatError):
    """A repository cannot be listed, or a file of it cannot be fetched."""


class HubNotFound(HubError):
    """There is no such repository, revision, quantisation or file."""


class HubDenied(HubError):
    """Private or gated, or the token is not accepted."""


class HubUnreachable(HubError):
    """The hub does not answer, or asks to come back later.

    Attributes:
        after_s: seconds to wait, when the hub says so.
    """

    def __init__(self, message: str, *, after_s: float | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.after_s = after_s


class HubDamaged(HubError):
    """What came is not what was announced; it has been deleted."""


class FetchCancelled(HubError):
    """The user stopped the transfer; what has come is kept."""


class TemplateError(MtpChatError):
    """The chat template raised or could not be parsed."""


class CommandError(MtpChatError):
    """A slash command or its argument was not understood."""


class PresetError(_FileError):
    """The file of a prompt template or persona is malformed, or there is none of that name."""


class EditorFailed(MtpChatError):
    """The user's own editor is missing or did not give the text back."""
