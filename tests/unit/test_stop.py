"""Stop strings are found across any split, and nothing behind them is shown."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mtpchat.engine.stop import StopStrings, _State, can_be_said

_TEXT = st.text("abc", max_size=20)
_STOPS = st.lists(st.text("abc", min_size=1, max_size=4), max_size=3)


@st.composite
def _chunks(draw: st.DrawFn) -> list[str]:
    text = draw(_TEXT)
    borders = sorted(draw(st.lists(st.integers(0, len(text)), max_size=10)))
    return [text[a:b] for a, b in zip([0, *borders], [*borders, len(text)], strict=True)]


def _expected(text: str, stops: list[str]) -> str:
    return text[: min((text.find(stop) for stop in stops if stop in text), default=len(text))]


def _run(chunks: list[str], stops: list[str]) -> tuple[str, StopStrings]:
    machine = StopStrings(stops)
    shown = ""
    for chunk in chunks:
        safe, stopped = machine.push(chunk)
        shown += safe
        assert stopped == machine.stopped
        if stopped:
            break
    return shown + machine.flush(), machine


@given(_chunks(), _STOPS)
@example(["abc", "a"], ["bcd", "c"])
def test_result_is_the_text_up_to_the_first_occurrence_for_any_chunking(chunks: list[str], stops: list[str]) -> None:
    text = "".join(chunks)
    shown, machine = _run(chunks, stops)
    assert shown == _expected(text, stops)
    assert machine.stopped == any(stop in text for stop in stops)


@given(_chunks(), _STOPS)
def test_what_is_shown_early_is_never_taken_back_and_only_a_possible_stop_waits(
    chunks: list[str], stops: list[str]
) -> None:
    machine = StopStrings(stops)
    seen = shown = ""
    for chunk in chunks:
        seen += chunk
        safe, stopped = machine.push(chunk)
        shown += safe
        if stopped:
            return
        waiting = seen[len(shown) :]
        assert shown + waiting == seen
        assert not waiting or any(stop.startswith(waiting) for stop in stops)


def test_nothing_is_shown_after_the_stop() -> None:
    machine = StopStrings(["END"])
    assert machine.push("one EN") == ("one ", False)
    assert machine.push("D two") == ("", True)
    assert machine.push("three") == ("", True)
    assert machine.flush() == ""


def test_the_match_that_begins_first_wins_even_if_another_ends_earlier() -> None:
    machine = StopStrings(["bcd", "c"])
    assert machine.push("abc") == ("a", False)
    assert machine.push("d") == ("", True)


def test_without_the_longer_stop_completed_the_shorter_one_counts() -> None:
    machine = StopStrings(["bcd", "c"])
    machine.push("abc")
    assert machine.push("x") == ("b", True)


def test_a_stop_that_waited_for_a_longer_one_is_found_at_the_end() -> None:
    machine = StopStrings(["bcd", "c"])
    machine.push("abc")
    assert (machine.flush(), machine.stopped) == ("b", True)


def test_empty_stop_strings_stop_nothing() -> None:
    assert StopStrings(["", ""]).push("text") == ("text", False)
    assert StopStrings(["", "x"]).push("text") == ("te", True)


_MANY = st.lists(st.text("ab", max_size=9), max_size=40)


@given(st.lists(st.text("ab", max_size=5), max_size=20), _MANY)
def test_many_stop_strings_that_have_much_in_common_are_told_apart(chunks: list[str], stops: list[str]) -> None:
    text = "".join(chunks)
    shown, machine = _run(chunks, stops)
    assert shown == _expected(text, [stop for stop in stops if stop])
    assert machine.stopped == any(stop and stop in text for stop in stops)


@given(st.text(st.sampled_from(["a", "\ud800", "\udfff", "\udc80", "\U00010000"]), max_size=6), st.text("a\U00010000"))
def test_half_a_character_is_never_said(stop: str, text: str) -> None:
    shown, machine = _run(list(text), [stop])
    assert shown == _expected(text, [stop] if stop else [])
    assert can_be_said(stop) == (stop.encode("utf-8", "surrogatepass").decode("utf-8", "replace") == stop)
    assert can_be_said(stop) or not machine.stopped


MEGABYTE = 1 << 20
HUGE = {
    "one that the text goes along with": (["a" * MEGABYTE], "a" * 20_000, 20_000),
    "one that the text falls out of again and again": (["a" * 3_000 + "b"], ("a" * 2_999 + "c") * 7, 21_000),
    "one that ends the text": (["a" * 10_000 + "b"], "c" + "a" * 20_000 + "b", 10_001),
    "two that the text has nothing to do with": (["x" * MEGABYTE, "y" * MEGABYTE], "hello, world " * 1_500, 19_500),
    "thousands that begin alike": ([f"<|stop-{number}|>" for number in range(20_000)], "<|stop-x" * 2_000, 16_000),
    "all that may precede a letter": (["a" * n + "b" for n in range(1, 800)], ("a" * 900 + "c") * 5 + "aab", 4_505),
}


@pytest.mark.parametrize("name", HUGE)
def test_what_stop_strings_cost_hangs_on_the_text_and_not_on_their_size(name: str) -> None:
    stops, text, length = HUGE[name]
    machine = CountingStops(stops)
    shown = "".join(machine.push(text[at : at + 4])[0] for at in range(0, len(text), 4)) + machine.flush()
    assert shown == text[:length]
    assert machine.stopped == (length < len(text))
    assert machine.made < 2 * len(text)


class CountingStops(StopStrings):
    """Counts the states that are made."""

    made = 0

    def _below(self, state: _State, letter: str, shorter: _State) -> _State | None:
        self.made += 1
        return super()._below(state, letter, shorter)
