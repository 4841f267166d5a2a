"""Which drafter belongs to which model: found, checked, ranked, and explained in a sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mtpchat.gguf.choice import DrafterChoice, choose_drafter
from mtpchat.gguf.cursor import human_size
from mtpchat.gguf.facts import read_model
from mtpchat.shelf.companions import Candidate, Patience, rank
from mtpchat.shelf.index import Index
from mtpchat.shelf.kinship import Evidence
from mtpchat.shelf.listing import Shelf
from mtpchat.shelf.search import DrafterSearch
from tests.models import OTHER
from tests.shelf.trees import in_hub, settings, write_heads, write_model


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder of models."""
    return tmp_path / "models"


@pytest.fixture
def main(shelf: Path) -> Path:
    """A model without heads in it."""
    return write_model(shelf / "Qwen3.5-9B-Q4_K_M.gguf", "Qwen3.5 9B", rows=500, half=True)


def search(*folders: Path, find: str = "folder") -> DrafterSearch:
    return DrafterSearch(settings(*folders, find=find))


def choose(model: Path, *folders: Path, find: str = "folder", kind: str = "auto") -> DrafterChoice:
    return choose_drafter(read_model(model), kind, "", search(*folders, find=find).companions)


def ranked(model: Path, *folders: Path) -> list[Candidate]:
    return search(*folders).candidates(model)


def reasons(model: Path, *folders: Path) -> dict[str, str]:
    return {one.found.path.name: one.reason for one in ranked(model, *folders)}


def test_heads_beside_a_model_are_used_and_said_to_be(main: Path) -> None:
    head = write_heads(main.with_name("mtp-Qwen3.5-9B-Q8_0.gguf"))
    choice = choose(main)
    assert (choice.kind, choice.path) == ("mtp", head)
    assert choice.sentence == "MTP: the heads in mtp-Qwen3.5-9B-Q8_0.gguf, found beside the model"
    assert (choice.reason, choice.suggestion, choice.warnings) == ("", "", ())


@pytest.mark.parametrize("folder", ["MTP", "mtp", "draft", "heads", "EAGLE3"])
def test_folders_for_drafters_beside_the_model_are_searched(main: Path, folder: str) -> None:
    head = write_heads(main.parent / folder / "anything.gguf")
    assert choose(main).path == head


def test_other_folders_beside_it_are_not(main: Path) -> None:
    write_heads(main.parent / "elsewhere" / "mtp-Qwen3.5-9B.gguf")
    assert choose(main).kind == "ngram"


def test_a_model_with_heads_of_its_own_looks_for_nothing(shelf: Path) -> None:
    model = write_model(shelf / "a.gguf", heads=1)
    write_heads(shelf / "mtp-a.gguf")
    choice = choose_drafter(read_model(model), "auto", "", lambda _header: pytest.fail("asked"))
    assert choice.sentence == "MTP: the heads in a.gguf itself"


def test_a_drafter_that_was_given_goes_before_one_that_was_found(main: Path) -> None:
    given = write_heads(main.parent / "mine" / "other.gguf")
    write_heads(main.with_name("mtp-Qwen3.5-9B.gguf"))
    choice = choose_drafter(read_model(main), "auto", str(given), search().companions)
    assert choice.path == given


def test_nothing_is_looked_for_when_that_is_switched_off(main: Path) -> None:
    write_heads(main.with_name("mtp-Qwen3.5-9B.gguf"))
    assert (
        choose(main, find="off").sentence
        == "n-gram guesses from earlier text, because Qwen3.5-9B-Q4_K_M.gguf has no prediction heads"
    )


def test_heads_in_the_repository_are_used(tmp_path: Path, isolated_home: Path) -> None:
    hub = isolated_home / ".cache" / "huggingface" / "hub"
    model = in_hub(hub, "org/Big-GGUF", write_model(tmp_path / "m.gguf"), "Q4_0/Big-Q4_0.gguf")
    head = in_hub(hub, "org/Big-GGUF", write_heads(tmp_path / "h.gguf"), "extra/Big-heads.gguf")
    choice = choose(model)
    assert choice.path == head
    assert choice.sentence.endswith("found in the model's repository")


def test_heads_in_a_kindred_repository_are_offered_once_they_were_seen(tmp_path: Path, isolated_home: Path) -> None:
    hub = isolated_home / ".cache" / "huggingface" / "hub"
    model = in_hub(hub, "org/Big-GGUF", write_model(tmp_path / "m.gguf"), "Big-Q4_0.gguf")
    head = in_hub(hub, "other/Big-MTP-GGUF", write_heads(tmp_path / "h.gguf"), "Big-Q8_0.gguf")
    assert choose(model).suggestion == ""
    list(Shelf(settings()).items())
    choice = choose(model)
    assert choice.kind == "ngram"
    assert choice.suggestion.startswith("There is also Big-Q8_0.gguf (")
    assert choice.suggestion.endswith("; /drafter ~/" + head.relative_to(isolated_home).as_posix() + " tries it")
    (first,) = ranked(model)
    assert (first.evidence, first.strong) == (Evidence.KIN, False)
    everywhere = choose(model, find="all")
    assert everywhere.path == head
    assert everywhere.sentence.endswith("found in Hugging Face cache")


def test_a_small_model_of_the_same_vocabulary_is_offered_and_never_taken_by_itself(shelf: Path) -> None:
    model = write_model(shelf / "big.gguf", arch="llama", rows=4000)
    small = write_model(shelf / "small.gguf", arch="llama", rows=40)
    choice = choose(model)
    assert choice.kind == "ngram"
    size = human_size(small.stat().st_size)
    assert choice.suggestion == f"There is also small.gguf ({size}, chat model); /drafter {small} tries it"
    assert "used only when it is named" in reasons(model, shelf)["small.gguf"]
    assert choose(model, shelf, find="all").path == small


def test_a_small_model_that_is_called_a_draft_is_taken(shelf: Path) -> None:
    model = write_model(shelf / "big.gguf", arch="llama", rows=4000)
    draft = write_model(shelf / "draft" / "small.gguf", arch="llama", rows=40)
    choice = choose(model)
    assert (choice.kind, choice.path) == ("draft", draft)
    assert choice.sentence == "draft model: small.gguf, found beside the model"


def test_only_the_kind_that_was_asked_for_is_taken(main: Path) -> None:
    head = write_heads(main.with_name("mtp-Qwen3.5-9B.gguf"))
    assert choose(main, kind="mtp").path == head
    assert choose(main, kind="draft").reason == "no draft model was given (-md)"
    head.unlink()
    assert choose(main, kind="mtp").reason == "Qwen3.5-9B-Q4_K_M.gguf has no prediction heads"


def test_the_same_model_with_heads_is_offered_instead(main: Path) -> None:
    twin = write_model(main.with_name("Qwen3.5-9B-MTP-Q4_K_M.gguf"), heads=1, rows=500, half=True)
    choice = choose(main)
    assert choice.kind == "ngram"
    assert f"the same model with prediction heads; /model {twin} loads it" in choice.suggestion


def test_what_is_no_drafter_is_no_candidate(main: Path) -> None:
    write_model(main.with_name("mmproj-Qwen3.5-9B.gguf"), kind="mmproj")
    write_model(main.with_name("lora-draft.gguf"), kind="adapter")
    (main.parent / "mtp-broken.gguf").write_bytes(b"GGUF")
    (main.parent / "mtp-linked.gguf").symlink_to(main)
    write_model(main.with_name("as-large.gguf"), arch="llama", rows=500, half=True)
    assert ranked(main, main.parent) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"arch": "qwen35moe"}, "Its architecture is qwen35moe, the model's is qwen35."),
        ({"width": 64}, "Its embeddings are 64 wide, the model's 32."),
        ({"blocks": 7}, "its model has 7 blocks, the model's 2"),
        ({"vocabulary": OTHER}, "vocabulary has|Token 256 is 'Ġe' in .* and 'Ġt' in the model"),
    ],
)
def test_a_wrong_pair_is_refused_with_the_fact_that_differs(main: Path, options: dict[str, Any], says: str) -> None:
    write_heads(main.with_name("mtp-Qwen3.5-9B.gguf"), **options)
    (one,) = ranked(main)
    assert not one.fits
    assert re.search(says, one.reason)
    choice = choose(main)
    assert choice.kind == "ngram"
    assert choice.reason.startswith("mtp-Qwen3.5-9B.gguf beside it cannot be used. ")
    assert choice.reason.endswith(one.verdict.refusal.rstrip("."))


def test_heads_of_another_base_model_are_doubted_and_not_taken(shelf: Path) -> None:
    model = write_model(shelf / "Qwen3.5-9B.gguf", "Qwen3.5 9B", bases=["Qwen3.5 9B Base"])
    write_heads(shelf / "MTP" / "heads.gguf", bases=["Qwen3.5 27B"])
    assert choose(model).kind == "ngram"
    (one,) = ranked(model)
    assert one.fits
    assert "was made for Qwen3.5 27B, and the model is Qwen3.5 9B Base." in one.reason
    given = choose_drafter(read_model(model), "auto", str(one.found.path))
    assert given.kind == "mtp"
    assert given.warnings[0].endswith("It is used all the same; acceptance will tell.")


def test_named_heads_go_before_others_and_fine_ones_before_coarse_ones(main: Path) -> None:
    write_heads(main.with_name("mtp-another-name.gguf"), half=True)
    coarse = write_heads(main.with_name("mtp-Qwen3.5-9B-F16.gguf"), half=True)
    fine = write_heads(main.with_name("mtp-Qwen3.5-9B-F32.gguf"))
    order = [one.found.path.name for one in ranked(main)]
    assert order == [coarse.name, fine.name, "mtp-another-name.gguf"]
    model = write_model(main.with_name("Qwen3.5-9B-F32.gguf"), rows=400)
    assert ranked(model)[0].found.path == fine


def test_ranking_is_the_same_whatever_order_files_come_in(main: Path) -> None:
    for name in ("mtp-a", "mtp-Qwen3.5-9B", "MTP/x", "draft/y"):
        write_heads(main.parent / f"{name}.gguf")
    write_heads(main.with_name("mtp-wrong.gguf"), width=64)
    found = ranked(main)
    assert rank(reversed(found), 16.0) == rank(found, 16.0) == found
    assert [one.fits for one in found] == sorted((one.fits for one in found), reverse=True)
    assert [one.strong for one in found] == sorted((one.strong for one in found), reverse=True)


def test_every_candidate_says_why_in_one_sentence(main: Path) -> None:
    write_heads(main.with_name("mtp-Qwen3.5-9B.gguf"))
    write_heads(main.with_name("mtp-wrong.gguf"), width=64)
    write_model(main.with_name("small.gguf"), arch="llama", rows=2)
    for sentence in reasons(main).values():
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "\n" not in sentence


def test_patience_ends_and_likely_drafters_come_first(main: Path) -> None:
    for number in range(30):
        write_model(main.parent / f"a{number:02}.gguf", arch="llama", rows=number + 1)
    head = write_heads(main.with_name("zz-mtp.gguf"))
    index = Index()
    index.record(main)
    hurried = DrafterSearch(settings(), index, Patience(files=1))
    assert hurried.candidates(main, everywhere=False)[0].found.path == head
    ticks = iter(range(1000))
    slow = DrafterSearch(settings(), Index(), Patience(seconds=0.0, clock=lambda: float(next(ticks))))
    assert slow.candidates(main, everywhere=False) == []


def test_a_pair_that_was_judged_is_not_opened_again(main: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_heads(main.with_name("mtp-Qwen3.5-9B.gguf"))
    first = search().companions(read_model(main))
    header = read_model(main)
    monkeypatch.setattr("mtpchat.shelf.companions.read_model", lambda _path: pytest.fail("opened"))
    assert search().companions(header) == first


def test_a_list_gives_each_model_the_drafter_that_it_would_get(main: Path, shelf: Path) -> None:
    head = write_heads(shelf / "MTP" / "mtp-Qwen3.5-9B.gguf")
    write_model(shelf / "with.gguf", heads=1)
    write_model(shelf / "alone.gguf", arch="llama", vocabulary=OTHER)
    listing = Shelf(settings(shelf))
    items = {one.name: one for one in listing.assigned(list(listing.items()))}
    assert items["Qwen3.5-9B-Q4_K_M"].drafter is not None
    assert items["Qwen3.5-9B-Q4_K_M"].drafter.found.path == head
    assert items["with"].drafter is None
    assert items["alone"].drafter is None
    off = Shelf(settings(shelf, find="off"))
    assert all(one.drafter is None for one in off.assigned(list(off.items())))


def test_drafters_projectors_adapters_and_vocabularies_are_never_chat_models(shelf: Path) -> None:
    write_heads(shelf / "heads.gguf")
    write_model(shelf / "mmproj.gguf", kind="mmproj")
    write_model(shelf / "lora.gguf", kind="adapter")
    write_model(shelf / "assistant.gguf", arch="gemma4-assistant")
    write_model(shelf / "eagle.gguf", arch="eagle3")
    write_model(shelf / "embed.gguf", arch="bert")
    write_model(shelf / "part-00002-of-00002.gguf")
    (shelf / "bad.gguf").write_bytes(b"bad")
    write_model(shelf / "chat.gguf")
    kinds = {one.name: one.record.kind for one in Shelf(settings(shelf)).items()}
    assert [name for name, kind in kinds.items() if kind == "model"] == ["chat"]
    assert kinds["bad"] == "broken"
    assert kinds["heads"] == kinds["eagle"] == kinds["assistant"] == "drafter"
    assert "part" not in kinds


def test_another_model_of_the_same_shape_is_not_taken_for_the_same(main: Path) -> None:
    write_model(main.with_name("Quite-Another-9B.gguf"), "Quite Another 9B", heads=1, rows=500, half=True)
    assert ranked(main) == []
