"""The machine as Linux tells of it in /proc and /sys: processor, memory, limits of a container, WSL, file systems.

Every reader takes the root of the file system, and says nothing where there is nothing to read.
"""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from mtpchat.machine_memory import linux_available

ROOT = Path("/")
NETWORK = frozenset(
    {"9p", "afs", "ceph", "cifs", "davfs", "drvfs", "glusterfs", "nfs", "nfs4", "smb3", "smbfs", "v9fs"}
)
_FUSE = re.compile(r"fuse\.(sshfs|rclone|s3fs|gcsfuse|davfs.*|glusterfs|curlftpfs)")
_ENDLESS = 1 << 60
"""A limit of memory that is none."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of main memory.

    Attributes:
        total / available: of the machine, or of the container where that is less.
        limited: a container limits it.
    """

    total: int
    available: int
    limited: bool = False


def _read(path: Path) -> str:
    """A small text; "" where there is none."""
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def processor(root: Path = ROOT) -> tuple[str, frozenset[str]]:
    """Name of the processor and the flags of its instruction sets."""
    text = _read(root / "proc/cpuinfo")
    fields = {
        name.strip(): value.strip()
        for name, colon, value in (line.partition(":") for line in text.splitlines())
        if colon
    }
    name = fields.get("model name") or fields.get("Hardware") or platform.processor() or platform.machine()
    return name, frozenset((fields.get("flags") or fields.get("Features") or "").split())


def memory(root: Path = ROOT) -> Memory | None:
    """Main memory, with the limit of a container; None where it cannot be told."""
    lines = (line.partition(":") for line in _read(root / "proc/meminfo").splitlines())
    sizes = {
        name: int(value.split()[0]) * 1024
        for name, _, value in lines
        if value.split()[:1] and value.split()[0].isdigit()
    }
    if "MemTotal" not in sizes:
        return None
    total, limited = sizes["MemTotal"], False
    for folder in cgroup_folders(root):
        limit = _number(_read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes"))
        if limit is not None and limit < min(total, _ENDLESS):
            total, limited = limit, True
    available = linux_available(root)
    return Memory(total, total if available is None else available, limited)


def cpu_quota(root: Path = ROOT) -> float | None:
    """Processors that a container may use; None without a limit."""
    quotas = []
    for folder in cgroup_folders(root):
        quota, period = [*_read(folder / "cpu.max").split(), "", ""][:2]
        if not quota:
            quota, period = _read(folder / "cpu.cfs_quota_us").strip(), _read(folder / "cpu.cfs_period_us").strip()
        if quota.isdigit() and period.isdigit() and int(period):
            quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def cgroup_folders(root: Path = ROOT) -> list[Path]:
    """Folders of the control groups that this process is in, outermost first."""
    base = root / "sys/fs/cgroup"
    folders = [base, base / "memory", base / "cpu"]
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        at = base if not controllers else base / controllers.split(",")[0]
        for part in Path(path.lstrip("/")).parts:
            if part == "..":
                break
            at = at / part
            folders.append(at)
    return folders


def container(root: Path = ROOT) -> str:
    """The kind of container this runs in, or ""."""
    if (root / ".dockerenv").exists():
        return "Docker"
    if (root / "run/.containerenv").exists():
        return "Podman"
    if re.search(r"kubepods", _read(root / "proc/self/cgroup")):
        return "Kubernetes"
    return ""


def wsl(root: Path = ROOT) -> bool:
    """Is this the Windows Subsystem for Linux?"""
    return "microsoft" in _read(root / "proc/version").lower()


def hidden_gpu(root: Path = ROOT) -> str:
    """What GPU the system has a driver for: "NVIDIA", "AMD" or ""."""
    if (root / "proc/driver/nvidia/version").exists() or (root / "dev/nvidia0").exists():
        return "NVIDIA"
    return "AMD" if (root / "dev/kfd").exists() else ""


def network_file_system(path: Path, root: Path = ROOT) -> str:
    """The type of the file system where that is one over a network, "" where it is a disk."""
    best, kind = 0, ""
    target = os.path.realpath(path)
    for line in _read(root / "proc/mounts").splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), fields[1])
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:
            best, kind = len(point), fields[2]
    return kind if kind in NETWORK or _FUSE.fullmatch(kind) else ""


def _number(text: str) -> int | None:
    return int(text) if text.strip().isdigit() else None
