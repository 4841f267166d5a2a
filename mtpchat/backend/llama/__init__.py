"""llama.cpp in this process, through the low-level bindings. The only package that names llama_cpp.

Everything here is called on the engine thread. Misuse that would abort the process (GGML_ASSERT) is refused before the
call; return codes become exceptions; nothing is written to file descriptors 1 and 2.
"""
