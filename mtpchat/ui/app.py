"""The app: themes, keys, the terminal, and one chat screen."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import App
from textual.filter import Monochrome, NoColor
from textual.screen import Screen
from textual.widgets import Input, TextArea

from mtpchat.errors import MtpChatError
from mtpchat.paths import log_dir
from mtpchat.ui.chat_screen import ChatScreen
from mtpchat.ui.clipboard import LocalClipboard
from mtpchat.ui.glyphs import AsciiSigns, wants_ascii
from mtpchat.ui.key_check import complaints
from mtpchat.ui.keys import split_keymap
from mtpchat.ui.palette import CommandProvider
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.terminal_guard import guarded_terminal
from mtpchat.ui.themes import ANSI_THEME, DEFAULT_THEME, load_themes, state_of

if TYPE_CHECKING:
    from mtpchat.engine.session import Session
    from mtpchat.gguf.memory_plan import Machine
    from mtpchat.hub.starters import Starter
    from mtpchat.ui.theme_picker import ThemeChoice

_log = logging.getLogger(__name__)
_LOOK_AT_THEMES_S = 1.0


def memory_alone() -> Machine:
    """What is known of the machine without asking llama.cpp."""
    from mtpchat.gguf.memory_plan import Machine
    from mtpchat.machine_memory import available_ram

    return Machine(available_ram())


class MtpChatApp(App[object]):
    """A chat in the terminal.

    Args:
        session: the conversation; the caller closes its service after `run`.
        config_path: where the user's settings are; the folder `themes` beside it is read.
        banner: a sentence to show first.
        clock: seconds, monotonic.
        resume: a kept chat to begin with, "" for the last one, None for a new one.
        run_record: file of this run, in which its last words would stand.
        first_words: a sentence to show first, below the chat if one is resumed.
        beginning: of the first prompt.
        machine: what memory is free; called in a thread.
        starters: models to offer to somebody who has none; () is the list that ships.
    """

    TITLE = "mtpchat"
    CSS_PATH = "app.tcss"
    COMMANDS: ClassVar[set[Any]] = {CommandProvider}
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    NOTIFICATION_TIMEOUT = 6
    BINDINGS: ClassVar[list[Any]] = []

    def __init__(
        self,
        session: Session,
        *,
        config_path: str = "",
        banner: str = "",
        clock: Callable[[], float] = time.monotonic,
        resume: str | None = None,
        run_record: Path | None = None,
        first_words: str = "",
        beginning: str = "",
        machine: Callable[[], Machine] = memory_alone,
        starters: Sequence[Starter] = (),
    ) -> None:
        self.machine, self.starters = machine, starters
        self._theme_folder = Path(config_path).parent / "themes" if config_path else None
        self._theme_files = state_of(self._theme_folder)
        loaded = load_themes(self._theme_folder)
        self._loaded_themes = loaded
        super().__init__()
        self._session = session
        self._config_path = config_path
        self._run_record = run_record
        self._local_clipboard = LocalClipboard()
        self._chat = ChatScreen(session, config_path, banner, clock, resume)
        self._chat.chats.first_words = first_words
        self._chat.area.beginning = beginning
        for theme in loaded.themes.values():
            self.register_theme(theme)
        self.theme = self._first_theme(session.config.ui.theme)
        if self.no_color:
            self._filters = [NoColor() if isinstance(one, Monochrome) else one for one in self._filters]
        if wants_ascii(session.config.ui.signs, os.environ):
            self._filters.append(AsciiSigns())
        if session.config.ui.reduced_motion:
            self.animation_level = "none"
        self.set_keymap(split_keymap(session.config.keys)[0])

    def _first_theme(self, wanted: str) -> str:
        themes = self._loaded_themes.themes
        theme = wanted if wanted in themes else DEFAULT_THEME
        # Colours that are moved to the nearest of sixteen can be unreadable, and NO_COLOR wants none, not greys.
        poor = self.no_color or self.console.color_system == "standard"
        return ANSI_THEME if poor and ANSI_THEME in themes and not themes[theme].ansi else theme

    @property
    def theme_names(self) -> Sequence[str]:
        """Themes that can be chosen, the default first."""
        return sorted(self._loaded_themes.themes, key=lambda name: (name != DEFAULT_THEME, name))

    @property
    def theme_name(self) -> str:
        """The theme in use."""
        return self.theme

    def copy_to_clipboard(self, text: str) -> None:
        """Put text on the clipboard of the terminal and on that of this machine."""
        super().copy_to_clipboard(text.encode("utf-8", "replace").decode("utf-8"))  # no half of a surrogate pair
        self._local_clipboard.put(text)

    def choose_theme(self, name: str) -> None:
        """Change the colours."""
        self.theme = name

    def pick_theme(self) -> None:
        """Let the user look at the themes and take one."""
        from mtpchat.ui.theme_picker import ThemePicker

        about = self._loaded_themes.about
        rows = [(name, about.get(name, "")) for name in self.theme_names]
        self.push_screen(ThemePicker(rows, self.theme, self.choose_theme), self._theme_picked)

    def _theme_picked(self, choice: ThemeChoice | None) -> None:
        if choice is None:
            return
        self.choose_theme(choice.name)
        if not choice.save:
            return
        from mtpchat.config_edit import save_value

        try:
            save_value(Path(self._config_path), "ui.theme", choice.name)
        except MtpChatError as error:
            self.notify(safe_line(error.sentence), severity="warning", markup=False)
            return
        self.notify(safe_line(f"Theme {choice.name}, from now on"), timeout=3, markup=False)

    def _follow_theme_files(self) -> None:
        """Theme files of the user that were saved meanwhile are read again; the one in use changes at once."""
        found = state_of(self._theme_folder)
        if found == self._theme_files:
            return
        self._theme_files = found
        self._loaded_themes = load_themes(self._theme_folder)
        for theme in self._loaded_themes.themes.values():
            self.register_theme(theme)
        self._tell_theme_failures()
        if self.theme not in self._loaded_themes.themes:
            self.theme = DEFAULT_THEME
        self._watch_theme(self.theme)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own variables, so that a theme of Textual's works too."""
        return dict(self._loaded_themes.themes[DEFAULT_THEME].variables)

    def get_default_screen(self) -> Screen[None]:
        """The chat."""
        return self._chat

    def on_mount(self) -> None:
        self._leave_on_signals()
        # Another program has painted meanwhile: nothing of what was there is to be trusted.
        self.app_resume_signal.subscribe(self, lambda _app: self.refresh(layout=True))
        self._tell_theme_failures()
        self.set_interval(_LOOK_AT_THEMES_S, self._follow_theme_files)
        wanted = self._session.config.ui.theme
        if wanted not in self._loaded_themes.themes and not any(
            failure.path is not None and failure.path.stem == wanted for failure in self._loaded_themes.failures
        ):
            self.notify(f"There is no theme {safe_line(wanted)}", severity="warning", markup=False)
        for sentence in complaints(self._session.config.keys):
            self.notify(sentence, severity="warning", markup=False)

    @on(events.DescendantFocus)
    def _hold_cursor_still(self, event: events.DescendantFocus) -> None:
        if self._session.config.ui.reduced_motion and isinstance(event.widget, Input | TextArea):
            event.widget.cursor_blink = False

    def _tell_theme_failures(self) -> None:
        for failure in self._loaded_themes.failures:
            self.notify(safe_line(failure.sentence), title="Theme left out", severity="warning", markup=False)

    def run(self, *, loop: AbstractEventLoop | None = None, **options: Any) -> object:
        """Run until the user leaves; the terminal is given back as it was.

        Args:
            loop, options: as in textual.app.App.run.
        """
        log_file = log_dir(self._session.config.paths.logs) / "mtpchat.log"
        advice = "Go on with the chat: mtpchat --continue." if self._session.archive.keeps else ""
        with guarded_terminal(log_file, self._run_record, advice):
            result = super().run(loop=loop, **options)
        if self.return_code:
            print(f"mtpchat ended because of a fault of its own. The log has the details: {log_file}", file=sys.stderr)
        return result

    def _leave_on_signals(self) -> None:
        """A closed terminal window or a `kill` leaves in order."""
        if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.exit)
