"""Flags of llama.cpp that there are not here: what stands in their place, or why nothing has to.

Flags that mean the same are not among them: they are further names in the table of flags (cli_flags.py), which has the
values as well that llama.cpp knows for them.
"""

from __future__ import annotations

from itertools import product

_DRAFTS = {"draft-simple": "draft", "draft-mtp": "mtp", "draft-eagle3": "eagle3"}
_COPIES = ("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache")

KINDS = {
    **_DRAFTS,
    **dict.fromkeys(_COPIES, "ngram"),
    **{f"{one},{copies}": kind for (one, kind), copies in product(_DRAFTS.items(), _COPIES)},
    **{f"{copies},{one}": kind for (one, kind), copies in product(_DRAFTS.items(), _COPIES)},
}
"""Values of --spec-type, and what they are here. Copies of earlier text compete with every drafter anyway."""

_LENGTH = "mtpchat config set speculative.ngram_max N: the longest copy."
_MATCH = "mtpchat config set speculative.ngram_min N: the shortest run that is copied on from."
_DEVICE = "All devices are used; CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or GGML_VK_VISIBLE_DEVICES chooses."
_TENSORS = "Single tensors are not placed; -ngl says how many layers go to the GPU, -ngld those of the drafter."
_CHAIN = "The chain is penalties, top-k, top-p, min-p, temperature: leave it out."
_CHATTING = "The chat opens by itself; -p answers once: leave it out."
_ALWAYS = "It is always so: leave it out."

_INSTEAD = {
    **dict.fromkeys(("-cd", "--ctx-size-draft"), "The drafter's context is as long as the model's: -c."),
    **dict.fromkeys(
        ("-td", "--threads-draft", "--spec-draft-threads"), "The drafter has the threads of the model: -t."
    ),
    **dict.fromkeys(
        ("-tb", "--threads-batch", "-tbd", "--threads-batch-draft", "--spec-draft-threads-batch"),
        "-t holds for prompts and for the drafter, too.",
    ),
    **dict.fromkeys(
        ("-ctkd", "--cache-type-k-draft", "--spec-draft-type-k"), "-ctk holds for the drafter's cache, too."
    ),
    **dict.fromkeys(
        ("-ctvd", "--cache-type-v-draft", "--spec-draft-type-v"), "-ctv holds for the drafter's cache, too."
    ),
    **dict.fromkeys(("-dev", "--device", "-mg", "--main-gpu", "-sm", "--split-mode", "-ts", "--tensor-split"), _DEVICE),
    **dict.fromkeys(("-devd", "--device-draft", "--spec-draft-device"), _DEVICE),
    **dict.fromkeys(("-ot", "--override-tensor", "-cmoe", "--cpu-moe", "-ncmoe", "--n-cpu-moe"), _TENSORS),
    **dict.fromkeys(("-otd", "--override-tensor-draft", "--spec-draft-override-tensor"), _TENSORS),
    **dict.fromkeys(("-cmoed", "--cpu-moe-draft", "--spec-draft-cpu-moe"), _TENSORS),
    **dict.fromkeys(("-ncmoed", "--n-cpu-moe-draft", "--spec-draft-ncmoe", "--spec-draft-n-cpu-moe"), _TENSORS),
    **dict.fromkeys(("--draft-p-split", "--spec-draft-p-split"), "Drafts do not branch: leave it out."),
    **dict.fromkeys(
        ("--spec-draft-backend-sampling", "--no-spec-draft-backend-sampling"),
        "Guesses are drawn with the answer's noise, on the processor: leave it out.",
    ),
    **dict.fromkeys(
        ("-lcs", "--lookup-cache-static", "-lcd", "--lookup-cache-dynamic"),
        "mtpchat config set speculative.ngram_history true: copies from earlier chats, too.",
    ),
    **dict.fromkeys(("--spec-ngram-mod-n-max", "--spec-ngram-simple-size-m", "--spec-ngram-map-k-size-m"), _LENGTH),
    **dict.fromkeys(("--spec-ngram-map-k4v-size-m", "--spec-ngram-size-m"), _LENGTH),
    **dict.fromkeys(("--spec-ngram-mod-n-match", "--spec-ngram-simple-size-n", "--spec-ngram-map-k-size-n"), _MATCH),
    **dict.fromkeys(("--spec-ngram-map-k4v-size-n", "--spec-ngram-size-n"), _MATCH),
    **dict.fromkeys(
        ("--spec-ngram-min-hits", "--spec-ngram-simple-min-hits", "--spec-ngram-map-k-min-hits"),
        "What a copy is worth is learnt from the text: leave it out.",
    ),
    "--spec-ngram-mod-n-min": "--draft-min N: fewest tokens worth verifying.",
    "--spec-default": "--spec ngram copies earlier text; --spec auto takes the best that there is.",
    "--mtp": "--spec mtp uses heads; mtpchat pull fetches a model with them.",
    "--eagle3": "-md HEAD.gguf uses an EAGLE-3 head; mtpchat pull offers one that lies beside the model.",
    "--num-speculative-tokens": "--draft-max N: most tokens to draft per step.",
    **dict.fromkeys(("-np", "--parallel"), "One answer is written at a time: leave it out."),
    **dict.fromkeys(("-cnv", "--conversation", "-i", "--interactive", "-if", "--interactive-first"), _CHATTING),
    **dict.fromkeys(
        ("-no-cnv", "--no-conversation", "-st", "--single-turn"), "-p TEXT answers once, without the chat."
    ),
    **dict.fromkeys(("-mli", "--multiline-input"), "Ctrl+J begins a new line in the prompt."),
    **dict.fromkeys(
        ("-r", "--reverse-prompt"), "mtpchat config set sampling.stop '[\"TEXT\"]': texts that end the answer."
    ),
    **dict.fromkeys(("-sysf", "--system-prompt-file"), 'As in -sys "$(cat FILE)".'),
    **dict.fromkeys(("--jinja", "--warmup", "--no-warmup", "--no-perf", "-e", "--escape"), _ALWAYS),
    **dict.fromkeys(("-co", "--color"), "--theme NAME: colours of the screen."),
    **dict.fromkeys(("-fit", "--fit"), "-ngl auto puts as many layers on the GPU as fit: leave it out."),
    **dict.fromkeys(("-v", "--verbose", "-lv", "--verbosity"), "--log-level debug: a longer log."),
    **dict.fromkeys(("--perf", "--show-timings"), "/stats in the chat, --json for one answer."),
    **dict.fromkeys(("--port", "--host", "--api-key"), "There is no server here: mtpchat -m MODEL begins the chat."),
    "--list-devices": "mtpchat doctor tells what this machine has.",
    **dict.fromkeys(
        ("--reasoning-effort", "--reasoning-budget"), "-rea LEVEL: whether, or how much, the model thinks."
    ),
    **dict.fromkeys(("--samplers", "--sampling-seq", "--sampler-seq", "--mirostat", "--dry-multiplier"), _CHAIN),
    **dict.fromkeys(("--xtc-probability", "--typical", "--typical-p", "--top-nsigma", "--top-n-sigma"), _CHAIN),
    **dict.fromkeys(("--dynatemp-range", "--dynatemp-exp", "--dry-base", "--xtc-threshold", "--logit-bias"), _CHAIN),
    **dict.fromkeys(("--lora", "--lora-scaled"), "Adapters are not loaded; take a model into which it was merged."),
    **dict.fromkeys(("-mm", "--mmproj", "--image", "--audio"), "Models read text alone here."),
    **dict.fromkeys(
        ("-hf", "-hfr", "-hfd", "-hfrd", "-hff", "--hf-repo", "--hf-file", "--hf-repo-draft", "--spec-draft-hf"),
        "mtpchat pull OWNER/NAME:QUANT fetches a model; -m takes its file or name.",
    ),
}


def instead_of(flag: str) -> str:
    """What to do in place of a flag that llama.cpp has; "" for one that is not known here."""
    return _INSTEAD.get(flag, "")
