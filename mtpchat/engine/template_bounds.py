"""How much a chat template may do: rounds, calls, text, memory and time.

Jinja's sandbox keeps a template from the machine and does not keep it from running for ever or from filling the memory:
a macro that calls itself twice, a text joined out of a thousand long ones, a number squared forty times. So every loop,
call, filter and output is counted here, what an operation would make is estimated before it is done, and the clock is
looked at by the way.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

import jinja2
from jinja2 import nodes
from jinja2.visitor import NodeTransformer

MOST_OUTPUT = 4_000_000
"""Characters of one text, in addition to some times those of the conversation."""
_MOST_ROUNDS = 1_000_000
_MOST_MADE = 1 << 30
_MOST_S, _MORE_S = 5.0, 2e-6
"""Processor time: seconds, and more for each character of the conversation."""
_MOST_BITS = 4096
_MOST_NUMBER = 1_000_000
_WIDE = re.compile(r"%[-+ #0\d.]*(?:\*|\d{6})")
_WIDE_BRACES = re.compile(r"\{[^{}]*(?:\{|\d{6})")
"""Formats with a width that is huge, or that comes from elsewhere."""
_PADDING = frozenset(["ljust", "rjust", "center", "zfill"])
_MEASURING = frozenset(["center", "indent", "batch", "slice", "truncate"])
_REFUSED = frozenset(["expandtabs", "translate", "format_map"])
ABSENT_FILTERS = ("wordwrap", "urlize", "xmlattr", "pprint")
"""Slow with long texts, and of no use to a chat template."""


class Refused(jinja2.TemplateError):
    """The template gave up by itself, or was stopped."""


class Bounds:
    """How much a rendering may still do.

    Args:
        clock: processor time of this thread in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        self._rounds = self._output = self._made = 0
        self._longest = MOST_OUTPUT
        self._until = 0.0

    def begin(self, size: int) -> None:
        """Before a rendering over so many characters of conversation."""
        self._rounds = _MOST_ROUNDS + 4 * size
        self._longest = MOST_OUTPUT + 4 * size
        self._output = 4 * self._longest
        self._made = _MOST_MADE + 4096 * size
        self._until = self._clock() + _MOST_S + _MORE_S * size

    def round(self) -> None:
        """One more step of whatever kind."""
        self._rounds -= 1
        if self._rounds < 0:
            raise Refused("it loops without end")
        if not self._rounds % 64 and self._clock() > self._until:
            raise Refused("it takes too long")

    def rounds(self, items: Iterable[object]) -> Iterator[object]:
        """`items`, counting every round of every loop."""
        for item in items:
            self.round()
            yield item

    def make(self, letters: int) -> None:
        """A text or list of so many parts is going to be made."""
        self._made -= letters
        if letters > self._longest or self._made < 0:
            raise Refused("it makes a text without end")
        if letters > 10_000 and self._clock() > self._until:
            raise Refused("it takes too long")

    def write(self, letters: int) -> None:
        """So many characters are going to be written, into the prompt or into a part of it."""
        self._output -= letters
        if self._output < 0:
            raise Refused("it writes without end")

    def size_of(self, value: object) -> int:
        """Characters that a value has as a text, at least."""
        size, waiting = 0, [value]
        while waiting:
            one = waiting.pop()
            size += len(one) if isinstance(one, str) else 2
            if isinstance(one, Mapping):
                waiting += [*one.keys(), *one.values()]
            elif isinstance(one, (list, tuple, set, frozenset)):
                waiting += one
            if size + len(waiting) > self._longest:
                raise Refused("it makes a text without end")
        return size

    def binop(self, operator: str, left: Any, right: Any) -> None:
        """Before an operation."""
        self.round()
        numbers = isinstance(left, int) and isinstance(right, int)
        if operator == "**" and not (abs(left) <= 1_000 and abs(right) <= 64):
            raise Refused("it computes a huge power")
        if operator == "*" and numbers and left.bit_length() + right.bit_length() > _MOST_BITS:
            raise Refused("it computes a huge number")
        if operator == "*":
            for sequence, times in ((left, right), (right, left)):
                if hasattr(sequence, "__len__") and isinstance(times, int):
                    self._repeat(len(sequence) * times)
        if operator == "+" and hasattr(left, "__len__") and hasattr(right, "__len__"):
            self.make(len(left) + len(right))
        if operator == "%" and isinstance(left, str) and _WIDE.search(left):
            raise Refused("it asks for a huge width")

    def _repeat(self, length: int) -> None:
        if length > MOST_OUTPUT:
            raise Refused("it repeats a text without end")
        self.make(max(0, length))

    def format(self, pattern: str) -> None:
        """Before a format is filled."""
        if _WIDE.search(pattern) or _WIDE_BRACES.search(pattern.replace("{{", "")):
            raise Refused("it asks for a huge width")

    def method(self, text: str, name: str, arguments: tuple[Any, ...]) -> None:
        """Before a method of a text is called."""
        if name in _REFUSED:
            raise Refused(f"it calls {name}")
        if name in _PADDING and arguments:
            self.numbers(arguments[:1])
        elif name == "format":
            self.format(text)
        elif name == "replace" and len(arguments) > 1:
            self.replace(text, *arguments[:2])
        elif name == "join" and arguments:
            self.join(text, arguments[0])

    def replace(self, text: object, old: object, new: object) -> None:
        """Before one text is put in place of another."""
        whole, gone, come = str(text), str(old), str(new)
        count = whole.count(gone) if len(come) > len(gone) else 0
        self.make(len(whole) + count * (len(come) - len(gone)))

    def join(self, separator: str, items: object) -> None:
        """Before texts are joined."""
        if isinstance(items, (str, list, tuple)):
            self.make(len(separator) * len(items) + self.size_of(items))

    def numbers(self, values: Iterable[object]) -> None:
        """Widths and counts that a filter or method is given."""
        if any(isinstance(value, int) and abs(value) > _MOST_NUMBER for value in values):
            raise Refused("it asks for a huge number")


class Counted(NodeTransformer):
    """Rewrites a template so that loops, joined texts and outputs are counted; see `filters` for what does that."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        """Every round."""
        self.generic_visit(node)
        node.iter = _filter(node.iter, "bounded_rounds")
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        """a ~ b."""
        self.generic_visit(node)
        return _filter(nodes.List(node.nodes, lineno=node.lineno), "bounded_concat")

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        """What is written, also into a macro's text or a block that is filtered."""
        self.generic_visit(node)
        plain = sum(len(one.data) for one in node.nodes if isinstance(one, nodes.TemplateData))
        node.nodes = [
            one if isinstance(one, nodes.TemplateData) else _filter(one, "bounded_output") for one in node.nodes
        ]
        if plain:
            node.nodes.append(_filter(nodes.Const(plain, lineno=node.lineno), "bounded_plain"))
        return node


def _filter(node: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(cast("nodes.Expr", node), name, [], [], None, None, lineno=node.lineno)


def bound_filters(filters: dict[str, Any], bounds: Bounds) -> None:
    """Put bounds around the filters of an environment, and in those that Counted uses."""
    for name in ABSENT_FILTERS:
        filters.pop(name, None)
    for name, given in list(filters.items()):
        filters[name] = _bounded(name, given, bounds)
    own = {**_growing(filters, bounds), **_counting(bounds)}
    # What is given the context is not computed when the template is compiled.
    filters.update({name: jinja2.pass_context(one) for name, one in own.items()})


def _growing(filters: Mapping[str, Any], bounds: Bounds) -> dict[str, Callable[..., Any]]:
    """Filters whose result can be far larger than what they are given."""
    before = {name: filters[name] for name in ("join", "replace", "format", "sum", "indent")}

    def join(context: Any, items: Any, separator: Any = "", attribute: Any = None) -> Any:
        items = list(items)
        bounds.join(str(separator), items)
        return before["join"](context.eval_ctx, items, separator, attribute)

    def replace(context: Any, text: Any, old: Any, new: Any, count: Any = None) -> Any:
        bounds.replace(text, old, new)
        return before["replace"](context.eval_ctx, text, old, new, count)

    def fill(context: Any, pattern: Any, *args: Any, **named: Any) -> Any:
        bounds.format(str(pattern))
        return before["format"](pattern, *args, **named)

    def total(context: Any, items: Any, attribute: Any = None, start: Any = 0) -> Any:
        if not isinstance(start, (int, float)):
            raise Refused("it adds up what are no numbers")
        return before["sum"](context.environment, items, attribute, start)

    def indent(context: Any, text: Any, width: Any = 4, first: bool = False, blank: bool = False) -> Any:
        deep = width if isinstance(width, int) else len(str(width))
        bounds.make(len(str(text)) + deep * (str(text).count("\n") + 1))
        return before["indent"](text, width, first, blank)

    return {"join": join, "replace": replace, "format": fill, "sum": total, "indent": indent}


def _counting(bounds: Bounds) -> dict[str, Callable[..., Any]]:
    """Those that Counted puts in."""

    def rounds(context: Any, items: Any) -> Any:
        return bounds.rounds(items)

    def concat(context: Any, items: list[Any]) -> str:
        bounds.make(bounds.size_of(items))
        return "".join(map(str, items))

    def output(context: Any, value: Any) -> Any:
        bounds.round()
        bounds.write(bounds.size_of(value))
        return value

    def plain(context: Any, letters: int) -> str:
        bounds.round()
        bounds.write(letters)
        return ""

    return {"bounded_rounds": rounds, "bounded_concat": concat, "bounded_output": output, "bounded_plain": plain}


def _bounded(name: str, given: Any, bounds: Bounds) -> Any:
    """The same filter; a huge number that it is given, or a huge text that it makes, ends the rendering."""

    def bounded(*args: Any, **named: Any) -> Any:
        bounds.round()
        if name in _MEASURING:
            bounds.numbers((*args[1:], *named.values()))
        made = given(*args, **named)
        if isinstance(made, (str, list, tuple)):
            bounds.make(len(made))
        return made

    for mark in ("jinja_pass_arg", "jinja_async_variant"):
        if hasattr(given, mark):
            setattr(bounded, mark, getattr(given, mark))
    return bounded
