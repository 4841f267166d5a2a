"""What the pinned llama.cpp can do with an architecture, as far as its API does not tell.

Nothing in the API says which architectures can run their prediction heads: asking for a context that cannot be built
aborts the process. So this is a list of what was read in its sources (src/models/*.cpp, src/llama-arch.cpp).
"""

from __future__ import annotations

RUNS_HEADS = frozenset(
    {
        "bailingmoe3",
        "cohere2moe",
        "deepseek2",
        "deepseek32",
        "deepseek4",
        "glm-dsa",
        "glm4moe",
        "hy_v3",
        "mimo2",
        "nemotron_h_moe",
        "qwen35",
        "qwen35moe",
        "qwen3next",
        "step35",
    }
)
"""Architectures with a graph for prediction heads inside the model's own layout."""

CHAINS_HEADS = frozenset({"hy_v3", "mimo2", "step35"})
"""Those that run several heads, one per drafted token; the others abort unless there is exactly one."""

NEEDS_DENSE_FUSED_HEADS = frozenset({"mimo2"})
"""Those whose heads must have a fused attn_qkv and a dense feed-forward block."""

REFUSES_MISSING_HEADS = frozenset({"nemotron_h_moe", "qwen35", "qwen35moe", "qwen3next"})
"""Those that do not load when heads are announced and their tensors are left out."""

KEEPS_HEAD_ROWS = frozenset(
    {
        "bailingmoe3",
        "cohere2moe",
        "deepseek2",
        "deepseek32",
        "glm-dsa",
        "glm4moe",
        "hy_v3",
        "qwen35",
        "qwen35moe",
    }
)
"""Those whose heads put out the hidden rows of all tokens of a decode; the others those of the tokens that are asked
for. Asked for one row, llama.cpp copies the first of them, whichever it is."""

SHOWS_LAYERS = frozenset(
    {
        "bailingmoe3",
        "gemma4",
        "gpt-oss",
        "hunyuan-dense",
        "hunyuan_vl",
        "lfm2",
        "lfm2moe",
        "llama",
        "mimo2",
        "minimax-m2",
        "nanbeige",
        "nemotron_h",
        "nemotron_h_moe",
        "qwen3",
        "qwen35",
        "qwen35moe",
        "qwen3moe",
        "qwen3next",
    }
)
"""Architectures that let an EAGLE-3 head read the inputs of their layers; the others abort."""

SHOWS_LAST_STATE = frozenset(
    {"bailingmoe3", "gemma4", "gpt-oss", "mimo2", "nemotron_h", "nemotron_h_moe", "qwen35", "qwen35moe", "qwen3next"}
)
"""Of those, the ones that show the output of their last layer, too."""

RECURRENT = frozenset({"arwkv7", "mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7"})
HYBRID = frozenset(
    {
        "bailingmoe3",
        "deepseek4",
        "falcon-h1",
        "glm5-next",
        "granitehybrid",
        "jamba",
        "kimi-k3",
        "kimi-linear",
        "lfm2",
        "lfm2moe",
        "minimax-01",
        "nemotron_h",
        "nemotron_h_moe",
        "plamo2",
        "qwen35",
        "qwen35moe",
        "qwen3next",
        "qwen4exp",
    }
)
SNAPSHOTS = frozenset(
    {
        "bailingmoe3",
        "deepseek4",
        "glm5-next",
        "kimi-k3",
        "lfm2",
        "lfm2moe",
        "nemotron_h",
        "nemotron_h_moe",
        "qwen35",
        "qwen35moe",
        "qwen4exp",
    }
)
"""Architectures whose recurrent state can be taken back a few tokens (n_rs_seq)."""

EMBEDS = frozenset(
    {
        "bert",
        "eurobert",
        "gemma-embedding",
        "jina-bert-v2",
        "jina-bert-v3",
        "llama-embed",
        "modern-bert",
        "neo-bert",
        "nomic-bert",
        "nomic-bert-moe",
        "t5encoder",
    }
)
DIFFUSES = frozenset({"dream", "llada", "llada-moe", "rnd1"})
OTHER_PURPOSE = {
    "t5": "a translation model",
    "wavtokenizer-dec": "an audio decoder",
    "qwen3tts": "a speech model",
    "pockettts": "a speech model",
}
"""Architectures that do not chat, and what they are instead."""
