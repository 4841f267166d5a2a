"""What names and folders say about a pair."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.shelf.kinship import (
    Evidence,
    evidence_for,
    is_draft_model,
    is_marked,
    is_named_for,
    kin_name,
    kin_repos,
    same_folder,
    words_of,
)

MAIN = Path("/m/Qwen3.5-9B-Instruct-Q4_K_M.gguf")


@pytest.mark.parametrize(
    "name",
    [
        "mtp-Qwen3.5-9B-Instruct-Q8_0.gguf",
        "Qwen3.5-9B-Instruct-mtp.gguf",
        "Qwen3.5-9B-Instruct.MTP-BF16.gguf",
        "eagle3-Qwen3.5-9B-Instruct-F16.gguf",
        "Qwen3.5-9B-Instruct-EAGLE-3-Q8_0.gguf",
        "qwen3.5_9b_instruct_draft-Q4_0.gguf",
        "Qwen3.5-9B-Instruct-draft-0.6B-Q8_0.gguf",
    ],
)
def test_a_drafter_is_known_by_the_name_of_its_model_and_a_mark(name: str) -> None:
    assert is_named_for(MAIN, MAIN.with_name(name))


@pytest.mark.parametrize(
    "name",
    [
        "Qwen3.5-9B-Instruct-Q8_0.gguf",
        "mtp-Qwen3.5-27B-Instruct-Q8_0.gguf",
        "mtp-Q8_0.gguf",
        "Qwen3.5-9B-Q4_K_M.gguf",
        "mtp-Qwen3.5-9B-Instruct-Coder-Q8_0.gguf",
    ],
)
def test_other_names_are_no_evidence(name: str) -> None:
    assert not is_named_for(MAIN, MAIN.with_name(name))


def test_a_folder_for_drafters_marks_what_lies_in_it() -> None:
    assert is_named_for(MAIN, MAIN.parent / "MTP" / "Qwen3.5-9B-Instruct-Q8_0.gguf")
    assert is_marked(Path("/m/draft/anything.gguf"))
    assert not is_marked(Path("/m/models/anything.gguf"))


def test_a_model_with_heads_in_its_name_is_no_draft_model() -> None:
    assert not is_draft_model(Path("/m/Qwen3.5-9B-MTP-Q4_K_M.gguf"))
    assert is_draft_model(Path("/m/Qwen3.5-draft-Q4_K_M.gguf"))
    assert is_draft_model(Path("/m/draft/Qwen3.5-0.8B.gguf"))


@pytest.mark.parametrize(
    ("main", "drafter", "beside"),
    [
        ("/m/a.gguf", "/m/b.gguf", True),
        ("/m/a.gguf", "/m/MTP/b.gguf", True),
        ("/m/a.gguf", "/m/other/b.gguf", False),
        ("/m/Q4_K_M/a.gguf", "/m/MTP/b.gguf", True),
        ("/m/big/a.gguf", "/m/MTP/b.gguf", False),
        ("/m/a.gguf", "/m/MTP/deep/b.gguf", False),
    ],
)
def test_beside_a_model_means_its_folder_and_those_for_drafters(main: str, drafter: str, beside: bool) -> None:
    assert same_folder(Path(main), Path(drafter)) is beside


def test_repositories_of_a_model_and_its_drafter_are_kin() -> None:
    assert kin_repos("unsloth/Qwen3.5-9B-GGUF", "someone/Qwen3.5-9B-MTP-GGUF")
    assert kin_repos("org/Llama-3.3-70B-Instruct-GGUF", "org/EAGLE3-Llama-3.3-70B-Instruct")
    assert not kin_repos("unsloth/Qwen3.5-9B-GGUF", "unsloth/Qwen3.5-27B-MTP-GGUF")
    assert not kin_repos("a/GGUF", "b/GGUF")


def test_evidence_is_the_best_there_is() -> None:
    nothing: tuple[set[str], set[str]] = (set(), set())
    elsewhere = Path("/else/x.gguf")
    assert evidence_for(MAIN, MAIN.with_name("mtp-Qwen3.5-9B-Instruct.gguf"), "", "", nothing) is Evidence.NAMED
    assert evidence_for(MAIN, MAIN.with_name("x.gguf"), "", "", nothing) is Evidence.FOLDER
    assert evidence_for(MAIN, elsewhere, "o/r", "o/r", nothing) is Evidence.REPO
    assert evidence_for(MAIN, elsewhere, "o/X-GGUF", "p/X-MTP-GGUF", nothing) is Evidence.KIN
    assert evidence_for(MAIN, elsewhere, "", "", ({"base"}, {"base"})) is Evidence.KIN
    assert evidence_for(MAIN, elsewhere, "", "", nothing) is Evidence.NONE


def test_files_of_other_repositories_in_one_flat_cache_are_not_beside_a_model() -> None:
    flat = MAIN.with_name("mtp-other.gguf")
    assert evidence_for(MAIN, flat, "org/one", "org/two", (set(), set())) is Evidence.NONE


@given(st.text(max_size=40))
def test_words_are_lower_case_and_none_is_empty(name: str) -> None:
    assert all(word and word == word.casefold() for word in words_of(name))
    assert set(kin_name(name)) <= set(words_of(name))


@given(st.sampled_from(["mtp-{}", "{}-mtp", "{}-draft", "eagle3-{}", "{}-MTP-Q8_0", "MTP-{}-BF16"]))
def test_a_mark_before_or_behind_does_not_change_what_a_name_is_kin_to(pattern: str) -> None:
    assert kin_name(pattern.format("Big.Name-7B")) == kin_name("Big.Name-7B-Q4_K_M") != ()
