"""Conversations of llama-cli: files that it writes, and what terminals showed."""

from __future__ import annotations

import pytest

from mtpchat.errors import ExchangeError
from mtpchat.exchange.findings import Found
from mtpchat.exchange.intake import findings
from mtpchat.whole_chat import WholeChat, model_of, shown

AT = 1_700_000_000.0

FILE = """\
User:
Print a random word.

Assistant:
[Start thinking]

*   Input: none.
    User: wants one word.[End thinking]

river

User: Added text file: notes.txt
User:
And now
two of them.

Assistant:
> river
> otter

"""

TERMINAL = """\
$ llama-cli -m models/Tiny-Q4_K_M.gguf

Loading model... |\b-\b\\\b \b

▄▄ ▄▄
██ ██

build      : b9754-52b3df002
model      : models/Tiny-Q4_K_M.gguf
modalities : text

available commands:
  /exit or Ctrl+C     stop or exit
  /regen              regenerate the last response
  /clear              clear the chat history


> Why do rivers
meander?

\x1b[90m[Start thinking]

Physics.
[End thinking]

\x1b[0mBecause of this:

> **Note:** banks erode.

```
> not a prompt
```

[ Prompt: 31.2 t/s | Generation: 8.9 t/s ]

> /regen

They are lazy.

[ Prompt: 31.2 t/s | Generation: 8.9 t/s ]

> /clear
Chat history cleared.

> Again?

Yes.

[ Prompt: 31.2 t/s | Generation: 8.9 t/s ]

>\x20

Exiting...
"""

OLDER = """\
main: chat template is available, enabling conversation mode (disable it with -no-cnv)
== Running in interactive mode. ==
 - Press Ctrl+C to interject at any time.
 - Press Return to return control to the AI.
 - To return control without starting a new line, end your input with '/'.
 - If you want to submit another line, end your input with '\\'.

system
You are a helpful assistant


> hi\\
there
Hello! As they say:

> All is well
> that ends well.

What next?

> bye
Goodbye. [end of text]

> EOF by user

llama_perf_sampler_print:    sampling time =      17.31 ms /   124 runs
llama_perf_context_print:        load time =    2548.25 ms
"""


def chats(log: str) -> list[WholeChat]:
    found = list(findings(log.encode(), AT))
    return [one.chat for one in found if isinstance(one, Found)]


def branch(chat: WholeChat) -> list[tuple[str, str, str]]:
    return [(node.role, node.thinking, node.content) for node in shown(chat)]


def test_a_file_has_heads_on_lines_of_their_own() -> None:
    (chat,) = chats(FILE)
    assert branch(chat) == [
        ("user", "", "Print a random word."),
        ("assistant", "*   Input: none.\n    User: wants one word.", "river"),
        ("user", "", "And now\ntwo of them."),
        ("assistant", "", "> river\n> otter"),
    ]


def test_on_the_terminal_a_prompt_follows_the_speeds_and_quotations_are_none() -> None:
    first, second = chats(TERMINAL)
    answers = [node for node in first.messages if node.role == "assistant"]
    assert first.messages[0].content == "Why do rivers\nmeander?"
    assert answers[0].thinking == "Physics."
    assert answers[0].content == "Because of this:\n\n> **Note:** banks erode.\n\n```\n> not a prompt\n```"
    assert branch(second) == [("user", "", "Again?"), ("assistant", "", "Yes.")]
    assert model_of(first) == "Tiny-Q4_K_M.gguf"


def test_regen_is_another_version_of_the_answer() -> None:
    first = chats(TERMINAL)[0]
    answers = [node for node in first.messages if node.role == "assistant"]
    assert [node.parent for node in answers] == [first.messages[0].id] * 2
    assert shown(first)[-1].content == "They are lazy."


def test_older_versions_show_no_speeds() -> None:
    (chat,) = chats(OLDER)
    assert branch(chat) == [
        ("user", "", "hi\nthere"),
        ("assistant", "", "Hello! As they say:\n\n> All is well\n> that ends well.\n\nWhat next?"),
        ("user", "", "bye"),
        ("assistant", "", "Goodbye."),
    ]


def test_a_log_of_windows_is_read_in_its_encoding() -> None:
    (found,) = findings(TERMINAL.partition("> /regen")[0].replace("\n", "\r\n").encode("utf-16"), AT)
    assert isinstance(found, Found)
    assert found.chat.messages[0].content == "Why do rivers\nmeander?"


def test_heads_and_text_may_share_lines() -> None:
    (chat,) = chats("User: hello\nAssistant: Hi!\nHow are you?\nUser: fine\nAssistant: Good.\n")
    assert [content for _, _, content in branch(chat)] == ["hello", "Hi!\nHow are you?", "fine", "Good."]


@pytest.mark.parametrize("text", ["", "just some words", "# A letter\n\n> quoted\n", "\x00\x01", "PK\x03\x04zip"])
def test_other_files_are_refused_with_what_is_known(text: str) -> None:
    with pytest.raises(ExchangeError) as refused:
        chats(text)
    assert refused.value.hint
