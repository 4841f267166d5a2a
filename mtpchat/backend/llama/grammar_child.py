"""A grammar is parsed in a process of its own first: llama.cpp writes what is wrong with one to stderr, which is the
screen here, runs out of stack on deep nesting, and takes exponential time over some that are short.

Run as a script this module is that child: the library's path as its argument, the grammar on stdin. It loads the
library directly, without its Python package, so that it answers within a tenth of a second.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

MOST_BYTES = 256 * 1024
"""A longer grammar is refused."""
_MOST_MEMORY = 4 << 30
_MOST_CPU_S = 5


def main(library: str) -> int:
    """0 for a grammar that llama.cpp takes, 1 otherwise, with the reason on stderr."""
    _bound()
    text = sys.stdin.buffer.read(MOST_BYTES + 1)
    lib = ctypes.CDLL(str(Path(library)))
    lib.llama_sampler_init_grammar.restype = ctypes.c_void_p
    lib.llama_sampler_init_grammar.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    return 0 if lib.llama_sampler_init_grammar(None, text, b"root") else 1


def _bound() -> None:
    """Limit what this process may take, where the system can."""
    try:
        import resource
    except ImportError:
        return  # Windows: the parent's time limit is what there is
    for what, most in ((resource.RLIMIT_AS, _MOST_MEMORY), (resource.RLIMIT_CPU, _MOST_CPU_S)):
        resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
