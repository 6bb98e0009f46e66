"""Functions under other names and keywords, made from rows of text.

A row is a signature, and the call for it: ``cat(tensors, dim=0) = concat(tensors, dim)``. Without a call the function
of the same name gets the arguments in their order, and arguments behind the star by name. A line that begins with the
equals sign continues the line before. A row whose function does not exist is left out.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

__all__ = ["functions_of"]

_ROW = re.compile(r"(\w+)\((.*?)\)(?: = (\w+)\((.*)\))?$")


def functions_of(rows: str, targets: Any, module: dict[str, Any], shown: str) -> list[str]:
    """Put the functions of all rows into a module; return their names.

    `targets` has the functions to call, and `shown` is its name in docstrings.
    """
    made = []
    for row in filter(None, map(str.strip, re.sub(r"\s*\n\s*= ", " = ", rows).splitlines())):
        match = _ROW.match(row)
        if match is None:
            raise ValueError(f"this is no row: {row}")
        name, signature, target, arguments = match.groups()
        target = target or name
        function = getattr(targets, target, None)
        if function is None:
            continue
        module[name] = _function(name, signature, arguments, function, module)
        module[name].__doc__ = _text(name, signature, target, arguments or "", shown)
        made.append(name)
    return made


def _function(
    name: str, signature: str, arguments: str | None, function: Callable[..., Any], module: dict[str, Any]
) -> Any:
    """Make a function with its own signature that calls another: the text of a `def` statement, as Python reads it."""
    space: dict[str, Any] = {}
    exec(f"def {name}({signature}): ...", module, space)
    given = _in_order(space[name]) if arguments is None else arguments
    source = f"def make(_function):\n def {name}({signature}):\n  return _function({given})\n return {name}"
    exec(compile(source, f"<row of {name}>", "exec"), module, space)
    made = space["make"](function)
    made.__qualname__ = name
    return made


def _in_order(function: Any) -> str:
    """The arguments of a call with the signature of a function."""
    parts = []
    for name, parameter in inspect.signature(function).parameters.items():
        by_name = f"{name}=" if parameter.kind is parameter.KEYWORD_ONLY else ""
        parts.append(f"*{name}" if parameter.kind is parameter.VAR_POSITIONAL else by_name + name)
    return ", ".join(parts)


def _text(name: str, signature: str, target: str, arguments: str, shown: str) -> str:
    call = f"``{target}({arguments})``" if arguments else f"`{target}`"
    return f"``{name}({signature})``: {call} of `{shown}`, under PyTorch's names of arguments.\n"
