"""Templates are strangers' code: none of them may run for long, or fill the memory, and honest ones notice nothing."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from mtpchat.engine.template import CHATML, CompiledTemplate
from mtpchat.errors import TemplateError

ENDLESS = {
    "a list of long texts": "{{ (['x' * 3999999] * 1000) | join }}",
    "a separator": "{{ ('y' * 100000).join('x' * 1000000) }}",
    "a replacement": "{{ ('x' * 2000000) | replace('x', 'y' * 100000) }}",
    "a method that replaces": "{{ ('x' * 2000000).replace('x', 'y' * 100000) }}",
    "a width": "{{ 'a' | center(10 ** 9) }}",
    "a method with a width": "{{ 'x'.ljust(1000000000) }}",
    "a format": "{{ '%1000000000d' % 1 }}",
    "a format from elsewhere": "{{ '%*d' % (1000000000, 1) }}",
    "a filter that formats": "{{ '%1000000000d' | format(1) }}",
    "a format in braces": "{{ '{:1000000000}'.format(1) }}",
    "an indentation": "{{ ('a\n' * 2000000) | indent(1000000) }}",
    "JSON that is indented": "{{ ([[1] * 1000] * 1000) | tojson(indent=100000) }}",
    "a text that doubles": "{% set n = namespace(s='x' * 3000000) %}{% for i in range(60) %}"
    "{% set n.s = n.s + n.s %}{% endfor %}",
    "another that does": "{% set n = namespace(s='x' * 3000000) %}{% for i in range(60) %}"
    "{% set n.s = n.s ~ n.s %}{% endfor %}",
    "a list that doubles": "{% set n = namespace(s=[1]) %}{% for i in range(40) %}"
    "{% set n.s = n.s + n.s %}{% endfor %}",
    "a number that is squared": "{% set n = namespace(s=10 ** 64) %}{% for i in range(40) %}"
    "{% set n.s = n.s * n.s %}{% endfor %}",
    "a macro that calls itself twice": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
    "{{ f(60) }}",
    "a block that is filtered": "{% filter upper %}{% for i in range(99999) %}{{ 'x' * 100000 }}{% endfor %}"
    "{% endfilter %}",
    "a block that is set": "{% set a %}{% for i in range(99999) %}" + "x" * 5000 + "{% endfor %}{% endset %}",
    "slices": "{{ range(9) | slice(100000000) | list | length }}",
    "lists that are added up": "{{ ([range(99999) | list] * 300) | sum(start=[]) | length }}",
    "a translation": "{{ ('x' * 1000000).translate({120: 'y' * 100000}) }}",
    "loops in loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
}
SOUND = {
    "{% for m in messages %}{{ '%s * %d' % (m.role, 3) }}{% endfor %}": "user * 3",
    "{{ '{{{}}}'.format(messages[0].role) }}": "{user}",
    "{{ messages[0].content ~ '|' ~ 3 ~ none }}": "hello|3None",
    "{{ ['a', 'b'] | join(', ') }}{{ [1, 2] | sum }}{{ 'aXa' | replace('X', 'yy') }}": "a, b3ayya",
    "{{ messages | map(attribute='role') | join }}": "user",
    "{{ [{'a': 1}] | tojson(indent=2) }}": '[\n  {\n    "a": 1\n  }\n]',
    "{{ 'a\nb' | indent(2) }}{{ 'x' | upper }}{{ 'ab'.replace('a', 'c').rjust(4) }}": "a\n  bX  cb",
    "{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(f(1)) }}": "<<1>>",
    "{% set n = namespace(s='') %}{% for c in 'abc' %}{% set n.s = c + n.s %}{% endfor %}{{ n.s }}": "cba",
    "{% set t %}a{{ 1 }}b{% endset %}{{ t | trim | length }}": "3",
}


def render(source: str, content: str = "hello") -> str:
    return CompiledTemplate(source).render({"messages": [{"role": "user", "content": content}]})


@pytest.mark.parametrize("name", ENDLESS)
def test_what_would_not_end_is_refused_soon_and_with_little_memory(name: str) -> None:
    began = time.thread_time()
    tracemalloc.start()
    try:
        with pytest.raises(TemplateError):
            render(ENDLESS[name])
        assert tracemalloc.get_traced_memory()[1] < 300_000_000
    finally:
        tracemalloc.stop()
    assert time.thread_time() - began < 40  # measuring memory takes most of it


@pytest.mark.parametrize(("source", "text"), SOUND.items())
def test_what_templates_usually_do_is_done(source: str, text: str) -> None:
    assert render(source) == text


def test_a_message_of_ten_megabytes_is_no_fault_of_the_template() -> None:
    assert len(render(CHATML, "word " * 2_000_000)) > 10_000_000
