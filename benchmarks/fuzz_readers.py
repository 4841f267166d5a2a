"""Damaged files of every kind that is read, thousands of each: what raises, hangs, ends the process or eats memory.

    python -m benchmarks.fuzz_readers --files 2000 [--only schema persona] [--first 0]

Each kind is read in a process of its own, which may take 1 GiB more than it has at the start; one that dies, takes more
than five seconds of the processor for a file, or waits for five minutes, is followed by another that goes on behind
that file. Time of the processor, since a busy machine makes everything last.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from benchmarks.bounded import bounded
from mtpchat.errors import MtpChatError
from tests.hostile.readers import READERS, Reader
from tests.hostile.spoiling import spoiled

LONGEST_S = 5
_ROOM = 1 << 30
_ENDS = {signal.SIGPROF: f"hangs: more than {LONGEST_S} s of the processor", signal.SIGALRM: "waits for something"}
_LONGEST_WAIT_S = 300


def put(reader: Reader, folder: Path, number: int) -> None:
    """Write the file of that number."""
    path = folder / reader.place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(spoiled(reader.good[number % len(reader.good)], number))


def outcome(reader: Reader, folder: Path) -> str:
    """ "read", "refused", or what went wrong with the file that lies there."""
    try:
        reader.read(folder)
    except MtpChatError as error:
        return "refused" if error.message and "\x1b" not in error.message else "refused badly"
    except BaseException as error:  # noqa: BLE001  whatever it is, it is told
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"raises {type(error).__name__}: {str(error)[:90]!r} at {Path(place.filename).name}:{place.lineno}"
    return "read"


def _child(reader: Reader, numbers: range, out: int) -> None:
    faulthandler.disable()
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + _ROOM, held + _ROOM))
    with tempfile.TemporaryDirectory() as name:
        for number in numbers:
            put(reader, Path(name), number)
            os.write(out, f"{number}\t\n".encode())
            signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
            signal.alarm(_LONGEST_WAIT_S)
            found = outcome(reader, Path(name))
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
            os.write(out, f"{number}\t{found}\n".encode())


def fuzz(reader: Reader, numbers: range) -> Counter[str]:
    """Outcomes of all files; those that end a process, too."""
    found: Counter[str] = Counter()
    while numbers:
        ours, its = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(ours)
            try:
                _child(reader, numbers, its)
            finally:
                os._exit(0)
        os.close(its)
        begun = numbers.stop
        with os.fdopen(ours) as lines:
            for line in lines:
                number, _, said = line.rstrip("\n").partition("\t")
                begun = int(number)
                if said:
                    _count(found, reader, begun, said)
                    begun = numbers.stop
        _, status = os.waitpid(pid, 0)
        if begun < numbers.stop:
            by = signal.Signals(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None
            _count(found, reader, begun, _ENDS.get(by, f"dies ({status})") if by else f"dies ({status})")
            numbers = range(begun + 1, numbers.stop)
        else:
            return found
    return found


def _count(found: Counter[str], reader: Reader, number: int, said: str) -> None:
    if said not in ("read", "refused") and not found[said]:
        print(f"  {reader.name} {number}: {said}", flush=True)
    found[said] += 1


def main() -> None:
    """Run and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[])
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    faults = 0
    for reader in READERS:
        if arguments.only and reader.name not in arguments.only:
            continue
        began = time.monotonic()
        found = fuzz(reader, range(arguments.first, arguments.first + arguments.files))
        faults += sum(count for said, count in found.items() if said not in ("read", "refused"))
        told = ", ".join(f"{count} {said[:60]}" for said, count in found.most_common(8))
        print(f"{reader.name:10} {told} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{faults} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=180))
