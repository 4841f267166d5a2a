"""Settings: typed, strict, layered. Defaults < file < profile < flags.

A docstring under a setting is its manual: `mtpchat config init` writes it as a comment into the file.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
CountOrAll = Annotated[int, Meta(ge=-1, le=2**31 - 1)]
Depth = Annotated[int, Meta(ge=0, le=64)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Penalty = Annotated[float, Meta(ge=-10.0, le=10.0)]
CacheType = Literal["f16", "bf16", "q8_0", "q4_0"]
ThinkingLevel = Literal["auto", "on", "off", "low", "medium", "high"]
Overflow = Literal["stop", "drop", "summarise"]
KeepThinking = Literal["auto", "all", "none"]


class ModelConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The main model and how llama.cpp runs it."""

    path: str = ""
    """Main model file (GGUF). Same as -m."""
    context: Count = 8192
    """Context size in tokens; 0 takes the model's own, or as much of it as fits into memory. Same as -c."""
    gpu_layers: CountOrAll | Literal["auto"] = "auto"
    """Layers to offload to the GPU: "auto" offloads as many as fit there, -1 as many as there are. Same as -ngl."""
    prefer: Literal["ask", "speed", "context"] = "ask"
    """What to keep when not everything fits into memory: "speed" keeps the drafter and shortens the context, "context"
    leaves the drafter out first, "ask" asks in the app and ends with an explanation elsewhere. Same as --prefer."""
    threads: Annotated[int, Meta(ge=0, le=1024)] = 0
    """Decode threads; 0 picks the number of physical cores. Same as -t."""
    batch: Annotated[int, Meta(ge=1, le=65536)] = 512
    """Most tokens per decode call while the prompt is read."""
    prompt_chunk: Annotated[int, Meta(ge=0, le=65536)] = 0
    """Tokens per decode call while the prompt is read, at most batch; 0 takes 64 on the CPU, and on a GPU as many as
    can be read between two looks at whether to stop. mtpchat tune finds the fastest."""
    flash_attention: Literal["auto", "on", "off"] = "auto"
    """"auto", "on" or "off"."""
    cache_type_k: CacheType = "f16"
    """Type of the K cache: "f16", "bf16", "q8_0", "q4_0"; anything below f16 can move near ties."""
    cache_type_v: CacheType = "f16"
    """Type of the V cache."""
    mmap: bool = True
    """Map the file instead of copying it."""
    trial: Literal["auto", "off"] = "auto"
    """Try a model or drafter that was never used before in a process of its own first: some files make llama.cpp end
    the process it runs in. "auto" or "off"."""
    chat_template: str = ""
    """A Jinja file, or a named template ("chatml"), to use instead of the one in the GGUF."""
    thinking: ThinkingLevel = "auto"
    """Whether, or how much, the model thinks before it answers, where its template can be told: "on", "off", "low",
    "medium" or "high"; "auto" lets it think as it does by itself. true and false are read as on and off. Same as
    --think and --no-think; /think changes it for a chat."""
    chat_template_kwargs: str = ""
    """A JSON object of further values for the template, such as '{"reasoning_effort": "low"}'. Same as
    --chat-template-kwargs."""


class SpeculativeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Guessing ahead: who guesses, and how far."""

    kind: Literal["auto", "none", "ngram", "draft", "mtp", "eagle3"] = "auto"
    """"auto", "none", "ngram", "draft", "mtp" or "eagle3". Same as --spec."""
    drafter: str = ""
    """Draft model, MTP or EAGLE-3 file (GGUF). Naming the main file means its own heads. Same as -md."""
    find: Literal["folder", "all", "off"] = "folder"
    """Where to look for a drafter when none is named and the model has no heads: "folder" takes one that lies beside
    the model (also in MTP, draft, ...) or in its Hugging Face repository, if all checks pass; "all" takes the best one
    from all folders and caches, a small model of the same vocabulary included; "off" looks nowhere."""
    mode: Literal["auto", "on", "off"] = "auto"
    """"auto" drafts while it pays, "on" always drafts, "off" decodes plainly. /mtp switches it live."""
    draft_max: Depth = 4
    """Most tokens to draft per step. Same as --draft-max."""
    draft_min: Depth = 0
    """Fewest tokens worth verifying; a shorter draft is dropped. Same as --draft-min."""
    pinned: bool = False
    """Draft exactly draft_max tokens each step instead of adapting. /draft N does it live."""
    depth_cap: Depth = 4
    """Snapshots kept by hybrid models so that drafts can be rolled back; each costs memory.
    Raised to draft_max when that is larger."""
    policy: Literal["cost", "threshold", "fixed"] = "cost"
    """Who decides the depth: "cost" guesses while one more is worth its measured time, "threshold" goes deeper while
    more than accept_threshold of the guesses are right, "fixed" always drafts draft_max. Same as --spec-policy."""
    accept_threshold: Share = 0.6
    """Of the policy "threshold" (0..1). Same as --accept-threshold."""
    p_min: Share = 0.0
    """Stop drafting below this confidence of the drafter (0..1)."""
    combine: bool = True
    """Let copies of earlier text compete with the drafter, and go on where both agree (policy "cost")."""
    learn: bool = True
    """Keep what was measured about speed and acceptance for the next start, in the cache folder."""
    ngram_min: Annotated[int, Meta(ge=1, le=1024)] = 3
    """Shortest run of repeated tokens that the n-gram drafter acts on."""
    ngram_max: Depth = 16
    """Most tokens of an n-gram draft, which costs nothing to make, while draft_max is left as it is."""
    ngram_history: bool = False
    """Let the n-gram drafter continue texts of earlier chats, too: the newest 200,000 letters of those that are kept,
    read when a model is loaded."""
    draft_sampling: Literal["auto", "argmax", "keyed"] = "auto"
    """How heads and draft models guess: "argmax" takes their most likely token, "keyed" draws with the noise that the
    answer is drawn with, as "auto" does above temperature 0. The text is the same."""
    checkpoint_rollback: Literal["auto", "on", "off"] = "auto"
    """Draft for recurrent models without snapshots, too, by copying their state before each draft: "on", "off", or
    "auto" where the copy is measured to take less than a tenth of a decode."""
    off_rebuild: Literal["auto", "always", "never"] = "auto"
    """While speculation is off, make the context without what only speculation needs (snapshots, rows for heads), from
    the next answer on; the chat is then read again. "always", "never", or "auto" where plain decoding is measured to
    become more than 1 % faster."""
    strict: bool = False
    """Decide near ties as plain decoding does: a token that rounding could change is decoded once more by itself.
    Costs a little speed. Same as --strict."""
    after_crash: Literal["off", "keep"] = "off"
    """When the program died while a model and its drafter were in use, speculation is "off" to begin with when they are
    loaded next, which /mtp auto ends; or leave mode as it is: "keep"."""
    drafter_gpu_layers: CountOrAll = -1
    """Layers of the drafter to offload; -1 offloads all."""


class SamplingConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a token is chosen. Names and order of the chain are llama.cpp's:
    penalties, top-k, top-p, min-p, temperature."""

    temperature: Annotated[float, Meta(ge=0.0, le=100.0)] = 0.7
    """0 is greedy. Same as --temp."""
    top_k: Count = 40
    """0 keeps all. Same as --top-k."""
    top_p: Share = 0.95
    """1 keeps all. Same as --top-p."""
    min_p: Share = 0.05
    """0 keeps all. Same as --min-p."""
    repeat_penalty: Annotated[float, Meta(gt=0.0, le=10.0)] = 1.0
    """1 is none."""
    presence_penalty: Penalty = 0.0
    """0 is none."""
    frequency_penalty: Penalty = 0.0
    """0 is none."""
    penalty_last_n: CountOrAll = 64
    """How many of the last tokens the penalties look at; -1 looks at the whole context."""
    seed: Annotated[int, Meta(ge=-1, le=2**63 - 1)] = -1
    """-1 draws a new one each turn. Same as -s."""
    max_tokens: Count = 0
    """Most tokens of one answer; 0 goes on until the model stops or the context ends. Same as -n."""
    stop: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    """Texts that end the answer; they are not shown."""


class UiConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The screen."""

    theme: str = "harbour-night"
    """Name of a theme: one that ships, or a file in the themes folder beside this file."""
    system: str = ""
    """System message of a new chat. Same as -sys."""
    show_thinking: Literal["collapsed", "open", "hidden"] = "collapsed"
    """"collapsed", "open" or "hidden"."""
    reduced_motion: bool = False
    """No spinner, no sparkline."""
    call_after_s: Annotated[float, Meta(ge=0.0)] = 20.0
    """When an answer took at least so many seconds and another window has the focus, ring and notify; 0 never."""
    signs: Literal["auto", "unicode", "ascii"] = "auto"
    """Lines and marks of the screen: "ascii" for terminals that show no others, "auto" looks at TERM and the locale."""
    window_title: bool = True
    """The title of the terminal's window or tab is that of the chat."""
    vi: bool = False
    """Esc in an empty prompt goes to the chat, where j k d u g G scroll, [ ] J K mark messages and i leads back; other
    letters do nothing there. Without it, Tab goes to the chat, and a letter that is no key there is typed."""
    history_size: Count = 1000
    """How many prompts Up and Down remember across runs."""


class ChatsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Chats that are kept."""

    save: bool = True
    """Keep chats in a file on this machine, so that they can be read, searched and gone on with. Same as --save and
    --no-save. Answers to -p are kept with --save alone."""
    titles: Literal["words", "model"] = "words"
    """What a chat is called until you name it: its first "words", or what the "model" makes of it. The model is asked
    when the first answer has ended and nothing was done for some seconds; it must be able to forget what it read for
    that, which recurrent models and sliding windows cannot."""
    purge_days: Annotated[int, Meta(ge=0, le=36500)] = 30
    """So many days after its deletion a chat is really gone; until then mtpchat chats undelete brings it back. 0 keeps
    deleted chats for ever."""
    keep_state: Literal["auto", "always", "never"] = "auto"
    """Keep what the model remembers of a chat on disk, too, so that a reopened chat need not be read again: "always",
    "never", or "auto" where that saves time."""
    state_max_gb: Annotated[float, Meta(ge=0.0, le=10000.0)] = 4.0
    """Most disk space for that, in GB; never more than a tenth of what is free. What was used least recently goes
    first."""
    overflow: Overflow = "stop"
    """What to do when a chat does not fit into the context any more: "stop" says so and sends nothing, "drop" leaves
    the oldest turns out of what the model reads (never the system message and the first exchange), "summarise" offers a
    summary of the older part. /context changes it for a chat."""
    keep_thinking: KeepThinking = "auto"
    """Whether the model reads its earlier thoughts again: "auto" leaves those of earlier turns out, as most models want
    it, "all" sends them where the template takes them, "none" sends none."""
    attachments_max_mb: Annotated[int, Meta(ge=1, le=1000)] = 20
    """Largest file that a message may bring along (@file in the prompt, or -f), in MB. What the model can read of it is
    a question of the context."""


class PathsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where things are; empty means the platform's own place."""

    models: str | tuple[str, ...] = ""
    """Folder of models, or a list of folders: relative model paths and completions start there, and they are listed."""
    logs: str = ""
    """Folder for mtpchat.log and llama.log."""
    history: str = ""
    """File that keeps the prompts."""
    chats: str = ""
    """File that keeps the chats (SQLite)."""

    @property
    def model_folders(self) -> tuple[str, ...]:
        """The folders of models, as they were written."""
        folders = (self.models,) if isinstance(self.models, str) else self.models
        return tuple(folder for folder in folders if folder)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All settings of one run."""

    model: ModelConfig = ModelConfig()
    speculative: SpeculativeConfig = SpeculativeConfig()
    sampling: SamplingConfig = SamplingConfig()
    ui: UiConfig = UiConfig()
    chats: ChatsConfig = ChatsConfig()
    keys: dict[str, str] = {}
    """Key remapping by id, e.g. quit = "ctrl+x"."""
    paths: PathsConfig = PathsConfig()
