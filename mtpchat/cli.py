"""From the command line to a running chat or a single answer: the one place where the parts meet.

Heavy things (numpy, Textual, llama.cpp) are imported only on the way that needs them, so that `--version`, `--help`
and a typing mistake answer at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mtpchat import __version__, paths
from mtpchat.cli_flags import parse_arguments
from mtpchat.cli_streams import Streams, standard_streams, tell_closed, tell_failure
from mtpchat.config import Config
from mtpchat.config_file import Flag, LoadedConfig, load
from mtpchat.config_schema import replace_value
from mtpchat.errors import CommandError, ConfigError, ModelNotFound, MtpChatError
from mtpchat.headless_output import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    abandon_stdout,
    report_error,
    settle_stderr,
)

if TYPE_CHECKING:
    from mtpchat.engine.service import EngineService
    from mtpchat.engine.session import Session
    from mtpchat.last_run import RunRecord
    from mtpchat.store.chat_store import ChatStore
    from mtpchat.store.states import StateFolder
    from mtpchat.structured.forms import AnswerForm


def main(argv: Sequence[str]) -> int:
    """Run one command line. Returns the exit code."""
    streams = standard_streams()
    if streams.closed:
        tell_closed(streams.stderr)
        return EXIT_FAILED
    try:
        code = _run_or_explain(argv, streams)
        streams.stdout.flush()
        return code
    except BrokenPipeError:
        abandon_stdout()
        return EXIT_OK
    except OSError as error:
        abandon_stdout()
        tell_failure(error, streams.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    finally:
        settle_stderr()


def _run_or_explain(argv: Sequence[str], streams: Streams) -> int:
    try:
        return _run(argv, streams)
    except MtpChatError as error:
        report_error(error, "usage", streams.stdout, streams.stderr, as_json="--json" in argv)
        return EXIT_USAGE


def _run(argv: Sequence[str], streams: Streams) -> int:
    arguments = parse_arguments(argv)
    match arguments.command:
        case "version":
            streams.stdout.write(f"mtpchat {__version__}\n")
        case "help":
            from mtpchat.cli_help import help_page

            streams.stdout.write(help_page(arguments.words))
        case "config init":
            from mtpchat.cli_config import init

            init(_config_path(arguments), streams.stdout, force=arguments.force)
        case "config set":
            from mtpchat.cli_config import change

            key, text = arguments.operands
            change(_config_path(arguments), key, text, streams.stdout)
        case "config path":
            streams.stdout.write(f"{_config_path(arguments)}\n")
        case "config show":
            from mtpchat.cli_config import show

            show(_load(arguments), streams.stdout)
        case "verify" | "bench" | "tune":
            return _measure(arguments, streams)
        case "plan" | "models" | "inspect" | "doctor" | "pull":
            return _about_files(arguments, streams)
        case command if command.startswith("chats "):
            from mtpchat.cli_chats import run

            return run(arguments, _load(arguments).config, streams.stdout)
        case "stats":
            from mtpchat.cli_stats import stats

            return stats(arguments, _load(arguments).config, streams.stdout)
        case _:
            return _talk(arguments, streams)
    return EXIT_OK


def _about_files(arguments: argparse.Namespace, streams: Streams) -> int:
    """What is on disk, what it is, what it takes, and fetching it."""
    match arguments.command:
        case "plan":
            from mtpchat.cli_plan import plan

            loaded = _load_aloud(arguments, streams.stderr)
            config = _with_models_found(loaded, arguments, may_be_missing=False)
            return plan(config, streams.stdout, as_json=arguments.json)
        case "models":
            from mtpchat.cli_models import models

            return models(_load_aloud(arguments, streams.stderr).config, arguments, streams.stdout, streams.stderr)
        case "inspect":
            from mtpchat.cli_inspect import inspect

            return inspect(
                arguments.operands, _load(arguments).config, streams.stdout, streams.stderr, as_json=arguments.json
            )
        case "doctor":
            from mtpchat.cli_doctor import doctor

            return doctor(arguments, _load(arguments), streams.stdout, streams.stderr)
        case _:
            from mtpchat.cli_pull import pull

            return pull(arguments, streams.stdin, streams.stdout, streams.stderr, _load(arguments).config)


def _measure(arguments: argparse.Namespace, streams: Streams) -> int:
    """Verify, bench or tune."""
    from mtpchat.cli_measure import Job, run

    loaded = _load(arguments)
    if loaded.banner:
        raise loaded.banner
    config = _with_models_found(loaded, arguments, may_be_missing=False)
    return run(Job(config, arguments, streams.stdout, streams.stderr, loaded.path))


def _talk(arguments: argparse.Namespace, streams: Streams) -> int:
    """Open the chat, or answer once."""
    once = arguments.prompt is not None or streams.stdin is None or not streams.stdin.isatty()
    if once and (arguments.go_on or arguments.resume is not None):
        raise ConfigError("--continue and --resume open the app, which needs a terminal", hint="Leave the pipe away.")
    if not once and arguments.json:
        raise ConfigError("--json answers once: it needs -p TEXT or piped input", hint='mtpchat --json -p "..."')
    if not once and not streams.stdout.isatty():
        raise ConfigError("The chat needs a terminal, and stdout is none", hint='To answer once: mtpchat -p "..."')
    loaded = _load(arguments)
    if once and loaded.banner:
        raise loaded.banner
    # Without a model the chat begins with the list of those that there are.
    config = _with_models_found(loaded, arguments, may_be_missing=not once)
    return _answer_once(config, arguments, streams) if once else _chat(config, arguments, loaded)


def _answer_once(config: Config, arguments: argparse.Namespace, streams: Streams) -> int:
    from mtpchat import headless
    from mtpchat.headless_output import JsonOutput, Notes, TextOutput

    plain = bool(os.environ.get("NO_COLOR"))
    notes = Notes(streams.stderr, plain=plain)
    prompt, files, most_mb = arguments.prompt, arguments.attached, config.chats.attachments_max_mb
    attachments = headless.read_files(prompt, files, most_mb, lambda warning: notes.error(warning, ""))
    notes.status("reading standard input" if streams.stdin and not streams.stdin.isatty() else "")
    text = headless.read_question(
        prompt, streams.stdin, lambda warning: notes.error(warning, ""), may_be_empty=bool(attachments)
    )
    notes.status("")
    output = (
        JsonOutput(streams.stdout, streams.stderr)
        if arguments.json
        else TextOutput(streams.stdout, streams.stderr, thinking=config.ui.show_thinking != "hidden", plain=plain)
    )
    grant = _wishes(arguments)
    service = _start_engine(config, arguments)
    from mtpchat.engine.session import Session

    code = EXIT_FAILED
    asked = any(flag.key == "chats.save" for flag in arguments.flags)  # the setting is about the app
    store = _open_store(config) if asked and config.chats.save else None
    try:
        session = Session(service, config, archive=store)
        grant(session)
        code = headless.answer(session, text, output, attachments)
    except OSError as error:  # a full disk behind stdout
        abandon_stdout()
        notes.error(f"the answer cannot be written: {error.strerror or error}", "")
    finally:
        _close_store(store, streams.stderr)
        _leave(service, code)
    return code


def _chat(config: Config, arguments: argparse.Namespace, loaded: LoadedConfig) -> int:
    from mtpchat.attachments.gathering import as_mentions
    from mtpchat.attachments.mentions import Place
    from mtpchat.cli_last_run import begin_run

    beginning = as_mentions(arguments.attached, Place.here())
    resume = "" if arguments.go_on else arguments.resume
    begun = begin_run(config, resumes=resume is not None)
    config = begun.config
    grant = _wishes(arguments)
    states = _states(config)
    service = _start_engine(config, arguments, begun.record, states if config.chats.save else None)
    begun.write_log()
    from mtpchat.composition import machine_now
    from mtpchat.engine.session import Session
    from mtpchat.ui.app import MtpChatApp

    code = EXIT_FAILED
    store = _open_store(config, states) if config.chats.save else None
    try:
        banner = f"{loaded.banner.sentence} Until the file is mended, defaults hold." if loaded.banner else ""
        session = Session(service, config, archive=store)
        grant(session)
        app = MtpChatApp(
            session,
            config_path=str(loaded.path),
            banner=banner,
            resume=resume,
            run_record=begun.record.path,
            first_words=begun.sentence,
            beginning=beginning,
            machine=machine_now,
        )
        app.run()
        code = app.return_code or 0
    finally:
        _close_store(store, sys.stderr)
        begun.record.close()
        _leave(service, code)
    return code


def _form(arguments: argparse.Namespace) -> AnswerForm:
    """What answers have to look like. Raises GrammarError, ConfigError."""
    from mtpchat.structured.forms import ANY_FORM, grammar_form, schema_form

    if arguments.json_schema and arguments.grammar:
        raise ConfigError("--json-schema and --grammar name two forms", hint="Leave one of them away.")
    if arguments.json_schema:
        return schema_form(arguments.json_schema)
    return grammar_form(arguments.grammar) if arguments.grammar else ANY_FORM


def _wishes(arguments: argparse.Namespace) -> Callable[[Session], None]:
    """What the command line asks of the chat beyond the settings; whatever is wrong with that is raised at once."""
    from mtpchat.cli_persona import chosen_persona

    form = _form(arguments)
    dress = chosen_persona(arguments.persona, _config_path(arguments).parent, arguments.flags)

    def grant(session: Session) -> None:
        session.terms.given = form
        dress(session)

    return grant


def _open_store(config: Config, states: StateFolder | None = None) -> ChatStore:
    """Keeps chats; touches no file before there is something to keep."""
    from mtpchat.store.chat_store import ChatStore

    days = config.chats.purge_days
    keep_s = days * 86_400.0 if days else None
    states = states or _states(config)
    file = paths.chats_file(config.paths.chats)
    return ChatStore(file, keep_deleted_s=keep_s, forget=states.forget, allow=states.allow)


def _states(config: Config) -> StateFolder:
    """The folder of what models remember of chats; it is touched when there is something to keep."""
    from mtpchat.store.states import StateFolder

    return StateFolder(paths.states_dir(), int(config.chats.state_max_gb * 1e9))


def _close_store(store: ChatStore | None, stderr: TextIO) -> None:
    """Wait until everything is saved, and say what could not be."""
    left = store.close() if store is not None else ""
    if left:
        from mtpchat.headless_output import Notes

        Notes(stderr).error(left, "")


def _start_engine(
    config: Config, arguments: argparse.Namespace, record: RunRecord | None = None, states: StateFolder | None = None
) -> EngineService:
    """The engine thread, which imports llama.cpp while this one goes on."""
    from mtpchat.composition import open_engine
    from mtpchat.engine.mailbox import REST_S
    from mtpchat.engine.service import EngineService
    from mtpchat.log_file import start_log

    log = start_log(paths.log_dir(config.paths.logs), arguments.log_level)
    # One object at the end needs no text as it comes; seldom looking leaves the cores to the model.
    rest_s = 0.5 if arguments.json else REST_S
    chats = paths.chats_file(config.paths.chats)
    opened = partial(open_engine, log.parent if log else None, arguments.log_level, chats, record, states)
    service = EngineService(opened, rest_s=rest_s)
    service.start()
    return service


def _leave(service: EngineService, code: int) -> None:
    """Close the engine. If it is stuck in a native call, end the process here: tearing down under it could crash."""
    if service.close():
        return
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            continue
    os._exit(code)


def _config_path(arguments: argparse.Namespace) -> Path:
    chosen: Path | None = arguments.config
    return chosen or paths.config_file()


def _load(arguments: argparse.Namespace) -> LoadedConfig:
    flags: list[Flag] = arguments.flags
    if arguments.demo:
        flags = [*_demo_flag(flags), *flags]
    path = _config_path(arguments)
    return load(path, profile=arguments.profile, flags=flags, required=arguments.config is not None)


def _load_aloud(arguments: argparse.Namespace, stderr: TextIO) -> LoadedConfig:
    """`_load`, and a word on stderr when the settings file is broken and defaults hold."""
    loaded = _load(arguments)
    if loaded.banner:
        from mtpchat.headless_output import Notes

        Notes(stderr).error(loaded.banner.message, loaded.banner.hint)
    return loaded


def _demo_flag(flags: Sequence[Flag]) -> list[Flag]:
    from mtpchat.demo import demo_model

    if any(flag.key == "model.path" for flag in flags):
        raise ConfigError("--demo and -m name two models", hint="Leave one of them away.")
    return [Flag("--demo", "model.path", str(demo_model()))]


def _with_models_found(loaded: LoadedConfig, arguments: argparse.Namespace, *, may_be_missing: bool) -> Config:
    """The config with absolute model paths. A file named by a flag must be there; one in the settings is the engine's.

    Raises ModelNotFound, also when no model is named at all.
    """
    config = loaded.config
    if not config.model.path and not may_be_missing:
        from mtpchat.hub.starters import first_steps

        raise ModelNotFound("No model is chosen", hint=first_steps())
    flagged = {flag.key for flag in arguments.flags}
    for key, text in (("model.path", config.model.path), ("speculative.drafter", config.speculative.drafter)):
        if text:
            drafters = key == "speculative.drafter"
            found = _model_file(text, config, must_exist=key in flagged, drafters=drafters)
            config = replace_value(config, key, str(found))
    return config


def _model_file(text: str, config: Config, *, must_exist: bool, drafters: bool) -> Path:
    path = paths.model_path(text, *config.paths.model_folders)
    if os.path.isfile(path):
        return path.absolute()
    from mtpchat.commands.files import find_model

    try:
        return find_model(text, config, drafters=drafters)
    except (ModelNotFound, CommandError):
        if must_exist:
            raise
        return path.absolute()
