"""Chats that are kept: /chats and /title."""

from __future__ import annotations

from mtpchat.commands.base import CommandContext, ListChats, OpenChat, Reply
from mtpchat.commands.registry import command
from mtpchat.errors import CommandError

_LONGEST_TITLE = 200


@command("chats", "search, open, name, pin and delete the chats that are kept", "/chats [N | ID]", while_busy=True)
def chats(context: CommandContext, argument: str) -> Reply:
    if not context.session.archive.keeps:
        raise CommandError("Chats are not kept now", hint="start without --no-save, and set save under [chats].")
    return Reply(effect=OpenChat(argument) if argument else ListChats())


@command("title", "show this chat's title, or give it another", "/title [TEXT]", while_busy=True)
def title(context: CommandContext, argument: str) -> Reply:
    session = context.session
    if not argument:
        return Reply(f"Title: {session.title}" if session.title else "The chat has no title yet")
    wanted = " ".join(argument.split())[:_LONGEST_TITLE]
    session.rename(wanted)
    return Reply(f"Title: {wanted}")
