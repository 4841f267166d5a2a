"""Chat templates are strangers' programs: they get what Transformers gives them, and no more."""

import os
from datetime import datetime
from pathlib import Path

import pytest

from mtpchat.engine.template import CHATML, NAMED_TEMPLATES, CompiledTemplate, choose_template
from mtpchat.errors import ConfigError, TemplateError


def _render(source: str, **variables: object) -> str:
    return CompiledTemplate(source, lambda: datetime(2024, 2, 29, 12, 30)).render(variables)


def test_tojson_neither_escapes_html_nor_unicode() -> None:
    assert _render("{{ x | tojson }}", x={"a": "<é> & 'b'"}) == '{"a": "<é> & \'b\'"}'


def test_tojson_takes_the_arguments_of_transformers() -> None:
    assert _render("{{ x | tojson(indent=2, sort_keys=true) }}", x={"b": 1, "a": 2}) == '{\n  "a": 2,\n  "b": 1\n}'
    assert _render("{{ x | tojson(separators=(',', ':')) }}", x=[1, 2]) == "[1,2]"


def test_blocks_are_trimmed_as_transformers_trims_them() -> None:
    assert _render("a\n  {% if true %}\nb\n  {% endif %}\nc") == "a\nb\nc"


def test_loop_controls_and_generation_tags_are_understood() -> None:
    body = "{% if i == 2 %}{% break %}{% endif %}{% generation %}{{ i }}{% endgeneration %}"
    assert _render("{% for i in range(9) %}" + body + "{% endfor %}") == "01"


def test_the_date_comes_from_the_given_clock() -> None:
    assert _render("{{ strftime_now('%d %b %Y') }}") == "29 Feb 2024"


def test_loop_variables_survive_the_bound_on_loops() -> None:
    body = "{{ loop.index }}/{{ loop.length }}{{ loop.first }}{{ loop.last }} {{ loop.previtem }};"
    assert _render("{% for x in xs %}" + body + "{% endfor %}", xs=["a", "b"]) == "1/2TrueFalse ;2/2FalseTrue a;"


def test_a_refusal_is_shown_in_the_templates_own_words() -> None:
    with pytest.raises(TemplateError, match="Only tools may speak") as caught:
        _render("{{ raise_exception('Only tools may speak') }}")
    assert caught.value.hint


@pytest.mark.parametrize("source", ["{% for x in", "{{ nonsense(", "{% unknown %}", "{{ x | no_such_filter }}"])
def test_a_template_that_cannot_be_parsed_says_so(source: str) -> None:
    with pytest.raises(TemplateError, match="cannot be parsed"):
        CompiledTemplate(source)


@pytest.mark.parametrize("source", ["{{ none + 'x' }}", "{{ a.b.c }}", "{{ [][0].x }}", "{{ 1 / 0 }}"])
def test_a_template_that_stumbles_becomes_a_template_error(source: str) -> None:
    with pytest.raises(TemplateError, match="failed"):
        _render(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{{ raise_exception.__globals__.json }}",
        "{% for x in cycler.__init__.__globals__ %}{% endfor %}",
    ],
)
def test_the_sandbox_holds(source: str) -> None:
    with pytest.raises(TemplateError):
        _render(source, messages=[])


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(9999) %}{{ 'x' * 9999 }}{% endfor %}",
        "{{ 'x' * 10000000000 }}",
        "{{ 10000000000 * 'x' }}",
        "{{ 9 ** 9 ** 9 }}",
        "{{ range(10000000000) | list }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    ],
)
def test_endless_templates_are_stopped(source: str) -> None:
    with pytest.raises(TemplateError):
        _render(source)


def test_a_template_can_be_rendered_again_after_it_was_stopped() -> None:
    template = CompiledTemplate("{% for i in range(n) %}{% for j in range(n) %}{% endfor %}{% endfor %}done")
    with pytest.raises(TemplateError):
        template.render({"n": 90_000})
    assert template.render({"n": 3}) == "done"


def test_a_long_conversation_is_not_taken_for_an_endless_one() -> None:
    text = "word " * 2_000_000
    assert text in _render(CHATML, messages=[{"role": "user", "content": text}], add_generation_prompt=True)


def test_named_templates_are_found_and_the_models_own_comes_first() -> None:
    assert choose_template("", "own") == "own"
    assert choose_template("", "") == CHATML
    assert choose_template("ChatML", "own") == CHATML


def test_a_template_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.jinja"
    path.write_text("{{ messages }}", encoding="utf-8")
    assert choose_template(str(path), "own") == "{{ messages }}"


@pytest.mark.parametrize("name", ["nowhere.jinja", "~nobody-of-that-name/x.jinja"])
def test_a_template_that_does_not_exist_names_the_ones_that_do(name: str) -> None:
    with pytest.raises(ConfigError, match=name) as caught:
        choose_template(name, "")
    assert all(name in caught.value.hint for name in NAMED_TEMPLATES)


def test_what_is_no_template_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    pipe, picture = tmp_path / "pipe", tmp_path / "picture.png"
    os.mkfifo(pipe)
    picture.write_bytes(b"\x89PNG\r\n")
    for path, why in ((pipe, "not an ordinary file"), (picture, "line 1 is not UTF-8"), (tmp_path, "cannot be read")):
        with pytest.raises(ConfigError, match=why) as caught:
            choose_template(str(path), "own")
        assert caught.value.hint
