"""Dense Hessians and Jacobians by blocks of columns (or rows), each computed by a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.transforms.inputs import as_input
from .._settings import one_of
from ..modes import jit
from ..ops._arguments import to_shape
from ..tensor import Tensor
from ..transforms.gradient import jvp, vjp
from ..transforms.hessians import hvp
from ..transforms.positions import check_callable
from ..transforms.vectorize import vmap
from .backend import Backend, checked_count
from .connect import connected
from .functions import Kept, Sending, as_sent, unpacked

__all__ = ["hessian", "jacobian"]

BLOCK = 32  # columns of a block, by default


def hessian(fn: Callable[..., Any], backend: Backend | str | Any, *, columns: int = BLOCK) -> Callable[..., Tensor]:
    """Compute the Hessian of a function by its first argument, by blocks of columns.

    Parameters
    ----------
    fn : callable
        ``fn(x, *args)`` returns a Tensor with one element.
    backend : Backend, str, or an object of an engine
        As for `connect`.
    columns : int, default 32
        Columns of a block. The result does not depend on the number of workers.

    Returns
    -------
    callable
        Takes the arguments of `fn`, and returns a Tensor of the shape of `x` twice, like ``dg.hessian(fn)``.

    Raises
    ------
    TypeError, ValueError
        If `x` is not a Tensor of floats, `fn` does not return one element, or it cannot be sent.

    See Also
    --------
    SumOfShards.hessian : The Hessian of a sum over many rows.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import distributed
    >>> product = distributed.hessian(lambda x: x[0] ** 2 * x[1], "local", columns=1)
    >>> print(product(dg.Tensor([1.0, 2.0])))
    [[4. 2.]
     [2. 0.]]
    """
    check_callable("hessian", fn)
    count = checked_count("hessian", "columns", columns)

    def second(x: Any, *args: Any) -> Tensor:
        x = _checked("hessian", x)
        found = _blocks("hessian", fn, backend, "hessian", x.size, count, x, args)
        return Tensor(found.reshape(*x.shape, *x.shape))  # symmetric, so rows are columns

    return second


def jacobian(
    fn: Callable[..., Any], backend: Backend | str | Any, *, mode: str = "auto", columns: int = BLOCK
) -> Callable[..., Tensor]:
    """Compute the Jacobian of a function by its first argument, by blocks of columns or rows.

    Parameters
    ----------
    fn : callable
        ``fn(x, *args)`` returns a Tensor of floats.
    backend : Backend, str, or an object of an engine
        As for `connect`.
    mode : {"auto", "forward", "reverse"}, default "auto"
        Columns by forward mode, or rows by reverse mode; ``auto`` takes whichever are fewer.
    columns : int, default 32
        Columns (or rows) of a block.

    Returns
    -------
    callable
        Takes the arguments of `fn`, and returns a Tensor of the shape of the result followed by the shape of `x`, like
        ``dg.jacfwd(fn)``.

    Raises
    ------
    TypeError, ValueError
        If `x` or the result is not a Tensor of floats, `fn` cannot be sent, or the mode is unknown.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import distributed
    >>> squares = distributed.jacobian(lambda x: x[1:] * x[:-1], "local", columns=2)
    >>> print(squares(dg.Tensor([1.0, 2.0, 3.0])))
    [[2. 1. 0.]
     [0. 3. 2.]]
    """
    check_callable("jacobian", fn)
    count = checked_count("jacobian", "columns", columns)
    if not one_of(mode, ("auto", "forward", "reverse")):
        raise ValueError(f"jacobian: mode is {mode!r}; expected 'auto', 'forward' or 'reverse'")

    def first(x: Any, *args: Any) -> Tensor:
        x = _checked("jacobian", x)
        y = fn(x, *args)
        if not isinstance(y, Tensor) or not y.dtype.is_float:
            what = f"a Tensor of {y.dtype}" if isinstance(y, Tensor) else type(y).__name__
            raise TypeError(f"jacobian: the function returned {what}; expected a Tensor of floats")
        kind = mode if mode != "auto" else "reverse" if y.size < x.size else "forward"
        found = _blocks("jacobian", fn, backend, kind, x.size if kind == "forward" else y.size, count, x, args)
        if kind == "forward":
            found = found.reshape(x.size, y.size).T
        return Tensor(np.ascontiguousarray(found).reshape(*y.shape, *x.shape))

    return first


def _checked(name: str, x: Any) -> Tensor:
    x = as_input(name, "the first argument", x)
    if not isinstance(x, Tensor) or not x.dtype.is_float:
        what = f"a Tensor of {x.dtype}" if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"{name}: the first argument is {what}; expected a Tensor of floats")
    return x


def _blocks(
    name: str, fn: Any, backend: Any, kind: str, size: int, count: int, x: Tensor, args: tuple[Any, ...]
) -> np.ndarray:
    """The products with all unit vectors, stacked along the first axis."""
    blocks = [(start, min(start + count, size)) for start in range(0, size, count)]
    with connected(name, backend) as engine:
        found = engine.map(_block, blocks, *Sending(name, _Products, fn).to(engine), kind, size, (x, *args))
    if not found:
        return np.zeros(0, x.dtype.numpy)
    return np.concatenate(found)


class _Products(Kept):
    """A function, and its products with unit vectors."""

    def made(self, *kind: Any) -> Callable[..., Any]:
        return jit(_PRODUCTS[kind[0]](self.fn))


def _single(fn: Any) -> Callable[..., Tensor]:
    def value(x: Tensor, *args: Any) -> Tensor:
        y = fn(x, *args)
        if not isinstance(y, Tensor) or y.size != 1:
            what = f"shape {y.shape}" if isinstance(y, Tensor) else type(y).__name__
            raise ValueError(f"hessian: the function returned {what}; expected a Tensor with one element")
        return y

    return value


def _columns_of_hessian(fn: Any) -> Callable[..., Tensor]:
    return lambda basis, x, *args: vmap(lambda v: hvp(_single(fn))(x, *args, v))(basis)


def _columns_by(fn: Any) -> Callable[..., Tensor]:
    return lambda basis, x, *args: vmap(lambda v: jvp(lambda x: fn(x, *args), x, v)[1])(basis)


def _rows_by(fn: Any) -> Callable[..., Tensor]:
    def rows(basis: Tensor, x: Tensor, *args: Any) -> Tensor:
        y, pull = vjp(lambda x: fn(x, *args), x)
        return vmap(lambda c: pull(to_shape(c, y.shape))[0])(basis)

    return rows


_PRODUCTS: dict[str, Callable[[Any], Callable[..., Tensor]]] = {
    "hessian": _columns_of_hessian,
    "forward": _columns_by,
    "reverse": _rows_by,
}


def _block(block: tuple[int, int], content: bytes, key: str, kind: str, size: int, args: tuple[Any, ...]) -> np.ndarray:
    call = unpacked(content, key, _Products).call(kind)
    start, stop = block
    x, *rest = as_sent(args)
    basis = np.zeros((stop - start, size), x.dtype.numpy)
    basis[np.arange(stop - start), np.arange(start, stop)] = 1
    shaped = basis if kind == "reverse" else basis.reshape(stop - start, *x.shape)
    return call(Tensor(shaped), x, *rest).asnumpy()
