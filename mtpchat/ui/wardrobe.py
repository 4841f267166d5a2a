"""The themes of the app: which there are, which is worn, and what follows when one is chosen or its file is saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mtpchat.errors import MtpChatError
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.themes import ANSI_THEME, DEFAULT_THEME, for_terminal, load_themes, state_of

if TYPE_CHECKING:
    from mtpchat.ui.app import MtpChatApp
    from mtpchat.ui.theme_picker import ThemeChoice

_LOOK_S = 1.0


class Wardrobe:
    """Puts themes on the app.

    Args:
        config_path: where the user's settings are; the folder `themes` beside it is read.
    """

    def __init__(self, app: MtpChatApp, config_path: str) -> None:
        self._app = app
        self._config_path = config_path
        self._folder = Path(config_path).parent / "themes" if config_path else None
        self._files = state_of(self._folder)
        self._loaded = load_themes(self._folder)

    @property
    def names(self) -> Sequence[str]:
        """Themes that can be chosen, the default first."""
        return sorted(self._loaded.themes, key=lambda name: (name != DEFAULT_THEME, name))

    @property
    def defaults(self) -> dict[str, str]:
        """All variables of the default theme."""
        return dict(self._loaded.themes[DEFAULT_THEME].variables)

    def begin(self, wanted: str) -> None:
        """Put on the theme of the settings, or what takes its place: before the app is shown."""
        self.choose(self._shown(wanted))

    def follow(self, wanted: str) -> None:
        """Say what is wrong with theme files, and read them again when they are saved."""
        self._tell_failures()
        broken = {failure.path.stem for failure in self._loaded.failures if failure.path is not None}
        if wanted not in self._loaded.themes and wanted not in broken:
            self._app.notify(f"There is no theme {safe_line(wanted)}", severity="warning", markup=False)
        self._app.set_interval(_LOOK_S, self._follow_files)

    def choose(self, name: str) -> None:
        """Change the colours, as far as the terminal has them; a theme whose file has gone changes nothing."""
        theme = self._loaded.themes.get(name)
        if theme is None:
            return
        self._app.register_theme(for_terminal(theme, self._app.console.color_system))
        if name == self._app.theme:
            self._app._watch_theme(name)  # its file was saved
        else:
            self._app.theme = name

    def pick(self) -> None:
        """Let the user look at the themes and take one."""
        from mtpchat.ui.theme_picker import ThemePicker

        rows = [(name, self._loaded.about.get(name, "")) for name in self.names]
        self._app.push_screen(ThemePicker(rows, self._app.theme, self.choose), self._picked)

    def _picked(self, choice: ThemeChoice | None) -> None:
        if choice is None:
            return
        self.choose(choice.name)
        if not choice.save:
            return
        from mtpchat.config_edit import save_value

        try:
            save_value(Path(self._config_path), "ui.theme", choice.name)
        except MtpChatError as error:
            self._app.notify(safe_line(error.sentence), severity="warning", markup=False)
            return
        self._app.notify(safe_line(f"Theme {choice.name}, from now on"), timeout=3, markup=False)

    def _shown(self, wanted: str) -> str:
        themes = self._loaded.themes
        theme = wanted if wanted in themes else DEFAULT_THEME
        # NO_COLOR wants none, not greys; and of sixteen colours nobody's are better known than the terminal's own.
        poor = self._app.no_color or (self._app.console.color_system == "standard" and theme == DEFAULT_THEME)
        return ANSI_THEME if poor and ANSI_THEME in themes and not themes[theme].ansi else theme

    def _follow_files(self) -> None:
        """The theme in use changes at once when its file was saved."""
        found = state_of(self._folder)
        if found == self._files:
            return
        self._files = found
        self._loaded = load_themes(self._folder)
        self._tell_failures()
        self.choose(self._shown(self._app.theme))

    def _tell_failures(self) -> None:
        for failure in self._loaded.failures:
            self._app.notify(safe_line(failure.sentence), title="Theme left out", severity="warning", markup=False)
