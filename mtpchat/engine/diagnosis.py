"""Why speculation helps or does not: causes, each with its evidence, a sentence and a remedy.

A cause speaks only when what was measured supports it. Where little was measured that is the finding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mtpchat.engine.evidence import ENOUGH_GUESSES, Evidence
from mtpchat.errors import closed

_HARD = 0.4
_NEVER = 0.03
"""Share of right guesses below which no text is hard enough to explain it."""
_WARM = 0.5
_STEEP = 0.25
"""Share of guesses that must be right from which on checking them is called dear."""
_ALIKE = _NOTICED = 0.05
_MANY_STEPS = 150
_CATCHING_UP = 256
_READING = 0.6
_FEW_CORES = 4


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause: what is the case, and what can be done about it. A larger weight matters more."""

    sentence: str
    remedy: str = ""
    weight: float = 0.0


Cause = Callable[[Evidence], Finding | None]


def diagnose(evidence: Evidence) -> list[Finding]:
    """Everything that the evidence supports, what matters most first; never empty."""
    if evidence.facts is None:
        return [Finding("No model is loaded.", "/model lists what is there.", 1000)]
    found = [finding for cause in CAUSES if (finding := cause(evidence)) is not None]
    return sorted(found, key=lambda one: -one.weight) or [_undecided(evidence)]


def _undecided(evidence: Evidence) -> Finding:
    speed = f", at ×{evidence.speedup:.2f} of plain decoding" if evidence.speedup is not None else ""
    return Finding(
        f"Nothing stands out: {evidence.name} is right in {evidence.hit_rate or 0:.0%} of its guesses{speed}.",
        "/spec panel shows all figures.",
    )


# What keeps guesses from being made at all.


def _switched_off(evidence: Evidence) -> Finding | None:
    if evidence.control.mode == "off":
        return Finding("Speculation is switched off: decoding is plain.", "/mtp auto switches it on.", 200)
    if evidence.control.kind == "none" or evidence.config.speculative.kind == "none":
        return Finding("The kind of speculation is set to none: decoding is plain.", "/spec auto lets it guess.", 200)
    if not evidence.control.draft_max:
        return Finding("A draft may have no token: decoding is plain.", "/draft auto lets it guess.", 200)
    return None


def _drafter_failed(evidence: Evidence) -> Finding | None:
    reason = evidence.stats.fallback_reason if evidence.stats is not None else ""
    if "drafter failed" not in reason:
        return None
    return Finding(
        closed(f"In this answer {reason}"),
        "The next answer tries it again; /spec ngram does without it, and llama.log has the details.",
        190,
    )


def _cannot_go_back(evidence: Evidence) -> Finding | None:
    facts = evidence.facts
    if facts is None or (facts.depth_limit != 0 and (evidence.file is None or evidence.file.can_roll_back)):
        return None
    if facts.depth_limit:  # by copies of the state
        return None
    why = facts.depth_reason or facts.fallback_reason or "it is recurrent, and llama.cpp keeps no snapshots of it"
    return Finding(
        closed(f"This model cannot take back what it decoded, so nothing can be guessed: {why}"),
        'checkpoint_rollback = "on" under [speculative] copies its state before each draft, which costs time.',
        185,
    )


def _drafter_does_not_fit(evidence: Evidence) -> Finding | None:
    facts, wanted = evidence.facts, evidence.config.speculative.drafter
    if facts is None or not facts.fallback_reason or not wanted or facts.drafter:
        return None
    return Finding(
        closed(f"The drafter does not fit this model: {facts.fallback_reason}"),
        "A draft model must have the same vocabulary, heads must be made from this very model: /drafter PATH.",
        180,
    )


def _heads_absent(evidence: Evidence) -> Finding | None:
    file, facts = evidence.file, evidence.facts
    if file is None or facts is None or evidence.kind not in {"ngram", "none"} or facts.drafter:
        return None
    if file.trouble:
        return Finding(closed(f"The heads of this file cannot run: {file.trouble}"), _OTHER_FILE, 170)
    if file.heads > file.heads_there:
        what = "its prediction heads were left out when this GGUF was made"
        return Finding(f"The model has been trained to guess ahead, but {what}.", _OTHER_FILE, 170)
    if evidence.config.speculative.kind == "mtp":
        return Finding("This GGUF has no prediction heads.", _OTHER_FILE, 170)
    if evidence.helps or not evidence.counted.output_tokens:
        return None
    return Finding("Only repeated text can be guessed here: this GGUF has no prediction heads.", _OTHER_FILE, 75)


_OTHER_FILE = "Take a GGUF that has them, or name heads or a small model of the same family: /drafter PATH."


def _catching_up(evidence: Evidence) -> Finding | None:
    waiting = evidence.report.waiting if evidence.report is not None else 0
    if waiting <= _CATCHING_UP or evidence.parked or evidence.copying:
        return None
    return Finding(
        f"The drafter is not ready yet: it has still to read {waiting:,} tokens of this chat.",
        "It catches up by itself while the answer goes on.",
        160,
    )


# What makes guesses right for no good reason, or wrong.


def _goes_in_circles(evidence: Evidence) -> Finding | None:
    if not evidence.repeats or evidence.stats is None:
        return None
    looped = evidence.stats.looped_tokens
    left_out = f" ({looped:,} tokens, left out of the multiplier)" if looped else ""
    sampling = evidence.config.sampling
    ways = ["/set repeat_penalty 1.1"] if sampling.repeat_penalty <= 1.0 else []
    ways += ["a higher temperature (/set temperature 0.7)" if sampling.temperature < _WARM else "a higher temperature"]
    return Finding(
        f"The answer repeats itself: guesses are right because the text is degenerate{left_out}.",
        f"{', '.join(ways)} or another model, then /retry.",
        165,
    )


def _too_little(evidence: Evidence) -> Finding | None:
    tested, _ = evidence.guesses
    if tested >= ENOUGH_GUESSES or evidence.kind == "none" or _switched_off(evidence) is not None:
        return None
    if evidence.helps and evidence.copies is not None:
        return None
    if evidence.kind == "ngram" and evidence.counted.output_tokens > 8 * ENOUGH_GUESSES:
        return Finding("There is little to copy: the text hardly repeats itself.", "", 60)
    what = "no guess" if not tested else "1 guess" if tested == 1 else f"{tested} guesses"
    what += f" by {evidence.name}{'' if tested else ' yet'}"
    return Finding(f"Too little has been drafted to tell: {what}.", "Ask again after a longer answer.", 100)


def _temperature(evidence: Evidence) -> Finding | None:
    temperature = evidence.config.sampling.temperature
    if temperature < _WARM or not evidence.unsure:
        return None
    keyed = evidence.config.speculative.draft_sampling == "argmax"
    remedy = "/set temperature 0.2 makes the text easier to guess"
    return Finding(
        f"At temperature {temperature:g} the text is drawn at random: {_right(evidence)}.",
        f'{remedy}; draft_sampling = "auto" guesses with the same noise.' if keyed else f"{remedy}.",
        70 + 10 * temperature,
    )


def _penalties(evidence: Evidence) -> Finding | None:
    sampling = evidence.config.sampling
    named = [
        f"{name} {value:g}"
        for name, value, none in (
            ("repeat_penalty", sampling.repeat_penalty, 1.0),
            ("presence_penalty", sampling.presence_penalty, 0.0),
            ("frequency_penalty", sampling.frequency_penalty, 0.0),
        )
        if value != none
    ]
    if not named or not evidence.unsure:
        return None
    off = "; ".join(f"/set {one.split()[0]} {1 if one.startswith('repeat') else 0}" for one in named)
    return Finding(
        f"Penalties change what is said, and the drafter does not know them ({', '.join(named)}): {_right(evidence)}.",
        f"{off} takes them away.",
        85,
    )


def _small_cache(evidence: Evidence) -> Finding | None:
    model = evidence.config.model
    types = sorted({model.cache_type_k, model.cache_type_v} - {"f16", "bf16"})
    if not types or not evidence.unsure or evidence.kind not in {"draft", "mtp", "eagle3"}:
        return None
    return Finding(
        f"The drafter's KV cache is quantised to {' and '.join(types)}, which blurs its guesses: {_right(evidence)}.",
        'cache_type_k = "f16" and cache_type_v = "f16" under [model], or a smaller -c to pay for it.',
        90,
    )


def _never_right(evidence: Evidence) -> Finding | None:
    if evidence.hit_rate is None or evidence.hit_rate >= _NEVER or evidence.kind == "ngram":
        return None
    return Finding(
        f"{_first_upper(evidence.name)} is next to never right, whatever the text: {_right(evidence)}. "
        "Most likely it was not made for this model, or never trained.",
        "mtpchat models --pairs MODEL says what fits; /drafter PATH takes another one, /spec ngram does without.",
        120,
    )


def _hard_text(evidence: Evidence) -> Finding | None:
    if evidence.helps or evidence.hit_rate is None or not _NEVER <= evidence.hit_rate < _HARD:
        return None
    return Finding(
        f"This text is hard to guess: {_right(evidence)}.",
        f"Code, summaries and edits are easier. {evidence.adapting}",
        65,
    )


# What makes guesses dear.


def _dear_rows(evidence: Evidence) -> Finding | None:
    price = _cheapest_check(evidence)
    if evidence.helps or price is None or price.needed < _STEEP:
        return None
    cause, remedy, weight = _why_dear(evidence)
    what = "one guess" if price.guesses == 1 else f"{price.guesses} guesses"
    measured = f"checking {what} makes a step {price.ratio:.2f} times as long ({_ms(price.one_s)} → {_ms(price.all_s)})"
    if price.guess_s > _NOTICED * price.one_s:
        measured += f", and making {'it' if price.guesses == 1 else 'them'} takes {_ms(price.guess_s)}"
    if price.needed >= 1:
        settled = evidence.counted.steps >= _MANY_STEPS  # before, a width may have been measured once
        extra = 15 if settled else 0
        return Finding(
            f"{cause}: {measured}; not even guesses that are always right would pay.", remedy, weight + extra
        )
    right = _expected(evidence, price.guesses)
    if right is not None and right > price.needed:
        return None
    seen = f", and {right:.0%} are" if right is not None else ""
    return Finding(f"{cause}: {measured}; {price.needed:.0%} must be right for that to pay{seen}.", remedy, weight)


@dataclass(frozen=True, slots=True)
class _Price:
    """What it takes to make and check some guesses: seconds of a step without and with them, and of making them."""

    guesses: int
    one_s: float
    all_s: float
    guess_s: float

    @property
    def needed(self) -> float:
        """The share that must be right to pay."""
        return ((self.all_s + self.guess_s) / self.one_s - 1) / self.guesses

    @property
    def ratio(self) -> float:
        return self.all_s / self.one_s


def _cheapest_check(evidence: Evidence) -> _Price | None:
    """The width at which guesses pay first; of two that are alike the smaller one."""
    steps = dict(evidence.report.verify_s) if evidence.report is not None else {}
    one = steps.get(1)
    if not one:
        return None
    source = evidence.source
    first = source.first_s or 0.0 if source is not None else 0.0
    later = source.later_s or 0.0 if source is not None else 0.0
    prices = [
        _Price(width - 1, one, spent, first + (width - 2) * later)
        for width, spent in sorted(steps.items())
        if width > 1
    ]
    least = min((price.needed for price in prices), default=0.0)
    return next((price for price in prices if price.needed <= least + _ALIKE), None)


def _expected(evidence: Evidence, guesses: int) -> float | None:
    """Share of a draft of so many guesses that is right on average; None where too little was guessed."""
    rates = evidence.source.rates if evidence.source is not None else ()
    if not rates or evidence.hit_rate is None:
        return None
    alive, total = 1.0, 0.0
    for at in range(guesses):
        alive *= rates[min(at, len(rates) - 1)]
        total += alive
    return total / guesses


def _why_dear(evidence: Evidence) -> tuple[str, str, float]:
    file, facts, wanted = evidence.file, evidence.facts, evidence.config.model.gpu_layers
    layers = wanted if isinstance(wanted, int) else facts.gpu_layers if facts is not None else -1
    if facts is not None and facts.gpu and file is not None and 0 <= layers < file.layers:
        share = f"{layers} of {file.layers} layers are on the GPU, the others on the processor"
        return f"Only {share}", "-ngl -1 puts all of them there, if they fit; a smaller quantisation helps.", 95
    if file is not None and file.experts:
        cause = f"Each further token wakes other experts of this mixture of {file.experts}"
        return cause, f"/draft 1 keeps drafts short. {evidence.adapting}", 94
    few = facts is not None and not facts.gpu and evidence.cores <= _FEW_CORES
    if few:
        cores = f"{evidence.cores} core{'s' if evidence.cores != 1 else ''}"
        return f"On {cores} rows are computed one after another", evidence.adapting, 92
    return "Here further rows are dear", evidence.adapting, 80


def _reading_prevails(evidence: Evidence) -> Finding | None:
    counted = evidence.counted
    spent = counted.prefill_s + counted.decode_s
    if spent <= 0 or counted.prefill_s < _READING * spent or not counted.output_tokens:
        return None
    return Finding(
        f"{counted.prefill_s / spent:.0%} of the time of this chat goes into reading prompts, "
        "which speculation does not shorten.",
        "A larger batch (-b) or more layers on the GPU (-ngl) read faster; an unchanged beginning is not read twice.",
        98 if not evidence.helps else 50,
    )


def _capped(evidence: Evidence) -> Finding | None:
    facts, source = evidence.facts, evidence.source
    if facts is None or not facts.depth_limit or source is None or evidence.hit_rate is None or evidence.parked:
        return None
    limit = facts.depth_limit
    if len(source.rates) < limit or source.rates[limit - 1] < 0.75 or evidence.control.draft_max < limit:
        return None
    if facts.depth_limit > 8:
        return None
    more = f"start with --draft-max {2 * limit}." if "snapshots" in facts.depth_reason else ""
    return Finding(
        f"Drafts end at {limit} although guess number {limit} is still right in {source.rates[limit - 1]:.0%} "
        f"of all cases: {facts.depth_reason or 'the model allows no more'}.",
        f"To go deeper, {more}" if more else "",
        105 if not evidence.helps else 55,
    )


def _all_is_well(evidence: Evidence) -> Finding | None:
    copies, rate = evidence.copies, evidence.hit_rate
    if not evidence.helps or (rate is None and copies is None):
        return None
    who = [f"{evidence.name} is right in {rate:.0%} of its guesses"] if rate is not None else []
    if copies is not None:
        who.append(f"copies of earlier text are right in {copies.matched / copies.tested:.0%} of theirs")
    return Finding(
        f"Nothing is wrong: it helps. {_first_upper(' and '.join(who))}, "
        f"and answers come ×{evidence.speedup or 0:.2f} as fast as plain.",
        "",
        110,
    )


def _first_upper(text: str) -> str:
    return text[0].upper() + text[1:]


def _right(evidence: Evidence) -> str:
    tested, right = evidence.guesses
    return f"{right / tested if tested else 0:.0%} of {tested:,} guesses were right"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


CAUSES: tuple[Cause, ...] = (
    _switched_off,
    _drafter_failed,
    _cannot_go_back,
    _drafter_does_not_fit,
    _heads_absent,
    _catching_up,
    _goes_in_circles,
    _too_little,
    _temperature,
    _penalties,
    _small_cache,
    _never_right,
    _hard_text,
    _dear_rows,
    _reading_prevails,
    _capped,
    _all_is_well,
)
"""Every cause that is looked for. One more is one more function."""
