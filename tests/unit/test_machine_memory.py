"""Free main memory, read from what each system documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpchat.machine_memory import available_ram, linux_available, mac_available

KB, MB = 1 << 10, 1 << 20
MEMINFO = "MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:    8000000 kB\n"
VM_STAT = """\
Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                               10000.
Pages active:                            400000.
Pages inactive:                           20000.
Pages speculative:                         1000.
Pages throttled:                              0.
Pages wired down:                        150000.
Pages purgeable:                            500.
"""


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_linux_tells_what_is_available(tmp_path: Path) -> None:
    assert linux_available(write(tmp_path, {"proc/meminfo": MEMINFO})) == 8_000_000 * KB


def test_the_limit_of_a_container_counts(tmp_path: Path) -> None:
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/box/app\n",
        "sys/fs/cgroup/box/app/memory.max": "max\n",
        "sys/fs/cgroup/box/app/memory.current": f"{10 * MB}\n",
        "sys/fs/cgroup/box/memory.max": f"{100 * MB}\n",
        "sys/fs/cgroup/box/memory.current": f"{60 * MB}\n",
        "sys/fs/cgroup/box/memory.stat": f"anon 1\ninactive_file {20 * MB}\n",
    }
    assert linux_available(write(tmp_path, files)) == (100 - 60 + 20) * MB


def test_a_container_that_sees_itself_as_the_root_counts_too(tmp_path: Path) -> None:
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": f"{50 * MB}\n",
        "sys/fs/cgroup/memory.current": f"{70 * MB}\n",
    }
    assert linux_available(write(tmp_path, files)) == 0


def test_control_groups_of_the_first_version_count(tmp_path: Path) -> None:
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "12:cpu,cpuacct:/x\n5:memory:/docker/abc\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{90 * MB}\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{30 * MB}\n",
        "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": "1\n",
    }
    assert linux_available(write(tmp_path, files)) == 60 * MB


@pytest.mark.parametrize("text", ["", "MemAvailable: lots\n", "\x00\xff"])
def test_a_system_that_does_not_tell_is_unknown(tmp_path: Path, text: str) -> None:
    assert linux_available(write(tmp_path, {"proc/meminfo": text})) is None


def test_a_mac_counts_pages_that_can_be_had() -> None:
    assert mac_available(VM_STAT) == 31_500 * 16384
    assert mac_available("nothing of the kind") is None


def test_this_machine_tells() -> None:
    free = available_ram()
    assert free is None or free > 0
