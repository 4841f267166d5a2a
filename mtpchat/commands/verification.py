"""/verify: how to prove that speculation changes no token of this very model.

The proof itself wants the whole machine and many answers, so it runs outside the chat; the command line is made from
the settings in force.
"""

from __future__ import annotations

import shlex

from mtpchat.commands.base import CommandContext, Reply, ShowPage
from mtpchat.commands.page import fenced
from mtpchat.commands.registry import command
from mtpchat.config import Config
from mtpchat.errors import CommandError


@command("verify", "how to prove that speculation changes nothing", while_busy=True)
def verify(context: CommandContext, _argument: str) -> Reply:
    config = context.session.config
    if not config.model.path:
        raise CommandError("No model is loaded", hint="/model PATH loads one")
    return Reply(effect=ShowPage("Verify", verification_page(verify_command(config))))


def verify_command(config: Config) -> str:
    """The command line that verifies what this chat runs."""
    speculative, model = config.speculative, config.model
    words = ["mtpchat", "verify", "-m", model.path]
    if speculative.drafter:
        words += ["-md", speculative.drafter]
    if speculative.kind != "auto":
        words += ["--spec", speculative.kind]
    words += ["--draft-max", str(speculative.draft_max), "--temps", f"0,{config.sampling.temperature or 0.8:g}"]
    return shlex.join(words)


def verification_page(line: str) -> str:
    """What the proof does, and the line to type."""
    return "\n\n".join(
        (
            "In another terminal, with this chat closed or idle:",
            fenced(line, "sh"),
            "It answers the same prompts with speculation off and on, at each depth, greedily and sampled, and "
            "compares token by token. At the first token that differs it weighs the gap between the two candidates "
            "against what the width of a decode alone does there: a near tie, or a real mismatch. Then it draws from "
            "the model's own logits and tests the sampler against the exact distribution.",
            "The prompt of this chat can be given with -p.",
        )
    )
