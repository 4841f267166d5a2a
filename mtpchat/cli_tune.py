"""`mtpchat tune`: find out what suits this model on this machine, and write it into the settings as a profile."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import msgspec
from rich.table import Table

from mtpchat.backend.llama.threads import physical_cores
from mtpchat.bench.figures import middle
from mtpchat.bench.measure import EngineContender
from mtpchat.bench.profile import profile_block, profile_name, write_profile
from mtpchat.bench.prompts import Prompt
from mtpchat.bench.report import number, ratio
from mtpchat.bench.results import Standing
from mtpchat.bench.subject import EngineSubject
from mtpchat.bench.tune import (
    BOUNDS,
    CountRace,
    candidates,
    chunk_sizes,
    long_text,
    one_per_class,
    race,
    reading,
    thread_counts,
    winner,
)
from mtpchat.bench.variants import PLAIN, Variant
from mtpchat.bench.verify import samplings_for
from mtpchat.cli_measure import Job, load, opened_engine
from mtpchat.cli_tables import WIDE_IN_PIPES, cell, figures_table, painting
from mtpchat.cli_watch import Watch
from mtpchat.config import Config
from mtpchat.engine.engine import ChatEngine
from mtpchat.errors import ConfigError
from mtpchat.headless_output import EXIT_OK, write_json, write_out
from mtpchat.ui import format as fmt
from mtpchat.ui.safe_text import safe_line, safe_text

_TOKENS = 48
_BUDGET_S = 120.0
_THREADS_SHARE, _READING_SHARE = 0.35, 0.5
"""Of the budget, until when threads and the reading of prompts may be measured."""
_WARM_UP = 8


@dataclass(frozen=True, slots=True)
class _Choice:
    """What came of it.

    Attributes:
        rates / reading_rates: tokens per second by threads, and of a prompt by the tokens decoded at a time.
        model: settings of [model] that were chosen.
    """

    model: dict[str, object]
    rates: dict[int, float | None]
    reading_rates: dict[int, float | None]
    best: Standing
    variant: Variant
    standings: tuple[Standing, ...]


def tune(job: Job) -> int:
    """Measure, choose, write the profile, and say how to use it."""
    began, budget = time.monotonic(), job.arguments.budget or _BUDGET_S

    def has_time(share: float) -> Callable[[], bool]:
        return lambda: time.monotonic() - began < budget * share

    with opened_engine(job) as engine, Watch(job.stderr) as watch:
        bench = _Bench(job, engine, watch)
        threads = CountRace(thread_counts(physical_cores(), os.cpu_count() or 1))
        bench.adopt({"threads": threads.run(bench.plain_rate, has_time(_THREADS_SHARE))})
        sizes = CountRace(chunk_sizes(gpu=bench.gpu))
        if has_time(_READING_SHARE)():
            bench.adopt(bench.reading(sizes.run(bench.reading_rate, has_time(_READING_SHARE))))
        variants, results = bench.race(has_time(1.0))
    chosen = winner(results)
    variant = next(one for one in variants if one.label == chosen.contender)
    rates, reading_rates = (
        {count: middle(one.rates.get(count, [])) for count in one.counts} for one in (threads, sizes)
    )
    return _conclude(job, _Choice(bench.chosen, rates, reading_rates, chosen, variant, results))


class _Bench:
    """An engine that is loaded with one set of settings after another, and measured."""

    def __init__(self, job: Job, engine: ChatEngine, watch: Watch) -> None:
        self._job = job
        self._engine = engine
        self._watch = watch
        self.chosen: dict[str, object] = {}
        self.gpu = False
        self.sampling = samplings_for(job.config.sampling, (job.config.sampling.temperature,), job.tokens(_TOKENS))[0]

    def adopt(self, settings: Mapping[str, object]) -> None:
        """Go on with these settings of [model]."""
        self.chosen.update(settings)
        self._load({})

    def reading(self, size: int) -> dict[str, int]:
        """See mtpchat.bench.tune.reading."""
        return reading(self._job.config.model, size, gpu=self.gpu)

    def _load(self, settings: Mapping[str, object]) -> EngineSubject:
        """Load with what was chosen and these settings of [model], and room for the deepest bound."""
        config = self._job.config
        deepest = max(config.speculative.draft_max, *BOUNDS)
        changed = msgspec.structs.replace(
            config,
            model=msgspec.structs.replace(config.model, **{**self.chosen, **settings}),
            speculative=msgspec.structs.replace(config.speculative, depth_cap=deepest),
        )
        self.gpu = load(self._engine, self._job.plan(changed), self._watch).gpu
        return self._job.subject(self._engine)

    def plain_rate(self, threads: int) -> float | None:
        """Median rate of plain decoding with so many threads, tokens per second."""
        subject = self._load({"threads": threads})
        self._watch.status(f"{threads} threads")
        prompts = one_per_class(self._job.prompts)[:2]
        subject.ask(prompts[0], PLAIN.control, msgspec.structs.replace(self.sampling, max_tokens=_WARM_UP))
        rates = [subject.ask(prompt, PLAIN.control, self.sampling).stats.tokens_per_second for prompt in prompts]
        return middle([rate for rate in rates if rate])

    def reading_rate(self, size: int) -> float | None:
        """Rate at which a long prompt is read so many tokens at a time, tokens per second."""
        subject = self._load(self.reading(size))
        self._watch.status(f"reading {size} tokens at a time")
        first = msgspec.structs.replace(self.sampling, max_tokens=1)
        prompts = self._job.prompts
        subject.ask(prompts[0], PLAIN.control, first)
        room = self._engine.probe().loaded.target.capabilities.context // 2
        encode = self._engine.probe().loaded.tokenizer.encode
        most = min(room, max(chunk_sizes(gpu=self.gpu)) + 1)
        text = long_text(prompts, most, lambda one: len(encode(one)))
        stats = subject.ask(Prompt("long", text), PLAIN.control, first).stats
        read = stats.prompt_tokens - stats.cached_tokens - 1
        return read / stats.prefill_s if read > 0 and stats.prefill_s > 0 else None

    def race(self, has_time: Callable[[], bool]) -> tuple[tuple[Variant, ...], tuple[Standing, ...]]:
        """Kinds and bounds against plain decoding. Raises ConfigError when none of the kinds asked for is there."""
        probe, kinds = self._engine.probe(), self._job.arguments.kinds
        known = [kind for kind in probe.kinds if not kinds or kind in kinds]
        if kinds and not known:
            there = ", ".join(probe.kinds) or "none"
            raise ConfigError("None of these kinds of drafter is to be had here", hint=f"There is: {there}.")
        variants = candidates(known, probe.depth_limit)
        subject = self._job.subject(self._engine)
        contenders = [EngineContender(subject, variant) for variant in variants]
        prompts = one_per_class(self._job.prompts)
        return variants, race(contenders, prompts, self.sampling, has_time, self._watch.status)


def _conclude(job: Job, choice: _Choice) -> int:
    path = Path(job.config.model.path)
    name = profile_name(path)
    gain = choice.best.against
    remark = f"{datetime.now(UTC):%Y-%m-%d}, {path.name}: {fmt.multiplier(gain.value)} against plain decoding"
    block = profile_block(name, profile_settings(job.config, choice.model, choice.variant), (remark,))
    write_profile(job.config_path, name, block)
    if job.arguments.json:
        write_json(job.stdout, _object(job, choice, name))
    else:
        _show(job, choice, name, block, job.stdout)
    return EXIT_OK


def profile_settings(config: Config, model: Mapping[str, object], variant: Variant) -> dict[str, dict[str, object]]:
    """The choice as settings; `model`: those of [model]."""
    settings: dict[str, dict[str, object]] = {"model": {"path": config.model.path, **model}}
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
        "threads": choice.model["threads"],
        "thread_rates": {str(count): rate for count, rate in choice.rates.items()},
        "reading_rates": {str(size): rate for size, rate in choice.reading_rates.items()},
        "contender": choice.best.contender,
        "settings": profile_settings(job.config, choice.model, choice.variant),
        "standings": [asdict(one) for one in choice.standings],
    }


def _show(job: Job, choice: _Choice, name: str, block: str, stdout: TextIO) -> None:
    with painting(stdout, most=0, in_pipes=WIDE_IN_PIPES) as console:
        console.print(cell(Path(job.config.model.path).name, "bold"))
        for table in _tables(choice):
            console.print()
            console.print(table)
    write_out(
        stdout,
        f"\n{safe_text(block)}\nWritten to {safe_line(str(job.config_path))}. Use it with: mtpchat --profile {name}\n",
    )


def _tables(choice: _Choice) -> Iterator[Table]:
    yield figures_table(("threads", "t/s"), _rates(choice.rates, choice.model.get("threads")), "Answering")
    if any(choice.reading_rates.values()):
        chosen = choice.model.get("prompt_chunk", choice.model.get("batch", next(iter(choice.reading_rates))))
        yield figures_table(("tokens at a time", "t/s"), _rates(choice.reading_rates, chosen), "Reading prompts")
    body = [
        (
            _marked(one.contender, choice.best.contender),
            number(one.rate, 1),
            ratio(one.against),
            str(one.against.prompts),
        )
        for one in choice.standings
    ]
    yield figures_table(("speculation", "t/s", "× plain", "prompts"), body, "Kinds and bounds of the depth")


def _rates(rates: Mapping[int, float | None], chosen: object) -> list[tuple[str, str]]:
    """Rows of counts that were measured."""
    return [(_marked(count, chosen), number(rate, 1)) for count, rate in rates.items()]


def _marked(name: object, chosen: object) -> str:
    """A name, with an arrow at what was chosen."""
    return f"{name} ←" if name == chosen else f"{name}"
