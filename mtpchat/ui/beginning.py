"""Where a chat without a model begins: with the models that there are, or with how to get one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import msgspec

from mtpchat.commands.model import switch_model
from mtpchat.errors import MtpChatError
from mtpchat.ui.on_thread import on_thread
from mtpchat.ui.work import start_work

if TYPE_CHECKING:
    from mtpchat.ui.chat_screen import ChatScreen
    from mtpchat.ui.first_run import FirstChoice


class Beginning:
    """Chooses between the two, and carries out what came of the second.

    Args:
        show_models: shows the models that there are.
    """

    def __init__(self, screen: ChatScreen, show_models: Callable[[], None]) -> None:
        self._screen = screen
        self._show_models = show_models
        self._looking = False

    def choose(self) -> None:
        """Let the user choose a model; somebody who has none is helped to one."""
        if self._screen.session.config.model.path:
            self._show_models()
        elif not self._looking:
            self._looking = True
            start_work(self._screen, self._look)

    async def _look(self) -> None:
        from mtpchat.shelf.first_look import demo_file, has_models

        config = self._screen.session.config
        try:
            found = await on_thread(lambda: has_models(config))
            demo = None if found else await on_thread(lambda: demo_file(config))
        finally:
            self._looking = False
        if found:
            self._show_models()
        else:
            from mtpchat.ui.first_run import FirstRun

            app = self._screen.chat_app
            self._screen.app.push_screen(FirstRun(app.machine, demo, app.starters), self._chosen)

    async def _chosen(self, choice: FirstChoice | None) -> None:
        from mtpchat.ui.first_run import UseFolder, UseModel
        from mtpchat.ui.first_run_view import WAY_BACK

        screen = self._screen
        match choice:
            case UseModel(path, remark):
                if remark:
                    await screen.presenter.notice(remark, warning=True)
                await screen.show_reply(switch_model(screen.command_context, path), f"/model {path.name}")
            case UseFolder(folder):
                await self._remember(folder)
                self._show_models()
            case None:
                await screen.presenter.notice(WAY_BACK)
            case _:
                assert_never(choice)

    async def _remember(self, folder: Path) -> None:
        """Models are looked for there from now on."""
        from mtpchat.config_edit import save_value
        from mtpchat.ui.first_run import folders_with

        session = self._screen.session
        folders = folders_with(session.config, folder)
        text = folders[0] if len(folders) == 1 else json.dumps(folders, ensure_ascii=False)
        paths = msgspec.structs.replace(session.config.paths, models=folders)
        session.config = msgspec.structs.replace(session.config, paths=paths)
        if not self._screen.command_context.config_path:
            return
        try:
            save_value(Path(self._screen.command_context.config_path), "paths.models", text)
        except MtpChatError as error:
            await self._screen.presenter.notice(
                f"{folders[-1]} is used now, but could not be remembered: {error.sentence}",
                warning=True,
            )
            return
        await self._screen.presenter.notice(f"Models are looked for in {folders[-1]}, from now on: [paths] models")
