"""Trying again: after how long, how often, and not once the user has had enough."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from mtpchat.errors import FetchCancelled, HubUnreachable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How much a connection may fail.

    Attributes:
        tries: in a row, without a byte in between.
        first_s: wait before the second; each further one is twice as long.
        longest_s: no wait of ours is longer; one that the hub asks for may be.
        bearable_s: a longer wait that the hub asks for ends the attempt.
    """

    tries: int = 6
    first_s: float = 1.0
    longest_s: float = 30.0
    bearable_s: float = 300.0

    def wait_s(self, failures: int, error: HubUnreachable) -> float | None:
        """Seconds to wait after so many failures in a row; None to give up."""
        if failures >= self.tries:
            return None
        if error.after_s is not None:
            return error.after_s if error.after_s <= self.bearable_s else None
        return float(min(self.first_s * 2 ** min(failures - 1, 16), self.longest_s))


def never_cancelled() -> threading.Event:
    """For callers that stop by an exception, such as Ctrl+C."""
    return threading.Event()


def rest(seconds: float, cancelled: threading.Event) -> None:
    """Wait. Raises FetchCancelled when the user stops it."""
    if cancelled.wait(seconds):
        raise stopped()


def stopped() -> FetchCancelled:
    """The error for a transfer that the user has stopped."""
    return FetchCancelled("Stopped", hint="What has come is kept: the same command goes on from there.")


def patiently(patience: Patience, cancelled: threading.Event, attempt: Callable[[], T]) -> T:
    """Run `attempt` until it works. Raises what it raises when that cannot be mended by waiting, or not in time."""
    failures = 0
    while True:
        if cancelled.is_set():
            raise stopped()
        try:
            return attempt()
        except HubUnreachable as error:
            failures += 1
            wait = patience.wait_s(failures, error)
            if wait is None:
                raise
            rest(wait, cancelled)
