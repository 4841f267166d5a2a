"""/verify: proof that speculation changes no token of the model that is loaded.

The comparison is a job over the engine, between two answers; what it found becomes a line and a page. The whole proof,
with the sampler's test, is the command line's; the page ends with the line to type.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mtpchat.commands.base import CommandContext, Completion, Reply, RunTask
from mtpchat.commands.page import code, fenced, plain, table
from mtpchat.commands.registry import command
from mtpchat.config import Config
from mtpchat.errors import CommandError
from mtpchat.events import Worked
from mtpchat.messages import Message

if TYPE_CHECKING:
    from mtpchat.bench.proof import Findings, Proof
    from mtpchat.engine.requests import Engine, Progress, Task
    from mtpchat.engine.session import Session

_USAGE = "/verify [chat] [DEPTHS] [TOKENS]"
_HEAD = ("", "identical", "near ties", "mismatches", "right guesses")
_TOKENS = 48
_MOST_TOKENS = 4096
_DEEPEST = 64


def _complete(_context: CommandContext, _argument: str) -> Sequence[Completion]:
    return (
        Completion("chat", "with what was asked in this chat"),
        Completion("1-4", "at these depths"),
        Completion("all 128", "at the usual depths, with longer answers"),
    )


@command("verify", "prove that speculation changes no token of this model", _USAGE, complete=_complete)
def verify(context: CommandContext, argument: str) -> Reply:
    session = context.session
    if session.facts is None:
        raise CommandError("No model is loaded", hint="/model lists what is there.")
    words = argument.split()
    of_chat = bool(words) and words[0].casefold() == "chat"
    depths, tokens = _wanted(words[of_chat:])
    proof = _proof(session, depths, tokens, of_chat=of_chat)
    task = _task(proof, verify_command(session.config), read_again=bool(session.messages))
    return Reply(effect=RunTask(f"/verify {argument}".strip(), task))


def _wanted(words: Sequence[str]) -> tuple[tuple[int, ...], int]:
    """Depths, none for the usual ones, and the length of an answer."""
    depths = words[0] if words else "all"
    tokens = words[1] if len(words) > 1 else str(_TOKENS)
    if len(words) > 2:
        raise CommandError("/verify takes depths and a number of tokens", hint=_USAGE)
    if not re.fullmatch(r"[0-9]{1,5}", tokens) or not 1 <= int(tokens) <= _MOST_TOKENS:
        raise CommandError(f'"{tokens}" is no length of an answer', hint=f"1 to {_MOST_TOKENS} tokens")
    return (() if depths.casefold() == "all" else _depths(depths)), int(tokens)


def _depths(text: str) -> tuple[int, ...]:
    found: list[int] = []
    for part in text.split(","):
        matched = re.fullmatch(r"([0-9]{1,3})(?:-([0-9]{1,3}))?", part)
        low, high = (int(matched[1]), int(matched[2] or matched[1])) if matched else (0, 0)
        if not 1 <= low <= high <= _DEEPEST:
            raise CommandError(f'"{text}" is no list of depths', hint=f"e.g. 3, 1-4 or 1,2,8; up to {_DEEPEST}")
        found += range(low, high + 1)
    return tuple(dict.fromkeys(found))


def _proof(session: Session, depths: tuple[int, ...], tokens: int, *, of_chat: bool) -> Proof:
    from mtpchat.bench.proof import Proof, asked, asked_in
    from mtpchat.bench.verify import samplings_for

    config, control = session.config, session.control
    system = (Message("system", session.system),) if session.system.strip() else ()
    prompts = asked_in((*system, *session.messages)) if of_chat else asked()
    if not prompts:
        raise CommandError("Nothing was asked in this chat yet", hint="/verify takes prompts of its own.")
    temperatures = dict.fromkeys((0.0, config.sampling.temperature))
    return Proof(
        prompts=prompts,
        samplings=samplings_for(config.sampling, tuple(temperatures), tokens),
        kind=control.kind or (session.facts.kind if session.facts is not None else ""),
        wanted=control,
        depths=depths,
        model=config.model,
    )


def _task(proof: Proof, line: str, *, read_again: bool) -> Task:
    def task(engine: Engine, progress: Progress, cancelled: Callable[[], bool]) -> Worked:
        from mtpchat.bench.proof import prove

        return reported(prove(engine, proof, progress, cancelled), line, read_again=read_again)

    return task


def reported(findings: Findings, line: str, *, read_again: bool = False) -> Worked:
    """What was found, as a line and a page.

    Args:
        line: the command line of the whole proof.
        read_again: there is a chat that is read again at its next turn.
    """
    from mtpchat.bench.verdict import conclusion, faultless

    checks, total = findings.checks, findings.total
    verdict = conclusion(checks, ())
    if not findings.stopped:
        said = f"{total:,} answers compared. {verdict}"
    elif faultless(checks, ()):
        said = f"Stopped after {len(checks):,} of {total:,} comparisons, in which no token was changed."
    else:
        said = f"Stopped after {len(checks):,} of {total:,} comparisons. {verdict}"
    if read_again:
        said += " The chat is read again at its next turn."
    found = bool(checks) and not (findings.stopped and faultless(checks, ()))
    page = verification_page(findings, line) if found else ""
    return Worked(said, "Verify" if page else "", page, warning=not faultless(checks, ()))


def verification_page(findings: Findings, line: str) -> str:
    """The table of the command line, in columns for 80 cells, and each difference in words."""
    from mtpchat.bench.verdict import conclusion, explained, rows

    checks = findings.checks
    stopped = f" Stopped after {len(checks):,} of {findings.total:,} comparisons." if findings.stopped else ""
    temperatures = " and ".join(f"{one:g}" for one in dict.fromkeys(check.temperature for check in checks))
    prompts = ", ".join(code(name) for name in dict.fromkeys(check.prompt for check in checks))
    differences = [f"- {plain(explained(one, one.difference))}" for one in checks if one.difference is not None]
    parts = (
        f"**{plain(conclusion(checks, ()))}**{stopped}",
        table(_HEAD, [_row(figures) for figures in rows(checks)]),
        "\n".join(differences),
        f"Each row was held against plain decoding, token by token, at temperature {temperatures}, on {prompts}.",
        "A near tie is a token that the width of a decode alone can change: there the gap between the two candidates "
        "is no larger than rounding makes it. Everything else that differs is a mismatch.",
        "The whole proof, on more prompts and with a test of the sampler:",
        fenced(line, "sh"),
    )
    return "\n\n".join(part for part in parts if part)


def _row(figures: Sequence[str]) -> tuple[str, ...]:
    label, answers, same, ties, mismatches, _, drafted, accepted = figures
    return code(label), f"{same} of {answers}", ties, mismatches, f"{accepted} of {drafted}"


def verify_command(config: Config) -> str:
    """The command line that verifies what this chat runs."""
    speculative, model = config.speculative, config.model
    words = ["mtpchat", "verify", "-m", model.path]
    if speculative.drafter:
        words += ["-md", speculative.drafter]
    if speculative.kind != "auto":
        words += ["--spec", speculative.kind]
    words += ["--draft-max", str(speculative.draft_max), "--temps", f"0,{config.sampling.temperature or 0.8:g}"]
    return shlex.join(words)
