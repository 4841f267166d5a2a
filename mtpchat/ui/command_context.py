"""What slash commands may see of the app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from mtpchat.commands.base import CommandContext
from mtpchat.ui.waiting import WaitingLine

if TYPE_CHECKING:
    from mtpchat.engine.session import Session


class Themed(Protocol):
    """The part of the app that themes are about."""

    @property
    def theme_names(self) -> Sequence[str]: ...

    @property
    def theme_name(self) -> str: ...


class ScreenContext(CommandContext):
    """The app as commands see it."""

    def __init__(self, session: Session, config_path: str, app: Themed, line: WaitingLine) -> None:
        self._session = session
        self._config_path = config_path
        self._app = app
        self._line = line

    @property
    def session(self) -> Session:
        """The conversation."""
        return self._session

    @property
    def config_path(self) -> str:
        """Where the user's config file is."""
        return self._config_path

    @property
    def themes(self) -> Sequence[str]:
        """Names that can be chosen."""
        return self._app.theme_names

    @property
    def waiting(self) -> Sequence[str]:
        """Prompts that wait for the answer before them."""
        return [written.text for written in self._line.prompts]

    @property
    def theme(self) -> str:
        """The theme in use."""
        return self._app.theme_name
