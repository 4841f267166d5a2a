"""Complaints about settings name the line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config_file import load
from mtpchat.config_lines import line_of
from mtpchat.config_schema import setting_types
from mtpchat.config_text import render_default


@pytest.mark.parametrize(
    ("text", "profile", "says"),
    [
        ("[ui]\n\ntheme = 3\n", "", "line 3: ui.theme must be a text, not 3"),
        ("# [ui]\n[sampling]\ntopk = 1\n", "", "line 3: sampling.topk is not a setting"),
        ("[chat]\nsave = true\n", "", "line 1: chat is not a setting"),
        ("\nui.theme = 3\n", "", "line 2: ui.theme must be a text"),
        ("ui = 3\n", "", "line 1: ui must be a table, not 3"),
        ('[ui]\nsystem = """\n[ui]\ntheme = 1\n"""\ntheme = 3\n', "", "line 6: ui.theme must be"),
        ("[profile.fast.sampling]\n top_k = -1\n", "", "line 2: profile.fast.sampling.top_k must be"),
        ("[ speculative ] # mine\ndraft_min = 9\n", "", "line 2: speculative.draft_min must not be larger"),
        ("[profile.x.speculative]\ndraft_min = 9\n", "x", "line 2: profile.x.speculative.draft_min must not be larger"),
        ("ui = {theme = 3}\n", "", "c.toml: ui.theme must be a text"),
    ],
)
def test_a_complaint_names_the_line_of_its_key(tmp_path: Path, text: str, profile: str, says: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    loaded = load(path) if not profile else None
    if loaded is None:
        with pytest.raises(Exception, match=says.replace(".", r"\.")):
            load(path, profile=profile)
    else:
        assert loaded.banner is not None
        assert says in loaded.banner.message


@given(st.sampled_from(sorted(setting_types())), st.text("\n #=[]ab.\"'", max_size=60))
def test_a_setting_of_the_default_file_is_found_behind_any_comment(key: str, noise: str) -> None:
    comment = "".join(f"# {line}\n" for line in noise.replace('"""', "").replace("'''", "").split("\n"))
    name = key.partition(".")[2]
    text = comment + render_default().replace(f"\n#{name} =", f"\n{name} =")
    line = line_of(text, key)
    assert text.split("\n")[line - 1].startswith(f"{name} =")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("[model\n", "[model]"),
        ("[sampling]\ntemperature: 0.7\n", "temperature = 0.7"),
        ("[sampling]\ntemperature = 0,7\n", "0.7"),
        ("[model]\ncontext = 16k\n", "16384"),
        ("[ui]\ntheme = paper\n", 'theme = "paper"'),
        ("[chats]\nsave = yes\n", "true"),
        ('[model]\npath = "C:\\models\\x.gguf"\n', "'C:\\models\\model.gguf'"),
        ("[ui]\n[ui]\n", "once"),
    ],
)
def test_what_is_no_toml_is_answered_with_how_it_is_written(tmp_path: Path, text: str, advice: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    banner = load(path).banner
    assert banner is not None
    assert "not valid TOML" in banner.message
    assert advice in banner.hint
