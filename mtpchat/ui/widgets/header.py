"""The first line: which model, who guesses ahead for it, and at the right what the chat is called."""

from __future__ import annotations

from pathlib import PurePath

from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from mtpchat.events import ModelFacts
from mtpchat.gguf.file_names import model_name, quantisation_in
from mtpchat.ui.cells import padded
from mtpchat.ui.safe_text import safe_line

_KINDS = {"mtp": "MTP", "eagle3": "EAGLE-3", "draft": "draft model", "ngram": "n-gram", "none": "plain"}


def strategy_name(kind: str) -> str:
    """A strategy as people call it."""
    return _KINDS.get(kind, kind)


_WIDE = 72
_LEAST_NAME, _LEAST_TITLE, _GAP = 12, 16, 3
"""Cells that the names of the model and of the chat keep at least, and those between them."""


class Header(Widget):
    """`mtpchat · Qwen3.8-27B Q4_K_M · MTP        Why do rivers meander?`; on a narrow screen without the first word."""

    class Titled(Message):
        """The chat is called otherwise, "" for nothing yet."""

        def __init__(self, title: str) -> None:
            super().__init__()
            self.title = title

    def __init__(self) -> None:
        super().__init__()
        self._model = ""
        self._quant = ""
        self._kind = ""
        self._form = ""
        self._persona = ""
        self._thinking = ""
        self._title = ""

    def show_model(self, facts: ModelFacts) -> None:
        """A model is loaded."""
        self._model, self._quant = safe_line(facts.name), quantisation_in(PurePath(facts.path).stem)
        self._kind = strategy_name(facts.kind)
        self.refresh()

    def show_path(self, path: str) -> None:
        """A model is going to be loaded."""
        self._model, self._quant, self._kind = safe_line(model_name(PurePath(path).name, "", "")), "", ""
        self.refresh()

    def show_none(self) -> None:
        """No model is loaded."""
        self._model = self._quant = self._kind = ""
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

    def show_title(self, title: str) -> None:
        """What the chat is called, "" before its first message."""
        if safe_line(title) != self._title:
            self._title = safe_line(title)
            # Whoever it is that tells: a message goes no further up than to its sender.
            self.post_message(self.Titled(self._title).set_sender(self))
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
        """The line for the width there is: the model at the left, the chat at the right where there is room for it."""
        width = max(self.content_size.width, 0)
        left = self._left(width)
        room = width - left.cell_length - _GAP
        if not self._title or room < _LEAST_TITLE:
            return left.truncate(width, ellipsis=True, pad=True)
        title = Content.styled(self._title, "$mt-muted").truncate(room, ellipsis=True)
        return Content.assemble(padded(left, width - title.cell_length), title)

    def _left(self, width: int) -> Content:
        """The model, and what is done with it; of a long name the end is left out first."""
        model = self._model or "no model"
        quant = self._quant if self._quant.lower() not in model.lower() else ""
        begin = Content.styled("mtpchat · ", "$mt-muted") if width >= _WIDE else Content()
        rest = Content.styled(f" {quant}", "$mt-muted") if quant else Content()
        facts = ((self._kind, "$accent"), (safe_line(self._persona), "$foreground"))
        for word, style in (*facts, (self._thinking, "$mt-muted"), (self._form, "$mt-muted")):
            if word:
                rest = Content.assemble(rest, Content.styled(" · ", "$mt-muted"), Content.styled(word, style))
        name = Content.styled(model, "bold $foreground" if self._model else "$mt-muted")
        room = max(width - begin.cell_length - rest.cell_length, _LEAST_NAME)
        return Content.assemble(begin, name.truncate(room, ellipsis=True), rest)
