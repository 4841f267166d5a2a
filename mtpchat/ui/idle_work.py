"""What is done while nothing runs, so that the next answer need not wait for it.

First, libraries for Markdown and code are imported and the tables of the most frequent language compiled, on a thread
of their own, which gives way to the screen. Then, and after each turn, what is alive is taken out of the garbage
collector's sight: a look through all of it takes 50 ms, during which neither the screen nor the engine's thread runs,
and while an answer grows one would come every few seconds.
"""

from __future__ import annotations

import gc
import threading

from textual.timer import Timer
from textual.widget import Widget

_AFTER_S = 0.5
_THOROUGHLY_EACH = 10
"""Of so many quiet moments one is used for a look at all of the memory; the others take a few milliseconds."""


class IdleWork:
    """Waits for a quiet moment.

    Args:
        owner: a widget that lives as long as the app.
    """

    def __init__(self, owner: Widget) -> None:
        self._owner = owner
        self._timer: Timer | None = None
        self._prepared = False
        self._times = 0

    def start(self) -> None:
        """Nothing runs any more."""
        self.stop()
        if self._owner.is_attached:
            self._timer = self._owner.set_timer(_AFTER_S, self._work)

    def stop(self) -> None:
        """Something begins."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _work(self) -> None:
        if self._prepared:
            settle_memory(thoroughly=self._times % _THOROUGHLY_EACH == 0)
            self._times += 1
            return
        self._prepared = True
        threading.Thread(target=prepare, name="mtpchat-prepare", daemon=True).start()
        self.start()


def prepare() -> None:
    """Import and compile what the first answer needs."""
    from mtpchat.ui.widgets.markdown import CodeBlock, chat_parser

    chat_parser().parse("# a\n\n- *b*\n\n| c |\n|---|\n| `d` |\n")
    CodeBlock.highlight('@a\ndef b(c: int = 1) -> str:\n    return f"{c}"  # d\n', "python")


def settle_memory(*, thoroughly: bool = True) -> None:
    """Leave what is alive now out of later collections; what has died since the last time is freed before.

    Args:
        thoroughly: free also what had been left out of collections and has died since.
    """
    if thoroughly:
        gc.unfreeze()
    gc.collect()
    gc.freeze()
