"""What a hub says, and what it refuses, in words that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.errors import HubDenied, HubError, HubNotFound, HubUnreachable, MtpChatError
from mtpchat.hub import survey
from mtpchat.hub.access import HUGGING_FACE, Access, access, checked_endpoint
from mtpchat.hub.client import HubClient, _files
from mtpchat.hub.names import parse_wanted
from mtpchat.hub.patience import Patience
from mtpchat.hub.refusals import retry_after
from tests.hub.conftest import REPO, Puller
from tests.hub.server import FakeHub, Repo


def refused(puller: Puller, kind: type[MtpChatError], repo: str = REPO, revision: str = "") -> MtpChatError:
    with pytest.raises(kind) as caught:
        survey.survey(puller.client(), parse_wanted(repo), revision)
    assert caught.value.hint
    return caught.value


def test_sizes_that_the_first_answer_lacks_are_asked_for(hub: FakeHub, puller: Puller) -> None:
    hub.faults.no_sizes = True
    (offer,) = puller.listing().offers
    assert offer.size == len(hub.repos[REPO].files["Tiny-Q4_K_M.gguf"])
    assert any("/tree/" in one.path for one in hub.requests)


def test_a_gated_repository_says_where_to_agree_and_what_to_set(hub: FakeHub, puller: Puller) -> None:
    hub.repos[REPO].gated = True
    error = refused(puller, HubDenied)
    assert "gated" in error.message
    assert f"{hub.endpoint}/{REPO}" in error.hint
    assert "HF_TOKEN" in error.hint
    hub.token = "hf_right"
    assert puller.listing().offers


def test_a_token_that_is_not_accepted_is_named_as_the_cause(hub: FakeHub, puller: Puller) -> None:
    hub.token = "hf_right"
    client = HubClient(access(endpoint=hub.endpoint, environment={"HF_TOKEN": "hf_wrong"}))
    with pytest.raises(HubDenied, match="token is not accepted"):
        client.listing(REPO)


def test_a_repository_that_is_not_there_names_similar_ones(hub: FakeHub, puller: Puller) -> None:
    hub.repos["other/Tiny-Chat-GGUF"] = Repo()
    error = refused(puller, HubDenied, "acmee/Tiny-GGUF")
    assert "does not exist, or is private" in error.message
    assert REPO in error.hint
    hub.token = "hf_right"
    assert REPO in refused(puller, HubNotFound, "acmee/Tiny-GGUF").hint


def test_a_revision_that_is_not_there_is_told_from_a_repository_that_is_not(hub: FakeHub, puller: Puller) -> None:
    assert "no such revision" in refused(puller, HubNotFound, revision="v9").message


def test_too_many_requests_end_in_a_sentence_when_the_wait_is_too_long(hub: FakeHub, puller: Puller) -> None:
    hub.faults.statuses, hub.faults.retry_after = [429] * 9, "900"
    error = refused(puller, HubUnreachable)
    assert "asks to wait for 900 s" in error.message
    assert "HF_TOKEN" in error.hint
    assert len(hub.requests) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_can_be_mended_by_waiting_is_tried_again(hub: FakeHub, puller: Puller, status: int) -> None:
    hub.faults.statuses = [status, status]
    assert puller.listing().offers
    hub.faults.statuses = [status] * 9
    refused(puller, HubUnreachable)


@pytest.mark.parametrize("status", [400, 410, 418])
def test_what_cannot_be_mended_is_told_at_once(hub: FakeHub, puller: Puller, status: int) -> None:
    hub.faults.statuses = [status] * 2
    assert f"HTTP {status}" in refused(puller, HubError).message
    assert len(hub.requests) == 1


def test_a_web_page_instead_of_the_api_is_recognised(hub: FakeHub, puller: Puller) -> None:
    hub.faults.no_hub = True
    assert "not as a Hugging Face hub" in refused(puller, HubError).message


def test_a_hub_that_cannot_be_reached_says_so(puller: Puller) -> None:
    client = HubClient(access(endpoint="http://127.0.0.1:9", environment={}), patience=Patience(2, 0.0, 0.0))
    with pytest.raises(HubUnreachable, match="cannot be reached") as caught:
        client.listing(REPO)
    assert "HF_ENDPOINT" in caught.value.hint


def test_waits_grow_and_are_bounded() -> None:
    patience = Patience(tries=8, first_s=1.0, longest_s=10.0)
    waits = [patience.wait_s(failures, HubUnreachable("x")) for failures in range(1, 9)]
    assert waits == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0, None]
    assert patience.wait_s(1, HubUnreachable("x", after_s=42.0)) == 42.0


def test_nothing_is_asked_in_offline_mode(hub: FakeHub) -> None:
    with pytest.raises(HubUnreachable, match="offline"):
        HubClient(access(endpoint=hub.endpoint, environment={"HF_HUB_OFFLINE": "1"}))
    assert hub.requests == []


def test_companion_repositories_are_found_by_their_names(hub: FakeHub, puller: Puller) -> None:
    for name in ("acme/Tiny-MTP-GGUF", "x/Tiny-eagle3-GGUF", "x/Tiny-Coder-GGUF", "x/Else-MTP-GGUF"):
        hub.repos[name] = Repo()
    assert survey.companions(puller.client(), REPO) == ["acme/Tiny-MTP-GGUF", "x/Tiny-eagle3-GGUF"]


def test_heads_are_read_off_the_files_with_few_bytes(hub: FakeHub, puller: Puller, every_model: list[Path]) -> None:
    with_heads, without, *_ = every_model
    padding = bytes(2 << 20)
    hub.repos[REPO].files = {
        "T-Q8_0.gguf": with_heads.read_bytes() + padding,
        "T-MTP-Q4_0.gguf": without.read_bytes() + padding,
    }
    client = puller.client()
    listing = survey.looked_into(client, client.listing(REPO))
    assert {one.label: (one.heads, one.known_by) for one in listing.offers} == {
        "Q8_0": (True, "header"),
        "Q4_0": (False, "header"),
    }
    assert hub.downloads("T-Q8_0.gguf") == ["bytes=0-131071"]


def test_a_file_whose_start_cannot_be_read_is_judged_by_its_name(hub: FakeHub, puller: Puller) -> None:
    hub.repos[REPO].files = {"T-MTP-Q8_0.gguf": b"nonsense" * 100}
    client = puller.client()
    (offer,) = survey.looked_into(client, client.listing(REPO)).offers
    assert (offer.heads, offer.known_by) == (True, "name")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("a.gguf"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["rfilename", "path", "size", "lfs", "oid", "sha256", "type"]), inner)
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=4))
def test_whatever_a_list_holds_becomes_files_or_nothing(rows: list[object]) -> None:
    for key in ("rfilename", "path"):
        files = _files(rows, key)
        for file in files or []:
            assert isinstance(file.path, str)
            assert file.size >= 0
            assert len(file.digest) in (0, 40, 64)


@pytest.mark.parametrize(
    "answer", ["[]", "null", '"x"', "7", '{"sha": 7}', "[" * 100_000, "\xff", '{"sha": "' + "a" * 40]
)
def test_an_answer_that_makes_no_sense_is_recognised(hub: FakeHub, puller: Puller, answer: str) -> None:
    hub.faults.raw = answer.encode("latin-1")
    assert "not as a Hugging Face hub" in refused(puller, HubError).message


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"RateLimit": '"api";r=0;t=42'}, 42.0),
        ({"Retry-After": "99999"}, 3600.0),
        ({"Retry-After": "Mon, 30 Nov 2026 05:00:30 GMT"}, 30.0),
        ({"Retry-After": "Mon, 30 Nov 2026 04:00:00 GMT"}, 0.0),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, 3600.0),
        ({"Retry-After": "Fri, 32 Dec 2026 23:59:59 GMT"}, None),
        ({"Retry-After": "-1"}, None),
        ({}, None),
    ],
)
def test_waits_that_a_hub_asks_for_are_understood(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, lambda: 1796014800.0) == seconds  # five in the morning of 30 November 2026


class TestAccess:
    """Flags first, then variables."""

    def test_variables_of_huggingface_hub_are_honoured(self, tmp_path: Path) -> None:
        environment = {"HF_ENDPOINT": "https://hf-mirror.com/", "HF_TOKEN": "hf_x\n", "HF_HOME": str(tmp_path)}
        assert access(environment=environment) == Access("https://hf-mirror.com", "hf_x", tmp_path / "hub", False)
        moved = access(environment=environment | {"HF_HUB_CACHE": str(tmp_path / "c"), "HF_HUB_OFFLINE": "1"})
        assert moved.cache == tmp_path / "c"
        assert moved.offline

    def test_flags_win(self) -> None:
        found = access(endpoint="http://localhost:1", offline=True, environment={"HF_ENDPOINT": "https://x.y"})
        assert (found.endpoint, found.offline) == ("http://localhost:1", True)

    def test_the_cache_is_where_huggingface_hub_has_it(self, tmp_path: Path) -> None:
        assert access(environment={"XDG_CACHE_HOME": str(tmp_path)}).cache == tmp_path / "huggingface" / "hub"
        assert access(environment={}).cache == Path.home() / ".cache" / "huggingface" / "hub"

    def test_a_stored_token_goes_to_hugging_face_alone(self, tmp_path: Path) -> None:
        (tmp_path / "token").write_text("hf_stored\n")
        environment = {"HF_HOME": str(tmp_path)}
        assert access(environment=environment).token == "hf_stored"
        assert access(endpoint=HUGGING_FACE + "/", environment=environment).token == "hf_stored"
        assert access(endpoint="https://mirror.example", environment=environment).token == ""
        assert access(endpoint="https://mirror.example", environment=environment | {"HF_TOKEN": "t"}).token == "t"
        assert access(environment=environment | {"HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}).token == ""

    @pytest.mark.parametrize(
        "text", ["x", "ftp://x", "https://", "https://u:p@x", "https://x?a", "http://[::1", "file:///x"]
    )
    def test_what_is_no_address_of_a_hub_is_refused(self, text: str) -> None:
        with pytest.raises(HubError, match="no address"):
            checked_endpoint(text)
