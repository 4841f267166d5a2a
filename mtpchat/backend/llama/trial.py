"""A file that was never used before is tried in a process of its own: load, one decode, one draft, one roll-back.

What is known to make llama.cpp end the whole process is refused from the headers. What is not known shows here, where
it costs a child and not the chat. The verdict is kept for these files and this version of the library.

Run as `python -m mtpchat.backend.llama.trial` this module is the child: a plan as JSON on stdin, a verdict as JSON on
stdout. However it dies, its parent only sees that it died.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from mtpchat.backend.llama.kept import keep, key_of, recall
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.protocol import LoadPlan
from mtpchat.errors import DrafterUnsupported, LoadCancelled, ModelUnsupported
from mtpchat.gguf.choice import DrafterChoice
from mtpchat.gguf.facts import FileFacts
from mtpchat.machine_memory import available_ram

COMMAND = (sys.executable, "-m", "mtpchat.backend.llama.trial")
_LONGEST_S = 120.0
_POLL_S = 0.1
_SLOWEST_BYTES_PER_S = 20_000_000
_ENDLESS = "endless"
"""The verdict on a child that was not done in time; it is not kept."""
_VERDICTS = "trials.json"
"""How each tried pair died and what was said then, "" for those that did not."""
_DEADLY = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGFPE, signal.SIGILL, getattr(signal, "SIGBUS", None)})
"""Signals that a process brings upon itself. Others, such as the one that takes memory back, prove nothing."""
_PR_SET_PDEATHSIG = 1
_SIGNS = ("GGML_ASSERT", "GGML_ABORT", "what():", "fatal error")
_PYTHON = "Fatal Python error: "
_FOLDERS = re.compile(r"^\S*[/\\](?=[^/\\]+:\d+: )")
_LONGEST_WORDS = 200
_COPIED_BYTES = 2 << 30
"""Largest files to try where they are copied instead of mapped."""


@dataclass(slots=True)
class Trial:
    """Tries models and drafters; remembers the verdicts.

    Args:
        log: gets what a child that died said last.
        command: how a child is started.
        longest_s: a child that takes longer is ended; a drafter is then used untried, a model is not.
    """

    log: LlamaLog
    command: Sequence[str] = COMMAND
    longest_s: float = _LONGEST_S

    def require(self, plan: LoadPlan, main: FileFacts, choice: DrafterChoice, cancelled: Callable[[], bool]) -> None:
        """Raise DrafterUnsupported if llama.cpp cannot run this drafter with this model.

        Raises:
            DrafterUnsupported, LoadCancelled.
        """
        files = [main.path, *([choice.path] if choice.path else [])]
        size = main.size + (choice.facts.size if choice.facts else 0)
        if plan.config.model.trial == "off" or size > _bearable(mapped=plan.config.model.mmap):
            return
        death = self._verdict(key_of(files, choice.kind), plan, "drafter", cancelled, self.longest_s)
        if death not in ("", _ENDLESS):
            name = choice.path.name if choice.path else f"the heads in {main.path.name}"
            raise DrafterUnsupported(
                f"llama.cpp cannot run {name} (it ended the trial process with {death}); see llama.log",
                hint="Use --spec ngram, or look for another conversion of the drafter.",
            )

    def require_model(self, plan: LoadPlan, main: FileFacts, cancelled: Callable[[], bool]) -> None:
        """Raise ModelUnsupported if llama.cpp cannot run this model by itself.

        Raises:
            ModelUnsupported, LoadCancelled.
        """
        if plan.config.model.trial == "off" or main.size > _bearable(mapped=plan.config.model.mmap):
            return
        alone = replace(plan, kind="none", drafter="")
        # What hangs in a child would hang the program, too. Slow disks get their time.
        longest_s = self.longest_s + main.size / _SLOWEST_BYTES_PER_S
        death = self._verdict(key_of([main.path], "model"), alone, "model", cancelled, longest_s)
        if death == _ENDLESS:
            raise ModelUnsupported(
                f"llama.cpp was not done with {main.path.name} after {longest_s:.0f} s; see llama.log",
                hint='Get another conversion; if the disk is that slow, set trial = "off" under [model].',
            )
        if death:
            raise ModelUnsupported(
                f"llama.cpp cannot run {main.path.name} (it ended the trial process with {death}); see llama.log",
                hint="The file is damaged or was badly made: get another conversion.",
            )

    def _verdict(self, key: str, plan: LoadPlan, what: str, cancelled: Callable[[], bool], longest_s: float) -> str:
        """How a trial ends, or ended before; "" when it does not die. What proves nothing is not kept."""
        verdicts = recall(_VERDICTS, str)
        if key not in verdicts:
            verdict = self._run(plan, what, cancelled, longest_s)
            if verdict is None or verdict == _ENDLESS:
                return verdict or ""
            verdicts[key] = verdict
            keep(_VERDICTS, verdicts, self.log)
        return verdicts[key]

    def _run(self, plan: LoadPlan, what: str, cancelled: Callable[[], bool], longest_s: float) -> str | None:
        """How the child died, "" when it did not; None when nothing can be concluded, or that it takes too long."""
        # A package that is not installed is found by the child where the parent found it.
        paths = [str(Path(__file__).parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "GGML_NO_BACKTRACE": "1"}
        pipe = subprocess.PIPE
        try:
            child = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
        except OSError as error:
            self.log.note(f"mtpchat: the {what} cannot be tried: {error}")
            return None
        try:
            said = self._wait(child, msgspec.json.encode(plan), cancelled, longest_s)
        finally:
            if child.poll() is None:
                child.kill()
                child.communicate()
        if said is None:
            self.log.note(
                f"mtpchat: the trial of the {what} took too long{'; it is used untried' * (what == 'drafter')}."
            )
            return _ENDLESS
        if child.returncode == 0:
            return ""
        self.log.note(f"mtpchat: the trial of the {what} ended with {child.returncode}:\n{said}")
        death, words = _death(child.returncode), last_words(said)
        return f"{death}: {words}" if death and words else death

    def _wait(
        self, child: subprocess.Popen[bytes], question: bytes, cancelled: Callable[[], bool], longest_s: float
    ) -> str | None:
        """What the child wrote on stderr when it has ended; None when it takes too long."""
        ends = time.monotonic() + longest_s
        data: bytes | None = question
        while time.monotonic() < ends:
            try:
                return child.communicate(data, timeout=_POLL_S)[1].decode("utf-8", "replace")
            except subprocess.TimeoutExpired:
                data = None  # communicate goes on with what it was given first
            if cancelled():
                raise LoadCancelled("Loading was cancelled.")
        return None


def _death(code: int) -> str | None:
    """Words for the end of a process that died; None for one that was ended, or ended itself as Python does."""
    if -code in _DEADLY:
        return f"signal {-code}"
    return f"code {code:#x}" if sys.platform == "win32" and code not in (0, 1, 2) else None


def last_words(said: str) -> str:
    """The most telling line of what a child wrote on stderr before it died, printable, or "".

    Args:
        said: complaints of llama.cpp, its last message, and then where Python was.
    """
    lines = [line.strip() for line in said.partition(_PYTHON)[0].splitlines() if line.strip()]
    telling = [line for line in lines if any(sign in line for sign in _SIGNS)]
    words = (telling or lines or [""])[-1]
    return json.dumps(_FOLDERS.sub("", words)[:_LONGEST_WORDS])[1:-1].replace('\\"', '"')


def _bearable(*, mapped: bool) -> int:
    """Largest files to try, in bytes: a child must not push the rest of the machine out of memory.

    What is mapped lies in memory once, for the child and for the load after it.
    """
    free = available_ram()
    if free is None:
        return _COPIED_BYTES
    return free if mapped else min(_COPIED_BYTES, free // 2)


def _small(plan: LoadPlan) -> LoadPlan:
    """The plan with as little memory as shows whether it can be run."""
    config = plan.config
    model = msgspec.structs.replace(config.model, context=256, batch=64, gpu_layers=0, trial="off")
    speculative = msgspec.structs.replace(config.speculative, drafter_gpu_layers=0, checkpoint_rollback="off")
    return replace(plan, config=msgspec.structs.replace(config, model=model, speculative=speculative))


def exercise(plan: LoadPlan) -> str:
    """Load a plan and use all of it once. Returns why the drafter is not used, or ""."""
    from mtpchat.backend.llama.exercise import use_once
    from mtpchat.backend.llama.loader import LlamaBackend

    backend = LlamaBackend()
    loaded = backend.load(_small(plan), lambda _what, _fraction, _size: None, lambda: False)
    try:
        use_once(loaded)
    finally:
        loaded.close()
        backend.close()
    return loaded.fallback_reason


def _die_with_parent() -> None:
    """A trial that nobody waits for any more must not keep the machine busy. Linux; elsewhere it ends by itself."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def main() -> int:
    """The child."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # dying is part of the job
    _die_with_parent()
    faulthandler.enable()
    LlamaLog.echoes = True
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=LoadPlan)
    reason = exercise(plan)
    sys.stdout.write(json.dumps({"reason": reason}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
