"""Model files are found in every kind of cache, under the names people know, and nothing leads the search astray."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.gguf.file_names import quantisation_in
from mtpchat.shelf.finding import Found, find_all, is_later_part, locate, stem
from mtpchat.shelf.ollama import ollama_name
from mtpchat.shelf.places import Place, places
from mtpchat.shelf.walk import Walk
from tests.shelf.trees import in_hub, in_ollama, settings, write_model


def found_in(*folders: Path, walk: Walk | None = None) -> list[Found]:
    return list(find_all(places(settings(*folders)), walk or Walk()))


def names(*folders: Path) -> list[str]:
    return [one.name for one in found_in(*folders)]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Some model to put into caches."""
    return write_model(tmp_path / "some.gguf")


def other(tmp_path: Path, rows: int) -> Path:
    return write_model(tmp_path / f"other-{rows}.gguf", rows=rows)


def test_folders_are_searched_to_some_depth_and_only_for_model_files(tmp_path: Path) -> None:
    root = tmp_path / "models"
    for name in ("b.gguf", "A.GGUF", "deep/er/c.gguf", ".hidden/d.gguf", "notes.txt", "1/2/3/4/5/6/7/e.gguf"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode())
    (root / "folder.gguf").mkdir()
    (root / "folder.gguf" / "inside.gguf").write_bytes(b"i")
    assert names(root) == ["A", "b", "inside", "c"]


def test_a_hugging_face_cache_shows_repositories_and_quantisations(tmp_path: Path, isolated_home: Path) -> None:
    hub = isolated_home / ".cache" / "huggingface" / "hub"
    in_hub(hub, "org/Big-GGUF", other(tmp_path, 9), "Big-Q4_K_M.gguf")
    in_hub(hub, "org/Big-GGUF", other(tmp_path, 10), "Q8_0/Big-Q8_0-00001-of-00002.gguf")
    in_hub(hub, "org/Big-GGUF", other(tmp_path, 11), "Q8_0/Big-Q8_0-00002-of-00002.gguf")
    in_hub(hub, "org/Big-GGUF", other(tmp_path, 12), "mtp-Big-Q8_0.gguf")
    in_hub(hub, "org/Big-GGUF", other(tmp_path, 13), "MTP/Big-Q8_0.gguf")
    (hub / "datasets--org--data").mkdir()
    found = found_in()
    assert {one.repo for one in found} == {"org/Big-GGUF"}
    assert sorted(one.name for one in found) == [
        "org/Big-GGUF/Big-Q8_0",
        "org/Big-GGUF/mtp-Big-Q8_0",
        "org/Big-GGUF:Q4_K_M",
        "org/Big-GGUF:Q8_0",
    ]


def test_one_blob_in_two_snapshots_is_listed_once_in_the_one_that_main_names(model: Path, isolated_home: Path) -> None:
    hub = isolated_home / ".cache" / "huggingface" / "hub"
    in_hub(hub, "org/Name", model, "a-Q8_0.gguf", commit="aaa")
    newer = in_hub(hub, "org/Name", model, "a-Q8_0.gguf", commit="bbb")
    (found,) = found_in()
    assert found.path == newer


def test_a_dangling_link_in_a_cache_is_passed_by(model: Path, isolated_home: Path) -> None:
    hub = isolated_home / ".cache" / "huggingface" / "hub"
    link = in_hub(hub, "org/Name", model, "a-Q8_0.gguf")
    link.resolve().unlink()
    assert found_in() == []


def test_lm_studio_shows_publisher_and_repository(tmp_path: Path, isolated_home: Path) -> None:
    write_model(isolated_home / ".lmstudio/models/pub/Name-GGUF/Name-Q6_K.gguf", rows=20)
    write_model(isolated_home / ".cache/lm-studio/models/pub/Old-GGUF/plain.gguf", rows=21)
    assert names() == ["pub/Name-GGUF:Q6_K", "pub/Old-GGUF/plain"]


def test_ollama_shows_names_and_tags(tmp_path: Path, isolated_home: Path) -> None:
    store = isolated_home / ".ollama" / "models"
    in_ollama(store, "qwen3:8b", other(tmp_path, 9))
    blob = in_ollama(store, "hf.co/owner/Name-GGUF:Q4_K_M", other(tmp_path, 10))
    found = {one.name: one.path for one in found_in()}
    assert set(found) == {"qwen3:8b", "hf.co/owner/Name-GGUF:Q4_K_M"}
    assert found["hf.co/owner/Name-GGUF:Q4_K_M"] == blob


def test_ollama_names_leave_out_what_is_usual() -> None:
    assert ollama_name("registry.ollama.ai", "library", "qwen3", "8b") == "qwen3:8b"
    assert ollama_name("registry.ollama.ai", "me", "mine", "latest") == "me/mine:latest"
    assert ollama_name("hf.co", "library", "x", "y") == "hf.co/library/x:y"


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "[]",
        "{",
        '{"layers": 7}',
        '{"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:../../../../etc/passwd"}]}',
        '{"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "md5:00"}]}',
        '{"layers": [{"mediaType": "application/vnd.ollama.image.projector", "digest": "sha256:%s"}]}' % ("0" * 64),
        '{"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:%s"}]}' % ("0" * 64),
        "\udcff",
        "[" * 10_000,
    ],
)
def test_manifests_that_make_no_sense_are_passed_by(manifest: str, model: Path, isolated_home: Path) -> None:
    store = isolated_home / ".ollama" / "models"
    in_ollama(store, "good:1", model)
    bad = store / "manifests" / "registry.ollama.ai" / "library" / "bad" / "1"
    bad.parent.mkdir()
    bad.write_bytes(manifest.encode("utf-8", "surrogateescape"))
    assert names() == ["good:1"]


def test_llama_cpp_names_the_repository_that_a_file_was_fetched_from(tmp_path: Path, isolated_home: Path) -> None:
    cache = isolated_home / ".cache" / "llama.cpp"
    for name, rows, note in (
        ("org_Big-GGUF_Big-Q4_0.gguf", 9, {"url": "https://huggingface.co/org/Big-GGUF/resolve/main/Big-Q4_0.gguf"}),
        ("unknown-Q5_0.gguf", 10, None),
        ("strange-Q5_0.gguf", 11, {"url": 7}),
    ):
        write_model(cache / name, rows=rows)
        if note is not None:
            (cache / f"{name}.json").write_text(json.dumps(note))
    in_hub(cache, "org/New-GGUF", other(tmp_path, 12), "New-Q8_0.gguf")
    assert sorted(names()) == ["org/Big-GGUF:Q4_0", "org/New-GGUF:Q8_0", "strange-Q5_0", "unknown-Q5_0"]


def test_links_in_circles_end_and_a_file_is_listed_once_however_many_links_lead_to_it(tmp_path: Path) -> None:
    root = tmp_path / "models"
    write_model(root / "a" / "one.gguf")
    (root / "a" / "loop").symlink_to(root)
    (root / "again").symlink_to(root / "a")
    (root / "two.gguf").symlink_to(root / "a" / "one.gguf")
    (root / "self.gguf").symlink_to(root / "self.gguf")
    os.link(root / "a" / "one.gguf", root / "three.gguf")
    assert len(found_in(root, root / "again")) == 1


@pytest.mark.skipif(os.name == "nt", reason="bits mean something else there")
@pytest.mark.usefixtures("permissions_hold")
def test_a_folder_that_may_not_be_read_is_named_and_passed_by(tmp_path: Path) -> None:
    root = tmp_path / "models"
    write_model(root / "open" / "a.gguf")
    closed = root / "closed"
    closed.mkdir()
    closed.chmod(0)
    walk = Walk()
    assert [one.name for one in found_in(root, walk=walk)] == ["a"]
    closed.chmod(0o700)
    assert "closed cannot be read" in walk.remarks[0]


def test_pipes_and_folders_called_like_models_are_no_models(tmp_path: Path) -> None:
    root = tmp_path / "models"
    root.mkdir()
    os.mkfifo(root / "pipe.gguf")
    (root / "a.gguf").mkdir()
    assert found_in(root) == []


def test_thousands_of_files_end_at_the_bound_which_is_told(tmp_path: Path) -> None:
    root = tmp_path / "models"
    for folder in range(40):
        (root / f"{folder:02}").mkdir(parents=True)
        for number in range(50):
            (root / f"{folder:02}" / f"{number:02}.gguf").write_bytes(b"GGUF")
    walk = Walk(entries=500)
    found = found_in(root, walk=walk)
    assert 0 < len(found) <= 500
    assert "given up after 500 entries" in walk.remarks[0]
    assert len(found_in(root)) == 2000


def test_time_ends_a_search_and_so_does_leaving(tmp_path: Path) -> None:
    root = tmp_path / "models"
    for number in range(9):
        write_model(root / str(number) / "a.gguf", rows=number + 1)
    ticks = iter(range(10_000))
    walk = Walk(seconds=3.0, clock=lambda: float(next(ticks)))
    assert len(found_in(root, walk=walk)) < 9
    assert "given up after 3 s" in walk.remarks[0]
    left = Walk(stopped=lambda: True)
    assert found_in(root, walk=left) == []
    assert left.remarks == []


@pytest.mark.skipif(os.name == "nt", reason="such names cannot be there")
def test_names_of_any_bytes_are_found(tmp_path: Path) -> None:
    root = tmp_path / "models"
    root.mkdir()
    for number, name in enumerate((b"\xff\xfe.gguf", b"a\nb.gguf", b"\x1b[31mred.gguf", "… 長い.gguf".encode())):
        write_model(root / "x.gguf", rows=number + 1).rename(os.fsdecode(os.path.join(os.fsencode(root), name)))
    assert len(found_in(root)) == 4


def test_later_parts_belong_to_the_first(tmp_path: Path) -> None:
    assert is_later_part(Path("m-00002-of-00002.gguf"))
    assert not is_later_part(Path("m-00001-of-00002.gguf"))
    assert stem(Path("m-Q4_0-00001-of-00002.gguf")) == "m-Q4_0"
    assert stem(Path("sha256-0")) == "sha256-0"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Qwen3-8B-Q4_K_M", "Q4_K_M"),
        ("x-UD-Q4_K_XL", "UD-Q4_K_XL"),
        ("model.IQ3_XXS", "IQ3_XXS"),
        ("gpt-oss-20b-mxfp4", "MXFP4"),
        ("a-bf16", "BF16"),
        ("Q-learning", ""),
        ("plain", ""),
    ],
)
def test_quantisations_are_read_off_names(name: str, wanted: str) -> None:
    assert quantisation_in(name) == wanted


@given(st.text(max_size=40))
def test_any_name_has_a_stem_and_a_quantisation_or_none(name: str) -> None:
    path = Path(name.replace("\0", "") + ".gguf")
    assert isinstance(stem(path), str)
    assert quantisation_in(name).upper() == quantisation_in(name)


def test_a_model_is_located_with_all_that_its_repository_has(tmp_path: Path, isolated_home: Path) -> None:
    hub = isolated_home / ".cache" / "huggingface" / "hub"
    link = in_hub(hub, "org/Big", other(tmp_path, 9), "Big-Q4_0.gguf")
    in_hub(hub, "org/Big", other(tmp_path, 10), "mtp-Big-Q8_0.gguf")
    in_hub(hub, "org/Else", other(tmp_path, 11), "mtp-Else-Q8_0.gguf")
    found, relatives = locate(link, places(settings()), Walk())
    assert (found.name, found.repo) == ("org/Big:Q4_0", "org/Big")
    assert [one.name for one in relatives] == ["org/Big/mtp-Big-Q8_0"]


def test_a_model_that_no_cache_knows_is_located_in_its_folder(model: Path) -> None:
    found, relatives = locate(model, places(settings()), Walk())
    assert (found.path, found.name, relatives) == (model, "some", [])
    assert found.place == Place("folder", model.parent)


def test_a_model_in_a_cache_of_thousands_is_located_without_going_through_it(
    tmp_path: Path, isolated_home: Path
) -> None:
    hub = isolated_home / ".cache" / "huggingface" / "hub"
    for number in range(600):
        (hub / f"models--a--{number}" / "snapshots").mkdir(parents=True)
    link = in_hub(hub, "org/Big", other(tmp_path, 9), "Big-Q4_0.gguf")
    studio = write_model(isolated_home / ".lmstudio/models/pub/Name-GGUF/Name-Q6_K.gguf", rows=20)
    for path, name in ((link, "org/Big:Q4_0"), (studio, "pub/Name-GGUF:Q6_K")):
        walk = Walk(entries=20)
        assert locate(path, places(settings()), walk)[0].name == name
        assert walk.remarks == []
