"""`mtpchat tune`: find out what suits this model on this machine, and write it into the settings as a profile."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import msgspec

from mtpchat.backend.llama.threads import physical_cores
from mtpchat.bench.figures import middle
from mtpchat.bench.measure import EngineContender
from mtpchat.bench.profile import profile_block, profile_name, write_profile
from mtpchat.bench.results import Standing
from mtpchat.bench.tune import BOUNDS, ThreadRace, candidates, one_per_class, race, thread_counts, winner
from mtpchat.bench.variants import PLAIN, Variant
from mtpchat.bench.verify import samplings_for
from mtpchat.cli_measure import Job, load, opened_engine
from mtpchat.cli_watch import Watch
from mtpchat.config import Config, SamplingConfig
from mtpchat.engine.engine import ChatEngine
from mtpchat.errors import ConfigError
from mtpchat.headless_output import EXIT_OK, write_json
from mtpchat.ui import format as fmt
from mtpchat.ui.safe_text import safe_line, safe_text

_TOKENS = 48
_BUDGET_S = 120.0
_THREADS_SHARE = 0.4
_WARM_UP = 8


@dataclass(frozen=True, slots=True)
class _Choice:
    """What came of it."""

    threads: int
    rates: dict[int, float | None]
    best: Standing
    variant: Variant
    standings: tuple[Standing, ...]


def tune(job: Job) -> int:
    """Measure, choose, write the profile, and say how to use it."""
    began, budget = time.monotonic(), job.arguments.budget or _BUDGET_S
    sampling = samplings_for(job.config.sampling, (job.config.sampling.temperature,), job.tokens(_TOKENS))[0]

    def has_time(share: float) -> Callable[[], bool]:
        return lambda: time.monotonic() - began < budget * share

    with opened_engine(job) as engine, Watch(job.stderr) as watch:
        counts = thread_counts(physical_cores(), os.cpu_count() or 1)
        threads = ThreadRace(counts)
        best = threads.run(lambda count: _plain_rate(job, engine, watch, count, sampling), has_time(_THREADS_SHARE))
        load(engine, job.plan(_with_threads(job.config, best)), watch)
        probe, kinds = engine.probe(), job.arguments.kinds
        known = [kind for kind in probe.kinds if not kinds or kind in kinds]
        if kinds and not known:
            there = ", ".join(probe.kinds) or "none"
            raise ConfigError("none of these kinds of drafter is to be had here", hint=f"There is: {there}.")
        variants = candidates(known, probe.depth_limit)
        subject = job.subject(engine)
        contenders = [EngineContender(subject, variant) for variant in variants]
        results = race(contenders, one_per_class(job.prompts), sampling, has_time(1.0), watch.status)
    chosen = winner(results)
    variant = next(one for one in variants if one.label == chosen.contender)
    rates = {count: middle(threads.rates.get(count, [])) for count in counts}
    return _conclude(job, _Choice(best, rates, chosen, variant, results))


def _plain_rate(job: Job, engine: ChatEngine, watch: Watch, threads: int, sampling: SamplingConfig) -> float | None:
    """Median rate of plain decoding with so many threads, tokens per second."""
    load(engine, job.plan(_with_threads(job.config, threads)), watch)
    watch.status(f"{threads} threads")
    subject, prompts = job.subject(engine), one_per_class(job.prompts)[:2]
    subject.ask(prompts[0], PLAIN.control, msgspec.structs.replace(sampling, max_tokens=_WARM_UP))
    rates = [subject.ask(prompt, PLAIN.control, sampling).stats.tokens_per_second for prompt in prompts]
    return middle([rate for rate in rates if rate])


def _with_threads(config: Config, threads: int) -> Config:
    """The settings with that many threads and room for the deepest bound."""
    deepest = max(config.speculative.draft_max, *BOUNDS)
    return msgspec.structs.replace(
        config,
        model=msgspec.structs.replace(config.model, threads=threads),
        speculative=msgspec.structs.replace(config.speculative, depth_cap=deepest),
    )


def _conclude(job: Job, choice: _Choice) -> int:
    path = Path(job.config.model.path)
    name = profile_name(path)
    gain = choice.best.against
    remark = f"{datetime.now(UTC):%Y-%m-%d}, {path.name}: {fmt.multiplier(gain.value)} against plain decoding"
    block = profile_block(name, profile_settings(job.config, choice.threads, choice.variant), (remark,))
    write_profile(job.config_path, name, block)
    if job.arguments.json:
        write_json(job.stdout, _object(job, choice, name))
    else:
        _show(job, choice, name, block, job.stdout)
    return EXIT_OK


def profile_settings(config: Config, threads: int, variant: Variant) -> dict[str, dict[str, object]]:
    """The choice as settings."""
    settings: dict[str, dict[str, object]] = {"model": {"path": config.model.path, "threads": threads}}
    if variant.control.mode == "off":
        settings["speculative"] = {"mode": "off"}
        return settings
    speculative: dict[str, object] = {"kind": variant.kind, "mode": "auto"}
    if variant.kind != "ngram" and config.speculative.drafter:
        speculative["drafter"] = config.speculative.drafter
    settings["speculative"] = {**speculative, "draft_min": 0, "draft_max": variant.control.draft_max}
    return settings


def _object(job: Job, choice: _Choice, name: str) -> dict[str, object]:
    return {
        "schema": 1,
        "profile": name,
        "config": str(job.config_path),
        "threads": choice.threads,
        "thread_rates": {str(count): rate for count, rate in choice.rates.items()},
        "contender": choice.best.contender,
        "settings": profile_settings(job.config, choice.threads, choice.variant),
        "standings": [asdict(one) for one in choice.standings],
    }


def _show(job: Job, choice: _Choice, name: str, block: str, stdout: TextIO) -> None:
    for count, rate in choice.rates.items():
        stdout.write(f"{count} thread{'' if count == 1 else 's'}: {fmt.rate(rate)}\n")
    for one in choice.standings:
        prompts = one.against.prompts
        stdout.write(f"{one.contender}: {fmt.rate(one.rate)} {fmt.multiplier(one.against.value)} ({prompts} prompts)\n")
    stdout.write(f"\n{safe_text(block)}\n")
    stdout.write(f"Written to {safe_line(str(job.config_path))}. Use it with: mtpchat --profile {name}\n")
