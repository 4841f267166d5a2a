"""Languages agree with regular expressions, alone and combined, and their automata with them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.errors import GrammarError
from mtpchat.structured.automaton import Automaton, automaton
from mtpchat.structured.multiples import Multiple
from mtpchat.structured.patterns import language
from mtpchat.structured.regular import EVERY, Chars, Tree, both, matches, other, times, word

ATOMS = st.sampled_from(
    ["a", "b", "[ab]", "[^a]", ".", "(a|bc)", "((ab?)*)", "(c{2})", "((?:b|c){1,2})", "\\d", "[0-9a]"]
)
PATTERNS = st.builds(
    lambda start, atoms, signs, end: start + "".join(map("".join, zip(atoms, signs, strict=False))) + end,
    st.sampled_from(["", "^"]),
    st.lists(ATOMS, max_size=4),
    st.lists(st.sampled_from(["", "*", "+", "?"]), min_size=4, max_size=4),
    st.sampled_from(["", "$"]),
)
TEXTS = st.text("abc1é", max_size=7)


def says(found: Automaton | None, text: str) -> bool:
    """Whether an automaton ends where a text does."""
    state = 0 if found is not None else -1
    for letter in text:
        arrows = found.arrows[state] if found is not None and state >= 0 else ()
        state = next((target for low, high, target in arrows if low <= ord(letter) <= high), -1)
    return found is not None and state in found.ends


@given(PATTERNS, TEXTS)
def test_a_pattern_matches_what_it_matches_elsewhere(pattern: str, text: str) -> None:
    expected = re.search(pattern, text) is not None
    assert matches(language(pattern), text) == expected
    assert says(automaton(language(pattern)), text) == expected


@given(PATTERNS, PATTERNS, st.integers(0, 4), TEXTS)
def test_languages_are_combined_as_sets_are(one: str, another: str, most: int, text: str) -> None:
    short = times(Chars(EVERY), 0, most)
    combined = both((language(one), other(language(another)), short))
    expected = re.search(one, text) is not None and re.search(another, text) is None and len(text) <= most
    assert matches(combined, text) == expected
    assert says(automaton(combined), text) == expected


@given(PATTERNS)
def test_nothing_is_in_a_language_and_in_its_opposite(pattern: str) -> None:
    assert automaton(both((language(pattern), other(language(pattern))))) is None


@given(st.integers(1, 60), st.integers(0, 3), st.integers(-(10**6), 10**6), st.integers(0, 3))
def test_multiples_are_told_from_all_other_numbers(modulus: int, places: int, count: int, zeros: int) -> None:
    unit = 10**places
    whole, rest = divmod(abs(count), unit)
    text = (
        f"{'-' if count < 0 else ''}{whole}"
        + (f".{rest:0{places}}" if places else "")
        + "0" * (zeros if not places else 0)
    )
    value = count * 10 ** (zeros if not places else 0)
    assert matches(Multiple(modulus, places), text) == (value % modulus == 0)


@pytest.mark.parametrize("text", ["", "-", "1.", ".5", "--1", "1.5.5", "1e3", "+1", "1-"])
def test_what_is_no_number_is_no_multiple(text: str) -> None:
    assert not matches(Multiple(1, 2), text)


def test_an_automaton_has_no_more_states_than_it_needs() -> None:
    found = automaton(both((Multiple(4), other(word("0")))))
    assert found is not None
    assert len(found.arrows) < 10
    lengths = automaton(times(Chars(EVERY), 3, 600))
    assert lengths is not None
    assert len(lengths.arrows) == 601


def test_a_language_that_takes_too_many_states_is_refused() -> None:
    exploding: Tree = language("^(a|b)*a(a|b){14}$")
    with pytest.raises(GrammarError):
        automaton(exploding)
