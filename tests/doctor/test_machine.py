"""The machine as it tells of itself in files: containers, WSL, network drives, processors; advice from evidence."""

from __future__ import annotations

import platform
from pathlib import Path

import msgspec
import pytest

from mtpchat.backend.llama.build import Build, Device
from mtpchat.config import Config, ModelConfig
from mtpchat.doctor import machine, system
from mtpchat.doctor.finding import Finding, verdict
from mtpchat.doctor.machine import look_at_machine

CPU = "processor : 0\nmodel name : Some CPU 3000\nflags : fpu sse avx avx2 fma f16c\n"
MEMORY = "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\n"
FAST = Build(version="0.3.36", features=("AVX", "AVX2", "FMA", "F16C"))


@pytest.fixture(autouse=True)
def on_a_pc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(machine, "_pinned", lambda: "0.3.36")
    monkeypatch.setattr(machine, "physical_cores", lambda _cpus: 4)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path, "proc/cpuinfo", CPU)
    put(tmp_path, "proc/meminfo", MEMORY)
    put(tmp_path, "proc/version", "Linux version 6.1")
    return tmp_path


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def said(findings: list[Finding], level: str) -> str:
    return "\n".join(f"{one.about}: {one.text} {one.remedy}" for one in findings if one.level == level)


def config(**model: object) -> Config:
    return Config(model=msgspec.convert(model, ModelConfig))


def test_a_machine_in_order_gives_facts_alone(root: Path) -> None:
    found = look_at_machine(Config(), FAST, root)
    assert said(found, "fault") == said(found, "advice") == ""
    facts = said(found, "fact")
    for words in ("Some CPU 3000 (AVX, AVX2, FMA, F16C)", "8.2 GB free of 16.4 GB", "none seen", "4 decode threads"):
        assert words in facts
    assert verdict(found) == "Ready."


def test_a_machine_that_tells_nothing_is_no_fault(tmp_path: Path) -> None:
    found = look_at_machine(Config(), FAST, tmp_path)
    assert said(found, "fault") == said(found, "advice") == ""


def test_an_instruction_set_that_is_not_used_is_advice(root: Path) -> None:
    found = look_at_machine(Config(), Build(version="0.3.36", features=("AVX", "F16C")), root)
    assert "has AVX2, FMA, and this build does not use it" in said(found, "advice")


def test_a_library_that_cannot_be_asked_is_one_fault_and_nothing_is_guessed(root: Path) -> None:
    put(root, "proc/driver/nvidia/version", "x")
    found = look_at_machine(Config(), Build(trouble="llama.cpp cannot be loaded", hint="Install it again."), root)
    assert verdict(found) == "1 thing to mend:"
    assert said(found, "fault") == "llama.cpp: llama.cpp cannot be loaded. Install it again."
    assert said(found, "advice") == ""


def test_another_version_and_missing_functions_are_faults(root: Path) -> None:
    build = Build(
        version="0.3.30", features=FAST.features, why_no_mtp="this build lacks a", why_no_eagle3="this build lacks a"
    )
    found = look_at_machine(Config(), build, root)
    assert verdict(found) == "2 things to mend:"
    assert "0.3.36 is needed" in said(found, "fault")
    assert "This build lacks a." in said(found, "fault")


def test_more_threads_than_cores_are_advice(root: Path) -> None:
    assert "8 threads are set, and there are 4" in said(look_at_machine(config(threads=8), FAST, root), "advice")
    assert said(look_at_machine(config(threads=4), FAST, root), "advice") == ""


@pytest.mark.parametrize(
    "files",
    [
        {"sys/fs/cgroup/cpu.max": "150000 100000\n"},
        {"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n"},
        {"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n", "sys/fs/cgroup/cpu.max": "3 2"},
        {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"},
    ],
)  # fmt: skip
def test_a_container_with_fewer_processors_than_threads_is_advice(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        put(root, name, text)
    found = look_at_machine(Config(), FAST, root)
    assert "may use 1.5 processors" in said(found, "advice")
    assert "-t 1" in said(found, "advice")


def test_the_memory_of_a_container_is_what_counts(root: Path) -> None:
    put(root, "proc/self/cgroup", "0::/box\n")
    put(root, "sys/fs/cgroup/box/memory.max", "4000000000\n")
    put(root, "sys/fs/cgroup/box/memory.current", "1000000000\n")
    put(root, ".dockerenv", "")
    facts = said(look_at_machine(Config(), FAST, root), "fact")
    assert "3.0 GB free of 4.0 GB (limit of the container)" in facts
    assert "Docker" in facts


@pytest.mark.parametrize("text", ["max\n", "", "9223372036854771712\n", "nonsense"])
def test_a_limit_that_is_none_changes_nothing(root: Path, text: str) -> None:
    put(root, "sys/fs/cgroup/memory.max", text)
    memory = system.memory(root)
    assert memory is not None
    assert not memory.limited


def test_wsl_and_its_settings_are_told(root: Path) -> None:
    put(root, "proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2")
    assert ".wslconfig" in said(look_at_machine(Config(), FAST, root), "fact")


def test_a_gpu_that_the_build_cannot_use_is_advice(root: Path) -> None:
    put(root, "proc/driver/nvidia/version", "x")
    assert "-DGGML_CUDA=on" in said(look_at_machine(Config(), FAST, root), "advice")
    with_gpu = Build(version="0.3.36", features=FAST.features, gpu=True)
    assert "sees no device" in said(look_at_machine(Config(), with_gpu, root), "advice")
    seen = Build(
        version="0.3.36", features=FAST.features, gpu=True, devices=(Device("CUDA0", "RTX", 10**10, 2 * 10**10),)
    )
    found = look_at_machine(Config(), seen, root)
    assert said(found, "advice") == ""
    assert "CUDA0: RTX, 10.0 GB free of 20.0 GB" in said(found, "fact")


def test_the_file_system_of_a_path_is_that_of_its_nearest_mount(root: Path) -> None:
    mounts = (
        "/dev/sda / ext4 rw 0 0",
        "server:/m /mnt/models nfs4 rw 0 0",
        "/dev/sdb /mnt/models/here ext4 rw 0 0",
        r"C: /mnt/c\040d 9p rw 0 0",
        "x /s fuse.sshfs rw 0 0",
        "",
    )
    put(root, "proc/mounts", "\n".join(mounts))
    kinds = {
        "/mnt/models/a.gguf": "nfs4",
        "/mnt/models/here/a.gguf": "",
        "/mnt/modelsx/a.gguf": "",
        "/mnt/c d/a.gguf": "9p",
        "/s/a.gguf": "fuse.sshfs",
        "/home/a.gguf": "",
    }
    assert {path: system.network_file_system(Path(path), root) for path in kinds} == kinds
