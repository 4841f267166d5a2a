"""What a verification found, in words and in rows: for the command line and for the chat alike."""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.bench.distribution import SIGNIFICANCE
from mtpchat.bench.verify import NOISE_FACTOR, Check, Difference, SamplerCheck

HEAD = ("", "answers", "identical", "near ties", "mismatches", "tokens", "guesses", "right")


def faultless(checks: Sequence[Check], fits: Sequence[SamplerCheck]) -> bool:
    """Whether nothing differs but near ties, and every draw fits."""
    mismatch = any(one.difference is not None and one.difference.verdict == "mismatch" for one in checks)
    return not mismatch and all(one.fit.good for one in fits)


def rows(checks: Sequence[Check]) -> list[tuple[str, ...]]:
    """One row of figures, under HEAD, for each way to speculate."""
    made = []
    for label in dict.fromkeys(one.variant for one in checks):
        own = [one for one in checks if one.variant == label]
        verdicts = [one.difference.verdict for one in own if one.difference is not None]
        figures = (
            len(own),
            len(own) - len(verdicts),
            verdicts.count("near tie"),
            verdicts.count("mismatch"),
            sum(one.tokens for one in own),
            sum(one.drafted for one in own),
            sum(one.accepted for one in own),
        )
        made.append((label, *(f"{figure:,}" for figure in figures)))
    return made


def explained(check: Check, found: Difference) -> str:
    """One difference in words."""
    where = f"{check.variant}, {check.prompt}, temperature {check.temperature:g}, token {found.at + 1}"
    if found.gap is None or found.noise is None:
        ended = "without" if found.plain is None else "with"
        return f"{where}: the answer {ended} speculation ends here, the other goes on. Mismatch."
    pair = f"{found.plain_text!r} ({found.plain}) without, {found.other_text!r} ({found.other}) with speculation"
    measure = (
        f"the gap between them is {found.gap:.5f}; decoded in other widths, without any drafter, it moves by "
        f"{found.noise:.5f}; up to {found.threshold:.5f} ({NOISE_FACTOR:g} times that, at least 0.001) is a near tie"
    )
    proof = ", and such a width alone makes the model choose the other token" if found.flips else ""
    verdict = "Near tie" if found.verdict == "near tie" else "MISMATCH"
    return f"{where}: {pair}; {measure}{proof}. {verdict}."


def sampler_sentence(one: SamplerCheck) -> str:
    """One test of the sampler in words."""
    fit = one.fit
    head = f"sampler, {one.prompt}, temperature {one.temperature:g}: {fit.draws:,} draws from {fit.candidates:,} tokens"
    if fit.outside:
        return f"{head}: {len(fit.outside)} tokens were drawn that the settings exclude. WRONG."
    verdict = "come as often as the settings promise" if fit.good else "DO NOT come as often as the settings promise"
    limit = "" if fit.good else f", which a right sampler falls below once in {1 / SIGNIFICANCE:,.0f} times: WRONG"
    test = f"chi-square {fit.statistic:.1f} with {fit.freedom} degrees of freedom, p = {fit.p_value:.2g}"
    return f"{head} {verdict} ({test}{limit})."


def conclusion(checks: Sequence[Check], fits: Sequence[SamplerCheck]) -> str:
    """The last line."""
    if not faultless(checks, fits):
        return (
            "Not lossless here: what is marked above differs by more than rounding explains. Please report it together"
            " with the model and these lines; until then --spec none (in the chat /mtp off) decodes plainly."
        )
    if not any(one.drafted for one in checks):
        return "Nothing differs, but nothing was drafted either: this proves nothing about speculation."
    ties = sum(one.difference is not None for one in checks)
    if ties:
        place = "a place" if ties == 1 else "places"
        return (
            f"Lossless up to {ties} near tie{'s' if ties > 1 else ''}: {place} where rounding alone, without any guess,"
            " can make the model choose the other token."
        )
    return "Lossless: every answer is the same, token for token."
