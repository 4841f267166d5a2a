"""Pictures of a marked message and of a search; each docstring says what must be seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from textual.pilot import Pilot

from mtpchat.ui.app import MtpChatApp
from tests.ui.conftest import STILL, chat_app, settled
from tests.ui.demo_app import ANSWER
from tests.ui.tree_session import TreeSession, talk

Compare = Callable[..., bool]


def app_of_branches() -> MtpChatApp:
    session = TreeSession(talk("Why do rivers meander?", ANSWER, "And lakes?", "Lakes do not."), config=STILL)
    session.branch(2, talk("And if it were a lake?", "Then nothing flows.\n\n```sh\necho lake\n```\n"))
    return chat_app(session)


def pressed(keys: Sequence[str]) -> Callable[[Pilot[Any]], Awaitable[None]]:
    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await pilot.pause()

    return run


def test_a_marked_answer_at_80x24(snap_compare: Compare) -> None:
    """A bar beside the last answer, its keys in the line of keys, and ‹ 2/2 › beside the prompt above."""
    assert snap_compare(app_of_branches(), terminal_size=(80, 24), run_before=pressed(["tab"]))


def test_a_search_at_160x48(snap_compare: Compare) -> None:
    """The second of three matches highlighted, its message marked, and the count at the right of the line."""
    keys = ["tab", "g", "/", *"river", "enter", "n"]
    assert snap_compare(app_of_branches(), terminal_size=(160, 48), run_before=pressed(keys))
