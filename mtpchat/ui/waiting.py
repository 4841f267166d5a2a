"""The line of those that wait for the engine: prompts of the user, and answers to be made anew or carried on.

A prompt can be taken out of the line to be edited. Its place stays taken meanwhile, and nothing behind it overtakes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtpchat.config import SamplingConfig
from mtpchat.errors import CommandError
from mtpchat.ui.chips import Written
from mtpchat.ui.presenter import TurnKind


@dataclass(slots=True, eq=False)
class Job:
    """What is to be answered.

    Attributes:
        written: what the user said, if that is new.
        index: of the message that is answered anew or put differently; None is the last.
        sampling, seed: for this one answer; None is what the chat has.
    """

    kind: TurnKind
    written: Written = Written("")  # noqa: RUF009  it is frozen
    index: int | None = None
    sampling: SamplingConfig | None = None
    seed: int | None = None


def _nothing() -> None:
    return


class WaitingLine:
    """First come, first served.

    Attributes:
        changed: called after every change.
    """

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self._held: Job | None = None
        self.changed: Callable[[], None] = _nothing
        self._paused = False

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def paused(self) -> bool:
        """Whether no prompt is called: the line of the last time has come back, or the one before did not fit."""
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        if paused != self._paused:
            self._paused = paused
            self.changed()

    @property
    def prompts(self) -> tuple[Written, ...]:
        """What the user said and what waits, in order."""
        return tuple(job.written for job in self._prompts)

    @property
    def held(self) -> int | None:
        """Place (from 0) among `prompts` of the one that is being edited."""
        return self._prompts.index(self._held) if self._held is not None else None

    @property
    def holds(self) -> bool:
        """Whether one is being edited."""
        return self._held is not None

    @property
    def wants_enter(self) -> bool:
        """Whether Enter in an empty prompt means something: one that was edited away, or a line that stands still."""
        return self.holds or (self.paused and bool(self._jobs))

    @property
    def _prompts(self) -> list[Job]:
        return [job for job in self._jobs if job.kind == "send"]

    def add(self, job: Job) -> None:
        """At the end."""
        self._jobs.append(job)
        self.changed()

    def restore(self, prompts: Sequence[Written]) -> None:
        """The line of an earlier run; nobody is called until the user says so."""
        self._jobs = [*(Job("send", written) for written in prompts), *self._jobs]
        self._paused = bool(prompts)
        self.changed()

    def next(self) -> Job | None:
        """Call the first one; None when there is none, it is being edited, or the line stands still."""
        ready = [job for job in self._jobs if job.kind != "send" or not self.paused]
        if not ready or ready[0] is self._held:
            return None
        self._jobs.remove(ready[0])
        self.changed()
        return ready[0]

    def take(self, number: int) -> Written:
        """Hold a prompt's place while it is edited.

        Args:
            number: from 1, as they are shown.

        Raises:
            CommandError: there is none of that number.
        """
        self._held = self._numbered(number)
        self.changed()
        return self._held.written

    def take_beside(self, step: int) -> Written | None:
        """The prompt before (-1) or after (1) the one that is held, the newest when none is; None beyond the ends.

        Beyond the newest none is held any more.
        """
        count = len(self._prompts)
        place = (count if self.held is None else self.held) + step
        if 0 <= place < count:
            return self.take(place + 1)
        if step > 0:
            self.release()
        return None

    def put_back(self, written: Written) -> bool:
        """The prompt that was held, edited, in its place; an empty one leaves the line. False when none was held."""
        job, self._held = self._held, None
        if job is None:
            return False
        if written.text.strip():
            job.written = written
        elif job in self._jobs:
            self._jobs.remove(job)
        self.changed()
        return True

    def release(self) -> None:
        """The prompt that is held stays as it was."""
        if self._held is not None:
            self._held = None
            self.changed()

    def drop(self, number: int) -> Written:
        """Take a prompt (from 1) out of the line. Raises CommandError when there is none of that number."""
        job = self._numbered(number)
        self._jobs.remove(job)
        if job is self._held:
            self._held = None
        self.changed()
        return job.written

    def clear(self) -> tuple[Written, ...]:
        """Everything out of the line; gives the prompts."""
        prompts = self.prompts
        self._jobs.clear()
        self._held, self._paused = None, False
        self.changed()
        return prompts

    def _numbered(self, number: int) -> Job:
        prompts = self._prompts
        if 1 <= number <= len(prompts):
            return prompts[number - 1]
        if not prompts:
            raise CommandError("No prompt waits")
        raise CommandError(f"There is no waiting prompt {number}", hint=f"they have the numbers 1 to {len(prompts)}.")
