"""A drafter that ends the process it runs in ends a child, not the chat."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.trial import COMMAND, Trial, exercise, last_words
from mtpchat.backend.protocol import LoadedModel, LoadPlan
from mtpchat.config import Config, ModelConfig
from mtpchat.errors import DrafterUnsupported, LoadCancelled, ModelUnsupported
from mtpchat.gguf.choice import choose_drafter
from mtpchat.gguf.facts import facts_of, read_model
from mtpchat.paths import cache_dir
from tests.gguf.draft import STRING, draft_of
from tests.models import TinyModel, dense

CRASHES = (
    sys.executable,
    "-c",
    "import json, os, sys\n"
    "if json.load(sys.stdin)['kind'] == 'none': sys.exit(0)\n"
    "sys.stderr.write('GGML_ASSERT(this) failed'); sys.stderr.flush(); os.abort()",
)
DIES_ALWAYS = (sys.executable, "-c", "import os, sys; sys.stdin.read(); os.abort()")
FAILS = (sys.executable, "-c", "raise SystemExit(1)")
HANGS = (sys.executable, "-c", "import sys; sys.stdin.read(); import time; time.sleep(600)")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are told apart on POSIX systems")


def plan(model: Path, drafter: Path | str = "", kind: str = "auto", **settings: object) -> LoadPlan:
    config = Config(model=msgspec.convert({"context": 256, "threads": 1, **settings}, ModelConfig))
    return LoadPlan(str(model), str(drafter), kind, config)


def load(wanted: LoadPlan, command: Sequence[str], log: Path | None = None) -> LoadedModel:
    backend = LlamaBackend(log, trial_command=command)
    return backend.load(wanted, lambda _what, _fraction, _size: None, lambda: False)


def require(wanted: LoadPlan, trial: Trial, cancelled: Callable[[], bool] = lambda: False) -> None:
    header = read_model(Path(wanted.model))
    trial.require(wanted, facts_of(header), choose_drafter(header, wanted.kind, wanted.drafter), cancelled)


def test_a_drafter_that_kills_its_trial_is_not_used_and_the_chat_goes_on(
    dense_model: TinyModel, draft_model: TinyModel, tmp_path: Path
) -> None:
    log = tmp_path / "llama.log"
    loaded = load(plan(dense_model.path, draft_model.path), CRASHES, log)
    assert loaded.draft is None
    assert loaded.fallback_reason == (
        "llama.cpp cannot run draft.gguf"
        " (it ended the trial process with signal 6: GGML_ASSERT(this) failed); see llama.log"
    )
    assert loaded.choice.startswith("n-gram guesses from earlier text, because llama.cpp cannot run draft.gguf")
    assert loaded.target.decode([1, 2, 3]).logits(2).shape[0] > 100
    assert "GGML_ASSERT(this) failed" in log.read_text()
    loaded.close()


def test_a_verdict_is_kept_for_these_files(dense_model: TinyModel, draft_model: TinyModel, tmp_path: Path) -> None:
    wanted = plan(dense_model.path, draft_model.path)
    load(wanted, CRASHES).close()
    # The child would fail to start now; it is not asked.
    again = load(wanted, ("/nonexistent",))
    assert again.draft is None
    again.close()
    changed = tmp_path / "draft.gguf"
    changed.write_bytes(draft_model.path.read_bytes())
    tried = load(plan(dense_model.path, changed), FAILS)
    assert tried.draft is not None
    tried.close()


@pytest.mark.parametrize("end", ["signal.SIGKILL", "signal.SIGTERM", "signal.SIGINT"])
def test_a_child_that_was_ended_by_others_proves_nothing(
    dense_model: TinyModel, draft_model: TinyModel, end: str
) -> None:
    killed = (sys.executable, "-c", f"import os, signal; os.kill(os.getpid(), {end})")
    loaded = load(plan(dense_model.path, draft_model.path), killed)
    assert loaded.draft is not None
    loaded.close()


def test_a_child_that_cannot_be_started_proves_nothing(dense_model: TinyModel, draft_model: TinyModel) -> None:
    loaded = load(plan(dense_model.path, draft_model.path), ("/nonexistent",))
    assert loaded.draft is not None
    loaded.close()


@pytest.mark.parametrize("damage", ["", "not json", "[1]", '{"a": 1}'])
def test_a_damaged_cache_is_as_good_as_none(dense_model: TinyModel, draft_model: TinyModel, damage: str) -> None:
    cache_dir().mkdir(parents=True)
    (cache_dir() / "trials.json").write_text(damage)
    loaded = load(plan(dense_model.path, draft_model.path), CRASHES)
    assert loaded.draft is None
    loaded.close()


def test_a_cache_that_cannot_be_written_changes_nothing(dense_model: TinyModel, draft_model: TinyModel) -> None:
    cache_dir().parent.mkdir(parents=True, exist_ok=True)
    cache_dir().write_text("a file where the folder should be")
    loaded = load(plan(dense_model.path, draft_model.path), CRASHES)
    assert loaded.draft is None
    loaded.close()


def test_a_child_that_fails_without_dying_proves_nothing(dense_model: TinyModel, draft_model: TinyModel) -> None:
    loaded = load(plan(dense_model.path, draft_model.path), FAILS)
    assert loaded.draft is not None
    assert not (cache_dir() / "trials.json").exists()
    loaded.close()


def test_a_child_that_hangs_is_ended_and_proves_nothing(dense_model: TinyModel, draft_model: TinyModel) -> None:
    require(plan(dense_model.path, draft_model.path), Trial(LlamaLog(None), HANGS, longest_s=0.3))
    assert not (cache_dir() / "trials.json").exists()


def test_a_trial_is_cancelled_with_the_load(dense_model: TinyModel, draft_model: TinyModel) -> None:
    with pytest.raises(LoadCancelled):
        require(plan(dense_model.path, draft_model.path), Trial(LlamaLog(None), HANGS), lambda: True)


def test_no_trial_where_it_is_switched_off_or_nothing_but_the_model_is_loaded(
    dense_model: TinyModel, draft_model: TinyModel
) -> None:
    for wanted in (
        plan(dense_model.path, draft_model.path, trial="off"),
        plan(dense_model.path),
        plan(dense_model.path, draft_model.path, "none"),
    ):
        load(wanted, ("/nonexistent",)).close()


def test_the_real_child_gives_its_verdict(hybrid: Callable[[float], TinyModel]) -> None:
    loaded = load(plan(hybrid(0.7).path), COMMAND)
    assert loaded.draft_kind == "mtp"
    assert '": ""' in (cache_dir() / "trials.json").read_text()
    loaded.close()


PAIRS: dict[str, Callable[[pytest.FixtureRequest], tuple[Path, Path | str]]] = {
    "mtp": lambda r: (r.getfixturevalue("hybrid")(0.7).path, ""),
    "mtp file": lambda r: (r.getfixturevalue("hybrid_trunk").path, r.getfixturevalue("hybrid_head").path),
    "chained": lambda r: (r.getfixturevalue("chained").path, ""),
    "eagle3": lambda r: (r.getfixturevalue("eagle3_model").path, r.getfixturevalue("eagle3")(0.7).path),
    "assistant": lambda r: (r.getfixturevalue("gemma").path, r.getfixturevalue("assistant")(0.7).path),
    "draft": lambda r: (r.getfixturevalue("dense_model").path, r.getfixturevalue("draft_model").path),
    "draft of a recurrent model": lambda r: (
        r.getfixturevalue("recurrent_model").path,
        r.getfixturevalue("draft_model").path,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_every_kind_of_drafter_is_exercised(request: pytest.FixtureRequest, name: str) -> None:
    model, drafter = PAIRS[name](request)
    assert exercise(plan(model, drafter)) == ""


def test_a_model_that_kills_its_trial_is_refused_before_it_is_loaded(dense_model: TinyModel) -> None:
    for drafter in ("", str(dense_model.path)):
        with pytest.raises(ModelUnsupported, match=r"cannot run dense\.gguf .* signal 6") as caught:
            load(plan(dense_model.path, drafter), DIES_ALWAYS)
        assert caught.value.hint


def test_a_model_without_a_drafter_is_tried_once(dense_model: TinyModel) -> None:
    load(plan(dense_model.path, kind="none"), CRASHES).close()
    # It would die now; it is not asked again, whatever guesses.
    load(plan(dense_model.path, kind="ngram"), DIES_ALWAYS).close()


def test_a_model_on_which_llama_cpp_is_known_to_end_the_process_is_not_even_tried(tmp_path: Path) -> None:
    model = dense(tmp_path / "twice.gguf").path
    draft = draft_of(model)
    draft.list("tokenizer.ggml.tokens", STRING, ["twice"] * 374)
    model.write_bytes(draft.write())
    with pytest.raises(ModelUnsupported, match="two tokens 'twice'"):
        load(plan(model, kind="none"), ("/nonexistent",))


def test_a_model_that_hangs_its_trial_is_refused_and_asked_again_the_next_time(dense_model: TinyModel) -> None:
    trial = Trial(LlamaLog(None), HANGS, longest_s=0.2)
    facts = facts_of(read_model(dense_model.path))
    for _ in range(2):
        with pytest.raises(ModelUnsupported, match=r"not done with dense\.gguf") as caught:
            trial.require_model(plan(dense_model.path), facts, lambda: False)
        assert 'trial = "off"' in caught.value.hint
    Trial(LlamaLog(None), FAILS).require_model(plan(dense_model.path), facts, lambda: False)


REAL = (
    "llama_model_load: error: something smells\n"
    "/build/vendor/ggml/src/ggml.c:3205: GGML_ASSERT(a->ne[2] == b->ne[0]) failed\n"
    'Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n  File "GGML_ASSERT.py", line 1\n'
)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (REAL, "ggml.c:3205: GGML_ASSERT(a->ne[2] == b->ne[0]) failed"),
        ("first\n\nlast \x1b[2J\nFatal Python error: Segmentation fault\n", "last \\u001b[2J"),
        ("terminate called after throwing\n  what():  map::at\nFatal Python error: Aborted", "what():  map::at"),
        ("Fatal Python error: Segmentation fault\n", ""),
        ("", ""),
        ("x" * 1000, "x" * 200),
    ],
)
def test_of_what_a_dying_child_says_the_most_telling_line_is_quoted(said: str, words: str) -> None:
    assert last_words(said) == words


def test_complaints_before_the_death_of_a_real_child_are_told(tmp_path: Path) -> None:
    dies = "import runpy, sys, os\nimport mtpchat.backend.llama.exercise as e\n"
    dies += "from mtpchat.backend.llama.logs import LlamaLog\n"
    dies += "def use_once(loaded):\n    LlamaLog(None).note('this smells')\n    os.kill(os.getpid(), 11)\n"
    dies += "e.use_once = use_once\nfrom mtpchat.backend.llama.trial import main\nmain()"
    model = dense(tmp_path / "plain.gguf").path
    with pytest.raises(ModelUnsupported, match=r"cannot run plain\.gguf .* signal 11: this smells\)"):
        load(plan(model, kind="none"), (sys.executable, "-c", dies), tmp_path / "llama.log")
    assert "Fatal Python error: Segmentation fault" in (tmp_path / "llama.log").read_text()


def test_files_larger_than_the_free_memory_are_not_tried(
    dense_model: TinyModel, draft_model: TinyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mtpchat.backend.llama.trial.available_ram", lambda: 1000)
    require(plan(dense_model.path, draft_model.path), Trial(LlamaLog(None), DIES_ALWAYS))
    monkeypatch.setattr("mtpchat.backend.llama.trial.available_ram", lambda: None)
    with pytest.raises(DrafterUnsupported):
        require(plan(dense_model.path, draft_model.path), Trial(LlamaLog(None), DIES_ALWAYS))
