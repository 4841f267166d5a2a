"""What can be put on the clipboard: /copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mtpchat.commands.base import CommandContext, Completion, CopyText, Reply
from mtpchat.commands.code_blocks import CodeBlock, code_blocks
from mtpchat.commands.export import Exported, as_markdown
from mtpchat.commands.registry import command, unknown
from mtpchat.errors import CommandError
from mtpchat.messages import Message

if TYPE_CHECKING:
    from mtpchat.engine.session import Session


def _complete_copy(context: CommandContext, argument: str) -> Sequence[Completion]:
    messages = context.session.messages
    rows = [Completion("code", "the last code block"), Completion("chat", "everything, as Markdown")]
    if argument.casefold().startswith("code"):
        blocks = blocks_of_last_answer(messages)
        rows += [Completion(f"code {at}", _about(block)) for at, block in enumerate(blocks, 1)]
    prompts = [one.content for one in messages if one.role == "user"]
    return rows + [Completion(str(at), " ".join(prompts[at - 1][:200].split())) for at in range(len(prompts), 0, -1)]


@command(
    "copy",
    "copy the last answer or another, code, or the whole chat",
    "/copy [N | code [N] | chat]",
    complete=_complete_copy,
    while_busy=True,
)
def copy(context: CommandContext, argument: str) -> Reply:
    session = context.session
    what, _, which = argument.casefold().partition(" ")
    if what == "chat" and not which:
        return _reply("the chat", chat_text(session))
    if what == "code":
        return _copy_code(session.messages, which.strip())
    if what.isdecimal() and not which:
        return _reply(f"the answer to prompt {int(what)}", answer_to(session.messages, int(what)))
    if argument:
        raise unknown("thing to copy", argument, ("code", "chat"))
    answer = _last_answer(session.messages)
    if answer is None:
        raise CommandError("There is no answer to copy yet")
    return _reply("the last answer", answer.content)


def chat_text(session: Session) -> str:
    """The whole chat as Markdown. Raises CommandError when nothing was said."""
    if not session.messages:
        raise CommandError("There is nothing to copy yet")
    name = session.facts.name if session.facts is not None else ""
    return as_markdown(Exported(name, session.system, session.messages))


def answer_to(messages: Sequence[Message], number: int) -> str:
    """The answer to the prompt with this number, from 1. Raises CommandError when there is none."""
    prompts = [at for at, one in enumerate(messages) if one.role == "user"]
    if not 1 <= number <= len(prompts):
        count = len(prompts)
        hint = f"The chat has {count} prompt{'' if count == 1 else 's'}" if count else ""
        raise CommandError(f"There is no prompt {number}", hint=hint)
    at = prompts[number - 1] + 1
    if at >= len(messages) or messages[at].role != "assistant":
        raise CommandError(f"Prompt {number} has no answer")
    return messages[at].content


def blocks_of_last_answer(messages: Sequence[Message]) -> list[CodeBlock]:
    """Code blocks of the latest answer that has any."""
    answers = (one.content for one in reversed(messages) if one.role == "assistant")
    return next((blocks for blocks in map(code_blocks, answers) if blocks), [])


def amount(text: str) -> str:
    """`12 lines`, or `34 characters` of a single one: how much was copied, in words."""
    lines = text.rstrip("\n").count("\n") + 1
    if lines > 1:
        return f"{lines:,} lines"
    return f"{len(text):,} character{'' if len(text) == 1 else 's'}"


def _copy_code(messages: Sequence[Message], which: str) -> Reply:
    blocks = blocks_of_last_answer(messages)
    if not blocks:
        raise CommandError("No answer has a code block", hint="/copy takes a whole answer.")
    if which and (not which.isdecimal() or not 1 <= int(which) <= len(blocks)):
        hint = f"1 to {len(blocks)}" if len(blocks) > 1 else "there is only one"
        raise CommandError(f"There is no code block {which}", hint=hint)
    number = int(which) if which else len(blocks)
    return _reply(f"code block {number} of {len(blocks)}" if len(blocks) > 1 else "the code", blocks[number - 1].code)


def _reply(what: str, text: str) -> Reply:
    return Reply(f"Copied {what}: {amount(text)}", effect=CopyText(text))


def _last_answer(messages: Sequence[Message]) -> Message | None:
    return next((one for one in reversed(messages) if one.role == "assistant"), None)


def _about(block: CodeBlock) -> str:
    first = " ".join(block.code.strip().partition("\n")[0].split())
    return f"{block.language or 'text'} · {amount(block.code)} · {first[:120]}"
