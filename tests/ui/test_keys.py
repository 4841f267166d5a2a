"""The `[keys]` table gives an action another key; what does not exist is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.ui.hints import Moment, hints
from mtpchat.ui.keys import KEYS, shown, split_keymap, why_unknown
from mtpchat.ui.safe_text import safe_line

IDS = [key.id for key in KEYS]


@given(st.dictionaries(st.one_of(st.sampled_from(IDS), st.text(max_size=8)), st.just("f9")))
def test_every_id_of_the_table_is_either_used_or_called_unknown(wanted: dict[str, str]) -> None:
    used, unknown = split_keymap(wanted)
    assert set(used) | set(unknown) == set(wanted)
    assert set(used) <= set(IDS)
    assert not set(unknown) & set(IDS)


@given(st.text(max_size=20))
def test_an_unknown_id_is_one_harmless_line_that_names_one_that_exists(name: str) -> None:
    said = why_unknown(name)
    assert safe_line(said) == said
    assert any(key_id in said for key_id in IDS)


def test_the_nearest_id_is_named() -> None:
    assert why_unknown("qiut") == "keys.qiut is not a key of the app; did you mean quit?"


def test_another_key_is_the_one_that_is_shown() -> None:
    assert shown("quit", {"quit": "ctrl+x"}) == "^X"


@pytest.mark.parametrize(
    ("moment", "keymap", "first"),
    [
        ("reading", {}, "jk scroll   gG ends"),
        ("answered", {}, "[ ] prompts"),
        ("said_versions", {}, "hl versions   [ ] prompts"),
        ("reading", {"vi_down": "ctrl+n", "vi_up": "ctrl+p"}, "^N ^P scroll"),
        ("said", {"previous_prompt": "comma", "next_prompt": "f7"}, "comma F7 prompts"),
    ],
)
def test_hints_of_two_keys_follow_the_keys_of_the_user(moment: Moment, keymap: dict[str, str], first: str) -> None:
    assert hints(moment, keymap, 200).plain.startswith(first)
