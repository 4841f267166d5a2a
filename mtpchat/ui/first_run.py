"""The screen for somebody without a model: from nothing to one that runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from mtpchat.commands.files import expand
from mtpchat.errors import CommandError, FetchCancelled, MtpChatError
from mtpchat.gguf.memory_plan import Machine
from mtpchat.hub.access import access
from mtpchat.hub.starters import Starter
from mtpchat.shelf.first_look import model_files_in
from mtpchat.shelf.places import short_path
from mtpchat.ui.dialog import Dialog
from mtpchat.ui.first_run_view import INTRODUCTION, Offered, keys, offers, remark, row_of
from mtpchat.ui.on_thread import on_thread
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.starter_fetch import StarterFetch
from mtpchat.ui.widgets.choice_list import ChoiceList
from mtpchat.ui.widgets.folder_bar import FolderBar
from mtpchat.ui.widgets.messages import Plain
from mtpchat.ui.work import start_work

if TYPE_CHECKING:
    from mtpchat.config import Config

_log = logging.getLogger(__name__)
State = Literal["choosing", "asking", "fetching"]
_MOST_NAMES = 8


@dataclass(frozen=True, slots=True)
class UseModel:
    """A model is there: load it."""

    path: Path
    remark: str = ""


@dataclass(frozen=True, slots=True)
class UseFolder:
    """Models are in this folder: remember it, and choose among them."""

    folder: Path


FirstChoice = UseModel | UseFolder


class FirstRun(Dialog[FirstChoice | None]):
    """Ends with a model, a folder of models, or None when the user goes to the chat without.

    Args:
        machine: what memory is free, as far as it can be told; asked in a thread.
        demo: the demo model, if it is installed.
        starters: what may be fetched; () is the list that ships.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "back", show=False, priority=True)]

    def __init__(
        self, machine: Callable[[], Machine], demo: Path | None = None, starters: Sequence[Starter] = ()
    ) -> None:
        super().__init__()
        self._ask_machine = machine
        self._demo = demo
        self._starters = starters
        self._offers: list[Offered] = []
        self._fetch: StarterFetch | None = None
        self._title = Plain(classes="page-title")
        self._list = VerticalScroll(id="first-list", can_focus=False)
        self._status = Plain(classes="first-status")
        self._small_print = Plain(classes="remark")
        self._keys = Plain(classes="first-keys")
        self.folder = FolderBar(self._use, self._show_names)
        self.state: State = "choosing"

    def compose(self) -> ComposeResult:
        with Vertical(id="first"):
            yield Plain("mtpchat", classes="page-title")
            yield Plain(INTRODUCTION, classes="reason")
            yield self._list
            yield self.folder
            yield self._status
            yield self._small_print
            yield self._keys

    def on_mount(self) -> None:
        self._go("choosing")
        start_work(self, self._offer)

    async def _offer(self) -> None:
        try:
            machine = await on_thread(self._ask_machine)
        except (MtpChatError, RuntimeError) as error:
            _log.warning("nobody knows how much memory is free: %s", error)
            machine = Machine(None)
        self._offers = offers(machine, self._demo, self._starters)
        choices = ChoiceList([row_of(one, machine) for one in self._offers])
        await self._list.mount(choices)
        hub = access()
        self._small_print.update(remark(machine, short_path(hub.cache), hub.endpoint.partition("://")[2], self._offers))
        self._go("choosing")

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height < 22, "-low")
        if self.choices is not None:
            self.call_after_refresh(self.choices.action_mark, self.choices.marked)  # it stays in sight

    @property
    def choices(self) -> ChoiceList | None:
        """What there is to choose from, once that is known."""
        return self.query(ChoiceList).first() if self.query(ChoiceList) else None

    def _go(self, state: State, said: Content | None = None) -> None:
        """To another state, with a line about why."""
        self.state = state
        self._list.display = state != "asking"
        self._keys.update(keys(state))
        self._status.update(said or Content())
        self._status.display = said is not None
        self._small_print.set_class(said is not None, "-away")  # the keys have to stay in sight
        if state == "asking":
            self.folder.ask()
            return
        self.folder.close()
        if self.choices is not None:
            self.choices.disabled = state == "fetching"
            self.choices.focus()

    @on(ChoiceList.Chosen)
    def _take(self, event: ChoiceList.Chosen) -> None:
        if self.state != "choosing":
            return
        offer = self._offers[event.index]
        if offer.kind == "folder":
            self._go("asking")
        elif offer.path is not None:
            self.dismiss(UseModel(offer.path))
        elif offer.starter is not None:
            start_work(self, partial(self._fetched, offer.starter), "fetch", exclusive=True)

    async def _fetched(self, starter: Starter) -> None:
        self._fetch = StarterFetch(starter, self._show_progress)
        self._go("fetching", Content("asking the hub"))
        try:
            arrived = await self._fetch.run()
        except FetchCancelled:
            self._go("choosing", Content("Stopped. What has come is kept: choosing it again goes on from there."))
        except MtpChatError as error:
            what = Content.styled(safe_line(error.message), "bold $error")
            self._go("choosing", Content.assemble("× ", what, " ", safe_line(error.hint)))
        else:
            missing = self._fetch.without_drafter
            self.dismiss(UseModel(arrived.path, f"Its drafter did not come: {missing}" if missing else ""))
        finally:
            self._fetch.stop()
            self._fetch = None

    def _show_progress(self, line: str) -> None:
        self._status.update(Content(safe_line(line)))

    def _show_names(self, names: Sequence[str]) -> None:
        shown = "   ".join(safe_line(name.rstrip("/").rpartition("/")[2] or name) for name in names[:_MOST_NAMES])
        more = f"   … {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        self._status.display = True
        self._status.update(Content.styled(shown + more, "$mt-muted"))

    def _use(self, typed: str) -> None:
        try:
            path = expand(typed).absolute()
        except CommandError as error:
            self.folder.warn(error.message)
            return
        if path.is_file():
            self.dismiss(UseModel(path))
        elif path.is_dir():
            start_work(self, partial(self._look_into, path), "look", exclusive=True)
        else:
            self.folder.warn("there is no such folder")

    async def _look_into(self, folder: Path) -> None:
        self.folder.remark(Content.styled("looking …", "$mt-muted"))
        count = await on_thread(lambda: model_files_in(folder))
        if self.state != "asking":
            return
        if count:
            self.dismiss(UseFolder(folder))
        else:
            self.folder.warn("no file in there ends in .gguf")

    def action_back(self) -> None:
        """Esc: one step back; from the choice to the chat."""
        if self._fetch is not None:
            self._fetch.stop()
        elif self.state == "asking":
            self._go("choosing")
        else:
            self.dismiss(None)


def folders_with(config: Config, folder: Path) -> tuple[str, ...]:
    """The user's folders of models with one more, each once."""
    return tuple(dict.fromkeys([*config.paths.model_folders, short_path(folder)]))
