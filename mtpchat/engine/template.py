"""Chat templates: Jinja programs that come with a model file, so strangers' code.

They run sandboxed and bounded, with what Transformers offers its templates: block trimming, loop controls, `tojson`,
`raise_exception`, `strftime_now` and the `generation` tag.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from mtpchat.errors import ConfigError, TemplateError

_HINT = 'Choose a named template instead, e.g. chat_template = "chatml" under [model] in the config.'
_MOST_ROUNDS = 1_000_000
_MOST_OUTPUT = 4_000_000
_FAULTS = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    MemoryError,
    RecursionError,
)

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_LLAMA3 = (
    "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' }}"
    "{{ message.content | trim }}{{ '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
_GEMMA = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{{ '<start_of_turn>' + ('model' if message.role == 'assistant' else 'user') + '\n' }}{{ message.content | trim }}"
    "{{ '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
_MISTRAL = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message.role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% elif message.role == 'user' %}{{ '[INST] ' + message.content + ' [/INST]' }}"
    "{% else %}{{ ' ' + message.content + eos_token }}{% endif %}{% endfor %}"
)
_ZEPHYR = (
    "{% for message in messages %}{{ '<|' + message.role + '|>\n' + message.content + eos_token + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)
NAMED_TEMPLATES: Mapping[str, str] = {
    "chatml": CHATML,
    "gemma": _GEMMA,
    "llama3": _LLAMA3,
    "mistral": _MISTRAL,
    "zephyr": _ZEPHYR,
}


def choose_template(setting: str, embedded: str) -> str:
    """Source of the template to use.

    Args:
        setting: a named template, the path of a Jinja file, or "" for the model's own.
        embedded: the model file's template, or "" when it has none; ChatML is used then.

    Raises:
        ConfigError: `setting` is neither a name nor a readable file.
    """
    if not setting:
        return embedded or CHATML
    named = NAMED_TEMPLATES.get(setting.lower())
    if named is not None:
        return named
    path = Path(setting).expanduser()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        names = ", ".join(sorted(NAMED_TEMPLATES))
        raise ConfigError(
            f"There is no chat template {setting!r}.",
            path=path,
            key="model.chat_template",
            hint=f"Give the path of a Jinja file or one of: {names}.",
        ) from fault


class CompiledTemplate:
    """A template that was parsed and can be rendered any number of times, by one thread."""

    def __init__(self, source: str, now: Callable[[], datetime] = datetime.now) -> None:
        """Parse `source`. `now` is the clock behind `strftime_now`. Raises TemplateError."""
        self.source = source
        self._bounds = _Bounds()
        environment = _environment(self._bounds, now)
        try:
            tree = environment.parse(source)
            for loop in list(tree.find_all(nodes.For)):
                loop.iter = nodes.Filter(loop.iter, "bounded_rounds", [], [], None, None, lineno=loop.lineno)
            self._template = jinja2.Template.from_code(
                environment, environment.compile(tree), dict(environment.globals)
            )
        except jinja2.TemplateSyntaxError as fault:
            raise TemplateError(
                f"The chat template cannot be parsed: {fault.message} (line {fault.lineno}).", hint=_HINT
            ) from fault
        except _FAULTS as fault:
            raise TemplateError(f"The chat template cannot be parsed: {fault}.", hint=_HINT) from fault

    def render(self, variables: Mapping[str, object]) -> str:
        """The text for these variables. Raises TemplateError with the template's own words when it refuses them."""
        size = sum(len(str(value)) for value in variables.values())
        self._bounds.begin(rounds=_MOST_ROUNDS + 4 * size)
        limit = _MOST_OUTPUT + 4 * size
        parts: list[str] = []
        written = 0
        try:
            for part in self._template.generate(dict(variables)):
                parts.append(part)
                written += len(part)
                if written > limit:
                    raise _Refused("it writes without end")
        except _FAULTS as fault:
            words = str(fault) or type(fault).__name__
            raise TemplateError(f"The chat template failed: {words.rstrip('.')}.", hint=_HINT) from fault
        return "".join(parts)


class _Refused(jinja2.TemplateError):
    """The template gave up by itself, or was stopped."""


class _Bounds:
    """How much a rendering may still do."""

    def __init__(self) -> None:
        self._rounds = 0

    def begin(self, rounds: int) -> None:
        self._rounds = rounds

    def rounds(self, items: Iterable[object]) -> Iterator[object]:
        """`items`, counting every round of every loop."""
        for item in items:
            self._rounds -= 1
            if self._rounds < 0:
                raise _Refused("it loops without end")
            yield item


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, which does not bound repetition: 'x' * 10**10 would take the machine down."""

    intercepted_binops = frozenset(["*", "**"])

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and not (abs(left) <= 1_000 and abs(right) <= 64):
            raise _Refused("it computes a huge power")
        if operator == "*":
            for sequence, times in ((left, right), (right, left)):
                if hasattr(sequence, "__len__") and isinstance(times, int) and len(sequence) * times > _MOST_OUTPUT:
                    raise _Refused("it repeats a text without end")
        return super().call_binop(context, operator, left, right)


class _GenerationTag(Extension):
    """{% generation %} marks the assistant's words for training; here it only passes its body on."""

    tags = {"generation"}  # noqa: RUF012 - Jinja reads a plain class attribute

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment(bounds: _Bounds, now: Callable[[], datetime]) -> _Sandbox:
    environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, loopcontrols])
    environment.filters["tojson"] = _to_json
    environment.filters["bounded_rounds"] = bounds.rounds
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda pattern: now().strftime(pattern)
    return environment


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Plain JSON: Jinja's own filter escapes for HTML, which no model was trained on."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: object = "") -> NoReturn:
    raise _Refused(str(message))
