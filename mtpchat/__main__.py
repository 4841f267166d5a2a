"""`python -m mtpchat` and the `mtpchat` command."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the program with the process's arguments. Returns the exit code; `mtpchat --help` lists them."""
    from mtpchat.cli import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
