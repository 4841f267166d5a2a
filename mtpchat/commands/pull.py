"""/pull: fetch a model while the chat goes on."""

from __future__ import annotations

from mtpchat.commands.base import CommandContext, FetchModel, Reply
from mtpchat.commands.registry import command
from mtpchat.errors import CommandError
from mtpchat.hub.names import parse_wanted


@command("pull", "fetch a model from Hugging Face; Esc stops it", "/pull REPO[:QUANT]", while_busy=True)
def pull(_context: CommandContext, argument: str) -> Reply:
    if not argument:
        raise CommandError("Which repository?", hint="/pull owner/name-GGUF:Q4_K_M; without a colon, what there is")
    parse_wanted(argument)
    return Reply(effect=FetchModel(argument))
