"""Settings as text: the commented default file, and a config written out so that reading it gives it back."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

import msgspec
import tomli_w

from mtpchat import config as source
from mtpchat.config import Config

_HEAD = """\
# Settings of mtpchat. Every line that begins with "#name =" shows a default: remove the # to change it.
# Flags beat a profile, a profile beats this file, this file beats the defaults.
"""
_TAIL = """\
# Profiles are sets of settings picked by name, e.g. with: mtpchat --profile precise
#[profile.precise.sampling]
#temperature = 0.0
"""
_EXAMPLES = {"keys": '#quit = "ctrl+x"\n'}


def render_default() -> str:
    """The default settings file: every setting with its meaning and default, all of it commented out."""
    manual = _manual()
    parts = [_HEAD]
    for section in msgspec.structs.fields(Config):
        defaults: Any = section.default if section.default is not msgspec.NODEFAULT else {}
        about = manual["Config"].get(section.name) or _summary(section.type)
        lines = [_comment(about), f"[{section.name}]\n", _EXAMPLES.get(section.name, "")]
        if not isinstance(defaults, dict):
            docs = manual[section.type.__name__]
            lines += [_comment(docs[name]) + _assignment(name, value) for name, value in _values(defaults).items()]
        parts.append("".join(lines))
    return "\n".join([*parts, _TAIL])


def render(config: Config) -> str:
    """All settings as TOML, without comments. `parse` of it gives an equal config."""
    return tomli_w.dumps(msgspec.to_builtins(config))


def setting_manual() -> dict[str, str]:
    """Dotted key of every setting -> the sentence under it in the source."""
    manual = _manual()
    return {
        f"{section.name}.{name}": text
        for section in msgspec.structs.fields(Config)
        for name, text in manual.get(getattr(section.type, "__name__", ""), {}).items()
    }


def _manual() -> dict[str, dict[str, str]]:
    """Struct name -> field name -> its docstring, read from the source so that it cannot drift."""
    tree = ast.parse(inspect.getsource(source))
    return {node.name: _field_docs(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _field_docs(struct: ast.ClassDef) -> dict[str, str]:
    docs: dict[str, str] = {}
    for field, after in zip(struct.body, struct.body[1:], strict=False):
        match field, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[name] = inspect.cleandoc(text)
            case _:
                continue
    return docs


def _summary(struct: type) -> str:
    return inspect.getdoc(struct) or ""


def _values(struct: msgspec.Struct) -> dict[str, object]:
    values: dict[str, object] = msgspec.to_builtins(struct)
    return values


def _comment(text: str) -> str:
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, 100))


def _assignment(name: str, value: object) -> str:
    return f"#{tomli_w.dumps({name: value})}"
