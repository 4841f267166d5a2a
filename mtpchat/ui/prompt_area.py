"""The prompt and what belongs to it: the line of those that wait above it, the user's editor, drafts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical

from mtpchat.commands.base import FillPrompt
from mtpchat.errors import EditorFailed
from mtpchat.paths import drafts_dir
from mtpchat.ui.attached import Attached
from mtpchat.ui.chips import Written, is_large, joined
from mtpchat.ui.draft_keeper import DraftKeeper
from mtpchat.ui.drafts import Draft, Drafts
from mtpchat.ui.external_editor import edit
from mtpchat.ui.presenter import Presenter
from mtpchat.ui.token_count import TokenCount
from mtpchat.ui.turns import TurnController
from mtpchat.ui.widgets.prompt import Prompt
from mtpchat.ui.widgets.waiting_list import WaitingList

if TYPE_CHECKING:
    from collections.abc import Callable

    from mtpchat.engine.session import Session
    from mtpchat.events import Measured


class PromptArea(Vertical):
    """Prompt and waiting list.

    Attributes:
        beginning: what the first prompt begins with, below what is left of the last time.
        aside: what is unsent while something else is edited in the prompt.

    Args:
        changed: called when the area may have another height.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        session: Session,
        prompt: Prompt,
        turns: TurnController,
        presenter: Presenter,
        changed: Callable[[], None],
        *,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(id="prompt-area")
        self.beginning = ""
        self._session = session
        self._prompt = prompt
        self._turns = turns
        self._presenter = presenter
        self._changed = changed
        self.waiting = WaitingList()
        self._moment: Literal["waiting", "held"] | None = None
        prompt.line = turns.line
        turns.line.changed = self._line_changed
        self.attached = Attached(session, self, changed)
        turns.files_of, turns.not_sent = self.attached.files_of, self.give_back
        self.aside = Written("")
        presenter.know_tokens(self.attached.tokens_of)
        self._tokens = TokenCount(self, self._measure, self._countable, self._state, presenter.show_pending)
        settings = session.config
        drafts = Drafts(drafts_dir(settings.paths.history) if settings.chats.save else None)
        self._keeper = DraftKeeper(drafts, self, lambda: session.chat_id, self._unsent, clock)

    def compose(self) -> ComposeResult:
        yield self.waiting
        yield self._prompt
        yield self.attached.line

    @property
    def foot_height(self) -> int:
        """Lines from the top of the prompt to the end of the area."""
        return self._prompt.outer_size.height + (1 if self.attached.line.display else 0)

    @property
    def moment(self) -> Literal["waiting", "held"] | None:
        """What the keys mean while prompts wait."""
        line = self._turns.line
        waits = bool(line.prompts) and not self._prompt.text
        self._moment = "held" if line.holds else "waiting" if waits else None
        return self._moment

    def on_unmount(self) -> None:
        self._keeper.close()

    def _unsent(self) -> Draft:
        prompt, first = self._prompt.written, self._turns.preparing
        written = joined([self.aside, prompt]) if self.aside.text.strip() else prompt
        return Draft(written, (first, *self._waiting()) if first.text.strip() else self._waiting())

    def _waiting(self) -> tuple[Written, ...]:
        """Prompts that wait, without the one that stands in the prompt to be edited."""
        line = self._turns.line
        edited = line.held if self._prompt.text.strip() else None
        return tuple(one for place, one in enumerate(line.prompts) if place != edited)

    def begin(self) -> None:
        """Bring back what was unsent of a chat that has not begun, unless another one is shown already."""
        if not self._session.chat_id and not self._keeper.shown:
            self._bring_back(self._keeper.begin())
        if self.beginning:
            typed = self._prompt.written
            self._prompt.put(joined([typed, Written(self.beginning)]) if typed.text.strip() else self.beginning)

    def follow_chat(self) -> None:
        """Another chat may be shown: what is unsent belongs to the one before, and this one's comes back."""
        chat = self._session.chat_id
        if chat == self._keeper.shown or self._turns.running or not self._keeper.keeps:
            return
        typed_ahead = not self._keeper.begun
        draft = self._keeper.leave_for(chat)
        if not typed_ahead:
            self._turns.line.clear()
            self._prompt.put("")
        self._bring_back(draft)

    def _bring_back(self, draft: Draft) -> None:
        typed = [one for one in (draft.written, self._prompt.written) if one.text.strip()]
        if draft.written.text.strip():
            self._prompt.put(joined(typed))
        if draft.waiting:
            self._turns.line.restore(draft.waiting)

    @on(Prompt.Edited)
    def _edited(self, event: Prompt.Edited) -> None:
        event.stop()
        self._keeper.touch()
        written = self._prompt.written
        self.attached.follow(written)
        self._tokens.follow(written)
        before = self._moment
        if before != self.moment:
            self._changed()

    def recount(self) -> None:
        """Something may have begun or ended, or the chat or the model may be another one."""
        if self._turns.running:
            self._keeper.adopt()
        if self._countable():
            self._tokens.follow(self._prompt.written)
            self.attached.follow(self._prompt.written)
        else:
            self._tokens.forget()

    def _countable(self) -> int:
        facts = self._session.facts
        return 0 if facts is None or self._turns.busy else facts.context_size

    def _state(self) -> object:
        session = self._session
        return session.chat_id, len(session.messages), session.system, session.facts

    async def _measure(self, written: Written) -> Measured:
        attachments = await self.attached.read(written)
        return await self._session.terms.measure(written.text, attachments)

    def give_back(self, written: Written) -> None:
        """A message that was not sent stands in the prompt again, above what was typed meanwhile."""
        texts = [one for one in (written, self._prompt.written) if one.text.strip()]
        if texts:
            self._prompt.give_back(joined(texts))

    def take_back_all(self) -> None:
        """Stop what runs; prompts that wait come back into the prompt, above what stands there."""
        self.attached.stop()
        taken = [one for one in (*self._waiting(), self._prompt.written) if one.text.strip()]
        self._turns.stop()
        if len(taken) > 1 or (taken and not self._prompt.text.strip()):
            self._prompt.give_back(joined(taken))

    def leave_waiting(self) -> None:
        """The waiting prompt that is being edited stays as it was."""
        self._turns.line.release()
        self._prompt.put("")

    def edit_waiting(self, number: int) -> None:
        """Take a waiting prompt into the prompt. Raises CommandError when there is none of that number."""
        line = self._turns.line
        before = self._prompt.written
        written = line.take(number)
        if before.text.strip() and before not in line.prompts:
            self._prompt.remember(before)
        self._prompt.put(written)
        self._prompt.focus()

    @on(WaitingList.Chosen)
    def _chosen(self, event: WaitingList.Chosen) -> None:
        event.stop()
        if event.number > len(self._turns.line.prompts):  # it was sent while the mouse was on its way
            return
        if event.drop:
            self.drop_waiting(event.number)
        else:
            self.edit_waiting(event.number)

    def fill(self, wanted: FillPrompt) -> None:
        """Put a text with places to be filled in into the prompt; a large paste in it stays folded."""
        if not wanted.input:
            self._prompt.fill(Written(wanted.text), wanted.fields)
        else:
            before, marker, after = wanted.text.partition("{input}")
            at = len(before)
            folds = ((at, at + len(wanted.input)),) if marker and is_large(wanted.input) else ()
            text = f"{before}{wanted.input}{after.replace('{input}', wanted.input)}"
            self._prompt.fill(Written(text, folds), wanted.fields)
        self._prompt.focus()

    def drop_waiting(self, number: int | None) -> None:
        """Cancel a waiting prompt, or all. Raises CommandError when there is none of that number."""
        line = self._turns.line
        if number is None:
            line.clear()
            return
        if line.held == number - 1:
            self._prompt.put("")
        line.drop(number)

    @on(Prompt.Editing)
    async def _edit_outside(self, event: Prompt.Editing) -> None:
        event.stop()
        self._keeper.flush()
        try:
            text = edit(self.app, self._prompt.written.text)
        except EditorFailed as error:
            await self._presenter.error(error.message, error.hint)
            return
        self._prompt.put_edited(text)
        self._prompt.focus()

    def _line_changed(self) -> None:
        line = self._turns.line
        self.waiting.show(line.prompts, line.held, paused=line.paused)
        if self.is_mounted:
            # Not at once: the one who calls may just be about to begin with the one that has left the line.
            self.call_later(self._go_on)
            self.call_after_refresh(self._changed)

    def _go_on(self) -> None:
        self._turns.go_on()
        self._keeper.save_soon()
