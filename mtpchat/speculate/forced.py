"""Guesses that cannot be wrong: the tokens that a grammar leaves no choice about.

They cost nothing to make, and the sampler takes the very same ones whatever the model says, so a row for each of them
is a whole decode saved. They are verified in any case but where speculation is off or a row must be decoded alone; no
drafter is asked then, and none is judged by them: they are counted under a kind of their own.
"""

from __future__ import annotations

from mtpchat.backend.mask import Mask
from mtpchat.speculate.base import Draft
from mtpchat.speculate.proposal import Proposal, Source

KIND = "grammar"


def forced_by(mask: Mask, most: int) -> Proposal | None:
    """The next forced tokens, at most `most`; None where there are none."""
    tokens = mask.run(most) if most > 0 else ()
    if not tokens:
        return None
    draft = Draft(tokens, (1.0,) * len(tokens))
    return Proposal(KIND, tokens, len(tokens), len(tokens), (Source(KIND, draft),))
