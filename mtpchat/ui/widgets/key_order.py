"""Keys that a widget has bindings for act as soon as they are here, like letters.

Textual looks bindings up when a key has gone all the way up to the app, and letters that came in the same lump, as they
do over a slow line, would be in the text before a Backspace that was pressed ahead of them.
"""

from __future__ import annotations

from textual import events
from textual.widget import Widget

_SENDS = "submit"


async def act_at_once(widget: Widget, event: events.Key) -> None:
    """Run what the widget itself has bound to a key that changes or moves; the event ends with that."""
    if event.is_printable:
        return
    active = widget.screen.active_bindings.get(event.key)
    if active is None or active.node is not widget or active.binding.priority or not active.enabled:
        return
    if active.binding.action == _SENDS:
        return
    if await widget.app.run_action(active.binding.action, widget):  # else it is for those around the widget
        event.stop()
        event.prevent_default()
