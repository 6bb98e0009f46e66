"""Jacobians: `jacfwd`, `jacrev`.

A Jacobian is a derivative along every unit vector: of the inputs in forward mode, of the outputs in reverse mode. The
unit vectors run as batches, so a sweep is a few large operations instead of many small ones. Work that does not depend
on the direction is done once for the batch. The engine marks a batch of unit vectors as the identity matrix: its
product with a matrix is that matrix.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._engine.arrays.array import largest_array
from .._engine.primitives.execute import is_written_down
from .._engine.transforms.forward import run_jvp
from .._engine.transforms.gradient import run_outermost
from .._engine.transforms.handles import as_array
from .._engine.transforms.pullback import run_vjp
from .._engine.transforms.tensor import OPCODES, apply
from .._engine.transforms.vmap import basis, run_vmap
from .._nests import arranged, mapped, pruned, refilled, tensors_in
from ..random import get_state
from ..tensor import Tensor
from .selection import Selected, Selection
from .transformed import transformation

if TYPE_CHECKING:
    from typing import Concatenate, Literal, overload

    from .transformed import Input, Number, P, X

__all__ = ["along_unit_vectors", "jacfwd", "jacrev"]

AT_ONCE = 64  # up to this many directions always form one batch
FIRST = 16  # of more directions, this many run first, to measure the cost
BATCH_BYTES = 1 << 26  # largest array of a batch, in bytes, if steps are planned as a whole,
CACHE_BYTES = 1 << 19  # and if each step runs at once: two or three arrays of a step then stay in a cache


if TYPE_CHECKING:

    @overload
    def jacfwd(  # type: ignore[overload-overlap]
        fn: Callable[Concatenate[Tensor, P], Tensor], grad_position: Literal[0] = 0, *, chunk_size: int | None = None
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def jacfwd(  # type: ignore[overload-overlap]
        fn: Callable[Concatenate[Number, P], Tensor], grad_position: Literal[0] = 0, *, chunk_size: int | None = None
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def jacfwd(
        fn: Callable[Concatenate[X, P], object], grad_position: Literal[0] = 0, *, chunk_size: int | None = None
    ) -> Callable[Concatenate[X, P], Any]: ...
    @overload
    def jacfwd(
        fn: Callable[..., Any],
        grad_position: int | tuple[int, ...] | None = 0,
        has_aux: bool = False,
        *,
        weights: Any = None,
        chunk_size: int | None = None,
    ) -> Callable[..., Any]: ...


@transformation
def jacfwd(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    has_aux: bool = False,
    *,
    weights: Any = None,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Make the function that computes the Jacobian of a function or Cell column by column (forward mode).

    Parameters
    ----------
    fn : callable
        Returns a tensor, or a pytree of tensors.
    grad_position : int, tuple of int, or None, default 0
        The input, or inputs, to differentiate by; a tuple of one counts as the int. None for weights alone. Floating
        numbers and NumPy arrays there become tensors of their type.
    has_aux : bool, default False
        `fn` returns a tuple whose first entry alone is differentiated.
    weights : Parameter, or ParameterTuple, list or tuple of them, optional
        Parameters to differentiate by.
    chunk_size : int, optional
        The number of columns in a batch. By default all, unless the arrays of the batch would become large, or, in
        eager calls, leave the cache.

    Returns
    -------
    callable
        Takes the inputs of `fn`. The Jacobian of an output by an input has the shape of the output followed by the
        shape of the input, and the type of the output. Several outputs give a nest like theirs; each of its entries is
        arranged over inputs and weights like a gradient of `grad`. With `has_aux`: (Jacobian, other), where a single
        other is bare.

    Raises
    ------
    TypeError, ValueError, IndexError
        For positions and weights that do not fit, as for `grad`, for an int in place of a float, and for a `chunk_size`
        below 1. TypeError also for a result without a tensor, and for a complex input of a function with real values,
        which has no complex derivative.

    See Also
    --------
    jacrev : The same, row by row: cheaper if there are fewer outputs than inputs.

    Notes
    -----
    The cost is one evaluation of `fn` and one tangent for each element of the inputs. A program (of `dualgrad.jit`, or
    of a call on large arrays) computes the entries one by one where most are zero, if that costs less. Complex
    functions of complex inputs are assumed to be holomorphic.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x = dg.Tensor([1.0, 2.0, 3.0])
    >>> print(dg.jacfwd(lambda x: x[:2] * x[2])(x))
    [[3. 0. 1.]
     [0. 3. 2.]]
    """
    return jacobian_of("jacfwd", fn, grad_position, has_aux, weights, chunk_size, columns_of)


if TYPE_CHECKING:

    @overload
    def jacrev(  # type: ignore[overload-overlap]
        fn: Callable[Concatenate[Tensor, P], Tensor], grad_position: Literal[0] = 0, *, chunk_size: int | None = None
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def jacrev(  # type: ignore[overload-overlap]
        fn: Callable[Concatenate[Number, P], Tensor], grad_position: Literal[0] = 0, *, chunk_size: int | None = None
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def jacrev(
        fn: Callable[Concatenate[X, P], object], grad_position: Literal[0] = 0, *, chunk_size: int | None = None
    ) -> Callable[Concatenate[X, P], Any]: ...
    @overload
    def jacrev(
        fn: Callable[..., Any],
        grad_position: int | tuple[int, ...] | None = 0,
        has_aux: bool = False,
        *,
        weights: Any = None,
        chunk_size: int | None = None,
    ) -> Callable[..., Any]: ...


@transformation
def jacrev(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    has_aux: bool = False,
    *,
    weights: Any = None,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Make the function that computes the Jacobian of a function or Cell row by row (reverse mode).

    Parameters
    ----------
    fn, grad_position, has_aux, weights
        As for `jacfwd`.
    chunk_size : int, optional
        The number of rows in a batch. By default all, unless the arrays of the batch would become large, or, in eager
        calls, leave the cache.

    Returns
    -------
    callable
        As for `jacfwd`, but the Jacobian by an input has the type of the input; by an integer input, the type of its
        gradient.

    Raises
    ------
    TypeError, ValueError, IndexError
        As for `jacfwd`; TypeError also if an output is complex and an input real, since rows do not suffice there.

    See Also
    --------
    jacfwd : The same, column by column: cheaper if there are fewer inputs than outputs.

    Notes
    -----
    `fn` runs once, and one reverse sweep pulls back a batch of cotangents. A function with a single number as result
    has one row, its gradient.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x, y = dg.Tensor([1.0, 2.0]), dg.Tensor([3.0, 4.0])
    >>> by_x, by_y = dg.jacrev(lambda x, y: x * y, (0, 1))(x, y)
    >>> print(by_x, by_y)
    [[3. 0.]
     [0. 4.]] [[1. 0.]
     [0. 2.]]
    """
    return jacobian_of("jacrev", fn, grad_position, has_aux, weights, chunk_size, rows_of)


def jacobian_of(
    name: str,
    fn: Any,
    grad_position: Any,
    has_aux: Any,
    weights: Any,
    chunk_size: Any,
    blocks: Callable[[str, Selected, int | None], tuple[Any, Any]],
) -> Callable[..., Any]:
    """Make a Jacobian function with one of the two modes, under the name of a transform."""
    selection = Selection(name, fn, grad_position, weights, has_aux)
    if chunk_size is not None and (isinstance(chunk_size, bool) or not isinstance(chunk_size, int)):
        raise TypeError(f"{name}: chunk_size is {chunk_size!r}; expected an int, or None for a size that fits")
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"{name}: chunk_size is {chunk_size}; expected 1 or more")

    def compute(*args: Any, **kwargs: Any) -> Any:
        selected = Selected(selection, fn, args, kwargs)
        found, aux = blocks(name, selected, chunk_size)
        if any(x._is_array for x in selected.leaves):
            mapped(found, as_array)
        if not has_aux:
            return found
        return found, aux[0] if len(aux) == 1 else aux

    @functools.wraps(fn, updated=())
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = selection.inputs(args, kwargs)
        return run_outermost(name, fn, (*selection.settings(), chunk_size), compute, args, kwargs)

    return jacobian


# ------------------------------------------------------------------------------------------------------- two ways


def columns_of(name: str, call: Selected, chunk_size: int | None) -> tuple[Any, Any]:
    """Tangents along the unit vectors of each input: (Jacobian, aux)."""
    has_aux = call.selection.has_aux
    aux = None
    columns: list[list[Tensor]] = []  # for each input, the columns of all outputs
    outputs: Any = None
    for i, x in enumerate(call.leaves):

        def along(v: Tensor, i: int = i, x: Tensor = x) -> Any:
            def moved(x: Tensor) -> Any:
                return call(*call.leaves[:i], x, *call.leaves[i + 1 :])

            value, tangent, others = run_jvp(name, moved, (x,), (v,), has_aux)
            _check_types(name, x, tensors_in(value))
            return pruned(tangent), others

        (outputs, others), several = along_unit_vectors(name, along, x, chunk_size)
        if i == 0:
            aux = mapped(others, lambda t: t[0]) if several else others
        shaped = []
        for t in tensors_in(outputs):
            t = _by_places(t, x, several)
            order = (*range(x.ndim, t.ndim), *range(x.ndim))
            shaped.append(apply(OPCODES["transpose"], order, t))
        columns.append(shaped)
    found = [call.arranged(list(by_output)) for by_output in zip(*columns, strict=True)]
    return refilled(outputs, iter(found)), aux


def rows_of(name: str, call: Selected, chunk_size: int | None) -> tuple[Any, Any]:
    """Cotangents along the unit vectors of each output: (Jacobian, aux)."""
    value, pull, aux = run_vjp(name, call, tuple(call.leaves), [], call.selection.has_aux, lambda inputs, _: inputs)
    found = []
    for i, y in enumerate(tensors_in(value)):
        for x in call.leaves:
            _check_types(name, x, [y])
            if y.dtype.is_complex and not x.dtype.is_complex:
                raise TypeError(f"{name}: an output of type {y.dtype} by an input of type {x.dtype}; use jacfwd")
        rows, several = along_unit_vectors(name, functools.partial(pull.rows, i), y, chunk_size)
        found.append(call.arranged([_by_places(r, y, several) for r in rows]))
    return arranged(value, found), aux


def _check_types(name: str, x: Tensor, outputs: list[Tensor]) -> None:
    for y in outputs:
        if x.dtype.is_complex and not y.dtype.is_complex:
            raise TypeError(
                f"{name}: an output of type {y.dtype} by an input of type {x.dtype}; a function with real values has "
                f"no complex derivative, differentiate by the real and the imaginary part"
            )


# -------------------------------------------------------------------------------------------------------- batches


def along_unit_vectors(
    name: str, along: Callable[[Tensor], Any], x: Tensor, chunk_size: int | None
) -> tuple[Any, bool]:
    """The results along all unit vectors of a tensor's space, and True if they lie along a new first axis.

    A single direction is not a batch and needs no such axis.
    """
    n = x.size
    if n <= 1:
        return along(basis(x, 0, 1)[0] if n else x), False
    if chunk_size is None:
        chunk_size = n if n <= AT_ONCE else FIRST
        state = get_state() if chunk_size < n else None
        largest_array(True)
        parts = [_batch(name, along, x, 0, chunk_size)]
        done = chunk_size
        if done < n:
            planned = is_written_down()
            most = BATCH_BYTES if planned else CACHE_BYTES
            chunk_size = max(FIRST, FIRST * most // max(largest_array(False), 1))
            if planned and n <= chunk_size and get_state() == state:
                parts, done = [], 0  # one program serves all directions; unused results are not executed
    else:
        parts, done = [], 0
    while done < n:
        rows = min(chunk_size, n - done)
        parts.append(_batch(name, along, x, done, rows))
        done += rows
    if len(parts) == 1:
        return parts[0], True
    leaves = zip(*[tensors_in(part) for part in parts], strict=True)
    return refilled(parts[0], (apply(OPCODES["concat"], 0, *leaf) for leaf in leaves)), True


def _by_places(t: Tensor, x: Tensor, several: bool) -> Tensor:
    """Replace the first axis of results along unit vectors by the axes of x."""
    if several:
        return t.reshape(x.shape + t.shape[1:])
    return t.reshape((1, *t.shape))[: x.size].reshape(x.shape + t.shape)


def _batch(name: str, along: Callable[[Tensor], Any], x: Tensor, first: int, rows: int) -> Any:
    return run_vmap(name, along, (basis(x, first, rows),), {}, 0, 0)
