"""How many threads to decode with: one per physical core this process may use.

llama.cpp's threads meet at spinning barriers. With more of them than cores the decode rate does not sink, it collapses.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")


def physical_cores(cpus: Path = _CPUS) -> int:
    """Physical cores available to this process; logical ones where the system does not tell; at least 1.

    Args:
        cpus: folder that describes the processors (Linux).
    """
    logical = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    siblings = set()
    for cpu in logical:
        try:
            siblings.add((cpus / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip())
        except OSError:
            siblings.add(str(cpu))
    if siblings:
        return len(siblings)
    count = os.cpu_count() or 1
    # Without a topology: Intel and AMD machines mostly run two threads per core, Apple's never.
    return count if sys.platform == "darwin" else max(1, count // 2)
