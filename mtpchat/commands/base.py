"""The contract between slash commands and whoever shows them. No Textual here.

A command reads and changes the session through `CommandContext` and returns a `Reply`: a line or a page to show, and at
most one `Effect` that only the screen can carry out. Effects are a closed union, matched with assert_never.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:  # `mtpchat help` prints the table of commands without an engine
    from mtpchat.config import SamplingConfig
    from mtpchat.engine.requests import Task
    from mtpchat.engine.session import Session


@dataclass(frozen=True, slots=True)
class Quit:
    """Leave the app."""


@dataclass(frozen=True, slots=True)
class ShowChat:
    """Draw the transcript anew from session.messages (after /clear, /undo)."""

    prompt_text: str = ""
    """Text to put back into the prompt, e.g. the message that /undo took away."""

    stay_at: int | None = None
    """Index of the message that is to be in sight; None shows the end."""

    brought_back: bool = False
    """What had been taken away stands in the chat again, so it is not wanted in the prompt any more."""


@dataclass(frozen=True, slots=True)
class StartTurn:
    """Run session.retry() or session.continue_last() and show the answer.

    `index` is that of the user's message which "retry" answers, None the last. `sampling` and `seed` hold for this
    answer alone.
    """

    what: Literal["retry", "continue"]
    index: int | None = None
    sampling: SamplingConfig | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class EditMessage:
    """Put the message of that index differently; without `text` the user is to say how."""

    index: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class CopyText:
    """Put text on the clipboard."""

    text: str


@dataclass(frozen=True, slots=True)
class ChangeTheme:
    """Switch to a theme; the name has been checked."""

    name: str


@dataclass(frozen=True, slots=True)
class ChooseTheme:
    """Show the themes that there are, for the user to choose one."""


@dataclass(frozen=True, slots=True)
class Reload:
    """Load session.config's model and drafter anew (the session's config has been replaced already)."""


@dataclass(frozen=True, slots=True)
class ShowPage:
    """Show a page of Markdown (help, stats, config), e.g. as a scrollable overlay."""

    title: str
    markdown: str


@dataclass(frozen=True, slots=True)
class ListChats:
    """Show the chats that are kept."""


@dataclass(frozen=True, slots=True)
class OpenChat:
    """Go on with a chat that is kept: its number in the list, or its id."""

    reference: str


@dataclass(frozen=True, slots=True)
class TogglePanel:
    """Open the panel that shows speculation at work, or close it."""


@dataclass(frozen=True, slots=True)
class ChooseModel:
    """Show the models that there are, for the user to choose one."""


@dataclass(frozen=True, slots=True)
class FetchModel:
    """Fetch what "REPO:QUANT" names beside the chat, or show what REPO has to offer."""

    wanted: str


@dataclass(frozen=True, slots=True)
class EditWaiting:
    """Take a prompt that waits (from 1) into the prompt; Enter puts it back in its place."""

    number: int


@dataclass(frozen=True, slots=True)
class DropWaiting:
    """Cancel a prompt that waits (from 1), or with None all of them."""

    number: int | None


@dataclass(frozen=True, slots=True)
class FillPrompt:
    """Put a text into the prompt. Where it says `{input}` stands `input`; `fields` are places still to be filled in."""

    text: str
    input: str = ""
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compact:
    """Have the older part of the chat summarised, show that for approval, and go on from it.

    `keep` is how many of the last turns stay as they are; None leaves that to the size of the context.
    """

    keep: int | None = None


@dataclass(frozen=True, slots=True)
class RunTask:
    """Do something over the loaded model that is no turn, when nothing else runs, and show what comes of it.

    `command` is the line that asked for it.
    """

    command: str
    task: Task


Effect = (
    Quit
    | ShowChat
    | StartTurn
    | EditMessage
    | CopyText
    | ChangeTheme
    | ChooseTheme
    | Reload
    | ShowPage
    | TogglePanel
    | ChooseModel
    | ListChats
    | OpenChat
    | FetchModel
    | RunTask
    | EditWaiting
    | DropWaiting
    | FillPrompt
    | Compact
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command answers. `text` is a line or a few for the transcript, or ""; plain text, never markup.

    `hint` says what to do about an error.
    """

    text: str = ""
    level: Literal["info", "error"] = "info"
    effect: Effect | None = None
    hint: str = ""


class CommandContext(Protocol):
    """What a command may reach."""

    @property
    def session(self) -> Session: ...

    @property
    def config_path(self) -> str:
        """Where the user's config file is (it may not exist)."""
        ...

    @property
    def themes(self) -> Sequence[str]:
        """Names of the themes that can be chosen."""
        ...

    @property
    def waiting(self) -> Sequence[str]:
        """Prompts that wait for the answer before them."""
        ...

    @property
    def theme(self) -> str:
        """Name of the theme in use."""
        ...


@dataclass(frozen=True, slots=True)
class Completion:
    """A possible argument, whole, as it would stand after the name. Commands offer all; the registry filters."""

    value: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class MenuRow:
    """One row of the slash menu.

    Attributes:
        insert: the whole line that replaces the prompt; a space at its end invites an argument.
        label: what the row shows at the left.
        summary: what it shows at the right.
        found: words of the label that are marked as what was searched for, in any case.
    """

    insert: str
    label: str
    summary: str = ""
    found: tuple[str, ...] = ()


def _no_completion(_context: CommandContext, _argument: str) -> Sequence[Completion]:
    return ()


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command.

    Attributes:
        name: without the slash.
        summary: one line for menu, help and README.
        usage: e.g. "/draft N | MIN-MAX | auto".
        run: carries it out; raises CommandError for a bad argument.
        complete: possible arguments, given the argument typed so far.
        while_busy: may run while an answer is being generated.
        aliases: other names it answers to; not shown in the menu.
        many_lines: its argument may have several lines.
    """

    name: str
    summary: str
    usage: str
    run: Callable[[CommandContext, str], Reply]
    complete: Callable[[CommandContext, str], Sequence[Completion]] = field(default=_no_completion)
    while_busy: bool = False
    aliases: tuple[str, ...] = ()
    many_lines: bool = False

    @property
    def takes_argument(self) -> bool:
        """Whether the usage names anything after the command."""
        return " " in self.usage
