"""What the machine is called in figures: its processor, which is what speeds hang on, and not the name of its owner."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_NAME = re.compile(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", re.MULTILINE)
_NOISE = re.compile(r"\((?:R|TM|r|tm)\)|\bCPU\b|@.*|\b\d+-Core\b|\bProcessor\b")
_MOST_LETTERS = 16_384


@cache
def machine_name(*, on_gpu: bool = False) -> str:
    """`AMD Ryzen 9 7950X · 32 threads`, and ` · GPU` where layers of the model run on one."""
    words = " ".join(_NOISE.sub(" ", _processor()).split()) or "unnamed processor"
    return f"{words} · {os.cpu_count() or 1} threads{' · GPU' if on_gpu else ''}"


def _processor() -> str:
    try:
        with _CPUINFO.open(encoding="utf-8", errors="replace") as file:
            found = _NAME.search(file.read(_MOST_LETTERS))
    except OSError:  # not Linux
        found = None
    return found[1] if found else _mac_processor() or platform.processor() or platform.machine()


def _mac_processor() -> str:
    """`Apple M2`, where Python itself says `arm`; "" on other systems."""
    if sys.platform != "darwin":
        return ""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    return ""
