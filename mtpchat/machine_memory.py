"""How much main memory a program may still take on this machine, by what the system itself documents.

Linux: MemAvailable of /proc/meminfo, and the limits of the control groups the process is in, which containers set.
macOS: vm_stat. Windows: GlobalMemoryStatusEx.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_UNLIMITED = 1 << 60
_MAC_FREE = ("Pages free", "Pages inactive", "Pages speculative", "Pages purgeable")


def available_ram() -> int | None:
    """Bytes that can be taken without pushing others out; None where the system does not tell."""
    if sys.platform == "win32":
        return _windows_available()
    if sys.platform == "darwin":
        return _mac_available()
    return linux_available(Path("/"))


def linux_available(root: Path) -> int | None:
    """The least of what the machine and each control group have left; `root` is where /proc and /sys are."""
    left = [limit for limit in (_meminfo(root / "proc/meminfo"), *_group_limits(root)) if limit is not None]
    return max(0, min(left)) if left else None


def _meminfo(path: Path) -> int | None:
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _read(path), re.MULTILINE)
    return int(found[1]) << 10 if found else None


def _group_limits(root: Path) -> Iterator[int]:
    """What each control group from the process's own up to the root has left."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, controllers, place = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            base = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        parts = [part for part in place.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            yield from _one_group(base.joinpath(*parts[:depth]), *names)


def _one_group(folder: Path, limit_name: str, used_name: str, reclaimable: str) -> Iterator[int]:
    limit, used = _read(folder / limit_name).strip(), _read(folder / used_name).strip()
    if not limit.isdecimal() or not used.isdecimal() or int(limit) >= _UNLIMITED:
        return
    # Pages of files count as used, but are given up before anybody is refused memory.
    found = re.search(rf"^{reclaimable} (\d+)", _read(folder / "memory.stat"), re.MULTILINE)
    yield int(limit) - int(used) + (int(found[1]) if found else 0)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def mac_available(report: str) -> int | None:
    """Bytes from the text that vm_stat prints."""
    size = re.search(r"page size of (\d+) bytes", report)
    pages = [re.search(rf"^{name}:\s+(\d+)", report, re.MULTILINE) for name in _MAC_FREE]
    if size is None or not any(pages):
        return None
    return int(size[1]) * sum(int(found[1]) for found in pages if found)


def _mac_available() -> int | None:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(["/usr/bin/vm_stat"], capture_output=True, text=True, timeout=5, check=True)
        return mac_available(done.stdout)
    return None


def _windows_available() -> int | None:
    import ctypes

    class Status(ctypes.Structure):
        """MEMORYSTATUSEX."""

        _fields_ = (
            ("dwLength", ctypes.c_ulong),
            ("dwMemoryLoad", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("ullTotalPhys", "ullAvailPhys", "ullTotalPageFile")),
            *((name, ctypes.c_ulonglong) for name in ("ullAvailPageFile", "ullTotalVirtual", "ullAvailVirtual")),
            ("ullAvailExtendedVirtual", ctypes.c_ulonglong),
        )

    status = Status(dwLength=ctypes.sizeof(Status))
    windll = getattr(ctypes, "windll", None)
    if windll is None or not windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(status.ullAvailPhys)
