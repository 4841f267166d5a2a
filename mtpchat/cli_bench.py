"""`mtpchat bench`: how fast is each way to speculate here, and against llama-server?"""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import msgspec
from rich.text import Text

from mtpchat import __version__
from mtpchat.bench import peer as server
from mtpchat.bench.bounds import Oracle, bounds_of, costs_of, look_ahead, reach
from mtpchat.bench.chart import ratios_chart
from mtpchat.bench.duels import COPIES, duels
from mtpchat.bench.measure import Contender, EngineContender, Trial, measure, trials_planned
from mtpchat.bench.picture import as_png, require_png
from mtpchat.bench.plan import BUDGET_S, ROUNDS, TOKENS, Extent, Free, announcement, fitted, pace, seconds
from mtpchat.bench.report import Report, as_csv, as_json, as_markdown, conclusion, notes
from mtpchat.bench.results import Standing, standings
from mtpchat.bench.subject import EngineSubject
from mtpchat.bench.variants import OFF, Variant
from mtpchat.bench.verify import samplings_for
from mtpchat.cli_measure import Job, load, opened_engine
from mtpchat.cli_tables import WIDE_IN_PIPES, cell, figures_table, painting
from mtpchat.cli_watch import Watch
from mtpchat.config import SamplingConfig
from mtpchat.engine.engine import ChatEngine
from mtpchat.errors import ConfigError
from mtpchat.events import ModelFacts
from mtpchat.headless_output import EXIT_INTERRUPTED, EXIT_OK, write_json
from mtpchat.paths import write_atomically
from mtpchat.ui import format as fmt
from mtpchat.ui.safe_text import safe_line

_BAR_WIDTH = 30


def bench(job: Job) -> int:
    """Measure and show. Ctrl+C ends it early and shows what there is."""
    _refuse_unwritable(job)
    trials: list[Trial] = []
    with ExitStack() as stack:
        engine = stack.enter_context(opened_engine(job))
        watch = stack.enter_context(Watch(job.stderr))
        facts = load(engine, job.plan(), watch)
        subject, variants = job.subject(engine), job.variants(engine)
        contenders: list[Contender] = [EngineContender(subject, variant) for variant in variants]
        setting = _setting(job, facts)
        if job.arguments.against:
            peers = _peers(job, facts, subject, stack, watch)
            setting.update({peer.label: f"{peer.build} {arguments}".strip() for peer, arguments in peers})
            contenders += [peer for peer, _ in peers]
        extent = _extent(job, subject, len(contenders), watch)
        setting.update(prompts=len(extent.prompts), rounds=extent.rounds, tokens=extent.tokens)
        interrupted = not _measure(job, extent, contenders, trials, watch)
        oracle = None if interrupted else _oracle(job, engine, extent, variants, trials=trials, watch=watch)
    if interrupted and not trials:
        return EXIT_INTERRUPTED
    labels = tuple(one.label for one in contenders if isinstance(one, server.Peer))
    held = standings(trials, OFF, labels), tuple(trials), OFF, labels, interrupted, duels(trials, OFF, labels)
    report = Report(setting, *held, oracle)
    _write_files(job, report)
    if job.arguments.json:
        write_json(job.stdout, as_json(report))
    else:
        show_bench(report, job.stdout)
    return EXIT_INTERRUPTED if interrupted else EXIT_OK


def _extent(job: Job, subject: EngineSubject, ways: int, watch: Watch) -> Extent:
    """How much is measured, which is told before it begins."""
    arguments, own = job.arguments, job.config.sampling.max_tokens
    named = (arguments.prompt is not None, arguments.prompts, arguments.from_chats, arguments.only)
    samplings = _samplings(job, own or TOKENS)
    wanted = Extent(
        ways, job.prompts, len(samplings), arguments.runs or ROUNDS, own or TOKENS, oracle=bool(arguments.oracle)
    )
    free = Free(rounds=arguments.runs is None, prompts=not any(named), tokens=not own)
    sizes = {prompt.name: len(subject.prompt_tokens(prompt)) for prompt in wanted.prompts}
    budget_s = arguments.budget or BUDGET_S
    at = pace(subject, wanted.prompts[0], samplings[0])
    extent = fitted(wanted, free, at, lambda prompt: sizes[prompt.name], budget_s)
    took_s = seconds(extent, at, lambda prompt: sizes[prompt.name])
    watch.note(announcement(extent, wanted, took_s, budget_s))
    return extent


def _measure(job: Job, extent: Extent, contenders: Sequence[Contender], trials: list[Trial], watch: Watch) -> bool:
    """Fill `trials`; False when the user stopped it."""
    samplings = _samplings(job, extent.tokens)
    watch.begin(trials_planned(len(contenders), len(extent.prompts), len(samplings), extent.rounds))
    try:
        for trial in measure(contenders, extent.prompts, samplings, extent.rounds, watch.step):
            trials.append(trial)  # one by one: what was measured before an interruption is kept
    except KeyboardInterrupt:
        return False
    return True


def _samplings(job: Job, tokens: int) -> tuple[SamplingConfig, ...]:
    return samplings_for(job.config.sampling, job.arguments.temps or (0.0,), tokens)


def _oracle(
    job: Job, engine: ChatEngine, extent: Extent, variants: Sequence[Variant], *, trials: Sequence[Trial], watch: Watch
) -> Oracle | None:
    """With --oracle: a pass over all prompts that asks the drafters everywhere. None when it was not asked for."""
    combine = job.config.speculative.combine
    most = reach(variants, copies=combine and COPIES in engine.probe().kinds)
    if not job.arguments.oracle or not most:
        return None
    subject, reports = job.subject(engine), []
    for variant in variants:
        subject.apart(variant.label)
        reports.append(subject.report())
    costs = costs_of(reports)
    if costs is None:
        return None
    samplings = _samplings(job, extent.tokens)
    watch.begin(len(extent.prompts) * len(samplings))
    subject.apart("")
    try:
        known = list(look_ahead(subject, extent.prompts, samplings, most, watch.step))
    except KeyboardInterrupt:
        watch.note("Stopped while looking ahead: there is no bound.")
        return None
    return Oracle(costs, bounds_of(trials, known, costs, OFF, combine=combine))


def _peers(
    job: Job, facts: ModelFacts, subject: EngineSubject, stack: ExitStack, watch: Watch
) -> list[tuple[server.Peer, str]]:
    """A llama-server for each --server-args, on the same files with the same threads; they end with `stack`."""
    from mtpchat.backend.llama.threads import physical_cores

    settings = msgspec.structs.replace(job.config.model, context=facts.context_size)
    threads = settings.threads or physical_cores()
    path = job.arguments.against.expanduser().absolute()
    several: list[str] = job.arguments.server_args or [""]
    peers = []
    for number, arguments in enumerate(several, 1):
        label = server.LABEL if len(several) == 1 else f"{server.LABEL} {number}"
        watch.status(f"starting {label}")
        extra = _split(arguments)

        def command(port: int, extra: Sequence[str] = extra) -> list[str]:
            return [*server.command_line(path, facts.path, settings, threads, port), *extra]

        peers.append((stack.enter_context(server.serving(command, subject.prompt_tokens, label)), arguments))
    return peers


def _split(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError as error:
        raise ConfigError(f"--server-args cannot be read: {error}", hint="Quotes must be closed.") from error


def _setting(job: Job, facts: ModelFacts) -> dict[str, object]:
    """What was measured, for whoever reads the figures later."""
    from mtpchat.backend.llama.threads import physical_cores

    config = job.config
    return {
        "mtpchat": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}, {physical_cores()} cores, {os.cpu_count()} threads",
        "model": facts.name,
        "file": Path(facts.path).name,
        "bytes": Path(facts.path).stat().st_size,
        "architecture": facts.architecture,
        "drafter": Path(facts.drafter).name if facts.drafter else None,
        "choice": facts.choice,
        "threads": config.model.threads or physical_cores(),
        "context": facts.context_size,
        "seed": config.sampling.seed if config.sampling.seed >= 0 else 42,
    }


def _refuse_unwritable(job: Job) -> None:
    """Better now than after ten minutes of measuring."""
    if job.arguments.png:
        require_png()
    for path in filter(None, (job.arguments.csv, job.arguments.md, job.arguments.svg, job.arguments.png)):
        folder = path.expanduser().absolute().parent
        if not os.path.isdir(folder) or not os.access(folder, os.W_OK) or os.path.isdir(path):
            raise ConfigError(
                f"{path} cannot be written", path=path, hint="Name a file in a folder that you may write."
            )


def _write_files(job: Job, report: Report) -> None:
    if job.arguments.csv:
        write_atomically(job.arguments.csv.expanduser(), as_csv(report))
    if job.arguments.md:
        write_atomically(job.arguments.md.expanduser(), as_markdown(report))
    if not report.standings or not (job.arguments.svg or job.arguments.png):
        return
    chart = _chart(report)
    if job.arguments.svg:
        write_atomically(job.arguments.svg.expanduser(), chart)
    if job.arguments.png:
        write_atomically(job.arguments.png.expanduser(), as_png(chart))


def _chart(report: Report) -> str:
    """The first temperature as SVG."""
    rows = _at(report.standings, report.standings[0].temperature)
    subtitle = f"times as fast as plain decoding, temperature {rows[0].temperature:g}"
    return ratios_chart(rows, str(report.setting["model"]), subtitle, OFF)


def _at(rows: Sequence[Standing], temperature: float) -> list[Standing]:
    return [one for one in rows if one.temperature == temperature]


def show_bench(report: Report, stdout: TextIO) -> None:
    """Tables and bars for people."""
    setting = report.setting
    head = [setting["model"], setting["choice"] or "no drafter", f"threads {setting['threads']}", setting["machine"]]
    with painting(stdout, most=0, in_pipes=WIDE_IN_PIPES) as console:
        console.print(cell(" · ".join(map(str, head)), "bold"))
        for temperature in dict.fromkeys(one.temperature for one in report.standings):
            rows = _at(report.standings, temperature)
            for number, (header, body) in enumerate(report.tables(temperature)):
                title = "" if number else f"Temperature {temperature:g}"
                console.print()
                console.print(figures_table([header[0] or "speculation", *header[1:]], body, title))
            console.print(_bars(rows, report.baseline))
        for sentence in conclusion(report):
            console.print(cell(sentence, "bold"))
        for note in notes(report):
            console.print(cell(note, "dim"))


def _bars(rows: Sequence[Standing], baseline: str) -> Text:
    """The ratios as bars; green where speculation gains, red where it loses."""
    top = max((one.against.value or 0.0 for one in rows), default=0.0) or 1.0
    label = max(len(one.contender) for one in rows)
    drawn = Text("\n")
    for one in rows:
        value = one.against.value
        if value is None:
            continue
        colour = "dim" if one.contender == baseline else "green" if value > 1.05 else "red" if value < 0.98 else ""
        drawn.append(f"{safe_line(one.contender):<{label}}  ")
        drawn.append(fmt.bar(value / top, _BAR_WIDTH), style=colour)
        drawn.append(f" {fmt.multiplier(value)}\n")
    return drawn
