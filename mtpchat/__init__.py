"""mtpchat: a terminal chat for local GGUF models in which speculative decoding is fast, honest and effortless."""

__version__ = "0.1.0"
