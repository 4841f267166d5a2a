"""The first line: which model, and who guesses ahead for it."""

from __future__ import annotations

from pathlib import PurePath

from textual.content import Content
from textual.widget import Widget

from mtpchat.events import ModelFacts
from mtpchat.gguf.file_names import quantisation_in
from mtpchat.ui.safe_text import safe_line

_KINDS = {"mtp": "MTP", "eagle3": "EAGLE-3", "draft": "draft model", "ngram": "n-gram", "none": "plain"}


def strategy_name(kind: str) -> str:
    """A strategy as people call it."""
    return _KINDS.get(kind, kind)


class Header(Widget):
    """`mtpchat · Qwen3.8-27B Q4_K_M · MTP`; on a narrow screen without the first word."""

    def __init__(self) -> None:
        super().__init__()
        self._model = ""
        self._quant = ""
        self._kind = ""
        self._form = ""
        self._persona = ""
        self._thinking = ""

    def show_model(self, facts: ModelFacts) -> None:
        """A model is loaded."""
        self._model, self._quant = safe_line(facts.name), quantisation_in(PurePath(facts.path).stem)
        self._kind = strategy_name(facts.kind)
        self.refresh()

    def show_path(self, path: str) -> None:
        """A model is going to be loaded."""
        self._model, self._quant, self._kind = safe_line(PurePath(path).stem), "", ""
        self.refresh()

    def show_kind(self, kind: str) -> None:
        """Another strategy guesses now."""
        if self._kind and strategy_name(kind) != self._kind:
            self._kind = strategy_name(kind)
            self.refresh()

    def show_persona(self, name: str) -> None:
        """Who answers, or "" for the model as it is."""
        if name != self._persona:
            self._persona = name
            self.refresh()

    def show_form(self, name: str) -> None:
        """What answers have to look like, "" for anything."""
        if safe_line(name) != self._form:
            self._form = safe_line(name)
            self.refresh()

    def show_thinking(self, words: str) -> None:
        """How much is thought, "" for as much as the model does by itself."""
        if words != self._thinking:
            self._thinking = words
            self.refresh()

    def render(self) -> Content:
        """The line for the width there is."""
        width = self.content_size.width
        model = self._model or "no model"
        quant = self._quant if self._quant.lower() not in model.lower() else ""
        full = Content.styled(model, "bold $foreground" if self._model else "$mt-muted")
        if quant:
            full = Content.assemble(full, Content.styled(f" {quant}", "$mt-muted"))
        if self._kind:
            full = Content.assemble(full, Content.styled(" · ", "$mt-muted"), Content.styled(self._kind, "$accent"))
        if self._persona:
            name = Content.styled(safe_line(self._persona), "$foreground")
            full = Content.assemble(full, Content.styled(" · ", "$mt-muted"), name)
        if self._thinking:
            full = Content.assemble(full, Content.styled(f" · {self._thinking}", "$mt-muted"))
        if self._form:
            full = Content.assemble(full, Content.styled(f" · {self._form}", "$mt-muted"))
        if width >= 72:
            full = Content.assemble(Content.styled("mtpchat · ", "$mt-muted"), full)
        return full.truncate(max(width, 0), ellipsis=True, pad=True)
