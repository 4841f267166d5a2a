"""Finds a text in the chat: one line, `3/17`, and the match that it is about shown and marked.

What was written is searched, so matches are found in messages that rest far from the view, folded or cut short. A
message is laid out only when the reader comes to its match.
"""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from mtpchat.ui.find import MOST, Match, find, nearest_from
from mtpchat.ui.locating import locate, searchable
from mtpchat.ui.widgets.entry import Entry, set_awake
from mtpchat.ui.widgets.line_bar import LineBar
from mtpchat.ui.widgets.transcript import Transcript


class FindBar(LineBar):
    """Searches a transcript.

    Args:
        transcript: what is searched.
    """

    def __init__(self, transcript: Transcript) -> None:
        super().__init__("words of the chat")
        self._transcript = transcript
        self._query = ""
        self._matches: list[Match] = []
        self._entries: list[Entry] = []
        self._at = 0
        self._from = 0
        self._returns: Widget | None = None
        self._hands_over = False
        self._wanted: Match | None = None

    @property
    def hands_over(self) -> bool:
        """Whether Enter leads to the chat, where n and N go on."""
        return self._hands_over

    def ask(self) -> None:
        """Open it, with what was looked for last. Opened from the chat, Enter leads back there, where n and N go on."""
        if not self.is_open:
            self._returns = self.screen.focused
            self._hands_over = self._transcript.has_focus
            self._from = self._first_in_view()
        self.open("find", self._query)
        self._search(self._query, anew=True)  # the chat may have gone on since
        self._show_count()

    def leave(self) -> None:
        """Close it; the reader stays at the match."""
        self._wanted = None
        self.screen.clear_selection()
        self.close()
        (self._transcript if self._hands_over or self._returns is None else self._returns).focus()

    def step(self, step: int) -> None:
        """Go to the next match (1) or the one before (-1), around the ends."""
        if not self._query:
            return
        if not self.is_open:  # n goes on with what was looked for last
            self.display, self._hands_over = True, True
        self._search(self._query, anew=False)
        if self._matches:
            self._at = (self._at + step) % len(self._matches)
            self._go()
        self._show_count()

    def look_again(self) -> None:
        """Other messages may stand there now: count anew, and leave the reader where they are."""
        if self.is_open:
            self._wanted = None
            self._search(self._query, anew=True)
            self._show_count()

    def entered(self) -> None:
        if self._hands_over and self._matches:
            self._transcript.focus()
            self._transcript.mark(self._entries[self._matches[self._at].entry])
            return
        self.step(1)

    def changed(self, text: str) -> None:
        if text == self._query and self._matches:
            return
        self._search(text, anew=True)
        if self._matches:
            self._go()
        else:
            self.screen.clear_selection()
        self._show_count()

    def action_step(self, step: int) -> None:
        self.step(step)

    def on_click(self) -> None:
        self.field.focus()

    def _search(self, query: str, *, anew: bool) -> None:
        """Look through what there is now: an answer may have grown. The match that is shown stays it if it can."""
        before = self._matches[self._at] if self._matches and not anew else None
        self._query = query
        self._entries = [one for one in self._transcript.entries if one.index is not None]
        self._matches = find([searchable(one) for one in self._entries], query)
        if before in self._matches:
            self._at = self._matches.index(before)
        elif self._matches:
            self._at = nearest_from(self._matches, self._from)

    def _go(self) -> None:
        """Show the match: first its message, then, when that is laid out, its row."""
        match = self._matches[self._at]
        entry = self._entries[match.entry]
        self._wanted = match
        self._transcript.mark(entry)
        set_awake(entry, True)
        entry.reveal(match.end)
        region, height = entry.virtual_region, self._transcript.size.height
        share = match.start / max(len(searchable(entry)), 1)
        near = region.y + round(share * region.height)
        if not self._transcript.scroll_y <= near < self._transcript.scroll_y + height:
            self._transcript.scroll_to(y=near - height // 3, animate=False, immediate=True)
        self.call_after_refresh(self._show_match if entry.whole else self._make_whole, match, entry)

    async def _make_whole(self, match: Match, entry: Entry) -> None:
        """Far from the view a message is not made; its rows are known after one more layout."""
        await entry.make_whole()
        self.call_after_refresh(self._show_match, match, entry)

    def _show_match(self, match: Match, entry: Entry) -> None:
        if match is not self._wanted or not entry.is_attached:
            return
        place = locate(entry, match.start, match.end)
        if place is None:
            self.screen.clear_selection()
            return
        self.screen.selections = {place.widget: place.selection}
        chat = self._transcript
        row = place.widget.content_region.y + place.row - chat.region.y
        if not 1 <= row < chat.size.height - 1:
            chat.scroll_to(y=chat.scroll_y + row - chat.size.height // 3, animate=False, immediate=True)

    def _first_in_view(self) -> int:
        entries = [one for one in self._transcript.entries if one.index is not None]
        top = self._transcript.scroll_y
        return next((at for at, one in enumerate(entries) if one.virtual_region.bottom > top), 0)

    def _show_count(self) -> None:
        count = len(self._matches)
        if not self._query.strip():
            found = Content()
        elif not count:
            found = Content.styled("no match", "$mt-warning")
        else:
            found = Content.styled(f"{self._at + 1}/{count:,}{'+' if count == MOST else ''}", "$foreground")
        self.remark(found)
