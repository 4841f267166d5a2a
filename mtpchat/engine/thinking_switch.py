"""What a chat template lets one say about thinking: whether, and how much.

There is no standard. Templates read one of half a dozen names, some read words in a message, most read nothing. So each
way is tried when a model is loaded: the template writes a short conversation with it and without, and only what changes
the text is offered. Nothing is decoded for that.

Ways in use, by the families that were looked at: enable_thinking (Qwen3, GLM, Gemma 4, SmolLM3, Nemotron 3, Hunyuan),
thinking (DeepSeek V3.1, Granite, Kimi K3), reasoning (Command), thinking_mode (MiniMax M3), reasoning_effort (gpt-oss,
Solar, Hy3), thinking_budget (Seed-OSS), and /think or /no_think in the system message (Nemotron Nano v2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mtpchat.config import ThinkingLevel
from mtpchat.errors import TemplateError

Options = Mapping[str, object]
Render = Callable[[Options, str], str]
"""Writes a short conversation: (values for the template, system message or "") -> text. Raises TemplateError."""

_NONSENSE = "mtpchat-probe"
"""A value that no template knows. What is treated like it is not known either."""
_SYSTEM = "Be of help."
_YES_NO: Mapping[ThinkingLevel, object] = {"on": True, "off": False}
_EFFORTS: Mapping[ThinkingLevel, object] = {"low": "low", "medium": "medium", "high": "high"}
_WAYS: tuple[tuple[str, Mapping[ThinkingLevel, object]], ...] = (
    ("enable_thinking", _YES_NO),
    ("thinking", _YES_NO),
    ("reasoning", _YES_NO),
    ("thinking_mode", {"on": "enabled", "off": "disabled"}),
    ("reasoning_effort", {"off": "none", **_EFFORTS}),
    ("reasoning_effort", {"off": "no_think", **_EFFORTS}),
    ("thinking_budget", {"off": 0, "low": 512, "medium": 2048, "high": 8192}),
)
_WORDS: Mapping[ThinkingLevel, str] = {"on": "/think", "off": "/no_think"}
_KEEP_ALL: Options = {
    "clear_thinking": False,
    "preserve_thinking": True,
    "keep_past_thinking": True,
    "truncate_history_thinking": False,
}
"""What templates read that leave out earlier thoughts unless they are told not to."""
LEVELS: tuple[ThinkingLevel, ...] = ("on", "off", "low", "medium", "high")


@dataclass(frozen=True, slots=True)
class ThinkingSwitch:
    """What changes the prompt, by level.

    Attributes:
        options: values for the template.
        words: what is put below the system message.
    """

    options: Mapping[ThinkingLevel, Options]
    words: Mapping[ThinkingLevel, str]

    @property
    def levels(self) -> tuple[ThinkingLevel, ...]:
        """Levels that make a difference; () where thinking cannot be switched."""
        return tuple(level for level in LEVELS if level in self.options or level in self.words)

    def values(self, level: ThinkingLevel) -> Options:
        """Values for the template; "auto" gives none."""
        return self.options.get(level, {})

    def word(self, level: ThinkingLevel) -> str:
        """What the system message has to end with, or ""."""
        return self.words.get(level, "")


def probe(render: Render) -> ThinkingSwitch:
    """Try all ways on a template."""
    plain = _attempt(render, {})
    found: dict[ThinkingLevel, dict[str, object]] = {}
    for name, values in _WAYS:
        for level in _working(render, plain, name, values):
            found.setdefault(level, {}).setdefault(name, values[level])
    for level in ("low", "medium", "high"):  # how much is only read where it thinks at all
        if level in found:
            found[level] = {**found.get("on", {}), **found[level]}
    words = {} if found else _words(render)
    return ThinkingSwitch(found, words)


def keeping(*, everything: bool) -> Options:
    """Values for templates that leave out earlier thoughts by themselves unless told otherwise."""
    return _KEEP_ALL if everything else {}


def _working(
    render: Render, plain: str | None, name: str, values: Mapping[ThinkingLevel, object]
) -> list[ThinkingLevel]:
    """Levels of one way that the template knows; none of them unless one changes something."""
    texts = {level: _attempt(render, {name: value}) for level, value in values.items()}
    unknown = _attempt(render, {name: _NONSENSE})
    if unknown is not None and _NONSENSE in unknown:  # any word is written out; those that models know are these
        texts.pop("off", None)
    known = {
        level: text
        for level, text in texts.items()
        if text is not None and (not isinstance(values[level], str) or text != unknown)
    }
    if all(text == plain for text in known.values()):
        return []
    return list(known)


def _words(render: Render) -> dict[ThinkingLevel, str]:
    """Words in the system message that the template acts on, and takes out of it."""
    plain = _attempt(render, {}, _SYSTEM)
    texts = {level: _attempt(render, {}, f"{_SYSTEM}\n{word}") for level, word in _WORDS.items()}
    acted_on = {
        level: _WORDS[level]
        for level, text in texts.items()
        if text is not None and f"{_SYSTEM}\n{_WORDS[level]}" not in text
    }
    return acted_on if any(texts[level] != plain for level in acted_on) else {}


def _attempt(render: Render, options: Options, system: str = "") -> str | None:
    try:
        return render(options, system)
    except TemplateError:
        return None
