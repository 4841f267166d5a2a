"""The line under an answer that stands in a chat which is drawn anew: what was counted when it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from mtpchat.events import FinishReason
from mtpchat.ui.widgets.messages import summary_content

if TYPE_CHECKING:
    from mtpchat.engine.session import Session

_REASONS: dict[str, FinishReason] = {"length": "length", "context": "context", "cancelled": "cancelled"}


def figures_content(session: Session, index: int) -> Content:
    """The line as it was when the answer had ended; empty for what nothing is known of."""
    known = session.figures(index) if index < len(session.messages) else None
    if known is None:
        return Content()
    stats, reason = known
    return summary_content(stats, _REASONS.get(reason, "stop"))
