"""Locks on open files that only the end of their process, or closing them, lets go of."""

from __future__ import annotations

import os
import sys

_FAR = 1 << 30

if sys.platform == "win32":
    import msvcrt

    def lock(descriptor: int) -> bool:
        """Lock a byte that is not there, so that the others can be read; closing lets go of it."""
        try:
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        except OSError:
            return False
        return True

else:
    import fcntl

    def lock(descriptor: int) -> bool:
        """Lock the file for as long as it is open here; False when another process has it, or there are no locks."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
