"""What is done while nothing runs, so that neither the next answer nor the reader's next key need wait for it.

First, libraries for Markdown and code are imported and the tables of the most frequent language compiled, on a thread
of their own, which gives way to the screen. Then the garbage collector: a look through all that is alive stops every
thread for 50 to 500 ms, the engine's too, and Python takes one whenever enough was made, which is every second while
somebody pages through a long chat. Here it is put off until the reader pauses, and what is alive then is taken out of
the collector's sight.
"""

from __future__ import annotations

import gc
import threading

from textual.timer import Timer
from textual.widget import Widget

_LOOK_EVERY_S = 0.5
_WORTH_IT = 3
"""Collections of middle-aged objects since the last full one, from which a pause is used for one."""
_FULL_AFTER = 30
"""So many of them bring about a full one even if nobody pauses, three times as many as Python has it: the rarer, the
longer each takes, and what nobody notices twice a minute is a nuisance when it takes most of a second."""
_GROWN = 2
"""So many times what was alive after the last look at all of the memory must be out of the collector's sight before
there is another: much of it may have died. The looks between take a tenth of its time."""


class IdleWork:
    """Waits for quiet moments.

    Args:
        owner: a widget that lives as long as the app.
    """

    def __init__(self, owner: Widget) -> None:
        self._owner = owner
        self._timer: Timer | None = None
        self._prepared = self._settled = False
        self._alive = 0
        self._collections: tuple[int, int] = (0, 0)

    def start(self) -> None:
        """Nothing runs any more."""
        self.stop()
        self._settled = False
        if self._owner.is_attached:
            self._timer = self._owner.set_interval(_LOOK_EVERY_S, self._look)

    def stop(self) -> None:
        """Something begins."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _look(self) -> None:
        if not self._prepared:
            self._prepared = True
            put_off_full_collections()
            threading.Thread(target=prepare, name="mtpchat-prepare", daemon=True).start()
            return
        _newest, young, middle = gc.get_count()
        before, self._collections = self._collections, (young, middle)
        # Whoever reads or types makes objects, and with them collections of young ones.
        pausing = before == self._collections
        if not self._settled or (pausing and middle >= _WORTH_IT):
            self._settled = True
            self._settle()

    def _settle(self) -> None:
        thoroughly = gc.get_freeze_count() >= _GROWN * self._alive
        settle_memory(thoroughly=thoroughly)
        if thoroughly:
            self._alive = gc.get_freeze_count()


def put_off_full_collections() -> None:
    """Have Python look through all of the memory only where nobody has made a pause for long."""
    youngest, young, _full = gc.get_threshold()
    gc.set_threshold(youngest, young, _FULL_AFTER)


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
