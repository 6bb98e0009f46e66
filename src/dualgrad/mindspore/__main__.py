"""Run a program whose `import mindspore` means dualgrad: `python -m dualgrad.mindspore script.py arguments`.

``-m module`` in place of the script runs a module, as with Python itself.
"""

from __future__ import annotations

import os
import runpy
import sys

_USAGE = """usage: python -m dualgrad.mindspore script.py [argument ...]
       python -m dualgrad.mindspore -m module [argument ...]

Run a program in which `import mindspore` means dualgrad."""


def main(arguments: list[str]) -> int:
    """Run the script or module of the arguments; return the exit status."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(_USAGE)
        return 0
    if not arguments or arguments == ["-m"]:
        print(_USAGE, file=sys.stderr)
        return 2
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return 0
    if not os.path.exists(arguments[0]):
        print(f"python -m dualgrad.mindspore: there is no file {arguments[0]!r}", file=sys.stderr)
        return 2
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
