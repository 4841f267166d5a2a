"""`mtpchat pull` from its command line to its exit code."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mtpchat import cli_pull
from mtpchat.cli_flags import parse_arguments
from mtpchat.cli_pull import pull
from mtpchat.cli_pull_watch import PullWatch
from mtpchat.commands.files import find_model
from mtpchat.config import Config
from mtpchat.errors import ConfigError
from mtpchat.hub.client import HubClient
from mtpchat.hub.transfer import Progress
from tests.hub.conftest import REPO
from tests.hub.server import COMMIT, FakeHub, Repo
from tests.models import TinyModel

NAME = "Tiny-Q4_K_M.gguf"


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


class Run:
    """What one command line did."""

    def __init__(self, *argv: str, typed: str | None = None) -> None:
        terminal = typed is not None
        self.stdout: io.StringIO = Terminal() if terminal else io.StringIO()
        self.stderr = io.StringIO()
        stdin: io.StringIO = Terminal(typed) if terminal else io.StringIO("")
        self.code = pull(parse_arguments(["pull", *argv]), stdin, self.stdout, self.stderr)

    @property
    def out(self) -> str:
        return self.stdout.getvalue()

    @property
    def err(self) -> str:
        return self.stderr.getvalue()


@pytest.fixture(autouse=True)
def settings(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_pull, "available_ram", lambda: None)
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    hub.repos[REPO].files |= {"Tiny-Q8_0.gguf": b"GGUF" * 500_000, "mtp-Tiny-Q8_0.gguf": b"GGUF" * 100}


def test_a_named_quantisation_is_fetched_and_the_line_that_starts_it_printed(tmp_path: Path) -> None:
    run = Run(f"{REPO}:q4_k_m")
    path = tmp_path / "hf" / "hub" / "models--acme--Tiny-GGUF" / "snapshots" / COMMIT / NAME
    assert run.code == 0
    assert run.out == f"Start it:\n  mtpchat -m {path}\n"
    assert path.is_file()
    assert "checksum right" in run.err


def test_a_model_in_the_cache_is_started_by_a_short_name_that_means_just_this_file(
    hub: FakeHub, dense_model: TinyModel
) -> None:
    data = dense_model.path.read_bytes()
    hub.repos["acme/Real-GGUF"] = Repo({"Real-Q8_0.gguf": data, "v2/Real-Q8_0.gguf": data[:-1] + b"!"})
    for file in ("Real-Q8_0.gguf", "v2/Real-Q8_0.gguf"):
        name = Run(f"acme/Real-GGUF:{file}").out.split()[-1]
        assert not name.endswith(".gguf")
        assert find_model(name, Config()).read_bytes() == hub.repos["acme/Real-GGUF"].files[file]


def test_a_pipe_gets_the_list_and_nothing_is_fetched(hub: FakeHub, tmp_path: Path) -> None:
    run = Run(REPO)
    assert run.code == 2
    lines = run.out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["Q4_K_M", "Q8_0", "mtp-Tiny-Q8_0"]
    assert "recommended" in lines[2]
    assert "drafter" in lines[4]
    assert f"mtpchat pull {REPO}:Q4_K_M" in run.err
    assert not (tmp_path / "hf").exists()
    assert Run(REPO, "--dry-run").code == 0


@pytest.mark.parametrize("wrong", ["nothing", "../up", "https://example.com/a/b/c/d", f"{REPO}:Q9_9"])
def test_what_is_no_repository_or_has_no_such_file_is_bad_usage(wrong: str) -> None:
    assert Run(wrong).code == 2


def test_the_list_fits_into_a_narrow_terminal(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    hub.repos[REPO].files |= {f"mtp-{'Long-' * 12}Q6_K.gguf": b"GGUF" * 100}
    table = re.sub(r"\x1b\[[\d;]*m", "", Run(REPO, typed="\n\n").out.split("Which one?")[0])
    assert "mtp-Long" in table
    assert max(map(len, table.splitlines())) <= 80


def test_the_line_that_starts_it_names_the_home_folder_as_people_do(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(isolated_home / "hf it"))
    line = Run(f"{REPO}:q4_k_m").out.splitlines()[-1]
    assert line.startswith("  mtpchat -m ~/'hf it/hub/")


def test_bars_take_one_line_each_in_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    stderr = Terminal()
    with PullWatch(stderr, iter(range(1000)).__next__) as watch:
        watch.show(Progress(f"a/{'long-' * 9}T.gguf", 0, 2, 123_400_000, 156_700_000, 1, 200_000_000, "fetching"))
    painted = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", stderr.getvalue())
    assert "123.4/156.7 MB" in painted
    assert "all files" in painted


def test_a_terminal_is_asked_which_one_and_whether_the_drafter_too() -> None:
    run = Run(REPO, typed="2\ny\n")
    assert run.code == 0
    assert "Which one? [1]" in run.out
    last = run.out.splitlines()[-1]
    assert "Tiny-Q8_0.gguf -md " in last
    assert last.endswith("mtp-Tiny-Q8_0.gguf")


def test_return_takes_the_recommended_one_without_the_drafter(hub: FakeHub) -> None:
    run = Run(REPO, typed="9\nnonsense\n\n\n")
    assert run.code == 0
    assert run.out.splitlines()[-1].endswith(NAME)
    assert hub.downloads("mtp-Tiny-Q8_0.gguf")[0].startswith("bytes=0-")  # looked into
    assert len(hub.downloads("mtp-Tiny-Q8_0.gguf")) <= 2


def test_a_terminal_that_is_closed_while_it_is_asked_fetches_nothing(tmp_path: Path) -> None:
    assert Run(REPO, typed="").code == 130
    assert not (tmp_path / "hf").exists()


def test_yes_takes_the_recommended_one_and_never_a_drafter_that_nobody_asked_for() -> None:
    run = Run(REPO, "--yes")
    assert run.code == 0
    assert "-md" not in run.out
    assert "--drafter auto" in run.err


@pytest.mark.parametrize("asked", ["auto", "mtp-Tiny-Q8_0.gguf"])
def test_the_drafter_is_fetched_when_it_is_asked_for(asked: str) -> None:
    run = Run(f"{REPO}:Q4_K_M", "--drafter", asked)
    assert run.code == 0
    assert "-md" in run.out


def test_a_drafter_that_is_not_there_is_an_error_before_anything_is_fetched(hub: FakeHub, tmp_path: Path) -> None:
    del hub.repos[REPO].files["mtp-Tiny-Q8_0.gguf"]
    run = Run(f"{REPO}:Q4_K_M", "--drafter", "auto")
    assert run.code == 2
    assert "no drafter" in run.err
    assert not (tmp_path / "hf").exists()


def test_files_go_to_the_folder_that_was_named(tmp_path: Path) -> None:
    run = Run(f"{REPO}:Q4_K_M", "--to", str(tmp_path / "my models"))
    assert run.code == 0
    assert f"'{tmp_path / 'my models' / NAME}'" in run.out
    assert not (tmp_path / "hf").exists()


def test_a_dry_run_names_files_sizes_and_room_and_writes_nothing(tmp_path: Path) -> None:
    run = Run(f"{REPO}:Q4_K_M", "--dry-run")
    assert run.code == 0
    assert "to fetch" in run.out
    assert "1.0 MB in all" in run.out
    assert "free there" in run.out
    assert not (tmp_path / "hf").exists()


def test_json_is_one_object_of_ascii_for_lists_plans_results_and_errors(tmp_path: Path) -> None:
    listed = json.loads(Run(REPO, "--json").out)
    assert [one["name"] for one in listed["offers"]] == ["Q4_K_M", "Q8_0"]
    assert listed["recommended"] == "Q4_K_M"
    assert [one["name"] for one in listed["drafters"]] == ["mtp-Tiny-Q8_0"]
    plan = json.loads(Run(f"{REPO}:Q4_K_M", "--json", "--dry-run").out)
    assert [one["there"] for one in plan["files"]] == [False]
    done = json.loads(Run(f"{REPO}:Q4_K_M", "--json").out)
    assert Path(done["model"]).is_file()
    assert done["files"] == [{"path": done["model"], "new": True, "verified": True}]
    failed = Run(f"{REPO}:Q1", "--json")
    assert failed.code == 2
    assert json.loads(failed.out)["error"]["type"] == "fetch"


def test_offline_mode_says_what_is_in_the_cache_and_asks_nobody(hub: FakeHub) -> None:
    Run(f"{REPO}:Q4_K_M")
    hub.requests.clear()
    assert Run(REPO, "--offline").out.splitlines()[2].split()[0] == "Q4_K_M"
    found = Run(f"{REPO}:q4_k_m", "--offline")
    assert (found.code, found.out.splitlines()[0]) == (0, "Start it:")
    missing = Run(f"{REPO}:Q8_0", "--offline")
    assert missing.code == 1
    assert "of the repository there is Q4_K_M" in missing.err
    assert "nothing" in Run("acme/Else-GGUF", "--offline").err
    assert hub.requests == []


def test_ctrl_c_keeps_what_has_come_and_says_how_to_go_on(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(PullWatch):
        def show(self, now: Progress) -> None:
            if now.done > 100_000:
                raise KeyboardInterrupt

    with monkeypatch.context() as pressed:
        pressed.setattr(cli_pull, "PullWatch", Interrupted)
        run = Run(f"{REPO}:Q4_K_M")
    assert run.code == 130
    assert "same command goes on from there" in run.err
    (partial,) = (tmp_path / "hf").rglob("*.incomplete")
    came = partial.stat().st_size
    assert came > 100_000
    assert Run(f"{REPO}:Q4_K_M").code == 0
    assert hub.downloads(NAME)[-1] == f"bytes={came}-"


INTERRUPTIBLE = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs, and their children, ignore it
runpy.run_module("mtpchat", run_name="__main__")
"""


def test_a_process_that_is_interrupted_while_the_hub_is_silent_ends_at_once(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.stall = {NAME}
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "pull", f"{REPO}:Q4_K_M", "--drafter", "none"],
        cwd=Path(cli_pull.__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert hub.stalled.wait(50)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=50)
    assert process.returncode == 130
    assert "same command goes on from there" in said
    assert "Traceback" not in said
    assert len(list((tmp_path / "hf").rglob("*.incomplete"))) == 1


def test_refusals_end_with_a_sentence_a_hint_and_exit_code_1(hub: FakeHub) -> None:
    hub.repos[REPO].gated = True
    run = Run(f"{REPO}:Q4_K_M")
    assert run.code == 1
    assert run.out == ""
    assert "gated" in run.err
    assert "HF_TOKEN" in run.err


def test_names_from_a_hub_reach_the_terminal_without_control_bytes(hub: FakeHub) -> None:
    hub.repos[REPO].files["evil\x1b]0;owned\x07-Q2_K.gguf"] = b"GGUF"
    run = Run(REPO, "--dry-run")
    assert "\x1b" not in run.out + run.err
    assert "left out" in run.err


def test_a_line_a_second_tells_the_progress_where_there_is_no_terminal() -> None:
    seconds = iter(float(step) / 4 for step in range(1000))
    stderr = io.StringIO()
    with PullWatch(stderr, lambda: next(seconds)) as watch:
        for done in range(0, 100_000_001, 2_500_000):
            watch.show(Progress("a/T.gguf", 0, 2, done, 100_000_000, done, 200_000_000, "fetching"))
        watch.show(Progress("a/T.gguf", 0, 2, 1, 100_000_000, 1, 200_000_000, "waiting", remark="it broke"))
        watch.show(Progress("a/T.gguf", 0, 2, 100_000_000, 100_000_000, 100_000_000, 200_000_000, "done"))
    lines = stderr.getvalue().splitlines()
    assert 5 < len(lines) < 41
    assert all(line.startswith("T.gguf (1 of 2) · ") for line in lines)
    assert "MB/s" in lines[3]
    assert "left" in lines[3]
    assert lines[-2].endswith("it broke")
    assert lines[-1].endswith("there")


def test_bars_are_drawn_on_a_terminal() -> None:
    stderr = Terminal()
    with PullWatch(stderr, iter(range(1000)).__next__) as watch:
        watch.show(Progress("a/T.gguf", 0, 2, 1, 100, 1, 200, "fetching"))
        watch.show(Progress("a/T.gguf", 0, 2, 50, 100, 50, 200, "fetching"))
    assert "T.gguf" in stderr.getvalue()
    assert "all files" in stderr.getvalue()


@pytest.mark.parametrize("flag", [["--to", "x"], ["--endpoint", "x"], ["--yes"], ["--offline"], ["--drafter", "x"]])
def test_flags_of_pull_belong_to_pull(flag: list[str]) -> None:
    with pytest.raises(ConfigError, match="belongs to mtpchat pull"):
        parse_arguments(flag)


@pytest.mark.parametrize("operands", [[], ["a/b", "c/d"]])
def test_pull_takes_exactly_one_repository(operands: list[str]) -> None:
    with pytest.raises(ConfigError, match="pull needs"):
        parse_arguments(["pull", *operands])


def test_waiting_for_a_busy_hub_can_be_interrupted(hub: FakeHub) -> None:
    from mtpchat.errors import FetchCancelled
    from mtpchat.hub.access import access

    hub.faults.statuses, hub.faults.retry_after = [429], "200"
    cancelled = threading.Event()
    client = HubClient(access(environment=os.environ), cancelled=cancelled)
    caught: list[BaseException] = []

    def run() -> None:
        try:
            client.listing(REPO)
        except FetchCancelled as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    cancelled.set()
    thread.join(30)
    assert len(caught) == 1


@pytest.mark.parametrize("answer", ["q", "No", "exit"])
def test_whoever_wants_none_of_them_gets_none(hub: FakeHub, answer: str) -> None:
    run = Run(REPO, typed=f"{answer}\n")
    assert run.code == 2
    assert "nothing is fetched" in run.err
    assert hub.downloads("Tiny-Q4_K_M.gguf") in ([], ["bytes=0-131071"])
