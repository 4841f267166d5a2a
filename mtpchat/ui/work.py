"""Starting what goes on beside the screen.

It is given as what makes the coroutine: one that is made, and never begun because the app leaves, is complained about.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine

from textual.dom import DOMNode
from textual.worker import Worker

Work = Callable[[], Coroutine[None, None, None]]


def start_work(owner: DOMNode, work: Work, group: str = "default", *, exclusive: bool = False) -> Worker[None]:
    """Run it as long as its owner lives; with `exclusive`, in place of what the owner has in that group."""
    return owner.run_worker(work, group=group, exclusive=exclusive, exit_on_error=False)
