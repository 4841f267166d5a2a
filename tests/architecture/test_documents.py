"""The documents say what is true: flags, settings, links and commands that they name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mtpchat import config_file
from mtpchat.cli_flags import COMMANDS, build_parser
from mtpchat.commands.registry import find
from mtpchat.demo import PACKAGE

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "themes").glob("*.md")])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_files_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text("utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_sections_lead_to_headings_that_exist(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([\w-]+)\)", " ".join(document.read_text("utf-8").split()))
    sections = [(document.parent / name if name else document, anchor) for name, anchor in links]
    assert [f"{path.name}#{anchor}" for path, anchor in sections if anchor not in anchors_of(path)] == []


def anchors_of(document: Path) -> set[str]:
    """Headings as GitHub links to them."""
    titles = re.findall(r"^#+ (.*)$", document.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().casefold()).replace(" ", "-") for title in titles}


def test_the_readme_names_every_command() -> None:
    words = {word for quoted in re.findall(r"`([^`\n]+)`", README) for word in quoted.split()}
    assert [command for command in COMMANDS if not set(command.split()) <= words | {"help"}] == []


def test_example_of_the_settings_file_loads_with_its_profile(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
    assert example is not None
    path = tmp_path / "config.toml"
    path.write_text(example[1], "utf-8")
    loaded = config_file.load(path, profile="code")
    assert loaded.banner is None
    assert loaded.config.sampling.temperature == 0.2
    assert loaded.config.model.context == 16384


@pytest.mark.parametrize(
    "document", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.name
)
def test_every_flag_and_subcommand_in_the_documents_exists(document: Path) -> None:
    known, text = set(build_parser()._option_string_actions), document.read_text("utf-8")
    commands = re.findall(r"^(?:.*\| )?(?:\$ )?mtpchat .*|`mtpchat [^`]*`", text, re.MULTILINE)
    table = re.findall(r"^\| (`-.*?) \| ", text, re.MULTILINE)
    named = {flag for text in [*commands, *table] for flag in re.findall(r"(?<![\w-])--?[a-z][\w-]*", text)}
    assert len(named) > 15 or document.name != "README.md"
    assert named <= known, named - known
    for words in re.findall(r"mtpchat ((?:config|chats) \w+)", text):
        assert words in COMMANDS


def test_every_slash_command_in_the_documents_exists() -> None:
    for document in DOCUMENTS:
        for name in re.findall(r"`/([a-z]+!?)[ `]", document.read_text("utf-8")):
            assert find(name) is not None, f"{document.name}: /{name}"


def test_every_module_has_its_line_in_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = {Path(word).stem for word in re.findall(r"`([\w/.]+)`", text)}
    families = re.findall(r"`(?:mtpchat/)?(\w+)\*\.py`", text)
    modules = sorted((ROOT / "mtpchat").rglob("*.py"))
    assert len(modules) > 300
    missing = [path.as_posix() for path in modules if path.stem not in named | {"__init__", "__main__"}]
    alone = [name for name in missing if not any(Path(name).stem.startswith(family) for family in families)]
    assert [Path(name).relative_to(ROOT).as_posix() for name in alone] == []


def test_scripts_install_the_demo_package_that_the_program_looks_for() -> None:
    pinned = re.search(r"^demo = \[\"(.*)\"\]", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert pinned is not None
    assert pinned[1].startswith(f"{PACKAGE}==")
    assert f"DEMO_PACKAGE={pinned[1]}\n" in (ROOT / "scripts" / "_venv.sh").read_text("utf-8")
