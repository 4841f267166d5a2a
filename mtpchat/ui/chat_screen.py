"""The one screen of a chat: layout, and wires between the parts that do the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast, get_args

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.worker import Worker

from mtpchat.commands.base import MenuRow, Reply
from mtpchat.commands.registry import complete, dispatch, is_command
from mtpchat.ui.attention import call_back
from mtpchat.ui.command_context import ScreenContext
from mtpchat.ui.context_desk import ContextDesk
from mtpchat.ui.errands import Errands
from mtpchat.ui.fetches import FetchController
from mtpchat.ui.foot import Foot
from mtpchat.ui.help_page import help_page
from mtpchat.ui.hints import invitation
from mtpchat.ui.history import history_of
from mtpchat.ui.kept_chats import KeptChats
from mtpchat.ui.keyboard import Keyboard
from mtpchat.ui.keys import bindings
from mtpchat.ui.leaving import Leaving
from mtpchat.ui.pointing import Pointing
from mtpchat.ui.presenter import Presenter
from mtpchat.ui.prompt_area import PromptArea
from mtpchat.ui.reading import Reading
from mtpchat.ui.stage import Stage
from mtpchat.ui.turns import Group, TurnController
from mtpchat.ui.widgets.answer import ThinkingView
from mtpchat.ui.widgets.entry import Walked
from mtpchat.ui.widgets.header import Header
from mtpchat.ui.widgets.line_bar import LineBar
from mtpchat.ui.widgets.menu import Menu
from mtpchat.ui.widgets.prompt import Prompt
from mtpchat.ui.widgets.spec_panel import SpecPanel
from mtpchat.ui.widgets.status_bar import StatusBar
from mtpchat.ui.widgets.transcript import Transcript
from mtpchat.ui.work import Work, start_work

if TYPE_CHECKING:
    from mtpchat.engine.session import Session
    from mtpchat.events import Failed
    from mtpchat.fitting import FitChoice
    from mtpchat.ui.app import MtpChatApp

_WIDE = 100
_LOW = 22
_TALL = 30


class ChatScreen(Pointing[None]):
    """Transcript, prompt and the lines around them.

    Args:
        config_path: where the user's settings are.
        banner: a sentence to show first, e.g. why the settings were not read.
        clock: seconds, monotonic.
        resume: a kept chat to begin with, "" for the last one, None for a new one.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("chat")

    def __init__(
        self,
        session: Session,
        config_path: str,
        banner: str,
        clock: Callable[[], float] = time.monotonic,
        resume: str | None = None,
    ) -> None:
        super().__init__()
        self.session = session
        self._config_path = config_path
        self._banner = banner
        self._resume = resume
        self.leaving, self.keyboard = Leaving(self, clock), Keyboard(self)
        settings = session.config.ui
        view = settings.show_thinking if settings.show_thinking in get_args(ThinkingView) else "collapsed"
        self.header = Header()
        self.transcript = Transcript(view, clock=clock)
        self.menu = Menu()
        history = history_of(session.config)
        self.prompt = Prompt(self.menu, history, self._completions, session.config.keys)
        self.prompt.cursor_blink = not settings.reduced_motion
        self.status = StatusBar(motion=not settings.reduced_motion)
        self.panel = SpecPanel()
        self._shows_origin = False
        self.presenter = Presenter(self.header, self.transcript, self.status, self.panel)
        self.stage = Stage(self)
        self.presenter.answered = partial(call_back, self)
        self.reading = Reading(self)
        start, errands = self._start_worker, Errands(self.transcript, self.stage.show_page)
        self.turns = TurnController(session, self.presenter, start, self.update_hints, self._ask_fit, errands=errands)
        self.context = ContextDesk(self)
        self.area = PromptArea(session, self.prompt, self.turns, self.presenter, self.update_hints, clock=clock)
        to_config, show_page = (lambda: session.config), self.stage.show_page
        self.fetches = FetchController(
            self.transcript, self.prompt, start, show_page, self.update_hints, config=to_config
        )
        self.chats = KeptChats(session, self.presenter, self.stage.show_chats, self._start_beside)
        self.foot = Foot(self)

    def compose(self) -> ComposeResult:
        with Vertical(id="top"):
            yield self.header
        yield self.panel
        yield self.transcript
        with Vertical(id="bottom"):
            yield self.reading.find_bar
            yield self.reading.save_bar
            yield self.area
            yield self.status
            yield self.foot.key_line
        with self.foot.menu_frame:
            yield self.menu

    async def on_mount(self) -> None:
        self.command_context = ScreenContext(self.session, self._config_path, self.chat_app, self.turns.line)
        keeps, width = self.session.archive.keeps, self.app.size.width
        self.prompt.placeholder = invitation(self.session.config.keys, width, keeps_chats=keeps)
        self.prompt.focus()
        self.status.set_control(self.session.control)
        self.transcript.types_through = not self.session.config.ui.vi
        if self.session.messages:
            await self.presenter.show_chat(self.session.messages)
        if self._banner:
            await self.presenter.notice(self._banner, warning=True)
        self.call_after_refresh(self.chats.begin, self._resume, self._begin)

    def _begin(self) -> None:
        """What is left of the last time comes back, and the model is loaded."""
        self.area.begin()
        self.stage.show_persona()
        if self.session.config.model.path or self._banner:
            self.turns.load()
        else:
            self.stage.choose_model()

    @property
    def theme_names(self) -> Sequence[str]:
        """Themes that can be chosen."""
        return self.chat_app.theme_names

    async def run_command(self, line: str) -> None:
        """Run a slash command and show its reply."""
        await self.show_reply(dispatch(self.command_context, line), line)

    async def show_reply(self, reply: Reply, line: str) -> None:
        """Carry out what a command answered, and show it."""
        if reply.effect is not None:
            await self.stage.carry_out(reply.effect)
        if reply.text and reply.level == "error":
            await self.presenter.refuse(reply.text, reply.hint)
        elif reply.text:
            await self.presenter.notice(reply.text, command=line.strip())
        await self._follow_control()
        if not self.turns.running:
            self.transcript.to_end()
        self.update_hints()

    async def _follow_control(self) -> None:
        """Show who answers and what is wanted of speculation, which a command may have changed."""
        self.stage.show_persona()
        control = self.session.control
        self.status.set_control(control)
        self.panel.set_control(control)
        if control.provenance != self._shows_origin:
            self._shows_origin = control.provenance
            await self.transcript.show_origin(control.provenance)

    def fill_prompt(self, text: str) -> None:
        """Begin a line for the user."""
        self.prompt.begin(text)
        self.prompt.focus()

    def leave(self) -> None:
        """End the app."""
        self.app.exit()

    # What the user does.

    @on(Prompt.Submitted)
    async def _submitted(self, event: Prompt.Submitted) -> None:
        await self.presenter.forget_refusal()
        if await self.reading.take(event.written):
            return
        if is_command(event.written.text):
            self.turns.line.release()
            await self.run_command(event.written.text)
            return
        await self.turns.submit(event.written)
        self.update_hints()

    @on(Prompt.Leaving)
    def _to_transcript(self) -> None:
        self.transcript.focus()

    @on(Transcript.Left)
    def _to_prompt(self, event: Transcript.Left) -> None:
        find = self.reading.find_bar.field
        if event.typed and self.focused is find:
            find.replace(event.typed, *find.selection)
            return
        self.prompt.focus()
        if event.typed:
            self.prompt.insert(event.typed)

    @on(Transcript.Wanted)
    async def _act(self, event: Transcript.Wanted) -> None:
        await self.reading.act(event.what, event.entry)

    @on(Walked)
    async def _walk(self, event: Walked) -> None:
        await self.reading.walk(event.entry, event.step)

    @on(Menu.Chosen)
    def _row_clicked(self, event: Menu.Chosen) -> None:
        self.prompt.take(event.row)
        self.prompt.focus()

    async def action_stop(self) -> None:
        """Esc: the nearest thing that can be closed, left or stopped."""
        if self.menu.is_open:
            self.prompt.close_menu()
        elif self.panel.is_open and (self.covered or not self.turns.can_stop):
            self.stage.toggle_panel()
        elif self.reading.close():
            pass
        elif self.reading.leaves_with_escape:
            self.prompt.focus()
        elif self.turns.line.holds:
            self.area.leave_waiting()
        elif self.turns.busy:
            self.area.take_back_all()
        elif self.fetches.running:
            self.fetches.stop()
        elif self.session.config.ui.vi and not self.prompt.text:
            self.transcript.focus()
        self.update_hints()

    def action_copy_or_quit(self) -> None:
        """Copy what is marked, or stop what runs, or leave."""
        self.leaving.copy_or_leave()

    def action_redraw(self) -> None:
        """Paint everything anew and go to the end."""
        self.refresh(repaint=True, layout=True)
        self.transcript.to_end()

    def action_next_theme(self) -> None:
        """The theme after this one."""
        names = list(self.theme_names)
        place = names.index(self.chat_app.theme_name) if self.chat_app.theme_name in names else -1
        name = names[(place + 1) % len(names)]
        self.chat_app.choose_theme(name)
        self.notify(f"Theme {name}", timeout=2, markup=False)

    async def action_toggle_speculation(self) -> None:
        """Off when it is on, else auto; at the next token."""
        await self.run_command("/mtp auto" if self.session.control.mode == "off" else "/mtp off")

    async def action_toggle_provenance(self) -> None:
        """Mark guessed text, or no longer."""
        await self.run_command("/provenance")

    async def action_toggle_panel(self) -> None:
        """The panel of speculation."""
        self.stage.toggle_panel()
        self.update_hints()

    async def action_chats(self) -> None:
        """The chats that are kept."""
        await self.run_command("/chats")

    async def action_help(self) -> None:
        """The keys of this place, and the commands."""
        if self.app.screen is self:
            self.stage.show_page("Help", help_page(self.foot.moment, self.session.config.keys))

    def action_find(self) -> None:
        """Find words in the chat."""
        self.reading.find()

    def action_find_step(self, step: int) -> None:
        """The next match, or the one before."""
        self.reading.find_bar.step(step)

    def action_page_up(self, panel: bool = False) -> None:
        if panel or self.covered:
            self.panel.scroll_page_up(animate=False)
        else:
            self.transcript.action_page_up()

    def action_page_down(self, panel: bool = False) -> None:
        if panel or self.covered:
            self.panel.scroll_page_down(animate=False)
        else:
            self.transcript.action_page_down()

    def action_top(self) -> None:
        self.transcript.action_top()

    def action_end(self) -> None:
        self.transcript.action_end()

    # What changes with size, focus and time.

    @on(Menu.Toggled)
    @on(Prompt.Grown)
    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    @on(Transcript.Marked)
    @on(LineBar.Closed)
    @on(events.ScreenResume)
    def _moment_changed(self) -> None:
        self.update_hints()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= _WIDE, "-wide")
        self.set_class(event.size.height < _LOW, "-low")
        self.set_class(event.size.height >= _TALL, "-tall")
        self.make_room()
        self.update_hints()

    @property
    def covered(self) -> bool:
        """Whether the panel stands in the place of the chat."""
        return self.panel.is_open and not self.has_class("-wide")

    def make_room(self) -> None:
        """The chat gives way to the panel where both do not fit."""
        self.transcript.display = not self.covered

    def update_hints(self) -> None:
        """Show the keys of the moment where there is room for them."""
        if not self.is_mounted:
            return
        self.area.recount()
        self.context.follow()
        # An answer is motion enough; each blink would be a painting of its own.
        self.prompt.cursor_blink = not (self.session.config.ui.reduced_motion or self.turns.running)
        self.foot.show()

    def _completions(self, line: str) -> Sequence[MenuRow]:
        return complete(self.command_context, line)

    def _start_worker(self, work: Work, group: Group) -> Worker[None]:
        return start_work(self, work, group, exclusive=True)

    def _start_beside(self, work: Work) -> Worker[None]:
        return start_work(self, work)

    async def _ask_fit(self, failed: Failed) -> FitChoice | None:
        """Ask what to keep when not everything fits into memory; must run in a worker."""
        from mtpchat.ui.fit_dialog import FitDialog

        return await self.app.push_screen_wait(FitDialog(failed))

    @property
    def chat_app(self) -> MtpChatApp:
        """The app that this screen is made for."""
        return cast("MtpChatApp", self.app)
