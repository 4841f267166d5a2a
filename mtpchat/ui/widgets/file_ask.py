"""One line that asks for the name of a file."""

from __future__ import annotations

from textual.containers import Horizontal
from textual.content import Content

from mtpchat.ui.widgets.cluster_input import ClusterInput
from mtpchat.ui.widgets.messages import Plain


class FileAsk(Horizontal):
    """A question and what is typed; unseen until something is asked.

    Attributes:
        asked: what the answer is for; "" when nothing is asked.
        input: where it is typed.
    """

    def __init__(self, id: str) -> None:
        self.asked = ""
        self._question = Plain()
        self.input = ClusterInput(compact=True, select_on_focus=False)
        super().__init__(self._question, self.input, id=id)
        self.display = False

    def ask(self, what: str, question: str, value: str = "") -> None:
        """Ask, with an answer to begin with."""
        self.asked = what
        self._question.update(Content(question))
        self.input.value = value
        self.input.action_end()
        self.display = True
        self.input.focus()

    def say(self, text: str) -> None:
        """Put something else in the place of the question, while the answer is seen to."""
        self._question.update(Content(text))

    def stop(self) -> None:
        """Ask no longer."""
        self.asked = ""
        self.display = False
