"""What ggml says when it ends the process, caught on its way: the terminal it would be printed on is the app's."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from typing import Any

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_FOLDERS = re.compile(r"^\S*[/\\](?=[^/\\]+:\d+: )")
_installed: list[Any] = []
"""ggml keeps calling it, and ctypes keeps no reference of its own."""


def catch_last_words(tell: Callable[[str], None]) -> bool:
    """Have `tell` called with ggml's message before it aborts. Returns False where this build cannot.

    `tell` runs on whatever thread failed, often one of ggml's own, and must not wait for anything: the process ends
    when it returns. Native calls are made without the interpreter lock, so that Python code can run there.
    """
    # ggml would start a debugger on its own process, which would talk to the terminal, and may wait for it.
    os.environ["GGML_NO_BACKTRACE"] = "1"
    set_callback = _find()
    if set_callback is None:
        return False

    def dying(message: bytes | None) -> None:
        tell(_FOLDERS.sub("", (message or b"").decode("utf-8", "replace")))

    _installed[:] = [_CALLBACK(dying)]
    set_callback(*_installed)
    return True


def _find() -> Any:
    """ggml_set_abort_callback; on Windows only the library that has it shows it, which the bindings do not open."""
    import llama_cpp.llama_cpp as lib

    function = getattr(lib._lib, "ggml_set_abort_callback", None)
    if function is not None:
        function.argtypes, function.restype = [_CALLBACK], ctypes.c_void_p
    return function
