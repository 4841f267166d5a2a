"""Which drafter a model gets, decided from headers, in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mtpchat.gguf.choice import DrafterChoice, choose_drafter
from mtpchat.gguf.facts import read_model
from tests.models import TinyModel


def choose(main: TinyModel, kind: str = "auto", drafter: TinyModel | Path | None = None) -> DrafterChoice:
    path = drafter.path if isinstance(drafter, TinyModel) else drafter
    return choose_drafter(read_model(main.path), kind, str(path or ""))


@pytest.mark.parametrize("kind", ["auto", "eagle3"])
def test_an_eagle3_head_that_was_given_is_used(
    eagle3_model: TinyModel, eagle3: Callable[[float], TinyModel], kind: str
) -> None:
    choice = choose(eagle3_model, kind, eagle3(0.7))
    assert choice.kind == "eagle3"
    assert choice.path == eagle3(0.7).path
    assert choice.sentence == "EAGLE-3: the head in eagle3-0.7.gguf"
    assert choice.reason == ""


@pytest.mark.parametrize("kind", ["auto", "mtp"])
def test_an_assistant_is_used_like_heads(gemma: TinyModel, assistant: Callable[[float], TinyModel], kind: str) -> None:
    choice = choose(gemma, kind, assistant(0.7))
    assert choice.kind == "mtp"
    assert choice.sentence == "MTP: the assistant assistant-0.7.gguf"


def test_another_kind_than_the_file_holds_is_explained(
    eagle3_model: TinyModel, eagle3: Callable[[float], TinyModel], draft_model: TinyModel
) -> None:
    for kind, drafter, says in (
        ("mtp", eagle3(0.7), "eagle3-0.7.gguf is an EAGLE-3 head, not prediction heads: use --spec eagle3"),
        ("draft", eagle3(0.7), "eagle3-0.7.gguf is an EAGLE-3 head, not a draft model: use --spec eagle3"),
        ("eagle3", draft_model, "draft.gguf is a draft model, not an EAGLE-3 head: use --spec draft"),
    ):
        choice = choose(eagle3_model, kind, drafter)
        assert (choice.kind, choice.reason) == ("ngram", says)


def test_eagle3_without_a_file_is_explained(eagle3_model: TinyModel) -> None:
    choice = choose(eagle3_model, "eagle3")
    assert (choice.kind, choice.reason) == ("ngram", "no EAGLE-3 head was given (-md)")


def test_a_head_that_does_not_fit_leaves_n_gram_and_the_reason(
    dense_model: TinyModel, eagle3: Callable[[float], TinyModel]
) -> None:
    choice = choose(dense_model, "auto", eagle3(0.7))
    assert choice.kind == "ngram"
    assert choice.reason == ("eagle3-0.7.gguf does not belong to dense.gguf: it reads layer 2, and the model has 2")


def test_a_drafter_that_gives_way_to_the_models_own_heads_is_told(
    hybrid: Callable[[float], TinyModel], draft_model: TinyModel
) -> None:
    main = hybrid(0.7)
    assert choose(main).warnings == choose(main, "auto", main).warnings == ()
    for drafter in (draft_model, Path("gone.gguf")):
        choice = choose(main, "auto", drafter)
        assert (choice.kind, choice.path, choice.reason) == ("mtp", None, "")
        told = choice.warnings[0]
        assert told.startswith("The heads in the model's own file guess")
        assert (drafter.path if isinstance(drafter, TinyModel) else drafter).name in told
        assert choose(main, "mtp", drafter) == choice  # heads were asked for, and there are some
    taken = choose(main, "draft", draft_model)
    assert (taken.kind, taken.path) == ("draft", draft_model.path)
