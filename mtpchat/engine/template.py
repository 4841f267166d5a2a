"""Chat templates: Jinja programs that come with a model file, so strangers' code.

They run sandboxed and bounded, with what Transformers offers its templates: block trimming, loop controls, `tojson`,
`raise_exception`, `strftime_now` and the `generation` tag.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from mtpchat.engine.template_bounds import MOST_OUTPUT, Bounds, Counted, Refused, bound_filters
from mtpchat.errors import ConfigError, TemplateError
from mtpchat.text_file import UnreadableText, read_text

_HINT = 'Choose a named template instead, e.g. chat_template = "chatml" under [model] in the config.'
_MOST_INDENT = 16
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
    path = Path(setting)
    try:
        return read_text(path.expanduser())
    except (FileNotFoundError, NotADirectoryError, RuntimeError) as fault:  # RuntimeError: whose home "~name" is
        names = ", ".join(sorted(NAMED_TEMPLATES))
        raise ConfigError(
            f"There is no chat template {setting!r}.",
            path=path,
            key="model.chat_template",
            hint=f"Give the path of a Jinja file or one of: {names}.",
        ) from fault
    except UnreadableText as fault:
        raise ConfigError(
            f"The chat template {setting!r} {fault.what}.", path=path, key="model.chat_template", hint=fault.hint
        ) from fault


class CompiledTemplate:
    """A template that was parsed and can be rendered any number of times, by one thread."""

    def __init__(self, source: str, now: Callable[[], datetime] = datetime.now) -> None:
        """Parse `source`. `now` is the clock behind `strftime_now`. Raises TemplateError."""
        self.source = source
        self._bounds = Bounds()
        environment = _environment(self._bounds, now)
        try:
            tree = Counted().visit(environment.parse(source))
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
        self._bounds.begin(size)
        limit = MOST_OUTPUT + 4 * size
        parts: list[str] = []
        written = 0
        try:
            for part in self._template.generate(dict(variables)):
                parts.append(part)
                written += len(part)
                if written > limit:
                    raise Refused("it writes without end")
        except _FAULTS as fault:
            words = str(fault) or type(fault).__name__
            raise TemplateError(f"The chat template failed: {words.rstrip('.')}.", hint=_HINT) from fault
        return "".join(parts)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, which does not bound what is done in it; see template_bounds.py."""

    intercepted_binops = frozenset(["*", "**", "+", "%"])
    bounds: Bounds

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        self.bounds.binop(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def wrap_str_format(self, value: Any) -> Any:
        owner = getattr(value, "__self__", None)
        if isinstance(owner, str) and value.__name__ in ("format", "format_map"):
            self.bounds.format(owner)
        return super().wrap_str_format(value)

    def call(self, context: Any, function: Any, /, *args: Any, **named: Any) -> Any:
        self.bounds.round()
        owner = getattr(function, "__self__", None)
        if isinstance(owner, str):
            self.bounds.method(owner, function.__name__, args)
        return super().call(context, function, *args, **named)


class _GenerationTag(Extension):
    """{% generation %} marks the assistant's words for training; here it only passes its body on."""

    tags = {"generation"}  # noqa: RUF012 - Jinja reads a plain class attribute

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment(bounds: Bounds, now: Callable[[], datetime]) -> _Sandbox:
    environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, loopcontrols])
    environment.bounds = bounds
    environment.filters["tojson"] = lambda value, *args, **named: _to_json(_checked(value, bounds), *args, **named)
    bound_filters(environment.filters, bounds)
    environment.globals.pop("lipsum")
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda pattern: now().strftime(pattern)
    return environment


def _checked(value: object, bounds: Bounds) -> object:
    bounds.make(bounds.size_of(value))
    return value


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Plain JSON: Jinja's own filter escapes for HTML, which no model was trained on."""
    if indent is not None and indent > _MOST_INDENT:
        raise Refused("it asks for a huge width")
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: object = "") -> NoReturn:
    raise Refused(str(message))
