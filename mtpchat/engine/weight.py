"""Between two turns: the target's context is made anew without what only speculation needs, or with it again.

Never inside an answer: there `/mtp off` means plain decoding in the context that is there. A context that was made anew
is empty, so the chat is read again; that is said in one sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mtpchat.backend.protocol import LoadedModel
from mtpchat.errors import DrafterError, ModelError

WORTH = 0.01
"""Share of a plain decode from which on making the context anew is worth reading the chat again."""


@dataclass(slots=True)
class Weight:
    """Decides, once per turn, what the target's context carries.

    Attributes:
        setting: speculative.off_rebuild.
        why_not: why the context stays as it is although it was to be made anew, or "".
    """

    loaded: LoadedModel
    setting: Literal["auto", "always", "never"]
    why_not: str = ""

    def wants_change(self, *, off: bool) -> bool:
        """Whether the context has to be made anew for a turn with speculation off, or on."""
        ballast = self.loaded.ballast
        if ballast is None:
            return False
        if ballast.shed == off:
            self.why_not = ""  # what failed is tried again when speculation is switched again
            return False
        if self.why_not:
            return False
        if not off:
            return True
        if self.setting == "never":
            return False
        return self.setting == "always" or (ballast.share() or 0.0) > WORTH

    def change(self, *, off: bool) -> str:
        """Make the context anew; everything that remembers its memory must have forgotten.

        Returns:
            A sentence for people.

        Raises:
            ModelError, DrafterError: neither form of the context could be made; the model must be unloaded.
        """
        ballast = self.loaded.ballast
        if ballast is None:
            return ""
        try:
            ballast.rebuild(shed=off)
        except (ModelError, DrafterError) as error:
            ballast.rebuild(shed=not off)
            self.why_not = f"the context could not be made anew: {error.message}"
            return f"Speculation {'off' if off else 'stays off'}: {self.why_not}"
        self.why_not = ""
        if not off:
            return f"Speculation on: the context was made anew with its {ballast.words}."
        share = ballast.share() if self.setting == "auto" else None
        faster = f", {share:.1%} faster" if share else ""
        return f"Speculation off: the context was made anew without its {ballast.words}{faster}."
