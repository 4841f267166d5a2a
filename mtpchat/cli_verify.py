"""`mtpchat verify`: is the text the same with speculation off and on, and does the sampler draw what it should?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TextIO

from mtpchat.bench.tune import one_per_class
from mtpchat.bench.verdict import HEAD, conclusion, explained, faultless, rows, sampler_sentence
from mtpchat.bench.verify import Check, SamplerCheck, check_sampler, samplings_for
from mtpchat.bench.verify import verify as compare
from mtpchat.cli_measure import Job, load, opened_engine
from mtpchat.cli_tables import WIDE_IN_PIPES, cell, figures_table, painting
from mtpchat.cli_watch import Watch
from mtpchat.events import ModelFacts
from mtpchat.headless_output import EXIT_FAILED, EXIT_OK, write_json

_TOKENS = 64
_DRAWS = 4000
_SAMPLER_PROMPTS = 3


def verify(job: Job) -> int:
    """Run it and show what was found. 0: nothing differs but near ties; 1: a token was changed, or a draw is wrong."""
    own = job.arguments.prompts or job.arguments.prompt is not None or job.arguments.only
    prompts = job.prompts if own else one_per_class(job.prompts)
    temperatures = job.arguments.temps or tuple(dict.fromkeys((0.0, job.config.sampling.temperature or 0.8)))
    samplings = samplings_for(job.config.sampling, temperatures, job.tokens(_TOKENS))
    drawn = [sampling for sampling in samplings if sampling.temperature > 0]
    checks: list[Check] = []
    fits: list[SamplerCheck] = []
    with opened_engine(job) as engine, Watch(job.stderr) as watch:
        facts = load(engine, job.plan(), watch)
        subject, variants = job.subject(engine), job.variants(engine, always=True)
        looked_at = prompts[:_SAMPLER_PROMPTS]
        watch.begin(len(prompts) * len(samplings) * (len(variants) - 1) + len(looked_at) * len(drawn))
        for check in compare(subject, prompts, variants, samplings):
            checks.append(check)
            watch.step(f"{check.variant}: {check.prompt}")
        for sampling in drawn:
            for fit in check_sampler(subject, looked_at, sampling, _DRAWS):
                fits.append(fit)
                watch.step(f"sampler: {fit.prompt}")
    if job.arguments.json:
        write_json(job.stdout, verification_object(facts, checks, fits))
    else:
        show_verification(facts, checks, fits, job.stdout)
    return EXIT_OK if faultless(checks, fits) else EXIT_FAILED


def verification_object(facts: ModelFacts, checks: Sequence[Check], fits: Sequence[SamplerCheck]) -> dict[str, object]:
    """What --json prints."""
    return {
        "schema": 1,
        "model": facts.name,
        "path": facts.path,
        "drafter": facts.drafter or None,
        "faultless": faultless(checks, fits),
        "drafted": sum(one.drafted for one in checks),
        "checks": [{**asdict(one), "identical": one.difference is None} for one in checks],
        "sampler": [{**asdict(one), "good": one.fit.good} for one in fits],
    }


def show_verification(facts: ModelFacts, checks: Sequence[Check], fits: Sequence[SamplerCheck], stdout: TextIO) -> None:
    """The findings for people."""
    with painting(stdout, in_pipes=WIDE_IN_PIPES) as console:
        console.print(cell(f"{facts.name} · {facts.choice or facts.kind}", "bold"))
        if checks:
            console.print()
            console.print(figures_table(("speculation", *HEAD[1:]), rows(checks), "Answers compared"))
            console.print()
        for check in checks:
            if check.difference is not None:
                console.print(cell(explained(check, check.difference)))
        for one in fits:
            console.print(cell(sampler_sentence(one)))
        console.print(cell(conclusion(checks, fits), "bold"))
