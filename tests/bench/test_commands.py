"""verify, bench and tune from the command line, on tiny models."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mtpchat import paths
from mtpchat.cli import main
from mtpchat.cli_flags import parse_arguments
from mtpchat.commands.verification import verify_command
from mtpchat.config import Config, ModelConfig, SpeculativeConfig
from mtpchat.config_file import load
from mtpchat.errors import ConfigError
from tests.bench import fake_server
from tests.models import TinyModel

FIND_NOTHING = '[speculative]\nfind = "off"\n'
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """run(*argv): exit code, stdout and stderr of one command line. Only drafters that were named are used."""
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    paths.config_dir().mkdir(parents=True)
    paths.config_file().write_text(FIND_NOTHING)

    def command(*argv: object) -> tuple[int, str, str]:
        code = main([*map(str, argv), "-t", "1", "-c", "1024"])
        out, err = capsys.readouterr()
        return code, out, err

    return command


def object_of(text: str) -> dict[str, Any]:
    (line,) = text.splitlines()
    value: dict[str, Any] = json.loads(line)
    return value


def test_verify_finds_nothing_on_a_hybrid_model_with_heads(run: Run, hybrid: Callable[[float], TinyModel]) -> None:
    code, out, err = run(
        "verify", "-m", hybrid(0.7).path, "--json", "-n", 16, "--depths", "1-2", "--only", "chat-rivers"
    )
    found = object_of(out)
    assert code == 0, found
    assert found["faultless"] is True
    assert found["drafted"] > 0
    assert {check["variant"] for check in found["checks"]} >= {"mtp 1", "mtp 2", "mtp auto", "mtp on", "ngram 1"}
    assert {check["temperature"] for check in found["checks"]} == {0.0, 0.7}
    assert all(check["identical"] for check in found["checks"])
    assert all(one["good"] and one["fit"]["draws"] == 4000 for one in found["sampler"])
    assert "chat-rivers" in err


def test_verify_says_in_words_what_it_found(run: Run, repeating: TinyModel) -> None:
    code, out, _ = run("verify", "-m", repeating.path, "-n", 24, "--depths", 2, "-p", "[again] again", "--temps", 0)
    assert code == 0
    assert "ngram 2" in out
    assert "Lossless" in out


def test_bench_writes_the_same_run_in_every_form(run: Run, repeating: TinyModel, tmp_path: Path) -> None:
    files = {kind: tmp_path / f"out.{kind}" for kind in ("csv", "md", "svg")}
    flags = [word for kind, path in files.items() for word in (f"--{kind}", path)]
    code, out, _ = run(
        *(
            "bench",
            "-m",
            repeating.path,
            "--json",
            "-n",
            12,
            "--runs",
            2,
            "--depths",
            2,
            "--only",
            "chat-rivers,code-primes",
        ),
        *(*flags, "--temps", "0,0.8"),
    )
    found = object_of(out)
    assert code == 0
    assert (found["schema"], found["baseline"], found["peers"], found["interrupted"]) == (1, "off", [], False)
    assert {one["contender"] for one in found["standings"]} == {"off", "ngram 2", "ngram auto"}
    assert len(found["trials"]) == 3 * 2 * 2 * 2
    assert {one["group"] for one in found["trials"]} == {"chat", "code"}
    assert found["standings"][0]["against"]["value"] in (None, 1.0)
    assert all(one["differing"] == 0 for one in found["standings"])
    assert found["setting"]["tokens"] == 12
    assert len(files["csv"].read_text().splitlines()) == 25
    assert "## Temperature 0.8" in files["md"].read_text()
    assert files["svg"].read_text().startswith("<svg")


def test_bench_holds_the_adaptive_depth_against_an_oracle_and_the_best_static_setting(
    run: Run, hybrid: Callable[[float], TinyModel]
) -> None:
    code, out, err = run(
        *("bench", "-m", hybrid(0.7).path, "--json", "-n", 24, "--runs", 1, "--depths", "1-2", "--temps", "0,0.8"),
        *("--only", "chat-rivers,code-primes", "--oracle"),
    )
    found = object_of(out)
    assert code == 0
    assert [(one["contender"], one["temperature"]) for one in found["duels"]] == [
        (label, temperature) for temperature in (0, 0.8) for label in ("mtp auto", "ngram auto")
    ]
    assert {one["contender"] for one in found["oracle"]["bounds"]} == {"mtp auto", "ngram auto"}
    assert all(one["overall"]["bound"] is None or one["overall"]["bound"] >= 1 for one in found["oracle"]["bounds"])
    assert found["oracle"]["costs"]["verify"]["verify_s"][0][0] == 1
    assert "mtp" in found["oracle"]["costs"]["guess_s"]
    assert "4/4 looking ahead" in err


def test_bench_without_its_flag_looks_for_no_bound(run: Run, repeating: TinyModel) -> None:
    code, out, err = run("bench", "-m", repeating.path, "-n", 12, "--runs", 1, "--depths", 1, "-p", "go on", "--json")
    assert code == 0
    assert object_of(out)["oracle"] is None
    assert "looking ahead" not in err


def test_a_png_that_cannot_be_made_is_refused_before_the_model_is_loaded(
    run: Run, repeating: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    code, _, err = run("bench", "-m", repeating.path, "--png", tmp_path / "x.png")
    assert code == 2
    assert "CairoSVG" in err
    assert "warming up" not in err


def test_bench_races_a_server_and_prints_the_ratio(
    run: Run, dense_random: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = tmp_path / "llama-server"
    port = "import sys; sys.argv = ['x', sys.argv[sys.argv.index('--port') + 1]]"
    server.write_text(
        f"#!{sys.executable}\n{port}\nimport runpy; runpy.run_path({fake_server.__file__!r}, run_name='__main__')\n"
    )
    server.chmod(0o755)
    code, out, _ = run(
        *("bench", "-m", dense_random.path, "--json", "-n", 12, "--runs", 1, "--depths", 1, "--only", "chat-rivers"),
        *("--against", server, "--server-args", "--spec-type none", "--server-args", "--spec-type ngram-simple"),
    )
    found = object_of(out)
    assert code == 0
    assert found["peers"] == ["llama-server 1", "llama-server 2"]
    assert found["setting"]["llama-server 2"] == "b1-fake --spec-type ngram-simple"
    rows = {one["contender"]: one for one in found["standings"]}
    assert rows["llama-server 1"]["rate"] == pytest.approx(10.0)
    assert rows["off"]["against_peers"]["llama-server 1"]["prompts"] == 1
    assert rows["llama-server 1"]["differing"] is None


def test_the_table_of_a_bench_names_every_contender(run: Run, repeating: TinyModel) -> None:
    code, out, err = run("bench", "-m", repeating.path, "-n", 12, "--runs", 1, "--depths", 1, "-p", "go on")
    assert code == 0
    for label in ("off", "ngram 1", "ngram auto"):
        assert label in out
    assert "warming up" in err


def test_an_interrupted_bench_shows_what_it_has(
    run: Run, repeating: TinyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtpchat.bench.measure import EngineContender

    real, count = EngineContender.run, 0

    def interrupted(self: EngineContender, *arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count > 7:
            raise KeyboardInterrupt
        return real(self, *arguments)

    monkeypatch.setattr(EngineContender, "run", interrupted)
    code, out, _ = run("bench", "-m", repeating.path, "-n", 12, "--depths", 1, "-p", "go on", "--json")
    assert code == 130
    assert object_of(out)["interrupted"] is True
    assert len(object_of(out)["trials"]) == 4


def test_tune_writes_a_profile_that_loads(run: Run, repeating: TinyModel) -> None:
    paths.config_file().write_text("# mine\n[ui]\ntheme = 'paper'\n" + FIND_NOTHING)
    code, out, _ = run("tune", "-m", repeating.path, "--budget", 1, "-n", 12, "--only", "chat-rivers")
    assert code == 0
    name = f"tuned-{repeating.path.stem}"
    assert f"mtpchat --profile {name}" in out
    loaded = load(paths.config_file(), profile=name)
    assert loaded.banner is None
    assert loaded.config.model.path == str(repeating.path)
    assert loaded.config.model.threads >= 1
    assert loaded.config.ui.theme == "paper"
    assert paths.config_file().read_text().startswith("# mine\n")


def test_tune_measures_how_prompts_are_read_and_writes_what_is_faster(
    run: Run, repeating: TinyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtpchat.cli_tune import _Bench

    real, asked = _Bench.reading_rate, dict[int, float]()

    def rate(self: Any, size: int) -> float:
        asked[size] = real(self, size)
        return 100.0 + size

    monkeypatch.setattr(_Bench, "reading_rate", rate)
    flags = ("--budget", 60, "-n", 8, "--only", "chat-rivers", "--kinds", "ngram")
    code, out, _ = run("tune", "-m", repeating.path, "--json", *flags)
    found = object_of(out)
    assert code == 0
    assert list(found["reading_rates"]) == ["64", "128", "256", "512"]
    assert all(value > 0 for value in asked.values())
    assert found["settings"]["model"]["prompt_chunk"] == 512
    loaded = load(paths.config_file(), profile=found["profile"])
    assert loaded.config.model.prompt_chunk == loaded.config.model.batch == 512


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--runs", "2"), "--runs belongs to mtpchat bench"),
        (("verify", "--budget", "5"), "--budget belongs to mtpchat bench and tune"),
        (("bench", "--server-args", "--x y"), "--server-args needs --against"),
        (("verify", "--oracle"), "--oracle belongs to mtpchat bench"),
        (("tune", "--png", "x.png"), "--png belongs to mtpchat bench"),
        (("bench", "--depths", "4-1"), "4-1"),
        (("bench", "--depths", "0"), "within 1-64"),
        (("bench", "--temps", "hot"), "numbers"),
        (("bench", "--runs", "0"), "from 1 to 1000"),
        (("tune", "--budget", "nan"), "seconds"),
    ],
)
def test_a_flag_that_makes_no_sense_is_explained(argv: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_arguments(argv)


def test_lists_of_depths_are_read_as_people_write_them() -> None:
    assert parse_arguments(("bench", "--depths", "1-3,8,2")).depths == (1, 2, 3, 8)


def test_a_bench_that_could_not_write_its_file_does_not_begin(run: Run, repeating: TinyModel, tmp_path: Path) -> None:
    code, _, err = run("bench", "-m", repeating.path, "--csv", tmp_path / "no" / "x.csv")
    assert code == 2
    assert "cannot be written" in err


def test_a_prompt_file_that_is_not_there_is_a_usage_error_in_json_too(run: Run, repeating: TinyModel) -> None:
    code, out, _ = run("bench", "-m", repeating.path, "--prompts", "none.txt", "--json")
    assert code == 2
    assert object_of(out)["error"]["type"] == "usage"


def test_the_slash_command_gives_a_line_that_can_be_typed() -> None:
    config = Config(
        model=ModelConfig(path="/my models/a.gguf"), speculative=SpeculativeConfig(drafter="/d.gguf", kind="draft")
    )
    line = verify_command(config)
    assert line == "mtpchat verify -m '/my models/a.gguf' -md /d.gguf --spec draft --draft-max 4 --temps 0,0.7"
    import shlex

    assert parse_arguments(shlex.split(line)[1:]).command == "verify"
