"""The line under the prompt that says which files would go along, and what they take of the context."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from mtpchat.ui.attached_view import Preview, preview_content


class AttachedLine(Widget):
    """Takes no room while there is nothing to say."""

    def __init__(self) -> None:
        super().__init__()
        self.preview = Preview()
        self.display = False

    def show(self, preview: Preview) -> bool:
        """Show what would go along; whether the line has appeared or gone with that."""
        self.preview = preview
        toggled = self.display == preview.is_empty
        self.display = not preview.is_empty
        self.refresh()
        return toggled

    def render(self) -> Content:
        """The line for the width there is."""
        return preview_content(self.preview, self.content_size.width)
