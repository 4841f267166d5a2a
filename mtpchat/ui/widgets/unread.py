"""Messages that have outgrown the context: they stay in sight, dimmed, and a line below them says what that means."""

from __future__ import annotations

from textual.content import Content

from mtpchat.ui.widgets.entries import Entries
from mtpchat.ui.widgets.messages import Plain


class UnreadLine(Plain):
    """`── 12 messages above are not read by the model any more · /context ──`."""

    def __init__(self, count: int) -> None:
        what = "1 message above is" if count == 1 else f"{count:,} messages above are"
        words = Content.styled(f"{what} not read by the model any more · /context", "$mt-muted")
        rule = Content.styled("── ", "$mt-line")
        super().__init__(Content.assemble(rule, words), classes="entry unread-line")


async def show_unread(transcript: Entries, unread: range) -> None:
    """Dim the messages at these places, and no others."""
    transcript.number()
    for entry in transcript.entries:
        entry.set_class(entry.index is not None and entry.index in unread, "-unread")
    await transcript.query_children(UnreadLine).remove()
    following = transcript.entry_at(unread.stop) if unread else None
    if following is not None:
        await transcript.mount(UnreadLine(len(unread)), before=following)
