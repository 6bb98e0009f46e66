"""Parameters that `vmap` maps over: changes to their samples are written back to the Parameter.

A mapped function gets tensors of one sample in place of Parameters. An optimiser's step changes such a tensor in place,
so the function continues with the new values. After the return, the values of all samples are written to the Parameter.
In nested `vmap` calls, the outer one has such a tensor in place of the Parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..parameter import Parameter
from ..tensor import Tensor

__all__ = ["mapped_parameters", "rewrite", "stands_for_parameter", "writing"]

#: By identity of each tensor that stands for a Parameter: True if it was changed. Each belongs to one thread.
_CHANGED: dict[int, bool] = {}


def stands_for_parameter(x: Any) -> bool:
    """True if a tensor is one sample of a Parameter that `vmap` maps over."""
    return id(x) in _CHANGED


def rewrite(x: Tensor, value: Tensor) -> None:
    """Change one sample of a Parameter in place."""
    x._rebind(value)
    _CHANGED[id(x)] = True


def mapped_parameters(args: Sequence[Any], axes: Any) -> list[int]:
    """The positional inputs that are mapped Parameters, or stand for one."""
    each = axes if isinstance(axes, tuple) else (axes,) * len(args)
    return [
        k
        for k, (x, axis) in enumerate(zip(args, each, strict=True))
        if isinstance(axis, int) and (isinstance(x, Parameter) or stands_for_parameter(x))
    ]


def writing(
    run: Callable[[Callable[..., Any], Any], Any],
    sample: Callable[..., Any],
    args: Sequence[Any],
    places: list[int],
    axes: Any,
    out_axes: Any,
) -> Any:
    """Call ``run(function, out_axes)`` for a function of one sample. Writes changed Parameters back.

    `places` are the inputs that are Parameters. Their samples are results of the function, too.
    """
    each = axes if isinstance(axes, tuple) else (axes,) * len(args)
    changed = [False] * len(places)

    def with_parameters(*inner: Any, **kwargs: Any) -> Any:
        _CHANGED.update({id(inner[k]): False for k in places})
        try:
            found = sample(*inner, **kwargs)
            for n, k in enumerate(places):
                changed[n] = _CHANGED[id(inner[k])]
            return found, tuple(inner[k] for k in places)
        finally:
            for k in places:
                _CHANGED.pop(id(inner[k]), None)

    found, after = run(with_parameters, (out_axes, tuple(each[k] for k in places)))
    for k, was_changed, value in zip(places, changed, after, strict=True):
        if not was_changed:
            continue
        if isinstance(args[k], Parameter):
            args[k].set_data(value)
        else:
            rewrite(args[k], value)
    return found
