"""What slash commands may see of the app, and the carrying out of what they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, assert_never

from mtpchat.commands.base import (
    ChangeTheme,
    ChooseModel,
    CommandContext,
    CopyText,
    Effect,
    FetchModel,
    ListChats,
    OpenChat,
    Quit,
    Reload,
    RunTask,
    ShowChat,
    ShowPage,
    StartTurn,
    TogglePanel,
)

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

    def __init__(self, session: Session, config_path: str, app: Themed) -> None:
        self._session = session
        self._config_path = config_path
        self._app = app

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
    def theme(self) -> str:
        """The theme in use."""
        return self._app.theme_name


class Stage(Protocol):
    """What a screen can do for a command."""

    def leave(self) -> None: ...

    async def show_chat(self, prompt_text: str) -> None: ...

    def start_turn(self, effect: StartTurn) -> None: ...

    def copy(self, text: str) -> None: ...

    def change_theme(self, name: str) -> None: ...

    def reload(self) -> None: ...

    def show_page(self, title: str, markdown: str) -> None: ...

    def toggle_panel(self) -> None: ...

    def list_chats(self) -> None: ...

    def open_chat(self, reference: str) -> None: ...

    def choose_model(self) -> None: ...

    def fetch_model(self, wanted: str) -> None: ...

    def run_task(self, effect: RunTask) -> None: ...


async def carry_out(effect: Effect, stage: Stage) -> None:  # noqa: PLR0912  one branch for each effect
    """Do what a command asked for."""
    match effect:
        case Quit():
            stage.leave()
        case ShowChat(prompt_text):
            await stage.show_chat(prompt_text)
        case StartTurn():
            stage.start_turn(effect)
        case CopyText(text):
            stage.copy(text)
        case ChangeTheme(name):
            stage.change_theme(name)
        case Reload():
            stage.reload()
        case ShowPage(title, markdown):
            stage.show_page(title, markdown)
        case TogglePanel():
            stage.toggle_panel()
        case ListChats():
            stage.list_chats()
        case OpenChat(reference):
            stage.open_chat(reference)
        case ChooseModel():
            stage.choose_model()
        case FetchModel(wanted):
            stage.fetch_model(wanted)
        case RunTask():
            stage.run_task(effect)
        case _:
            assert_never(effect)
