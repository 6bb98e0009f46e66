"""Sums over shards: value, gradient, products with the Hessian and with the Gauss-Newton matrix, the Hessian.

For f(p) = sum of l(p, row) over all rows, each worker adds up its own rows, and the engine adds up the workers' sums.
Parameters and directions go to the workers, and sums return; rows stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.trace.cache import recorded_call
from .._engine.trace.capture import array_behind
from .._engine.transforms.inputs import as_input
from .._engine.transforms.pytrees import differentiable
from .._engine.transforms.substitution import call_with
from .._nests import arranged, matched, tensors_in
from ..dtype import float16
from ..modes import jit
from ..ops.math.reductions import sum as _sum
from ..parameter import Parameter
from ..random import get_state
from ..tensor import Tensor
from ..transforms.gradient import grad, jvp, value_and_grad, vjp
from ..transforms.hessians import hvp
from ..transforms.positions import checked_weights
from ..transforms.vectorize import vmap
from .functions import Kept, Sending, as_sent, unpacked
from .processes import processor, reproducible
from .shards import Shard, Shards
from .trees import Arrays, Tree, added

__all__ = ["SumOfShards", "sum_gradients"]


class SumOfShards:
    """The sum of a function over all rows of shards, with its derivatives.

    Parameters
    ----------
    fn : callable
        ``fn(params, *rows)`` takes the parameters and arrays of some rows, and returns a Tensor. The value is the sum
        of its elements over all rows; so `fn` must return a sum or an element for each row, and not a mean. With
        `weights` it is called as ``fn(*rows)``. It must not draw random numbers or assign to Parameters.
    shards : Shards
        The rows.
    weights : Parameter, or ParameterTuple, list or tuple of them, optional
        The parameters, instead of the first argument: ``cell.trainable_params()``. Each call sends their current
        values. `fn` is a Cell, or a function that holds the Cell.
    loss : callable, optional
        ``loss(outputs, *rows)`` of the outputs of `fn`. The value is then the sum of the losses, and `gauss_newton`
        uses their curvature. Without it `fn` itself is summed.
    deterministic : bool, default False
        Add up in an order that depends only on the chunks: equal bits for any number of workers, in any engine. Workers
        then use one thread, and must have processors of one kind.

    Attributes
    ----------
    shards, deterministic
        As given.

    Raises
    ------
    TypeError
        If `fn` cannot be called or sent, or its pickle lacks a weight.

    Notes
    -----
    A call sends the parameters (and direction) to each worker, and adds up one value and one gradient from each. Rows
    are never sent. Chunks are added up by pairs, so the rounding error grows with the logarithm of their number;
    float16 is added up as float32.

    A function is sent again if it changes between calls (a global, an attribute, a Parameter outside the weights). If
    it is pickled as a name, the workers do not see changes of its module.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import distributed
    >>> x, y = np.arange(4.0), np.array([1.0, 3.0, 5.0, 7.0])
    >>> residuals = lambda line, x, y: line[0] * x + line[1] - y
    >>> square = lambda r, x, y: 0.5 * (r * r).sum()
    >>> with distributed.connect("local", workers=2) as backend:
    ...     misfit = distributed.SumOfShards(residuals, distributed.Shards(backend, x, y, chunk=2), loss=square)
    ...     line, v = dg.Tensor([1.0, 1.0], dg.float64), dg.Tensor([1.0, 0.0], dg.float64)
    ...     print(misfit(line), *misfit.value_and_grad(line))
    ...     print(misfit.hvp(line, v), misfit.gauss_newton(line, v))
    7.0 7.0 [-14.  -6.]
    [14.  6.] [14.  6.]
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        shards: Shards,
        *,
        weights: Any = None,
        loss: Callable[..., Any] | None = None,
        deterministic: bool = False,
    ) -> None:
        if not callable(fn):
            raise TypeError(f"SumOfShards: expected a function or Cell, got {type(fn).__name__}")
        if not isinstance(shards, Shards):
            raise TypeError(f"SumOfShards: shards is a {type(shards).__name__}; expected Shards")
        if loss is not None and not callable(loss):
            raise TypeError(f"SumOfShards: loss is a {type(loss).__name__}; expected a function")
        if not isinstance(deterministic, bool):
            raise TypeError(f"SumOfShards: deterministic is {deterministic!r}; expected True or False")
        self.shards = shards
        self.deterministic = deterministic
        self._fn = fn
        self._weights: list[Parameter] | None = None
        self._single = False
        if weights is not None:
            self._weights, self._single = checked_weights("SumOfShards", weights)
        self._sending = Sending("SumOfShards", _Summand, (fn, loss), self._weights or ())
        self._sending.to(shards.backend)

    def __repr__(self) -> str:
        name = getattr(self._fn, "__qualname__", type(self._fn).__name__)
        return f"<sum of {name} over {self.shards.rows} rows>"

    def __call__(self, *params: Any) -> Tensor:
        """The value."""
        return self._total("value", self._params(params))[0]

    def value_and_grad(self, *params: Any) -> tuple[Tensor, Any]:
        """The value and the gradient, which has the structure of `dualgrad.grad`'s."""
        given = self._params(params)
        value, *found = self._total("gradient", given)
        return value, self._like(given, found)

    def hvp(self, *args: Any) -> Any:
        """The product of the Hessian with a direction: ``hvp(params, v)``, with weights ``hvp(v)``."""
        given, v = self._direction("hvp", args)
        return self._like(given, self._total("product", given, v))

    def gauss_newton(self, *args: Any) -> Any:
        """The product of the Gauss-Newton matrix with a direction: ``gauss_newton(params, v)``.

        It is the sum of J^T H J v, with the Jacobian J of `fn` and the Hessian H of `loss` by the outputs. Without a
        loss it is J^T J v, for half the sum of squares of `fn`.
        """
        given, v = self._direction("gauss_newton", args)
        return self._like(given, self._total("gauss_newton", given, v))

    def hessian(self, *params: Any, columns: int = 64) -> Tensor:
        """The Hessian as a matrix over all elements of the parameters, computed `columns` columns at a time."""
        given = self._params(params)
        leaves = tensors_in(given)
        sizes = [t.size for t in leaves]
        n, at = sum(sizes), np.cumsum([0, *sizes])
        kinds = {t.dtype for t in leaves}
        if len(kinds) > 1:
            raise TypeError("SumOfShards: the parameters have different types; convert them to one for a Hessian")
        found = []
        for start in range(0, n, max(1, columns)):
            basis = np.eye(n, dtype=leaves[0].dtype.numpy)[start : start + max(1, columns)]
            pieces = [
                Tensor(basis[:, a:b].reshape(len(basis), *t.shape))
                for a, b, t in zip(at[:-1], at[1:], leaves, strict=True)
            ]
            products = self._total("columns", given, arranged(given, pieces))
            found.append(np.concatenate([p.asnumpy().reshape(len(basis), -1) for p in products], 1))
        return Tensor(np.concatenate(found).T)

    # ------------------------------------------------------------------------------------------------- arguments

    def _params(self, params: tuple[Any, ...]) -> Any:
        """The parameters as tensors."""
        if self._weights is not None:
            if params:
                raise TypeError("SumOfShards: the parameters are the weights; call it without parameters")
            return tuple([_numbers(p) for p in self._weights])
        if len(params) != 1:
            raise TypeError(f"SumOfShards: got {len(params)} arguments for the parameters; expected one, or a pytree")
        given = as_input("SumOfShards", "the parameters", params[0])
        if not differentiable(given):
            raise TypeError(f"SumOfShards: the parameters are a {type(given).__name__}; expected Tensors of floats")
        return given

    def _direction(self, name: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        if not args:
            raise TypeError(f"SumOfShards: {name} needs a direction as its last argument")
        given = self._params(args[:-1])
        v = as_input(name, "the direction", args[-1])
        if self._single:
            v = (v,)
        structure = arranged(given, tensors_in(given))
        return given, arranged(given, matched(name, structure, v, "the direction"))

    def _like(self, given: Any, leaves: list[Tensor]) -> Any:
        """Arrange results like a gradient, in the types of the parameters (float16 is added up as float32)."""
        pairs = zip(leaves, tensors_in(given), strict=True)
        leaves = [x.astype(float16) if t.dtype == float16 else x for x, t in pairs]
        if self._weights is not None:
            return leaves[0] if self._single else tuple(leaves)
        return arranged(given, leaves)

    # ----------------------------------------------------------------------------------------------------- calls

    def _total(self, kind: str, given: Any, *v: Any) -> list[Tensor]:
        """The sums over all rows of the tensors that a kind of call returns for each chunk."""
        shared = (*self._sending.to(self.shards.backend), kind, self._weights is not None, given, *v)
        if not self.deterministic:
            rows, *arrays = self.shards.reduce(_sum_of, added, *shared)
        else:
            (rows, *arrays), kinds = _finished(self.shards.reduce(_tree_of, _merged, self.shards.count, *shared))
            for several in kinds.values():
                if len(several) > 1:
                    raise ValueError(
                        "SumOfShards: deterministic=True needs workers with processors and libraries of one kind; "
                        "there are " + " | ".join(sorted(several))
                    )
        if int(rows) != self.shards.rows:
            raise RuntimeError(f"SumOfShards: {int(rows)} rows were added up; there are {self.shards.rows}")
        return [Tensor(a) for a in arrays]


def sum_gradients(
    fn: Callable[..., Any], params: Any, shards: Shards, *, weights: Any = None, deterministic: bool = False
) -> tuple[Tensor, Any]:
    """Compute the value and gradient of a sum over shards in one call.

    Parameters
    ----------
    fn, shards, weights, deterministic
        As for `SumOfShards`.
    params : Tensor or pytree of Tensors
        The parameters to differentiate by; None with `weights`.

    Returns
    -------
    tuple
        (value, gradient).

    Raises
    ------
    TypeError, ValueError
        As for `SumOfShards`.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import distributed
    >>> with distributed.connect("local") as backend:
    ...     shards = distributed.Shards(backend, np.arange(4.0))
    ...     print(*distributed.sum_gradients(lambda a, x: (a * x) ** 2, dg.Tensor(0.5, dg.float64), shards))
    3.5 14.0
    """
    total = SumOfShards(fn, shards, weights=weights, deterministic=deterministic)
    if weights is None:
        return total.value_and_grad(params)
    if params is not None:
        raise TypeError("sum_gradients: give params or weights, and None for the other")
    return total.value_and_grad()


def _numbers(p: Parameter) -> Tensor:
    return Tensor(p.asnumpy())


# ---------------------------------------------------------------------------------------- computation in a worker


_CALLS_TO_SETTLE = 12


class _Summand(Kept):
    """A function and a loss, with their derivatives on a chunk."""

    def outputs(self, weighted: bool) -> Callable[..., Any]:
        """The function with parameters and rows as arguments."""
        (fn, _), weights = self.fn, self.weights
        if not weighted:
            return fn

        def with_weights(values: Any, *rows: Any) -> Any:
            return call_with("SumOfShards", fn, weights, list(values), rows, {})

        return with_weights

    def made(self, *kind: Any) -> Callable[..., Any]:
        name, weighted = kind
        return jit(_apart(_CALLS[name](self.outputs(weighted), self.fn[1])))

    def arrays(self, kind: str, weighted: bool, args: tuple[Any, ...], settled: bool) -> Arrays:
        """The results on a chunk. `settled`: wait for the final program for these shapes, and use it."""
        call = self.call(kind, weighted)
        held = [(p, array_behind(p)) for p in _parameters_in(self.fn[0])]
        draws = get_state()
        if settled:
            _settle(call, args)
        result = [_wide(t.asnumpy()) for t in tensors_in(call(*args))]
        if get_state() != draws:
            raise ValueError(
                "SumOfShards: the function draws random numbers, which would differ from worker to worker; pass them "
                "as rows"
            )
        for p, a in held:
            if array_behind(p) is not a:
                raise ValueError(
                    f"SumOfShards: the function assigns to the Parameter {p.name}, which would be that of a worker; "
                    "return what is to be kept (of layers with running statistics, call set_train(False))"
                )
        return result


def _apart(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that it shares no program with an equal one, and its own calls decide which program runs."""
    own = object()

    def call(*args: Any, _own: object = own) -> Any:
        return fn(*args)

    return call


def _settle(call: Any, args: tuple[Any, ...]) -> None:
    """Call a recorded function until the next call is a replay, or certainly runs eagerly.

    A call that records adds up in another order than a replay.
    """
    for _ in range(_CALLS_TO_SETTLE):
        state = recorded_call(call.__wrapped__, args, {}, call.pure)
        if state["program"] is not None or state["eager"] is not None:
            return
        call(*args)
    raise ValueError(
        "SumOfShards: deterministic=True needs a function that is recorded once for each shape of its arguments, and "
        f"this one was recorded {_CALLS_TO_SETTLE} times: something that it reads changes; pass that as a parameter or "
        "as rows"
    )


def _parameters_in(fn: Any) -> list[Parameter]:
    owner: Any = fn if hasattr(fn, "get_parameters") else getattr(fn, "__self__", None)
    return list(owner.get_parameters()) if hasattr(owner, "get_parameters") else []


def _wide(a: np.ndarray) -> np.ndarray:
    """Convert an array to the type of its sums."""
    return a.astype(np.float32) if a.dtype == np.float16 else a


def _summed(fn: Callable[..., Any], loss: Callable[..., Any] | None) -> Callable[..., Tensor]:
    """The function that computes the value on a chunk."""

    def value(params: Any, *rows: Any) -> Tensor:
        y = fn(params, *rows)
        y = y if loss is None else loss(y, *rows)
        if not isinstance(y, Tensor):
            raise TypeError(f"SumOfShards: the function returned {type(y).__name__}; expected a Tensor")
        return _sum(y)

    return value


def _value(fn: Any, loss: Any) -> Callable[..., Any]:
    return _summed(fn, loss)


def _gradient(fn: Any, loss: Any) -> Callable[..., Any]:
    return value_and_grad(_summed(fn, loss))


def _product(fn: Any, loss: Any) -> Callable[..., Any]:
    product = hvp(_summed(fn, loss))
    return lambda params, v, *rows: product(params, *rows, v)


def _columns(fn: Any, loss: Any) -> Callable[..., Any]:
    product = hvp(_summed(fn, loss))
    return lambda params, basis, *rows: vmap(lambda v: product(params, *rows, v))(basis)


def _gauss_newton(fn: Any, loss: Any) -> Callable[..., Any]:
    def product(params: Any, v: Any, *rows: Any) -> Any:
        of_params = lambda p: fn(p, *rows)  # noqa: E731
        y, pull = vjp(of_params, params)
        along = jvp(of_params, (params,), (v,))[1]
        if loss is not None:
            along = jvp(grad(lambda y: _sum(loss(y, *rows))), (y,), (along,))[1]
        return pull(along)[0]

    return product


_CALLS: dict[str, Callable[[Any, Any], Callable[..., Any]]] = {
    "value": _value,
    "gradient": _gradient,
    "product": _product,
    "columns": _columns,
    "gauss_newton": _gauss_newton,
}


def _parts(
    shard: Shard, content: bytes, key: str, kind: str, weighted: bool, given: Any, v: tuple[Any, ...], settled: bool
) -> Any:
    """Yield for each chunk of a shard its number and [rows, arrays ...]."""
    summand = unpacked(content, key, _Summand)
    given, *v = as_sent((given, *v))
    for number, rows in shard.chunks():
        arrays = summand.arrays(kind, weighted, (given, *v, *rows), settled)
        yield number, [np.array(len(rows[0]), np.int64), *arrays]


def _sum_of(shard: Shard, content: bytes, key: str, kind: str, weighted: bool, given: Any, *v: Any) -> Arrays:
    """The sum over a shard."""
    first = shard.first
    tree = Tree(-(-shard.rows // shard.chunk))
    for number, arrays in _parts(shard, content, key, kind, weighted, given, v, False):
        tree.add(number - first, arrays)
    return tree.total()


def _tree_of(
    shard: Shard, count: int, content: bytes, key: str, kind: str, weighted: bool, given: Any, *v: Any
) -> tuple[Tree, dict[str, set[str]]]:
    """The nodes of the tree over all chunks that a shard can sum, and the kinds of processor and libraries."""
    tree = Tree(count)
    with reproducible():
        for number, arrays in _parts(shard, content, key, kind, weighted, given, v, True):
            tree.add(number, arrays)
    return tree, {name: {kind} for name, kind in processor().items()}


_Part = tuple[Tree, dict[str, set[str]]]


def _merged(a: _Part, b: _Part) -> _Part:
    names = sorted(a[1].keys() | b[1].keys())
    return a[0].merged(b[0]), {name: a[1].get(name, set()) | b[1].get(name, set()) for name in names}


def _finished(found: _Part) -> tuple[Arrays, dict[str, set[str]]]:
    return found[0].total(), found[1]
