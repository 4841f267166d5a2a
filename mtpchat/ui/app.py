"""The app: themes, keys, the terminal, and one chat screen."""

from __future__ import annotations

import asyncio
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

from mtpchat.paths import log_dir
from mtpchat.ui.chat_screen import ChatScreen
from mtpchat.ui.clipboard import LocalClipboard
from mtpchat.ui.glyphs import ASCII_KEYS, AsciiSigns, wants_ascii
from mtpchat.ui.key_check import complaints
from mtpchat.ui.keys import bindings, split_keymap
from mtpchat.ui.keystrokes import TypeAhead, read_keys_so
from mtpchat.ui.palette import CommandProvider, Palette
from mtpchat.ui.suspension import take_terminal_once
from mtpchat.ui.terminal_guard import guarded_terminal
from mtpchat.ui.wardrobe import Wardrobe
from mtpchat.ui.widgets.header import Header
from mtpchat.ui.window_title import WindowTitle

if TYPE_CHECKING:
    from mtpchat.engine.session import Session
    from mtpchat.gguf.memory_plan import Machine
    from mtpchat.hub.starters import Starter


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
    BINDINGS: ClassVar[list[Any]] = bindings("app")

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
        self._wardrobe = Wardrobe(self, config_path)
        for name in ("COLUMNS", "LINES"):  # left by whoever started us; Textual believes them more than the terminal
            os.environ.pop(name, None)
        super().__init__()
        self._session = session
        self._run_record = run_record
        self._local_clipboard = LocalClipboard()
        self._type_ahead = TypeAhead()
        self._window_title = WindowTitle(self._to_terminal, wanted=session.config.ui.window_title)
        self._chat = ChatScreen(session, config_path, banner, clock, resume)
        self._chat.chats.first_words = first_words
        self._chat.area.beginning = beginning
        self._wardrobe.begin(session.config.ui.theme)
        if self.no_color:
            self._filters = [NoColor() if isinstance(one, Monochrome) else one for one in self._filters]
        ascii_alone = wants_ascii(session.config.ui.signs, os.environ)
        ASCII_KEYS.set(ascii_alone)
        if ascii_alone:
            self._filters.append(AsciiSigns())
        if session.config.ui.reduced_motion:
            self.animation_level = "none"
        self.set_keymap(split_keymap(session.config.keys)[0])

    @property
    def theme_names(self) -> Sequence[str]:
        """Themes that can be chosen, the default first."""
        return self._wardrobe.names

    @property
    def theme_name(self) -> str:
        """The theme in use."""
        return self.theme

    def copy_to_clipboard(self, text: str) -> None:
        """Put text on the clipboard of the terminal and on that of this machine."""
        super().copy_to_clipboard(text.encode("utf-8", "replace").decode("utf-8"))  # no half of a surrogate pair
        self._local_clipboard.put(text)

    async def on_event(self, event: events.Event) -> None:
        """See App. What begins a chord goes no further, and what completes it comes as one key."""
        if self._type_ahead.keeps(event):
            return
        if isinstance(event, events.Key) and not event.is_forwarded:
            name = self._chat.keyboard.heard(event.key)
            if name is None:
                return
            event = event if name == event.key else events.Key(name, None)
        await super().on_event(event)

    @on(events.DescendantFocus)
    @on(events.Ready)
    async def _take_what_was_typed(self) -> None:
        for event in self._type_ahead.release():
            await self.on_event(event)

    @on(Header.Titled)
    def _chat_titled(self, event: Header.Titled) -> None:
        self._window_title.show(event.title)

    def _to_terminal(self, data: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(data)

    def action_command_palette(self) -> None:
        """See App."""
        if not Palette.is_open(self):
            self.push_screen(Palette(id="--command-palette"))

    def choose_theme(self, name: str) -> None:
        """Change the colours."""
        self._wardrobe.choose(name)

    def pick_theme(self) -> None:
        """Let the user look at the themes and take one."""
        self._wardrobe.pick()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own variables, so that a theme of Textual's works too."""
        return self._wardrobe.defaults

    def get_default_screen(self) -> Screen[None]:
        """The chat."""
        return self._chat

    def on_mount(self) -> None:
        self._leave_on_signals()
        take_terminal_once(self)
        self.app_suspend_signal.subscribe(self, lambda _app: self._window_title.restore(), immediate=True)
        self.app_resume_signal.subscribe(self, self._back_in_terminal)
        self._window_title.show(self._session.title)
        self._wardrobe.follow(self._session.config.ui.theme)
        for sentence in complaints(self._session.config.keys):
            self.notify(sentence, severity="warning", markup=False)

    def on_unmount(self) -> None:
        self._window_title.restore()

    def _back_in_terminal(self, _app: App[Any]) -> None:
        """Another program has painted meanwhile: nothing of what was there is to be trusted."""
        self._window_title.show(self._session.title)
        self.refresh(layout=True)

    @on(events.DescendantFocus)
    def _hold_cursor_still(self, event: events.DescendantFocus) -> None:
        if self._session.config.ui.reduced_motion and isinstance(event.widget, Input | TextArea):
            event.widget.cursor_blink = False

    def run(self, *, loop: AbstractEventLoop | None = None, **options: Any) -> object:
        """Run until the user leaves; the terminal is given back as it was.

        Args:
            loop, options: as in textual.app.App.run.
        """
        read_keys_so()
        log_file = log_dir(self._session.config.paths.logs) / "mtpchat.log"
        advice = "Go on with the chat: mtpchat --continue." if self._session.archive.keeps else ""
        with guarded_terminal(log_file, self._run_record, advice, also=self._window_title.undo):
            result = super().run(loop=loop, **options)
        if self.return_code:
            print(f"mtpchat ended because of a fault of its own. The log has the details: {log_file}", file=sys.stderr)
        return result

    def exit(self, *args: Any, **options: Any) -> None:
        """See App. The engine is told at once, so that nobody waits for it at the end."""
        if self._chat.is_running:
            self._chat.turns.leave()
        super().exit(*args, **options)

    def _leave_on_signals(self) -> None:
        """A closed terminal window or a `kill` leaves in order."""
        if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.exit)
