"""Array-likes among the arguments of NumPy's functions: lists become tensors or arrays before a handler runs.

A list with tensors in it is joined, so derivatives pass. The caller chooses the result for a list of numbers: an array,
as in NumPy, or a tensor whose type follows the other tensors. Some keywords are refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from .. import ops
from .._engine.transforms import tensor as _engine
from .._joined import holds_tensor, joined
from .._settings import array_of
from ..tensor import Tensor

__all__ = [
    "ARRAYS", "COLLECTIONS", "STATIC", "alternative", "array_like", "beside_tensors", "refuse", "settled_arguments",
    "tensors_among",
]  # fmt: skip

#: parameters that take one array-like, or whose arguments are all array-likes
ARRAYS = frozenset(
    """A a a1 a2 a_max a_min append ar ar1 ar2 args arr array ary arys aweights b base beta condition default dx
    element f fill_value filt fp fweights left m max mean min period prepend prototype right seq_of_zeros src
    start step stop test_elements to_begin to_end u v val vals values varargs w weights x x1 x2 xi xp y z""".split()
)
#: parameters that take several array-likes
COLLECTIONS = frozenset(("arrays", "choicelist", "choices", "condlist", "tup"))
#: all other parameters: axes, lengths, places, settings, and data that the handler reads itself
STATIC = frozenset(
    """assume_unique atol axes axis axis1 axis2 axisa axisb axisc bias bins casting compute_uv constant_values copy
    correction cov d ddof decimals deg density descending destination device discont dst dtype edge_order end_values
    endpoint equal_nan full full_matrices func func1d funclist hermitian include_initial increasing ind indexing
    indices indices_or_sections initial invert k keepdims keys kind kth M mask method minlength mode N n nan
    ndmin neginf nest new_shape norm num obj object offset operands optimize ord order overwrite_input p
    pad_width posinf q range rcond reflect_type repeats reps rest retstep return_counts return_index
    return_indices return_inverse returned rowvar rtol s sample settings shape shapes shift sorted source sparse
    stable stat_length subok subscripts tol trim UPLO upper where wrap""".split()
)


def array_like(name: str, x: Any, plain: Callable[[list[Any] | tuple[Any, ...]], Any]) -> Any:
    """Convert a list: join it if it holds tensors, else call `plain`. Other objects are returned unchanged."""
    if not isinstance(x, list | tuple):
        return x
    return joined(name, x) if holds_tensor(x) else plain(x)


def tensors_among(arguments: Iterable[Any]) -> list[Tensor]:
    """The tensors among arguments and inside their lists and tuples."""
    found: list[Tensor] = []
    for x in arguments:
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, list | tuple):
            found += tensors_among(x)
    return found


def beside_tensors(tensors: list[Tensor]) -> Callable[[list[Any] | tuple[Any, ...]], Tensor]:
    """Make a converter of lists to tensors, with the type that Python's numbers have beside these tensors."""

    def plain(data: list[Any] | tuple[Any, ...]) -> Tensor:
        array = array_of("dualgrad.numpy", "an array", data)
        if not tensors or array.dtype.kind not in "biufc":
            return Tensor(data)
        return _engine.convert(array, _engine.common_type(*tensors, array.dtype.type(0).item()))

    return plain


def settled_arguments(
    name: str, bound: inspect.BoundArguments, plain: Callable[[list[Any] | tuple[Any, ...]], Any]
) -> inspect.BoundArguments:
    """Convert the array-likes among the arguments of a function."""
    for key, value in bound.arguments.items():
        kind = bound.signature.parameters[key].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            read = plain if key in ARRAYS else _as_they_are
            bound.arguments[key] = tuple([array_like(name, x, read) for x in value])
        elif key in COLLECTIONS and isinstance(value, list | tuple):
            bound.arguments[key] = [array_like(name, x, plain) for x in value]
        elif key in ARRAYS:
            bound.arguments[key] = array_like(name, value, plain)
        elif key in ("p", "subscripts"):  # coefficients, or the first operand
            bound.arguments[key] = array_like(name, value, _as_they_are)
    return bound


def _as_they_are(data: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
    """Return a list that is not array-like unchanged, such as the axes of an operand of einsum."""
    return data


# ------------------------------------------------------------------------------------------------ refusals

_HINT = "; or take the numbers with .asnumpy(), where derivatives end"


def refuse(name: str, kwargs: dict[str, Any], known: Iterable[str] = ()) -> None:
    """Refuse keywords that write into arrays or leave elements out. Drops them if they have no value or are known."""
    for word in ("out", "where"):
        if word in known:
            continue
        given = kwargs.pop(word, None)
        if given is None or given is True or (isinstance(given, tuple) and all(x is None for x in given)):
            continue
        advice = "use the result" if word == "out" else "choose elements with ops.where"
        raise TypeError(f"{name}: the keyword {word}= is not supported with Tensors; {advice}{_HINT}")


def alternative(name: str) -> str:
    """Advice on an alternative to a NumPy function without a rule."""
    if callable(getattr(ops, name, None)):
        return f"use dualgrad.ops.{name}" + _HINT
    return f"compose it of functions in dualgrad.ops{_HINT}"
