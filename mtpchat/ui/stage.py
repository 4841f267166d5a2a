"""Carries out what slash commands ask the screen for: one case and one method for each effect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from mtpchat.commands.base import (
    ChangeTheme,
    ChooseModel,
    ChooseTheme,
    Compact,
    CopyText,
    DropWaiting,
    EditMessage,
    EditWaiting,
    Effect,
    FetchModel,
    FillPrompt,
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
from mtpchat.commands.model import switch_model
from mtpchat.commands.templates import presets_dir
from mtpchat.errors import MtpChatError
from mtpchat.presets.personas import follow_chat, read_personas, shown_name
from mtpchat.ui.beginning import Beginning
from mtpchat.ui.page_screen import PageScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from mtpchat.shelf.finding import Found
    from mtpchat.ui.chat_screen import ChatScreen
    from mtpchat.ui.chats_screen import ChatsScreen, Choice


class Stage:
    """What a command, or a key, can have done on the chat screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._beginning = Beginning(screen, self.show_models)
        self._taken_back = ""
        screen.presenter.chat_shown = self.follow_chat

    async def carry_out(self, effect: Effect) -> None:  # noqa: PLR0912  one branch for each effect
        """Do what a command asked for."""
        screen = self._screen
        match effect:
            case Quit():
                screen.leave()
            case ShowChat() | StartTurn() | EditMessage() | Compact():
                await self._converse(effect)
            case CopyText(text):
                self.copy(text)
            case ChangeTheme(name):
                screen.chat_app.choose_theme(name)
            case ChooseTheme():
                screen.chat_app.pick_theme()
            case Reload():
                screen.turns.load()
            case ShowPage(title, markdown):
                self.show_page(title, markdown)
            case TogglePanel():
                self.toggle_panel()
            case ListChats():
                screen.chats.list()
            case OpenChat(reference):
                screen.chats.open(reference)
            case ChooseModel():
                self.choose_model()
            case FetchModel(wanted):
                screen.fetches.fetch(wanted)
            case RunTask():
                screen.turns.work(effect)
            case EditWaiting() | DropWaiting() | FillPrompt():
                self._prepare(effect)
            case _:
                assert_never(effect)

    async def _converse(self, effect: ShowChat | StartTurn | EditMessage | Compact) -> None:
        """What concerns the chat that is shown."""
        try:
            await self._converse_or_raise(effect)
        except MtpChatError as error:
            await self._screen.presenter.refuse(error.message, error.hint)

    async def _converse_or_raise(self, effect: ShowChat | StartTurn | EditMessage | Compact) -> None:
        match effect:
            case ShowChat():
                await self._show_chat(effect)
            case StartTurn(what, index, sampling, seed):
                self._screen.turns.answer(what, index, sampling, seed)
            case EditMessage(index, text):
                await self.edit_message(index, text)
            case Compact(keep):
                self._screen.context.compact(keep)
            case _:
                assert_never(effect)

    def _prepare(self, effect: EditWaiting | DropWaiting | FillPrompt) -> None:
        """What concerns that which is to be sent."""
        area = self._screen.area
        match effect:
            case EditWaiting(number):
                area.edit_waiting(number)
            case DropWaiting(number):
                area.drop_waiting(number)
            case FillPrompt():
                area.fill(effect)
            case _:
                assert_never(effect)

    async def edit_message(self, index: int, text: str) -> None:
        """Put a message differently: as `text`, or as the user goes on to write it."""
        screen = self._screen
        if text:
            screen.turns.edit(index, text)
            return
        await screen.reading.act("edit", screen.transcript.entry_at(index))

    async def _show_chat(self, shown: ShowChat) -> None:
        """Draw the chat anew. What /undo has put into the prompt gives way to what it takes back next, and to /redo."""
        prompt = self._screen.prompt
        await self._screen.presenter.show_chat(self._screen.session.messages, stay_at=shown.stay_at)
        if (shown.prompt_text or shown.brought_back) and prompt.text == self._taken_back:
            prompt.put("")
        if shown.prompt_text:
            alone = not prompt.text
            self._screen.area.give_back(prompt.folded(shown.prompt_text))
            self._taken_back = prompt.text if alone else ""

    def follow_chat(self) -> None:
        """Another chat may be shown: it brings what is unsent of it, and perhaps a persona."""
        self._screen.reading.follow_chat()
        self._screen.area.follow_chat()
        session, place = self._screen.session, presets_dir(self._screen.command_context)
        follow_chat(session, lambda: read_personas(place))
        self.show_persona()

    def show_persona(self) -> None:
        """Say in the header who answers."""
        self._screen.header.show_persona(shown_name(self._screen.session))

    def copy(self, text: str) -> None:
        """Put text on the clipboard."""
        self._screen.app.copy_to_clipboard(text)

    def show_page(self, title: str, markdown: str) -> None:
        """Show a page over the chat. A command that is begun there is typed in the prompt."""
        self._screen.app.push_screen(PageScreen(title, markdown, self._type_command))

    def _type_command(self, typed: str) -> None:
        prompt = self._screen.prompt
        if typed == "/":
            prompt.make_way()
        prompt.focus()
        prompt.insert(typed)

    def show_chats(self, chats: ChatsScreen, then: Callable[[Choice | None], None]) -> None:
        """Show the screen of kept chats; `then` gets what came of it."""
        self._screen.app.push_screen(chats, then)

    def toggle_panel(self) -> None:
        """Open or close the panel of speculation."""
        screen, panel = self._screen, self._screen.panel
        control = replace(screen.session.control, observe=not panel.is_open)
        screen.session.set_control(control)
        if panel.is_open:
            panel.close()
        else:
            panel.open(control, screen.session.report)
        screen.make_room()

    def choose_model(self) -> None:
        """Show the models that there are, or how to get one."""
        self._beginning.choose()

    def show_models(self) -> None:
        """Show the models that there are."""
        from mtpchat.shelf.listing import Shelf
        from mtpchat.ui.model_outlook import Outlooks
        from mtpchat.ui.model_picker import ModelPicker

        config, facts = self._screen.session.config, self._screen.session.facts
        outlooks = Outlooks(config, gpu=facts is not None and facts.gpu)
        self._screen.app.push_screen(ModelPicker(Shelf(config), outlooks, config.model.path), self._model_chosen)

    async def _model_chosen(self, found: Found | None) -> None:
        if found is None:
            return
        reply = switch_model(self._screen.command_context, found.path, found.name)
        await self._screen.show_reply(reply, f"/model {found.name}")
