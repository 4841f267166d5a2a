"""The app on a fake engine, to be looked at: `python -m tests.ui.demo_app`."""

from __future__ import annotations

import random
from dataclasses import replace

from mtpchat.config import Config, ModelConfig, UiConfig
from mtpchat.events import Finished, LoadFinished, Loading, Prefilling, StatsTick, TextDelta
from mtpchat.messages import Message
from mtpchat.ui.app import MtpChatApp
from tests.ui.fake_session import FACTS, STATS, FakeSession, Step

THOUGHTS = (
    "The user wants the physics of meanders in a few lines, then code. Keep to secondary flow, erosion outside, "
    "deposition inside, and a sine-generated curve for the drawing.\n\nUse numpy and matplotlib."
)

ANSWER = '''A river bends because **faster water on the outside** of a curve cuts the bank, while slower water on the
inside drops its load.

1. A small bend sends the fastest thread of water to the outer bank.
2. The surface tilts; near the bed, pressure drives water *inwards*.
3. That spiral carries sand to the inner bank, where a point bar grows.
4. The bend sharpens until its neck is cut and an oxbow lake is left.

## A curve that looks right

The *sine-generated curve* turns by `omega * sin(s)` along its own length:

```python
import numpy as np
import matplotlib.pyplot as plt

def meander(omega: float = 1.9, bends: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Integrate the direction along the stream."""
    s = np.linspace(0, 2 * np.pi * bends, 2000)
    theta = omega * np.sin(s)  # direction of flow
    return np.cumsum(np.cos(theta)), np.cumsum(np.sin(theta))

plt.plot(*meander())
plt.axis("equal")
plt.show()
```

| omega | shape |
|---|---|
| 0.6 | nearly straight |
| 1.9 | a lazy meander |
| 2.2 | necks almost touch |

> The river is everywhere at once.

Markup stays text: [red]x[/], [/], <b>raw</b>.
'''


def scripted(text: str, thinking: str = "") -> list[Step]:
    """A turn in small pieces, with counters that grow as they do in life."""
    steps: list[Step] = [Prefilling(done, 2944, (2944 - done) / 900) for done in range(0, 2945, 368)]
    pieces = [TextDelta(thinking[i : i + 7], "thinking") for i in range(0, len(thinking), 7)]
    pieces += [TextDelta(text[i : i + 6]) for i in range(0, len(text), 6)]
    stats = STATS
    for number, piece in enumerate(pieces, 1):
        steps.append(piece)
        stats = replace(
            STATS,
            output_tokens=2 * number,
            steps=number,
            drafted=2 * number,
            accepted=round(1.4 * number),
            decode_s=number * (0.043 + 0.006 * random.random()),
            context_used=900 + 2 * number,
        )
        if number % 4 == 0:
            steps.append(StatsTick(stats))
    return [*steps, Finished(Message("assistant", text, thinking), stats, "stop")]


def demo_session(theme: str = "harbour-night", pace_s: float = 0.03) -> FakeSession:
    """A load and some turns."""
    load = [Loading("model", share / 20, 6_700_000_000) for share in range(21)]
    config = Config(model=ModelConfig(path="/models/Qwen3.8-27B-Q4_K_M.gguf"), ui=UiConfig(theme=theme))
    turns = [scripted(ANSWER, THOUGHTS) for _ in range(20)]
    session = FakeSession(turns, load=[*load, LoadFinished(FACTS)], config=config)
    session.pace = lambda: pace_s
    return session


if __name__ == "__main__":
    MtpChatApp(demo_session()).run()  # type: ignore[arg-type]
