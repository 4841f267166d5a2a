"""The form of answers: /json and /grammar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mtpchat.commands.base import CommandContext, Completion, Reply
from mtpchat.commands.files import complete_paths
from mtpchat.commands.registry import command
from mtpchat.errors import CommandError
from mtpchat.structured.forms import AnswerForm, grammar_form, schema_form

_OFF = Completion("off", "answers may look like anything")


def _complete_json(_context: CommandContext, argument: str) -> Sequence[Completion]:
    return [_OFF, *complete_paths(argument, [Path.cwd()], (".json",))]


def _complete_grammar(_context: CommandContext, argument: str) -> Sequence[Completion]:
    return [_OFF, *complete_paths(argument, [Path.cwd()], (".gbnf",))]


@command("json", "hold answers to a JSON schema", "/json [FILE | off]", complete=_complete_json, while_busy=True)
def json_schema(context: CommandContext, argument: str) -> Reply:
    return _shown(context) if not argument else _choose(context, argument, schema=True)


@command(
    "grammar", "hold answers to a GBNF grammar", "/grammar [FILE | off]", complete=_complete_grammar, while_busy=True
)
def grammar(context: CommandContext, argument: str) -> Reply:
    return _shown(context) if not argument else _choose(context, argument, schema=False)


def _shown(context: CommandContext) -> Reply:
    form = context.session.terms.form
    if not form.grammar:
        return Reply("Answers may look like anything; /json FILE holds them to a JSON schema")
    return Reply(f"Answers follow {form.name}; /json off ends that")


def _choose(context: CommandContext, argument: str, *, schema: bool) -> Reply:
    terms = context.session.terms
    if argument.casefold() == "off":
        if not terms.form.grammar:
            raise CommandError("Answers may look like anything already")
        terms.choose_form(None)
        return Reply("Answers may look like anything again, from the next one on")
    form: AnswerForm = schema_form(argument) if schema else grammar_form(argument)
    terms.choose_form(form)
    return Reply(f"Answers follow {form.name} from the next one on; /json off ends that")
