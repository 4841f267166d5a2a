"""Chats that are kept: /chats and /title."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from mtpchat.chats import ChatLine
from mtpchat.commands.base import CommandContext, ListChats, OpenChat, Reply
from mtpchat.commands.page import code, plain, table
from mtpchat.commands.registry import command
from mtpchat.errors import CommandError

_LONGEST_TITLE = 200


@command("chats", "list the chats that are kept, or go on with one of them", "/chats [N | ID]", while_busy=True)
def chats(context: CommandContext, argument: str) -> Reply:
    if not context.session.archive.keeps:
        raise CommandError("Chats are not kept now", hint="start without --no-save, and set save under [chats]")
    return Reply(effect=OpenChat(argument) if argument else ListChats())


@command("title", "show this chat's title, or give it another", "/title [TEXT]", while_busy=True)
def title(context: CommandContext, argument: str) -> Reply:
    session = context.session
    if not argument:
        return Reply(f"Title: {session.title}" if session.title else "The chat has no title yet")
    wanted = " ".join(argument.split())[:_LONGEST_TITLE]
    session.rename(wanted)
    return Reply(f"Title: {wanted}")


def chats_page(lines: Sequence[ChatLine]) -> str:
    """The list as Markdown; /chats N opens one."""
    if not lines:
        return "No chat has been saved yet."
    rows = [
        (
            f"{line.number}{' *' if line.pinned else ''}",
            plain(line.title) or "(no title)",
            datetime.fromtimestamp(line.updated).strftime("%Y-%m-%d %H:%M"),
            str(line.messages),
            code(line.id),
        )
        for line in lines
    ]
    page = table(("", "Chat", "Last used", "Messages", "ID"), rows)
    return f"{page}\n\n`/chats N` goes on with one; `mtpchat chats search WORDS` finds words in all of them."
