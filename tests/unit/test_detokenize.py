"""Text appears whole, however tokens cut its bytes."""

from hypothesis import given
from hypothesis import strategies as st

from mtpchat.engine.detokenize import Detokenizer


def _spell(pieces: list[bytes]) -> tuple[list[str], str]:
    detokenizer = Detokenizer(pieces.__getitem__)
    shown = [detokenizer.push(token) for token in range(len(pieces))]
    return shown, detokenizer.flush()


@st.composite
def _cut(draw: st.DrawFn, content: st.SearchStrategy[bytes]) -> list[bytes]:
    whole = draw(content)
    borders = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    return [whole[a:b] for a, b in zip([0, *borders], [*borders, len(whole)], strict=True)]


_ALMOST_TEXT = st.lists(
    st.one_of(st.text(max_size=4).map(str.encode), st.binary(max_size=3), st.just("🦊".encode()[:3])), max_size=8
).map(b"".join)


@given(_cut(_ALMOST_TEXT))
def test_output_equals_decoding_the_whole_whatever_the_cuts(pieces: list[bytes]) -> None:
    shown, rest = _spell(pieces)
    assert "".join(shown) + rest == b"".join(pieces).decode("utf-8", "replace")


@given(_cut(st.text().map(str.encode)))
def test_valid_text_is_never_shown_broken_and_nothing_waits_at_its_end(pieces: list[bytes]) -> None:
    shown, rest = _spell(pieces)
    assert rest == ""
    assert "".join(shown) == b"".join(pieces).decode()


@given(_cut(_ALMOST_TEXT))
def test_at_most_three_bytes_wait(pieces: list[bytes]) -> None:
    detokenizer = Detokenizer(pieces.__getitem__)
    seen = b""
    shown = ""
    for token, piece in enumerate(pieces):
        seen += piece
        shown += detokenizer.push(token)
        assert any(seen[: len(seen) - held].decode("utf-8", "replace") == shown for held in range(4))


def test_an_emoji_in_four_tokens_appears_with_the_last() -> None:
    shown, rest = _spell([bytes([byte]) for byte in "🦊".encode()])
    assert (shown, rest) == (["", "", "", "🦊"], "")


def test_after_a_flush_the_next_text_starts_clean() -> None:
    pieces = ["🦊".encode()[:2], b"ok"]
    detokenizer = Detokenizer(pieces.__getitem__)
    assert detokenizer.push(0) == ""
    assert detokenizer.flush() == "\ufffd"
    assert detokenizer.push(1) == "ok"
