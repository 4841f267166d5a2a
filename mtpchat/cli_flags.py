"""The command line as a table: which flag sets which setting. Names are llama.cpp's wherever it has one.

Values stay text here; the settings' own types judge them, so a flag and a settings file accept the same things.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from mtpchat.cli_chats_flags import CHATS_COMMANDS, add_chats_options, chats_command_help, take_chats_operands
from mtpchat.cli_file_flags import FILE_COMMANDS, add_file_options, file_command_help, take_operands
from mtpchat.cli_llama_flags import KINDS, instead_of
from mtpchat.cli_measure_flags import MEASURES, add_measure_options, command_help, refuse_misplaced
from mtpchat.cli_models_flags import MODELS, add_models_options, models_command_help, refuse_misplaced_models
from mtpchat.cli_pull_flags import PULL, add_pull_options, pull_help, refuse_misplaced_pull
from mtpchat.cli_stats_flags import STATS, add_stats_options, refuse_misplaced_stats, stats_help
from mtpchat.cli_words import meant_by
from mtpchat.config_file import Flag
from mtpchat.config_schema import nearest, printable, shown
from mtpchat.errors import ConfigError

_CONFIG = ("config init", "config path", "config set", "config show")
COMMANDS = (*_CONFIG, "help", "plan", *MEASURES, *FILE_COMMANDS, MODELS, *CHATS_COMMANDS, STATS, PULL)
LOG_LEVELS = ("debug", "info", "warn", "error")

DESCRIPTION = f"""\
Chat with a local GGUF model; speculative decoding that is fast and honest.

commands:
{models_command_help()}\
{pull_help()}\
{file_command_help()}\
  plan [MODEL]   what a model and its drafter would take of the memory, and
                 whether that is there
{command_help()}\
{chats_command_help()}\
{stats_help()}\
  config init    write the settings file, commented (--force replaces it and
                 keeps the one before as .bak)
  config path    where the settings file is
  config set KEY VALUE
                 change one setting in it; comments and order stay
  config show    the settings in force: defaults, file, profile and flags
  help           this page, and what can be said with a slash in the chat
  help COMMAND   one command and its flags; the same is mtpchat COMMAND --help

Without -p, in a terminal, the chat opens. With -p or piped input it answers
once: the answer streams to stdout, everything else goes to stderr. Piped input
is put below the text of -p, and files go along by -f FILE or as @FILE in that
text (text, source code, PDF). Thinking is shown dimmed on stderr when that is a
terminal, and is part of --json; it is never mixed into stdout."""

EXIT_CODES = """\
exit codes:
  0    done: answered, listed, fetched, in order, or the chat was left
  1    generating or fetching failed, or stdout cannot be written; verify:
       a token was changed; plan: it does not fit; doctor: something is to mend
  2    bad usage, settings or model; inspect: a file cannot be read;
       pull: nothing was chosen, or there is no such thing
  130  interrupted with Ctrl+C; what was said or fetched so far is kept
"""

EPILOG = f"""\
{EXIT_CODES}
examples:
  mtpchat --demo
  mtpchat -m model.gguf -md model.gguf --draft-max 6
  git diff | mtpchat -m model.gguf -p "Write a commit message for this:"
  mtpchat -m model.gguf -p "What does @src/main.py do?" -f notes.pdf
"""


@dataclass(frozen=True, slots=True)
class FlagSpec:
    """One row: `names` set the setting `key`.

    Attributes:
        metavar: what follows the flag; "" for a flag that stands alone and sets `constant`.
        words: spellings that llama.cpp knows for a value, and what they are here.
    """

    names: tuple[str, ...]
    key: str
    metavar: str
    help: str
    constant: str = ""
    words: dict[str, str] = field(default_factory=dict)


_ALL = {"all": "-1", "auto": "-1"}

GROUPS: dict[str, tuple[FlagSpec, ...]] = {
    "model": (
        FlagSpec(("-m", "--model"), "model.path", "MODEL", "main model (GGUF): a file, a folder or a name"),
        FlagSpec(("-c", "--ctx-size"), "model.context", "N", "context in tokens; 0: the model's own"),
        FlagSpec(
            ("-ngl", "--gpu-layers", "--n-gpu-layers"),
            "model.gpu_layers",
            "N",
            "layers on the GPU: auto, all or how many",
            words={"all": "-1"},
        ),
        FlagSpec(
            ("--prefer",), "model.prefer", "ask|speed|context", "what to keep when not everything fits into memory"
        ),
        FlagSpec(("-t", "--threads"), "model.threads", "N", "decode threads; 0 picks", words={"-1": "0"}),
        FlagSpec(("-b", "--batch-size"), "model.batch", "N", "most tokens per decode of the prompt"),
        FlagSpec(("-fa", "--flash-attn"), "model.flash_attention", "on|off|auto", "flash attention"),
        FlagSpec(("-ctk", "--cache-type-k"), "model.cache_type_k", "TYPE", "type of the K cache"),
        FlagSpec(("-ctv", "--cache-type-v"), "model.cache_type_v", "TYPE", "type of the V cache"),
        FlagSpec(("--no-mmap",), "model.mmap", "", "copy the file instead of mapping it", constant="false"),
        FlagSpec(
            ("--chat-template", "--chat-template-file"), "model.chat_template", "T", "named template or Jinja file"
        ),
        FlagSpec(("-rea", "--reasoning"), "model.thinking", "on|off|LEVEL", "whether, or how much, the model thinks"),
        FlagSpec(("--think",), "model.thinking", "", "let the model think before it answers", constant="on"),
        FlagSpec(("--no-think",), "model.thinking", "", "let it answer at once", constant="off"),
        FlagSpec(("--chat-template-kwargs",), "model.chat_template_kwargs", "JSON", "further values for the template"),
    ),
    "speculation": (
        FlagSpec(
            ("-md", "--model-draft", "--spec-draft-model"),
            "speculative.drafter",
            "FILE",
            "draft model or heads; -m's file: its own heads",
        ),
        FlagSpec(
            ("--spec", "--spec-type"),
            "speculative.kind",
            "KIND",
            "none, ngram, draft, mtp, eagle3 or auto",
            words=KINDS,
        ),
        FlagSpec(
            ("--draft-max", "--draft", "--draft-n", "--spec-draft-n-max"),
            "speculative.draft_max",
            "N",
            "most tokens to draft per step",
        ),
        FlagSpec(
            ("--draft-min", "--draft-n-min", "--spec-draft-n-min"),
            "speculative.draft_min",
            "N",
            "fewest tokens worth verifying",
        ),
        FlagSpec(("--spec-policy",), "speculative.policy", "NAME", "who decides the depth: cost, threshold or fixed"),
        FlagSpec(
            ("--accept-threshold",), "speculative.accept_threshold", "P", "acceptance that the policy threshold wants"
        ),
        FlagSpec(
            ("--draft-p-min", "--spec-draft-p-min"), "speculative.p_min", "P", "stop drafting below this confidence"
        ),
        FlagSpec(("--strict",), "speculative.strict", "", "decide near ties as plain decoding does", constant="true"),
        FlagSpec(
            ("-ngld", "--gpu-layers-draft", "--n-gpu-layers-draft", "--spec-draft-ngl"),
            "speculative.drafter_gpu_layers",
            "N",
            "layers of the drafter on the GPU",
            words=_ALL,
        ),
    ),
    "sampling": (
        FlagSpec(("--temp", "--temperature"), "sampling.temperature", "T", "0 is greedy"),
        FlagSpec(("--top-k",), "sampling.top_k", "N", "0 keeps all"),
        FlagSpec(("--top-p",), "sampling.top_p", "P", "1 keeps all"),
        FlagSpec(("--min-p",), "sampling.min_p", "P", "0 keeps all"),
        FlagSpec(("--repeat-penalty",), "sampling.repeat_penalty", "X", "1 is none"),
        FlagSpec(("--repeat-last-n",), "sampling.penalty_last_n", "N", "tokens that penalties look at; -1 all"),
        FlagSpec(("--presence-penalty",), "sampling.presence_penalty", "X", "0 is none"),
        FlagSpec(("--frequency-penalty",), "sampling.frequency_penalty", "X", "0 is none"),
        FlagSpec(("-s", "--seed"), "sampling.seed", "SEED", "-1 draws a new one each turn"),
        FlagSpec(
            ("-n", "--predict", "--n-predict"),
            "sampling.max_tokens",
            "N",
            "most tokens of an answer",
            words={"-1": "0"},
        ),
    ),
    "chat": (
        FlagSpec(("-sys", "--system-prompt"), "ui.system", "TEXT", "system message"),
        FlagSpec(("--theme",), "ui.theme", "NAME", "colours of the screen"),
        FlagSpec(("--save",), "chats.save", "", "keep the chat, also that of one answer", constant="true"),
        FlagSpec(("--no-save",), "chats.save", "", "keep nothing of this chat", constant="false"),
    ),
}


class Parser(argparse.ArgumentParser):
    """Raises instead of printing a page of usage."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(_in_our_words(message), hint="All flags: mtpchat --help")


def _in_our_words(message: str) -> str:
    """What argparse has to say, as the other complaints are put."""
    named = re.fullmatch(r"argument ([^:]+): (.*)", message, re.DOTALL)
    if not named:
        return message
    flag, what = named.groups()
    if what == "expected one argument":
        return f"{flag} needs a value"
    choice = re.fullmatch(r"invalid choice: '(.*)' \(choose from (.*)\)", what, re.DOTALL)
    if choice:
        known = choice[2].replace("'", "")
        return f"{flag} must be one of {known}, not {shown(choice[1])}"
    ignored = re.fullmatch(r"ignored explicit argument '(.*)'", what, re.DOTALL)
    if ignored:
        return f"{flag} takes no value: {shown(ignored[1])} is too much"
    return f"{flag}: {printable(what)}"


class _Collect(argparse.Action):
    """Adds a Flag to `namespace.flags`."""

    def __init__(self, *args: Any, spec: FlagSpec, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.spec = spec

    def __call__(self, _parser: object, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        text = self.spec.constant if self.spec.metavar == "" else str(values)
        flag = Flag(option or self.spec.names[0], self.spec.key, self.spec.words.get(text, text))
        namespace.flags = [*namespace.flags, flag]


def build_parser() -> Parser:
    """The whole command line. Flags that set a setting end up in `.flags`, everything without a dash in `.words`."""
    parser = Parser(
        prog="mtpchat",
        description=DESCRIPTION,
        usage="mtpchat [-m MODEL] [options]\n       mtpchat COMMAND [options]",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.set_defaults(flags=[])
    for title, rows in GROUPS.items():
        group = parser.add_argument_group(title)
        for row in rows:
            arity = {"metavar": row.metavar} if row.metavar else {"nargs": 0}
            group.add_argument(*row.names, action=_Collect, spec=row, dest="flags", help=row.help, **arity)
    _add_run_options(parser)
    add_measure_options(parser)
    add_file_options(parser)
    add_models_options(parser)
    add_pull_options(parser)
    add_chats_options(parser)
    add_stats_options(parser)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    return parser


def _add_run_options(parser: Parser) -> None:
    group = parser.add_argument_group("run")
    prompt_help = "answer this once, with what is piped in, and leave"
    group.add_argument("-p", "--prompt", metavar="TEXT", nargs="?", const="", help=prompt_help)
    file_help = "a file, or the files of a folder, to go along; may be repeated"
    group.add_argument("-f", "--file", metavar="FILE", action="append", default=[], dest="attached", help=file_help)
    group.add_argument("--json", action="store_true", help="one JSON object on stdout instead of streaming text")
    form_help = "answers are JSON that is valid by this schema"
    group.add_argument("--json-schema", metavar="FILE|JSON", default="", help=form_help)
    group.add_argument("--grammar", metavar="FILE|GBNF", default="", help="answers follow this grammar")
    others = {"json_schema": ("-j", "-jf", "--json-schema-file"), "grammar": ("--grammar-file",)}
    for dest, names in others.items():  # as llama.cpp has them
        group.add_argument(*names, dest=dest, default="", help=argparse.SUPPRESS)
    group.add_argument("--persona", metavar="NAME", default="", help="let a persona answer: tutor, coder, ...")
    group.add_argument("--demo", action="store_true", help="use the small demo model")
    group.add_argument("--profile", metavar="NAME", default="", help="a [profile.NAME] of the settings file")
    group.add_argument("--config", metavar="FILE", type=Path, help="settings file to use instead of the usual one")
    group.add_argument("--continue", dest="go_on", action="store_true", help="go on with the last chat")
    group.add_argument("--resume", metavar="ID", help="go on with this chat")
    levels = "of the log: debug, info, warn or error"
    group.add_argument("--log-level", metavar="LEVEL", choices=LOG_LEVELS, default="info", help=levels)
    group.add_argument("--force", action="store_true", help=argparse.SUPPRESS)
    group.add_argument("-h", "--help", action="store_true", help="this page; after a command, the page of that one")
    group.add_argument("--version", action="store_true", help="which version this is")


_ALONE = {("chats",): ["chats", "list"], ("config",): ["config", "show"]}
"""What a word means that says too little."""


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; `.command` is one of COMMANDS or "".

    Raises ConfigError, naming the nearest flag or command for an unknown one.
    """
    parser = build_parser()
    _refuse_run_together(argv, parser._option_string_actions)
    arguments, rest = parser.parse_known_args(list(argv))
    # What follows a flag in the middle of operands, as in "doctor --sha256 FILE", argparse leaves over.
    arguments.words += [word for word in rest if not word.startswith("-")]
    arguments.version |= arguments.words == ["version"]
    if arguments.version or arguments.help or arguments.words[:1] == ["help"]:
        arguments.command = "version" if arguments.version else "help"
        return arguments
    rest = [word for word in rest if word.startswith("-")]
    if rest:
        wrong = rest[0].partition("=")[0]
        raise ConfigError(f"Unknown flag {shown(wrong)}", hint=_advice(_nearest_flag(wrong, parser)))
    arguments.words = _ALONE.get(tuple(arguments.words), arguments.words)
    take_operands(arguments)
    take_chats_operands(arguments)
    _take_setting(arguments)
    _take_files(arguments)
    words: list[str] = arguments.words
    arguments.command = " ".join(words)
    if words and arguments.command not in COMMANDS:
        raise ConfigError(f"Unknown command {shown(arguments.command)}", hint=_command_hint(words))
    refuse_misplaced(arguments)
    refuse_misplaced_models(arguments)
    refuse_misplaced_pull(arguments)
    refuse_misplaced_stats(arguments)
    return arguments


_RUN_TOGETHER = re.compile(r"-[A-Za-z][^\W\d][\w-]*")


def _refuse_run_together(argv: Sequence[str], known: Collection[str]) -> None:
    """`-mx 0` must not be read as `-m x`: only a number may follow a letter without a space.

    Raises ConfigError, also for flags of llama.cpp that there are not here, with what to do instead.
    """
    for word in argv:
        flag = word.partition("=")[0]
        if word == "--":
            return
        if flag in known:
            continue
        short = flag[:2]
        hint = instead_of(flag)
        if not hint and _RUN_TOGETHER.fullmatch(flag) and short in known:
            hint = f"If {short} is meant, a space follows: {short} {printable(word[2:])}"
            named = flag.rstrip("0123456789")
            if named in known:
                hint = f"A space follows: {named} {flag[len(named) :]}"
        if hint:
            raise ConfigError(f"Unknown flag {shown(flag)}", hint=hint)


def _nearest_flag(wrong: str, parser: Parser) -> str:
    """The flag that is most like a wrong one, or "". Dashes are left out: they would make all of them alike."""
    known = {flag.lstrip("-"): flag for flag in parser._option_string_actions}
    return known.get(nearest(wrong.lstrip("-"), known), "")


def _take_setting(arguments: argparse.Namespace) -> None:
    """Leave `config set` in `.words` and put KEY and VALUE into `.operands`. Raises ConfigError if they are not two."""
    words: list[str] = arguments.words
    if words[:2] != ["config", "set"]:
        return
    arguments.operands, arguments.words = words[2:], words[:2]
    if len(arguments.operands) != 2:
        raise ConfigError("config set needs a setting and a value", hint="As in: mtpchat config set ui.theme paper")


def _take_files(arguments: argparse.Namespace) -> None:
    """`-f src/*.py`, which the shell has made many words of."""
    if arguments.attached and arguments.words and all(map(os.path.exists, arguments.words)):
        arguments.attached, arguments.words = [*arguments.attached, *arguments.words], []


def _command_hint(words: list[str]) -> str:
    if words[-1].endswith(".gguf"):
        return f"Did you mean {' '.join(printable(word) for word in (*words[:-1], '-m', words[-1]))}?"
    meant = meant_by(words)
    if meant:
        return meant
    first = {command.partition(" ")[0] for command in COMMANDS}
    said = printable(" ".join(words)).replace('"', "'")
    near = nearest(" ".join(words), COMMANDS) or nearest(words[0], sorted(first))
    is_said = words[0] not in first and len(said.split()) > (2 if near else 1)
    return f'To ask that: mtpchat -p "{said}"' if is_said else _advice(near)


def _advice(best: str) -> str:
    return f"Did you mean {best}?" if best else "All flags and commands: mtpchat --help"
