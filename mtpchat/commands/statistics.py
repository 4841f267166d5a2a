"""/stats: what speculation and the machine did, with a dash for whatever was not measured."""

from __future__ import annotations

from mtpchat.commands.base import CommandContext, Reply, ShowPage
from mtpchat.commands.page import plain, table
from mtpchat.commands.registry import command
from mtpchat.stats import TurnStats

UNKNOWN = "–"
BAR_WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"


@command("stats", "drafted, accepted, speed: this answer and the chat", while_busy=True)
def stats(context: CommandContext, _argument: str) -> Reply:
    session = context.session
    if session.stats is None:
        return Reply("Nothing has been measured yet: the figures come with the first answer")
    return Reply(effect=ShowPage("Statistics", statistics_page(session.stats, session.totals)))


def statistics_page(turn: TurnStats, chat: TurnStats) -> str:
    """Markdown: counters of the last turn beside those of the chat since it was opened; acceptance per position."""
    body = [(name, now, total) for (name, now), (_, total) in zip(_figures(turn), _figures(chat), strict=True)]
    parts = [table(("", "This answer", "Since opened"), body), _positions(turn)]
    if turn.looping:
        parts.append("This answer goes round in circles, which is easy to guess and no gain. /why says what helps.")
    if turn.fallback_reason:
        parts.append(f"Not speculating as wished: {plain(turn.fallback_reason)}")
    return "\n\n".join(parts)


def _figures(one: TurnStats) -> list[tuple[str, str]]:
    fresh = one.prompt_tokens - one.cached_tokens
    prefill_rate = fresh / one.prefill_s if fresh > 0 and one.prefill_s > 0 else None
    draft_share = one.draft_s / one.decode_s if one.draft_s > 0 and one.decode_s > 0 else None
    return [
        ("Decode", _number(one.tokens_per_second, "tokens/s")),
        ("Against plain", _number(one.speedup, form="×{:.2f}")),
        ("Plain, for the same tokens", _number(one.plain_rate if one.speedup else None, "tokens/s")),
        ("In loops, not compared", _tokens(one.looped_tokens) if one.looped_tokens else UNKNOWN),
        ("Plain decode, last measured", _plain_rate(one)),
        ("Time to first token", _number(one.ttft_s, "s", "{:.2f}")),
        ("Output", f"{_tokens(one.output_tokens)} in {one.steps:,} step{'' if one.steps == 1 else 's'}"),
        ("Drafted", _tokens(one.drafted) if one.drafted else UNKNOWN),
        ("Accepted", _tokens(one.accepted) if one.drafted else UNKNOWN),
        ("Dictated by a grammar, for free", _tokens(one.forced) if one.forced else UNKNOWN),
        ("Acceptance", _number(one.acceptance, form="{:.0%}")),
        ("Mean accepted length", _number(one.mean_accepted_length, "tokens a step", "{:.2f}")),
        ("Share of drafting", _number(draft_share, "of the decode time", "{:.0%}")),
        ("Prefill", _number(prefill_rate, f"tokens/s, {fresh:,} tokens")),
        ("Prompt", f"{one.prompt_tokens:,} tokens, {one.cached_tokens:,} of them cached"),
    ]


def _tokens(count: int) -> str:
    return f"{count:,} token{'' if count == 1 else 's'}"


def _number(value: float | None, unit: str = "", form: str = "{:.1f}") -> str:
    return UNKNOWN if value is None else f"{form.format(value)} {unit}".rstrip()


def _plain_rate(one: TurnStats) -> str:
    rate = _number(one.plain_tokens_per_second, "tokens/s")
    if one.plain_tokens_per_second is None:
        return rate
    if one.plain_age_s is None:
        return f"{rate}, in an earlier run"
    return f"{rate}, {_age(one.plain_age_s)}"


def _age(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s ago"
    return f"{seconds / 60:.0f} min ago" if seconds < 5400 else f"{seconds / 3600:.0f} h ago"


def _positions(one: TurnStats) -> str:
    reached = [(index, tested) for index, tested in enumerate(one.reached_at) if tested]
    if not reached:
        return "No draft was verified in this answer."
    kept = [one.accepted_at[index] if index < len(one.accepted_at) else 0 for index, _ in reached]
    body = [
        (str(index + 1), bar(hits / tested), f"{hits / tested:.0%}", f"{hits:,} of {tested:,}")
        for (index, tested), hits in zip(reached, kept, strict=True)
    ]
    return table(("Position", "Accepted", "", "Kept of reached"), body)


def bar(share: float, width: int = BAR_WIDTH) -> str:
    """A horizontal bar for a share of 0..1, in eighths of a cell, at most `width` cells long."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")
