"""The rules of a grammar while it is made: named, taken back where they led nowhere, and written out at the end."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import islice

from mtpchat.errors import GrammarError
from mtpchat.structured.automaton import Automaton
from mtpchat.structured.gbnf import MOST_BYTES, as_rules
from mtpchat.structured.reading import NothingLeft, nothing
from mtpchat.structured.texts import JSON_RULES

MOST_RULES = 2000
_LONG = 40
"""Letters of an expression from which on it is written once."""


class Rules:
    """Rules by their names, in the order in which they were begun."""

    def __init__(self) -> None:
        self._bodies: dict[str, str] = {}
        self._known: dict[Hashable, str] = {}

    def rule(self, body: str) -> str:
        """Give an expression a name, so that it can be an atom; equal ones have one."""

        def make() -> str:
            name = self.begin()
            self._bodies[name] = body
            return name

        return self.shared(body, make)

    def begin(self) -> str:
        """A name for a rule that is defined later, so that it can be named by what it is made of."""
        if len(self._bodies) >= MOST_RULES:
            raise GrammarError("The schema is too large.", hint=f"It may make at most {MOST_RULES:,} rules.")
        name = f"r{len(self._bodies)}"
        self._bodies[name] = ""
        return name

    def define(self, name: str, body: str) -> None:
        """Say what a rule is."""
        self._bodies[name] = body

    def of_automaton(self, found: Automaton) -> str:
        """The name of a rule for the texts of an automaton, between the quotes of a JSON string or outside of one."""
        return as_rules(found, self.begin, self.define, lambda body: self.rule(body) if len(body) > _LONG else body)

    def shared(self, key: Hashable, make: Callable[[], str]) -> str:
        """What was made for a key, made once."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def once(self, key: frozenset[str], make: Callable[[], str]) -> str:
        """The one rule for what a key stands for; while it is made it may be named already."""
        if key not in self._known:
            name = self._known[key] = self.begin()
            self._bodies[name] = make()
        return self._known[key]

    def either(self, makers: Iterable[Callable[[], str]], place: str) -> str:
        """One of several things, as many of them as are possible.

        Raises:
            NothingLeft: none is.
        """
        choices: list[str] = []
        refused: list[NothingLeft] = []
        for make in makers:
            try:
                choices.append(self.possible(make))
            except NothingLeft as error:
                refused.append(error)
        if choices:
            return choices[0] if len(choices) == 1 else self.rule(" | ".join(dict.fromkeys(choices)))
        raise refused[0] if len(refused) == 1 else nothing(place)

    def possible(self, make: Callable[[], str]) -> str:
        """What is made; what was begun for it is taken back where it leads nowhere."""
        bodies, known = len(self._bodies), len(self._known)
        try:
            return make()
        except NothingLeft:
            self._bodies = dict(islice(self._bodies.items(), bodies))
            self._known = dict(islice(self._known.items(), known))
            raise

    def written(self, root: str) -> str:
        """The whole grammar. Raises GrammarError where it is longer than a grammar may be."""
        lines = [f"root ::= {root}", *(f"{name} ::= {body}" for name, body in self._bodies.items())]
        lines += [f"{name} ::= {body}" for name, body in _needed("\n".join(lines)).items()]
        text = "\n".join(lines) + "\n"
        if len(text.encode()) > MOST_BYTES:
            raise GrammarError("The schema is too large.", hint=f"Its grammar takes more than {MOST_BYTES >> 10} KB.")
        return text


def _needed(text: str) -> dict[str, str]:
    """The ready-made rules that a grammar names, with those that they name."""
    words, found = set(text.replace("(", " ").replace(")", " ").replace("?", " ").split()), dict[str, str]()
    todo = [name for name in JSON_RULES if name in {word.rstrip("*+").partition("{")[0] for word in words}]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        body, needs = JSON_RULES[name]
        found[name] = body
        todo += needs
    return found
