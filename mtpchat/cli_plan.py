"""`mtpchat plan -m FILE`: what a model, its drafter and their contexts would take, and whether that is there."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mtpchat.cli_tables import painting
from mtpchat.config import Config, ModelConfig
from mtpchat.gguf.choice import choose_drafter
from mtpchat.gguf.cursor import human_size
from mtpchat.gguf.facts import facts_of, read_model, require_chat
from mtpchat.gguf.memory_fit import Settled, assess, choices, settle, step_down, summary
from mtpchat.gguf.memory_plan import Files, Machine, MemoryPlan, read_files
from mtpchat.headless_output import EXIT_FAILED, EXIT_OK, write_json
from mtpchat.shelf.search import DrafterSearch
from mtpchat.ui.safe_text import safe_line

_PLACES = (("mapped", "mapped file"), ("ram", "main memory"), ("vram", "GPU memory"))


def plan(config: Config, stdout: TextIO, *, as_json: bool, machine: Machine | None = None) -> int:
    """Show the plan of what the settings name. Returns 0 when it fits, 1 when it does not.

    Args:
        machine: what is free; None looks.

    Raises:
        ModelError: the file cannot be read, or is no model to chat with.
    """
    header = read_model(Path(config.model.path))
    require_chat(facts_of(header))
    speculative = config.speculative
    choice = choose_drafter(header, speculative.kind, speculative.drafter, DrafterSearch(config).companions)
    question = _Question(read_files(header, choice), config, machine or _look(), choice.sentence)
    if as_json:
        write_json(stdout, question.as_object())
    else:
        question.show(stdout)
    return EXIT_OK if question.settled is not None else EXIT_FAILED


def _look() -> Machine:
    from mtpchat.backend.llama.devices import this_machine
    from mtpchat.backend.llama.logs import LlamaLog

    LlamaLog(None).install()  # GPUs announce themselves when they are asked for the first time
    return this_machine()


class _Question:
    """A plan, and what is said about it."""

    def __init__(self, files: Files, config: Config, machine: Machine, drafter: str) -> None:
        self.files, self.config, self.machine, self.drafter = files, config, machine, drafter
        settled = settle(files, config, machine)
        prefer = config.model.prefer
        self.settled: Settled | None = settled
        if settled is None and prefer != "ask":
            self.settled = step_down(files, config, machine, prefer)
        self.choices = choices(files, config, machine) if self.settled is None else ()
        self.found = self.settled.assessment if self.settled is not None else assess(files, config, machine)

    @property
    def memory(self) -> MemoryPlan:
        """What would be taken."""
        return self.found.plan

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is worth knowing."""
        wanted, trained = self.config.model.context, self.files.main.facts.context or 0
        cut = trained and wanted > trained and wanted != ModelConfig().context
        said = (f"It was trained for {trained:,} tokens; a context of {wanted:,} is cut to that.",) if cut else ()
        return (*said, *(self.settled.sentences if self.settled is not None else ()))

    def as_object(self) -> dict[str, object]:
        """What --json prints; sizes are bytes."""
        memory, machine = self.memory, self.machine
        return {
            "schema": 1,
            "model": str(self.files.main.facts.path),
            "drafter": self.drafter,
            "state": self.found.state,
            "verdict": summary(self.found),
            "context": memory.context,
            "gpu_layers": memory.gpu_layers,
            "layers": memory.layers,
            "lines": [
                {"part": line.part, "what": line.what, "mapped": line.mapped, "ram": line.ram, "vram": line.vram}
                for line in memory.lines
            ],
            "total": {"mapped": memory.mapped, "ram": memory.ram, "vram": memory.vram},
            "free": {"ram": machine.ram, "vram": machine.vram if machine.devices else None},
            "devices": [
                {"name": each.name, "free": each.free, "total": each.total, "shared": each.shared}
                for each in machine.devices
            ],
            "notes": list(self.sentences),
            "choices": [
                {"key": each.key, "label": each.label, "detail": each.detail, "settings": dict(each.settings)}
                for each in self.choices
            ],
        }

    def show(self, stdout: TextIO) -> None:
        """Paint it."""
        with painting(stdout) as console:
            self._paint(console)

    def _paint(self, console: Console) -> None:
        style = {"fits": "bold green", "slow": "bold yellow", "no": "bold red"}[self.found.state]
        console.print(Text(safe_line(self.files.main.facts.path.name), style="bold"))
        console.print(Text(safe_line(self.drafter)))
        words = summary(self.found)
        console.print(Text(safe_line(words[:1].upper() + words[1:]), style=style))
        for sentence in self.sentences:
            console.print(Text(f"→ {safe_line(sentence)}"))
        console.print()
        console.print(self._table())
        for number, each in enumerate(self.choices):
            if not number:
                console.print(Text("\nWhat fits:", style="bold"))
            console.print(Text(f"  {safe_line(each.label)}: {safe_line(each.detail)}"))

    def _table(self) -> Table:
        shown = [(name, title) for name, title in _PLACES if name != "vram" or self.machine.devices]
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column()
        table.add_column()
        for _ in shown:
            table.add_column(justify="right")
        table.add_row("", "", *(Text(title, style="dim") for _, title in shown))
        part = ""
        for line in self.memory.lines:
            sizes = (getattr(line, name) for name, _ in shown)
            table.add_row(Text(line.part if line.part != part else "", style="dim"), line.what, *map(_size, sizes))
            part = line.part
        sums = (getattr(self.memory, name) for name, _ in shown)
        table.add_row("", "total", *(Text(_size(size), style="bold") for size in sums))
        free = {"mapped": None, "ram": self.machine.ram, "vram": self.machine.vram}
        table.add_row("", "free", *(_size(free[name] or 0) for name, _ in shown))
        return table


def _size(size: int) -> str:
    return human_size(size) if size else "–"
