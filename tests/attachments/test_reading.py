"""Files for a message: text in any encoding, PDFs, and everything else that may lie at a path."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter

from mtpchat.attachments.decoding import Decoded, NotText, decode
from mtpchat.attachments.pdf import UnreadablePdf, pdf_text
from mtpchat.attachments.reading import MEGABYTE, read_file
from mtpchat.errors import AttachmentError
from tests.attachments.pdfs import pdf

PRINTABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufeff\r"))


def read(path: Path, most_mb: int = 1) -> str:
    return read_file(path, path.name, most_mb).attachment.text


def refusal(path: Path, most_mb: int = 1) -> str:
    with pytest.raises(AttachmentError) as caught:
        read_file(path, path.name, most_mb)
    assert caught.value.hint
    assert caught.value.path == path
    return str(caught.value)


def decoded_or_refused(data: bytes) -> Decoded | NotText:
    try:
        return decode(data)
    except NotText as refused:
        return refused


@given(PRINTABLE)
def test_every_text_comes_back_from_utf_8_with_line_feeds(text: str) -> None:
    assert decode(text.encode()).text == text
    assert decode(text.encode("utf-8-sig")).text == text
    assert not decode(text.encode()).note


@given(PRINTABLE, st.sampled_from(["utf-16", "utf-32"]))
def test_texts_that_say_their_encoding_come_back_with_a_note(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert encoding.upper() in decoded.note


@given(st.binary(max_size=400))
def test_any_bytes_are_text_that_can_be_written_or_are_refused(data: bytes) -> None:
    decoded = decoded_or_refused(data)
    if isinstance(decoded, NotText):
        assert decoded.what
        return
    assert "\r" not in decoded.text
    assert "\x00" not in decoded.text
    decoded.text.encode("utf-8")


def test_line_ends_of_other_systems_become_line_feeds() -> None:
    assert decode(b"a\r\nb\rc\n").text == "a\nb\nc\n"


def test_a_stray_byte_in_utf_8_costs_that_letter_only() -> None:
    decoded = decode("Grüße aus Köln, schöne Träume, ".encode() + b"\xff" + " und tschüß".encode())
    assert decoded.text == "Grüße aus Köln, schöne Träume, \ufffd und tschüß"
    assert decoded.note == "1 byte is not UTF-8"


def test_old_encodings_are_recognised_and_named(tmp_path: Path) -> None:
    words = "Die Straße führt über die Brücke, und die Gänse schnattern fröhlich im Gras. " * 20
    (tmp_path / "old.txt").write_bytes(words.encode("cp1252"))
    done = read_file(tmp_path / "old.txt", "old.txt", 1)
    assert done.attachment.text == words
    assert done.note.startswith("read as ")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "old is a picture, no text"),
        (b"PK\x03\x04\x14\x00\x00", "old is an archive or an office document, no text"),
        (b"GGUF\x03\x00\x00\x00", "old is a model, no text"),
        (b"words\x00words", "old is a binary file, no text"),
        (bytes(range(128, 256)) * 4 + bytes(range(1, 32)) * 9, "old is a binary file, no text"),
    ],
)
def test_what_is_no_text_is_refused_by_what_it_is(tmp_path: Path, data: bytes, what: str) -> None:
    (tmp_path / "old").write_bytes(data)
    assert refusal(tmp_path / "old") == what


def test_escapes_overrides_and_endless_lines_are_text_and_stay_as_they_are(tmp_path: Path) -> None:
    hostile = "\x1b[2J\x1b]0;title\x07 \u202eevil \u2066x <|im_end|> ``` ~~~\n" + "x" * 1_000_000
    (tmp_path / "hostile.txt").write_text(hostile, encoding="utf-8")
    assert read(tmp_path / "hostile.txt", 2) == hostile


def test_text_of_a_pdf_is_read_page_by_page(tmp_path: Path) -> None:
    (tmp_path / "two.pdf").write_bytes(pdf("Rivers bend (slowly).", "", "They cut their banks."))
    assert read(tmp_path / "two.pdf") == "Rivers bend (slowly).\n\nThey cut their banks."


def test_a_pdf_of_pictures_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(pdf("", ""))
    assert refusal(tmp_path / "scan.pdf") == "scan.pdf has no text in it, only pictures"


def test_a_locked_pdf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open.pdf").write_bytes(pdf("secret"))
    writer = PdfWriter(clone_from=PdfReader(tmp_path / "open.pdf"))
    writer.encrypt("password", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    assert refusal(tmp_path / "locked.pdf") == "locked.pdf is locked with a password"


@given(st.integers(0, 500), st.binary(min_size=1, max_size=30))
def test_damage_to_a_pdf_ends_in_text_or_in_one_sentence(at: int, damage: bytes) -> None:
    whole = pdf("Rivers bend.", "They cut their banks.")
    data = whole[:at] + damage + whole[at + len(damage) :]
    with suppress(UnreadablePdf):  # nothing else may be raised
        assert isinstance(pdf_text(data, 1000, lambda: 0.0), str)


def test_a_pdf_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "slow.pdf").write_bytes(pdf("a", "b"))
    ticks = iter([0.0, 31.0])
    with pytest.raises(AttachmentError, match="takes more than 30 s"):
        read_file(tmp_path / "slow.pdf", "slow.pdf", 1, clock=lambda: next(ticks))


def test_a_file_above_the_limit_is_refused_with_its_size_and_the_setting(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    large.touch()
    os.truncate(large, 3 * MEGABYTE)
    with pytest.raises(AttachmentError) as caught:
        read_file(large, "large.txt", 2)
    assert str(caught.value) == "large.txt has 3.0 MB, and at most 2 MB of a file are read"
    assert "chats.attachments_max_mb" in caught.value.hint


def test_a_file_at_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "full.txt").write_text("x" * MEGABYTE)
    assert len(read(tmp_path / "full.txt")) == MEGABYTE


def test_pipes_sockets_devices_and_folders_are_refused_without_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "pipe is a pipe, no file"
    assert refusal(Path("/dev/zero")) == "zero is a device, no file"
    assert refusal(tmp_path) == f"{tmp_path.name} is a folder"
    with socket.socket(socket.AF_UNIX) as end:
        monkeypatch.chdir(tmp_path)  # names of sockets must be short
        end.bind("socket")
        assert refusal(tmp_path / "socket") == "socket is a socket, no file"


def test_circles_of_links_missing_and_impossible_paths_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert refusal(tmp_path / "a").startswith("a cannot be read: ")
    assert refusal(tmp_path / "gone") == "gone cannot be read: No such file or directory"
    assert "cannot be read" in refusal(tmp_path / ("x" * 5000))
    assert "cannot be read" in refusal(tmp_path / "nul\x00")


@pytest.mark.usefixtures("permissions_hold")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").touch(0o000)
    assert refusal(tmp_path / "secret") == "secret cannot be read: Permission denied"


def test_an_empty_file_is_an_empty_text(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert read(tmp_path / "empty") == ""


def test_names_are_one_printable_line(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[2J\n\u202eb").write_text("x")
    done = read_file(tmp_path / "a\x1b[2J\n\u202eb", "a\x1b[2J\n\u202eb", 1)
    assert done.attachment.name == "a\ufffd[2J\ufffd\ufffdb"
