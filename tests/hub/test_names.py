"""Names in repositories: what they mean, and which of them may be written."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.errors import HubError
from mtpchat.hub.names import (
    Wanted,
    checked_revision,
    names_drafter,
    parse_wanted,
    part_names,
    part_of,
    quantization_of,
    why_unsafe,
)

PIECES = st.sampled_from(
    ["..", ".", "", "a", "b.gguf", "/", "\\", "C:", "~", "\x00", "\x1b[2J", "\u202e", "\n", " ", "con", "é", "x" * 300]
)


@given(st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=6).map("/".join), st.lists(PIECES).map("".join)))
def test_a_name_that_passes_stays_below_the_folder_on_every_system(name: str) -> None:
    if why_unsafe(name):
        return
    root = os.path.join(os.sep, "models")
    assert os.path.normpath(os.path.join(root, name)).startswith(root + os.sep)
    for kind in (PurePosixPath, PureWindowsPath):
        path = kind(name)
        assert not path.is_absolute()
        assert not path.drive
        assert ".." not in path.parts
    assert name.isprintable()


@pytest.mark.parametrize(
    "name",
    [
        "../evil.gguf",
        "/etc/evil.gguf",
        "a/../../evil.gguf",
        "..\\evil.gguf",
        "C:\\evil.gguf",
        "c:evil.gguf",
        "~/evil.gguf",
        "a//b.gguf",
        "./b.gguf",
        "evil\x00.gguf",
        "evil\x1b[2J.gguf",
        "evil\n.gguf",
        "evil\u202egguf.exe.gguf",
        ".ssh/evil.gguf",
        "con.gguf",
        "a /b.gguf",
        "x" * 300 + ".gguf",
        "x-00002-of-00001.gguf",
        "x-00001-of-99999.gguf",
        "x-00000-of-00002.gguf",
    ],
)
def test_hostile_names_are_refused_with_a_reason(name: str) -> None:
    assert why_unsafe(name)


@pytest.mark.parametrize(
    ("path", "quant"),
    [
        ("Qwen3.5-9B-Q4_K_M.gguf", "Q4_K_M"),
        ("UD-Q4_K_XL/Qwen3.5-397B-UD-Q4_K_XL-00001-of-00006.gguf", "UD-Q4_K_XL"),
        ("model.i1-IQ3_XXS.gguf", "IQ3_XXS"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("model-f16.gguf", "F16"),
        ("bf16/model-00001-of-00002.gguf", "BF16"),
        ("smollm2-135m-instruct-q4_0.gguf", "Q4_0"),
        ("bitnet-TQ1_0.gguf", "TQ1_0"),
        ("Qwen2.5-7B.gguf", ""),
    ],
)
def test_quantisation_is_read_off_the_name(path: str, quant: str) -> None:
    assert quantization_of(path) == quant


@pytest.mark.parametrize(
    "path",
    [
        "mtp-Qwen3.5-9B-Q8_0.gguf",
        "MTP/Qwen3.5-9B-Q8_0.gguf",
        "eagle3-llama-8b-f16.gguf",
        "Qwen3-8B-eagle3-Q8_0.gguf",
        "draft/Qwen3-0.6B-Q8_0.gguf",
        "Qwen3-0.6B-draft-Q8_0.gguf",
        "gemma-4-31b-it-assistant-Q8_0.gguf",
    ],
)
def test_names_of_drafters_are_known(path: str) -> None:
    assert names_drafter(path)


@pytest.mark.parametrize("path", ["Qwen3.5-9B-Q8_0.gguf", "OpenAssistant-7B-Q4_0.gguf", "drafty-7b-Q4_0.gguf"])
def test_names_of_other_models_are_not_taken_for_drafters(path: str) -> None:
    assert not names_drafter(path)


def test_all_parts_of_a_split_model_are_named() -> None:
    assert part_of("a-00002-of-00003.gguf") == (2, 3)
    assert part_names("a-00002-of-00003.gguf") == [f"a-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    assert part_names("a.gguf") == ["a.gguf"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("acme/Tiny-GGUF", Wanted("acme/Tiny-GGUF")),
        (" acme/Tiny-GGUF:Q4_K_M ", Wanted("acme/Tiny-GGUF", "Q4_K_M")),
        ("hf.co/acme/Tiny-GGUF:Q8_0", Wanted("acme/Tiny-GGUF", "Q8_0")),
        ("https://huggingface.co/acme/Tiny-GGUF/", Wanted("acme/Tiny-GGUF")),
        ("https://huggingface.co/acme/T/blob/main/sub/t.gguf", Wanted("acme/T", "sub/t.gguf", "main")),
        ("https://hf-mirror.com/acme/T", Wanted("acme/T", endpoint="https://hf-mirror.com")),
    ],
)
def test_repositories_are_understood_as_people_write_and_paste_them(text: str, wanted: Wanted) -> None:
    assert parse_wanted(text) == wanted


@pytest.mark.parametrize("text", ["", "tiny", "a/b/c", "../x", "a/..", "a/b c", "https://", "a/b\x1b", "http://[x/a/b"])
def test_what_is_no_repository_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(HubError) as caught:
        parse_wanted(text)
    assert "mtpchat pull" in caught.value.hint


@given(st.text(max_size=30))
def test_a_revision_that_passes_cannot_leave_the_folder_of_references(text: str) -> None:
    try:
        checked_revision(text)
    except HubError:
        return
    assert Path("/refs", text).parts[:2] == ("/", "refs")
    assert ".." not in text
