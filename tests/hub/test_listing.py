"""Files of a repository become quantisations and drafters."""

from __future__ import annotations

import pytest

from mtpchat.errors import HubError, HubNotFound
from mtpchat.hub.listing import Listing, Offer, RemoteFile, arrange, default, find, matching_drafters, with_starts
from mtpchat.hub.peek import FileStart
from tests.hub.server import COMMIT

GB = 10**9


def repository(*files: tuple[str, float], repo: str = "acme/Tiny-GGUF") -> Listing:
    return arrange(repo, "main", COMMIT, [RemoteFile(name, int(size * GB), "a" * 64) for name, size in files])


def labels(listing: Listing) -> list[str]:
    return [one.label for one in listing.offers]


QUANTS = (("T-Q8_0.gguf", 9), ("T-Q4_K_M.gguf", 5), ("T-Q2_K.gguf", 3), ("README.md", 0), ("mmproj-F16.gguf", 1))


def test_quantisations_are_listed_from_small_to_large_and_nothing_else_is() -> None:
    assert labels(repository(*QUANTS)) == ["Q2_K", "Q4_K_M", "Q8_0"]


def test_parts_belong_together_and_missing_ones_are_named() -> None:
    listing = repository(("B/T-Q4_0-00001-of-00003.gguf", 1), ("B/T-Q4_0-00003-of-00003.gguf", 2))
    (offer,) = listing.offers
    assert offer.size == 3 * GB
    assert offer.missing == ("B/T-Q4_0-00002-of-00003.gguf",)
    with pytest.raises(HubError, match=r"of 3 parts T-Q4_0-00002-of-00003\.gguf is missing"):
        find(listing, "q4_0")
    assert default(listing, lambda _: True) is None


def test_a_file_is_found_by_quantisation_name_and_path_in_any_case() -> None:
    listing = repository(*QUANTS)
    for choice in ("q4_k_m", "Q4_K_M", "T-Q4_K_M", "t-q4_k_m.gguf"):
        assert find(listing, choice).first.path == "T-Q4_K_M.gguf"


def test_a_whole_path_means_its_file_although_others_end_in_it() -> None:
    listing = repository(("T-Q8_0.gguf", 9), ("v2/T-Q8_0.gguf", 8), ("v3/T-Q8_0.gguf", 7))
    for one in listing.offers:
        for choice in (one.first.path, one.label, one.first.path.upper()):
            assert find(listing, choice) is one


def test_a_quantisation_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(HubNotFound) as caught:
        find(repository(*QUANTS), "Q4_K_S")
    assert "acme/Tiny-GGUF:Q4_K_M" in caught.value.hint


def test_two_files_of_one_quantisation_get_labels_of_their_own_and_must_be_told_apart() -> None:
    listing = repository(("A-Q4_0.gguf", 1), ("B-Q4_0.gguf", 2))
    assert labels(listing) == ["A-Q4_0", "B-Q4_0"]
    with pytest.raises(HubError, match="can mean 2 files"):
        find(listing, "Q4_0")
    assert find(listing, "B-Q4_0").size == 2 * GB


def test_a_drafter_takes_no_label_from_a_model_and_is_no_chat_model() -> None:
    listing = repository(("T-Q8_0.gguf", 9), ("eagle3-T-Q8_0.gguf", 1))
    assert labels(listing) == ["Q8_0"]
    assert [one.label for one in listing.drafters] == ["eagle3-T-Q8_0"]
    assert find(listing, "Q8_0").first.path == "T-Q8_0.gguf"


def test_a_small_file_called_mtp_is_heads_alone_and_a_large_one_a_model_that_has_them() -> None:
    listing = repository(("T-Q8_0.gguf", 9), ("T-MTP-Q8_0.gguf", 1))
    assert [one.first.path for one in listing.drafters] == ["T-MTP-Q8_0.gguf"]
    listing = repository(("T-MTP-Q8_0.gguf", 9), ("T-MTP-Q4_K_M.gguf", 5))
    assert labels(listing) == ["Q4_K_M", "Q8_0"]
    assert [(one.heads, one.known_by) for one in listing.offers] == [(True, "name")] * 2


def test_what_a_file_says_of_itself_wins_over_its_name() -> None:
    starts = {
        "T-MTP-Q8_0.gguf": FileStart("qwen35", 0, 32, 400),
        "T-Q4_0.gguf": FileStart("qwen35", 1, 33, 420),
        "T-Q5_0.gguf": FileStart("qwen35", 1, 33, 14),
        "T-Q6_K.gguf": FileStart("eagle3", 0, 1, 14),
    }
    listing = repository(*((name, 5) for name in starts))
    listing = with_starts(listing, lambda file: starts[file.path])
    assert {one.first.path: one.heads for one in listing.offers} == {"T-MTP-Q8_0.gguf": False, "T-Q4_0.gguf": True}
    assert {one.known_by for one in listing.offers} == {"header"}
    assert {one.first.path for one in listing.drafters} == {"T-Q5_0.gguf", "T-Q6_K.gguf"}


def test_the_first_part_of_a_split_model_may_have_no_tensors_and_is_a_model_all_the_same() -> None:
    listing = repository(("T-Q4_0-00001-of-00002.gguf", 0.1), ("T-Q4_0-00002-of-00002.gguf", 5))
    listing = with_starts(listing, lambda _: FileStart("qwen35", 1, 33, 0))
    assert [one.heads for one in listing.offers] == [True]


@pytest.mark.parametrize(("room", "expected"), [(100, "Q4_K_M"), (None, "Q4_K_M"), (4, "Q2_K"), (1, "Q2_K")], ids=str)
def test_q4_k_m_is_the_default_unless_it_does_not_fit(room: int | None, expected: str) -> None:
    def fits(offer: Offer) -> bool | None:
        return None if room is None else offer.size <= room * GB

    best = default(repository(*QUANTS), fits)
    assert best is not None
    assert best.label == expected


def test_without_a_usual_quantisation_the_largest_that_fits_is_the_default() -> None:
    listing = repository(("T-Q2_K.gguf", 3), ("T-Q3_K_M.gguf", 4), ("T-F32.gguf", 40))
    best = default(listing, lambda offer: offer.size < 10 * GB)
    assert best is not None
    assert best.label == "Q3_K_M"
    unknown = default(listing, lambda _: None)
    assert unknown is not None
    assert unknown.label == "Q2_K"


def test_drafters_in_eight_bits_come_first() -> None:
    listing = repository(("T-Q4_0.gguf", 9), ("mtp-T-Q4_0.gguf", 0.5), ("mtp-T-F16.gguf", 2), ("mtp-T-Q8_0.gguf", 1))
    found = [one.label for one in matching_drafters(listing, listing.offers[0])]
    assert found == ["mtp-T-Q8_0", "mtp-T-F16", "mtp-T-Q4_0"]


def test_files_with_hostile_names_are_left_out_and_told() -> None:
    listing = repository(("T-Q4_0.gguf", 1), ("../evil.gguf", 1), ("a\x1b.gguf", 1))
    assert labels(listing) == ["Q4_0"]
    assert len(listing.left_out) == 2
    assert all(text.isprintable() for text in listing.left_out)
    with pytest.raises(HubNotFound, match="may be written"):
        repository(("../evil.gguf", 1))


def test_a_repository_without_gguf_files_says_so() -> None:
    with pytest.raises(HubNotFound, match="2 files, but no GGUF"):
        repository(("model.safetensors", 1), ("README.md", 0))
    with pytest.raises(HubNotFound, match="no files"):
        repository()
