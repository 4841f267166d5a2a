"""What is kept from run to run: comes back as it was, belongs to one setup, stays small, and never stops a chat."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.speculate.calibration import Calibration
from mtpchat.speculate.costs import Costs
from mtpchat.speculate.learned import MOST_BYTES, MOST_ENTRIES, SAVE_EVERY_S, Lessons, Setup, fingerprint

SETUP = Setup("model|1|2", "drafter|3|4", 4, 0)


class Now:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        self.at += 1
        return self.at


def experienced() -> tuple[Costs, Calibration]:
    costs, calibration = Costs(lambda: 0.0), Calibration(frozenset({"ngram"}))
    for width, seconds in ((1, 0.02), (2, 0.03), (4, 0.05)):
        for _ in range(10):
            costs.observe(width, seconds)
    costs.observe_guesses("mtp", 3, 0.006, 0.003)
    for at in range(100):
        calibration.of("mtp").observe(1, 0.9, hit=at % 4 != 0)
        calibration.of("ngram").observe(1, 0.5, hit=at % 2 == 0)
    return costs, calibration


def keep(path: Path, setup: Setup = SETUP, context: int = 100) -> None:
    lessons = Lessons(path, Now())
    lessons.note(setup, context, *experienced())
    lessons.save()


def recalled(path: Path, setup: Setup = SETUP) -> tuple[bool, Costs, Calibration]:
    costs, calibration = Costs(lambda: 0.0), Calibration(frozenset({"ngram"}))
    return Lessons(path, Now()).recall(setup, costs, calibration), costs, calibration


def test_what_was_learnt_comes_back(tmp_path: Path) -> None:
    keep(tmp_path / "a" / "speculation.json")
    found, costs, calibration = recalled(tmp_path / "a" / "speculation.json")
    before, was = experienced()
    assert found
    assert [costs.verify_s(width) for width in (1, 2, 3, 4)] == pytest.approx(
        [before.verify_s(width) for width in (1, 2, 3, 4)]
    )
    assert costs.guess_s("mtp", 1) == pytest.approx(0.003)
    assert calibration.of("mtp").rate(1) == pytest.approx(was.of("mtp").rate(1), abs=1e-3)
    assert calibration.of("ngram").chance(1, 0.5) == pytest.approx(was.of("ngram").chance(1, 0.5), abs=0.05)


@pytest.mark.parametrize(
    "other",
    [
        Setup("other|1|2", "drafter|3|4", 4, 0),
        Setup("model|1|2", "", 4, 0),
        Setup("model|1|2", "other|3|4", 4, 0),
    ],
)
def test_another_model_or_drafter_learns_for_itself(tmp_path: Path, other: Setup) -> None:
    keep(tmp_path / "kept.json")
    assert not recalled(tmp_path / "kept.json", other)[0]


@pytest.mark.parametrize("other", [Setup("model|1|2", "drafter|3|4", 8, 0), Setup("model|1|2", "drafter|3|4", 4, 20)])
def test_other_threads_or_layers_have_costs_of_their_own_but_share_acceptance(tmp_path: Path, other: Setup) -> None:
    keep(tmp_path / "kept.json")
    found, costs, calibration = recalled(tmp_path / "kept.json", other)
    assert found
    assert costs.plain_s is None
    assert set(calibration.sources()) == {"mtp", "ngram"}


def test_a_long_context_has_costs_of_its_own(tmp_path: Path) -> None:
    assert SETUP.costs_key(100) == SETUP.costs_key(2000) != SETUP.costs_key(5000)
    keep(tmp_path / "kept.json", context=5000)
    assert recalled(tmp_path / "kept.json")[1].plain_s == pytest.approx(0.02)  # better than nothing


CORRUPT = {
    "empty": b"",
    "no JSON": b"{costs",
    "other JSON": b"[1, 2]",
    "not UTF-8": b'{"costs": "\xff"}',
    "of the future": b'{"version": 2}',
    "of the wrong type": b'{"costs": {"k": {"at": 1, "widths": {"one": 1}, "guesses": {}}}}',
    "negative": b'{"costs": {"k": {"at": 1, "widths": {"1": -1}, "guesses": {}}}}',
    "too large": b" " * (MOST_BYTES + 1),
}


@pytest.mark.parametrize("content", CORRUPT.values(), ids=list(CORRUPT))
def test_a_file_that_is_no_good_is_not_used_and_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(content)
    assert not recalled(path)[0]
    keep(path)
    assert recalled(path)[0]


@settings(max_examples=50, deadline=None)
@given(data=st.binary(max_size=300), cut=st.integers(0, 2000))
def test_no_file_stops_a_chat(tmp_path_factory: pytest.TempPathFactory, data: bytes, cut: int) -> None:
    path = tmp_path_factory.mktemp("kept") / "kept.json"
    keep(path)
    path.write_bytes(path.read_bytes()[:cut] + data)
    recalled(path)


def test_a_place_that_cannot_be_written_costs_only_what_was_learnt(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    keep(blocked / "kept.json")
    assert not recalled(blocked / "kept.json")[0]
    keep(tmp_path)  # a folder


def test_only_so_much_is_kept_and_the_oldest_goes_first(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    lessons = Lessons(path, Now())
    for at in range(MOST_ENTRIES + 10):
        lessons.note(Setup(f"model {at}", "", 1, 0), 0, *experienced())
    lessons.save()
    assert path.stat().st_size < MOST_BYTES
    assert not recalled(path, Setup("model 9", "", 1, 0))[0]
    assert recalled(path, Setup("model 10", "", 1, 0))[0]


def test_saving_is_due_at_first_and_then_only_now_and_then(tmp_path: Path) -> None:
    now = Now()
    lessons = Lessons(tmp_path / "kept.json", now)
    assert lessons.due()
    lessons.save()
    assert not lessons.due()
    now.at += SAVE_EVERY_S
    assert lessons.due()


def test_nothing_is_noted_about_costs_that_were_not_measured_in_this_run(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    keep(path)
    _, costs, calibration = recalled(path)
    lessons = Lessons(tmp_path / "other.json", Now())
    lessons.note(SETUP, 0, costs, calibration)
    lessons.save()
    assert recalled(tmp_path / "other.json")[1].plain_s is None


def test_a_changed_file_is_another_model(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"one")
    before = fingerprint(str(model))
    assert before == fingerprint(str(tmp_path / "." / "model.gguf"))
    model.write_bytes(b"another")
    assert fingerprint(str(model)) != before
    assert fingerprint("") == ""
    assert fingerprint(str(tmp_path / "missing.gguf"))
