"""Where things are on this machine, and the only way they are written.

Asking for a place never creates it. Writing creates what is missing, replaces a file in one step and keeps the version
before beside it, so that neither a crash nor a full disk can cost the user a file. Every failure is a StorageError.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from mtpchat.errors import StorageError

APP = "mtpchat"

_HINTS = {
    errno.ENOSPC: "The disk is full: free some space and try again.",
    errno.EDQUOT: "Your disk quota is used up: free some space and try again.",
    errno.EROFS: "The file system is read-only.",
    errno.EACCES: "You may not write there: check the permissions.",
    errno.EPERM: "You may not write there: check the permissions.",
    errno.ENOTDIR: "A part of that path is a file, not a folder.",
    errno.EEXIST: "A part of that path is a file, not a folder.",
    errno.EISDIR: "A folder stands where the file should be.",
}


def config_dir() -> Path:
    """Folder of the user's settings."""
    return platformdirs.user_config_path(APP, appauthor=False)


def config_file() -> Path:
    """The user's config.toml; it may not exist."""
    return config_dir() / "config.toml"


def themes_dir() -> Path:
    """Folder of the user's own themes."""
    return config_dir() / "themes"


def builtin_themes_dir() -> Path:
    """Folder of the themes that ship: inside the package when installed from a wheel, beside it in a source tree."""
    package = Path(__file__).resolve().parent
    packed = package / "_themes"
    return packed if packed.is_dir() else package.parent / "themes"


def cache_dir() -> Path:
    """Folder of what can be computed again."""
    return platformdirs.user_cache_path(APP, appauthor=False)


def log_dir(override: str = "") -> Path:
    """Folder of mtpchat.log and llama.log; `override` is the setting paths.logs."""
    return _expanded(override) if override else platformdirs.user_log_path(APP, appauthor=False)


def history_file(override: str = "") -> Path:
    """File that keeps the prompts; `override` is the setting paths.history."""
    return _expanded(override) if override else platformdirs.user_state_path(APP, appauthor=False) / "history"


def drafts_dir(override: str = "") -> Path:
    """Folder of what was typed and not sent, beside the file of the prompts; `override` is paths.history."""
    history = history_file(override)
    return history.with_name(f"{history.name}-drafts") if override else history.with_name("drafts")


def chats_file(override: str = "") -> Path:
    """File that keeps the chats; `override` is the setting paths.chats."""
    return _expanded(override) if override else platformdirs.user_data_path(APP, appauthor=False) / "chats.db"


def states_dir() -> Path:
    """Folder of what models remember of chats; it can be computed again."""
    return cache_dir() / "states"


def model_path(text: str, *folders: str) -> Path:
    """Path of a model file as the user wrote it.

    Args:
        text: as typed; "~" is expanded.
        folders: the setting paths.models; a relative path that does not exist here is looked for there.
    """
    path = _expanded(text)
    # os.path.exists is False where Path.exists raises: for a name that is too long, a folder that may not be entered.
    if path.is_absolute() or os.path.exists(path):
        return path
    inside = (_expanded(folder) / path for folder in folders if folder)
    return next((one for one in inside if os.path.exists(one)), path)


def _expanded(text: str) -> Path:
    """A path with "~" replaced; left as it is when "~name" names nobody, so that opening it says so."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def ensure_dir(path: Path) -> Path:
    """Create a folder and its parents if they are missing. Raises StorageError."""
    with storage_errors(path, "create the folder"):
        path.mkdir(parents=True, exist_ok=True)
    return path


def backup_of(path: Path) -> Path:
    """Where `write_atomically` keeps the version before."""
    return path.with_name(path.name + ".bak")


def write_atomically(path: Path, content: str | bytes, *, keep_previous: bool = True) -> None:
    """Replace a file's content in one step; readers see the old text or the new one, never a part.

    The version before is kept as `<name>.bak`. A symbolic link stays one: its target is replaced.

    Args:
        path: the file; missing folders are created.
        content: a text is written as UTF-8, line ends unchanged.
        keep_previous: False keeps no version before, and lets nobody but the user read the file.

    Raises:
        StorageError: nothing has changed then.
    """
    target = Path(os.path.realpath(path))
    ensure_dir(target.parent)
    with storage_errors(path, "write"), _sibling(target) as draft:
        _write_through(
            draft, content.encode("utf-8") if isinstance(content, str) else content, private=not keep_previous
        )
        if keep_previous and target.exists():
            shutil.copymode(target, draft)
            _keep_previous(target)
        os.replace(draft, target)


def _keep_previous(target: Path) -> None:
    with _sibling(target) as copy:
        shutil.copy2(target, copy)
        os.replace(copy, backup_of(target))


def _write_through(path: Path, data: bytes, *, private: bool) -> None:
    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, 0o600 if private else 0o666)  # nobody else has it open before it is private

    with open(path, "xb", opener=opener) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _sibling(path: Path) -> Iterator[Path]:
    """A fresh name in the same folder; what is left under it afterwards is removed."""
    name = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        yield name
    finally:
        with contextlib.suppress(OSError):  # it was renamed, or the error that matters is already on its way
            name.unlink(missing_ok=True)


@contextlib.contextmanager
def storage_errors(path: Path, verb: str) -> Iterator[None]:
    """Within it, what the system refuses becomes a StorageError: "cannot VERB PATH: ..."."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path, or text that is not Unicode
        number = error.errno if isinstance(error, OSError) else None
        reason = os.strerror(number) if number else str(error)
        raise StorageError(
            f"Cannot {verb} {os.fspath(path)!r}: {reason}", path=path, hint=_HINTS.get(number or 0, "")
        ) from error
