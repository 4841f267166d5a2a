"""The list for a first run is well formed, and what is offered of it fits the machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.gguf.memory_plan import Device, Machine
from mtpchat.hub.fit import fits
from mtpchat.hub.names import names_drafter, parse_wanted
from mtpchat.hub.starters import first_steps, on_gpu, starters, suitable, trial

GIB = 1 << 30


def test_every_entry_can_be_asked_for_and_names_what_it_is() -> None:
    for one in starters():
        assert parse_wanted(one.fetch).choice
        assert one.gigabytes > 0
        assert one.about
        assert (one.guesses == "drafter") == bool(one.drafter)


def test_a_drafter_is_called_as_drafters_are_and_lies_in_the_repository_of_its_model() -> None:
    for one in starters():
        if one.drafter:
            assert names_drafter(f"{one.drafter}.gguf")
            assert parse_wanted(one.fetch_drafter).repo == parse_wanted(one.fetch).repo


def test_the_list_goes_from_small_to_large_and_has_one_to_try() -> None:
    sizes = [one.size for one in starters()]
    assert sizes == sorted(sizes)
    assert [one for one in starters() if one.trial] == [trial()]
    assert trial().size < 1e9


@given(ram=st.integers(0, 256 * GIB), vram=st.integers(0, 96 * GIB), shared=st.booleans())
def test_what_is_offered_fits(ram: int, vram: int, shared: bool) -> None:
    machine = Machine(ram, (Device("GPU", vram, vram, shared),))
    found = suitable(machine)
    assert len(found) <= 2
    for one in found:
        assert fits(one.size, ram) or on_gpu(one, machine)
        assert not one.gpu or on_gpu(one, machine)
    assert [one.size for one in found] == sorted((one.size for one in found), reverse=True)


def test_with_unknown_memory_the_smallest_are_offered() -> None:
    assert [one.size for one in suitable(Machine(None))] == [one.size for one in starters() if not one.trial][:2]


@pytest.mark.parametrize("words", ["mtpchat pull HuggingFaceTB/", "mtpchat -m", "mtpchat --demo", "paths.models"])
def test_the_command_line_names_the_same_steps(words: str) -> None:
    assert words in first_steps()
