"""Speculation while the chat runs: /mtp, /draft and /spec.

They replace the session's control, which the engine reads before every step, so they act at the next token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import msgspec

from mtpchat.commands.base import CommandContext, Completion, Reload, Reply, ShowPage, TogglePanel
from mtpchat.commands.page import code, plain, table
from mtpchat.commands.registry import command, unknown
from mtpchat.config import SpeculativeConfig
from mtpchat.errors import CommandError
from mtpchat.events import ModelFacts, SpeculationMode
from mtpchat.speculate.base import strategies

DEEPEST = 64
"""Most tokens that /draft accepts where the model itself sets no limit."""

MODES: dict[SpeculationMode, str] = {
    "on": "always draft",
    "off": "plain decoding, exactly",
    "auto": "draft while it pays",
}


def kinds() -> dict[str, str]:
    """What /spec accepts and what each means: every strategy there is, and the choice among them."""
    return {"auto": "the best that this model allows", **{one.kind: one.summary for one in strategies().values()}}


def _complete_mode(_context: CommandContext, _argument: str) -> Sequence[Completion]:
    return [Completion(mode, summary) for mode, summary in MODES.items()]


@command(
    "mtp",
    "switch speculation at the next token",
    "/mtp on | off | auto",
    complete=_complete_mode,
    while_busy=True,
    aliases=("speculation",),
)
def mtp(context: CommandContext, argument: str) -> Reply:
    control = context.session.control
    if not argument:
        said = "off" if control.mode == "off" else f"{control.mode}, {_depth_text(context)}"
        return Reply(f"Speculation is {said}{_why_idle(context)}")
    mode = next((one for one in MODES if one == argument.casefold()), None)
    if mode is None:
        raise unknown("mode", argument, tuple(MODES))
    kind = "" if control.kind == "none" and mode != "off" else control.kind
    context.session.set_control(replace(control, mode=mode, kind=kind))
    means = _meaning(context)
    if mode == "auto" and control.pinned:
        means += "; /draft auto drafts while it pays"
    return Reply(f"Speculation {mode}: {means}{'' if mode == 'off' else _why_idle(context)}")


def _meaning(context: CommandContext) -> str:
    """What the mode in force does, given who decides the depth."""
    mode, policy = context.session.control.mode, context.session.config.speculative.policy
    if mode == "auto" and context.session.control.pinned:
        return f"{_depth_text(context)}, whether it pays or not"
    if mode == "auto" and policy != "cost":
        return "always draft" if policy == "fixed" else "draft while enough of the guesses are right"
    return MODES[mode]


def _depth_text(context: CommandContext) -> str:
    control, facts = context.session.control, context.session.facts
    policy = context.session.config.speculative.policy
    if not control.draft_max:
        return "no token may be drafted, /draft auto allows it"
    if control.pinned:
        return f"{control.draft_max} drafted each step"
    if policy == "fixed":
        return f"{control.draft_max} drafted each step, as --spec-policy fixed wants it"
    longest = control.free_max
    if facts is not None and facts.depth_limit is not None and "heads" not in facts.depth_reason:
        longest = min(longest, facts.depth_limit)  # how many heads there are bounds their own guesses alone
    copies = f", copies of earlier text up to {longest}" if longest > control.draft_max else ""
    how = "adapting" if policy == "cost" else "adapting to how many are right"
    return f"{control.draft_min} to {control.draft_max} drafted each step{copies}, {how}"


def _why_idle(context: CommandContext) -> str:
    """What to add when there is nothing that could draft, or ""."""
    facts = context.session.facts
    if facts is None:
        return " (as soon as a model is loaded)"
    if facts.kind != "none" or context.session.control.kind not in {"", "none"}:
        return ""
    reason = f": {facts.fallback_reason}" if facts.fallback_reason else ""
    advice = "; /spec ngram guesses without a second model" if "ngram" in facts.available else ""
    return f", but nothing is loaded that drafts{reason}{advice}"


@dataclass(frozen=True, slots=True)
class Depth:
    """A wish for how far to guess: exactly `most` tokens when pinned, else between `least` and `most`."""

    least: int
    most: int
    pinned: bool


def parse_depth(argument: str) -> Depth:
    """Understand "3" or "1-6"; raises CommandError for anything else."""
    match = re.fullmatch(r"([0-9]{1,6})(?:\s*(?:-|–|\.\.)\s*([0-9]{1,6}))?", argument)
    if match is None:
        raise CommandError(f'"{argument}" is not a depth', hint="/draft 3, /draft 1-6 or /draft auto")
    first = int(match[1])
    if match[2] is None:
        if first == 0:
            raise CommandError("A draft has at least one token", hint="/mtp off decodes plainly.")
        return Depth(0, first, pinned=True)
    last = int(match[2])
    if last == 0 or first > last:
        raise CommandError(f"{first}-{last} is not a range", hint="the smaller number comes first, as in /draft 1-6.")
    return Depth(first, last, pinned=False)


def _limit(context: CommandContext) -> int | None:
    """Most tokens that may be drafted; None where nothing is known: no model, or none of its drafters is in use."""
    facts = context.session.facts
    if facts is None or (facts.kind == "none" and not facts.depth_reason):
        return None
    return facts.depth_limit


def _complete_depth(context: CommandContext, _argument: str) -> Sequence[Completion]:
    limit = _limit(context)
    deepest = 6 if limit is None else limit
    if deepest < 1:
        return ()
    fixed = [Completion(str(depth), "exactly so many") for depth in range(1, min(deepest, 4) + 1)]
    ranges = [Completion(f"1-{deepest}", "adapts in between")] if deepest > 1 else []
    return [Completion("auto", "adapts to what pays"), *fixed, *ranges]


@command(
    "draft",
    "how many tokens to draft per step, from the next token on",
    "/draft N | MIN-MAX | auto",
    complete=_complete_depth,
    while_busy=True,
)
def draft(context: CommandContext, argument: str) -> Reply:
    session = context.session
    if not argument:
        return Reply(f"Depth: {_depth_text(context)}")
    limit = _limit(context)
    if limit == 0:
        raise CommandError("This model cannot take tokens back, so nothing can be drafted")
    auto = argument.casefold() == "auto"
    wanted = _auto(context) if auto else parse_depth(argument)
    ceiling = DEEPEST if limit is None else limit
    depth = Depth(min(wanted.least, ceiling), min(wanted.most, ceiling), wanted.pinned)
    free_max = session.config.speculative.ngram_max if auto else 0
    control = replace(
        session.control, draft_min=depth.least, draft_max=depth.most, pinned=depth.pinned, free_max=free_max
    )
    session.set_control(control)
    parts = [_depth_text(context) + _why_idle(context)]
    if depth.most < wanted.most:
        parts.append(f"clamped to {ceiling}: {_why_clamped(session.facts, wanted.most)}")
    if control.mode == "off":
        parts.append("speculation is off: /mtp auto starts it")
    elif control.pinned:
        parts[0] += ", whether it pays or not"
        parts.append("/draft auto adapts")
    return Reply("; ".join(parts))


def _auto(context: CommandContext) -> Depth:
    """From nothing to the usual depth, or to a larger one that was set before; within what the model allows."""
    most = max(SpeculativeConfig().draft_max, context.session.config.speculative.draft_max)
    limit = _limit(context)
    return Depth(0, most if limit is None else min(most, limit), pinned=False)


def _why_clamped(facts: ModelFacts | None, wanted: int) -> str:
    if facts is None or facts.depth_limit is None:
        return "more never pays"
    if "snapshots" in facts.depth_reason:  # their number is chosen when the model is loaded
        return f"{facts.depth_reason}; start with --draft-max {min(wanted, DEEPEST)} for more"
    return facts.depth_reason or f"this model drafts at most {facts.depth_limit} per step"


def _complete_kind(context: CommandContext, _argument: str) -> Sequence[Completion]:
    facts = context.session.facts
    live = facts.available if facts is not None else ()
    return [
        Completion("panel", "see it at work, live"),
        Completion("page", "who drafts, why, and what else there is"),
        *(
            Completion(kind, summary if kind in live or kind == "auto" else f"{summary} · loads again")
            for kind, summary in kinds().items()
        ),
    ]


@command(
    "spec",
    "see speculation at work; switch to another kind",
    "/spec [panel | page | KIND]",
    complete=_complete_kind,
    while_busy=True,
)
def spec(context: CommandContext, argument: str) -> Reply:
    kind = argument.casefold()
    if kind in {"", "panel"}:
        return Reply(effect=TogglePanel())
    if kind == "page":
        return Reply(effect=ShowPage("Speculation", _page(context)))
    if kind not in kinds():
        raise unknown("kind of speculation", argument, ("panel", "page", *kinds()))
    if _is_live(context, kind):
        return _switch(context, kind)
    return _reload_with(context, kind)


def _is_live(context: CommandContext, kind: str) -> bool:
    facts = context.session.facts
    if facts is None:
        return False
    if kind == "auto":
        return context.session.config.speculative.kind == "auto"
    return kind in facts.available or kind == facts.kind


def _switch(context: CommandContext, kind: str) -> Reply:
    session = context.session
    control = replace(session.control, kind="" if kind == "auto" else kind)
    session.set_control(control)
    chosen = f"auto ({session.facts.kind})" if kind == "auto" and session.facts is not None else kind
    note = "; speculation is off: /mtp auto starts it" if control.mode == "off" and kind != "none" else ""
    return Reply(f"Speculation by {chosen}, from the next token on{note}")


def _reload_with(context: CommandContext, kind: str) -> Reply:
    session = context.session
    if session.busy:
        raise CommandError(f"/spec {kind} loads the model again and has to wait", hint="Esc stops the answer now.")
    if kind == "draft" and not session.config.speculative.drafter:
        raise CommandError("There is no draft model", hint="/drafter PATH names one and loads it.")
    settings = msgspec.structs.replace(session.config.speculative, kind=kind)
    session.config = msgspec.structs.replace(session.config, speculative=settings)
    session.set_control(replace(session.control, kind=""))
    if session.facts is None and not session.config.model.path:
        return Reply(f"Speculation by {kind} once a model is loaded")
    return Reply(f"Loading again for speculation by {kind}", effect=Reload())


def _page(context: CommandContext) -> str:
    session = context.session
    control, facts = session.control, session.facts
    now = [("Mode", f"{control.mode}: {_meaning(context)}"), ("Depth", _depth_text(context))]
    if facts is None:
        return f"{table(('', 'Now'), now)}\n\nNo model is loaded yet."
    in_use = control.kind or facts.kind
    now = [
        ("Kind", f"{in_use}: {kinds().get(in_use, '–')}"),
        ("Chosen because", plain(facts.choice) or "–"),
        ("Drafter file", code(facts.drafter) if facts.drafter else "–"),
        *now,
        ("Depth decided by", _policy_text(session.config.speculative)),
        ("Deepest draft", "no limit" if _limit(context) is None else str(facts.depth_limit)),
    ]
    if facts.fallback_reason:
        now.append(("Not as wished", plain(facts.fallback_reason)))
    return f"{table(('', 'Now'), now)}\n\n{_kinds_table(facts, in_use)}"


def _policy_text(settings: SpeculativeConfig) -> str:
    match settings.policy:
        case "cost":
            return "cost: guesses while one more is worth its measured time"
        case "threshold":
            return f"threshold: deeper while more than {settings.accept_threshold:.0%} of the guesses are right"
        case "fixed":
            return "fixed: always as deep as allowed"
        case _:
            assert_never(settings.policy)


def _kinds_table(facts: ModelFacts, in_use: str) -> str:
    def when(kind: str) -> str:
        if kind == in_use:
            return "in use"
        return "at the next token" if kind in facts.available else "after loading again"

    body = [(code(f"/spec {kind}"), summary, when(kind)) for kind, summary in kinds().items() if kind != "auto"]
    return table(("Switch with", "Who guesses", "When"), body)
