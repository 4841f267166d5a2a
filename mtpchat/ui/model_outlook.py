"""What loading a model would mean: which drafter it would get, and whether it fits. Worked out from headers alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from mtpchat.config import Config
from mtpchat.errors import MtpChatError
from mtpchat.gguf.choice import DrafterChoice, choose_drafter
from mtpchat.gguf.facts import facts_of, read_model, require_chat
from mtpchat.gguf.header import Header
from mtpchat.gguf.memory_fit import assess, settle, verdict
from mtpchat.gguf.memory_plan import Machine, read_files
from mtpchat.machine_memory import available_ram
from mtpchat.shelf.search import DrafterSearch
from mtpchat.ui.model_picker_view import Outlook


@dataclass(slots=True)
class Outlooks:
    """Works out outlooks, one at a time.

    Attributes:
        config: settings that the model would be loaded with; its drafter is left out, as a switch of models does.
        gpu: the build runs layers on a GPU, whose memory is not known here.
        free: bytes of main memory that are free, or None.
    """

    config: Config
    gpu: bool = False
    free: Callable[[], int | None] = available_ram
    search: DrafterSearch = field(init=False)

    def __post_init__(self) -> None:
        wanted = self.config.speculative
        kind = "auto" if wanted.kind == "draft" else wanted.kind
        speculative = msgspec.structs.replace(wanted, drafter="", kind=kind)
        self.config = msgspec.structs.replace(self.config, speculative=speculative)
        self.search = DrafterSearch(self.config)

    def of(self, path: Path) -> Outlook:
        """The outlook of a model; blocks while headers are read."""
        try:
            header = read_model(path)
            require_chat(facts_of(header))
            choice = choose_drafter(header, self.config.speculative.kind, "", self.search.companions)
            memory, fits = self._memory(header, choice)
        except MtpChatError as error:
            return Outlook(trouble=error.sentence)
        return Outlook(choice.sentence, choice.suggestion, choice.warnings, memory, fits)

    def _memory(self, header: Header, choice: DrafterChoice) -> tuple[str, bool | None]:
        files, machine = read_files(header, choice), Machine(self.free())
        settled = settle(files, self.config, machine)
        found = settled.assessment if settled is not None else assess(files, self.config, machine)
        said = verdict(files, self.config, machine)
        if self.gpu and found.state != "fits":
            return f"{said} (GPUs not counted)", None
        known = machine.ram is not None and found.state != "slow"
        return said, found.state == "fits" if known else None
