"""`objective`: a function to minimise, with its first and second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .._engine.trace.dependence import Dependence
from ..modes import jit
from ..ops._arguments import to_shape
from ..parameter import Parameter
from ..tensor import Tensor
from ..transforms.gradient import grad, value_and_grad
from ..transforms.vectorize import vmap
from ._curvature import Curvature
from ._packing import Latest, Packing, checked_function, checked_mode, operator_of, vector_of

__all__ = ["Objective", "objective"]


class Objective:
    """A function of flat vectors to minimise, with its derivatives; `objective` makes it.

    Attributes
    ----------
    x0 : ndarray
        The starting point as a vector.

    Examples
    --------
    >>> import dualgrad as dg
    >>> import numpy as np
    >>> square = dg.scipy.objective(lambda x: (x * x).sum(), np.array([1.0, 2.0]), hess="dense")
    >>> square.fun(square.x0), square.jac(square.x0)
    (5.0, array([2., 4.]))
    >>> square.hess(square.x0)
    array([[2., 0.],
           [0., 2.]])
    """

    x0: np.ndarray

    _both: Any  # recorded function that returns value and gradient

    def __init__(self, name: str, hess: str, given: tuple[Any, ...]) -> None:
        if type(self) is Objective:
            raise TypeError("Objective: is made by dualgrad.scipy.objective(fn, x0)")
        self._name = name
        self._hess = hess
        self._given = given  # the arguments of `objective`
        self._latest = Latest(self._value_and_gradient, self._depends)

    def __reduce__(self) -> tuple[Any, ...]:
        fn, x0, args, weights = self._given
        return _restored, (fn, x0, args, weights, self._hess)

    def fun(self, x: Any) -> float:
        """The value."""
        return self._latest(self._point(x))[0]

    def jac(self, x: Any) -> np.ndarray:
        """The gradient."""
        return self._latest(self._point(x))[1].copy()

    def hessp(self, x: Any, p: Any) -> np.ndarray:
        """The product of the Hessian with a vector."""
        return self._product(self._point(x), vector_of(self._name, p, self.x0.size))

    def hess(self, x: Any) -> Any:
        """The Hessian: an array, a sparse matrix or a linear operator, depending on ``hess``."""
        return self._matrix(self._point(x))

    def unpack(self, x: Any) -> Any:
        """Cut a vector into the pytree of arrays."""
        raise NotImplementedError

    def _point(self, x: Any) -> np.ndarray:
        return vector_of(self._name, x, self.x0.size)

    def _value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        raise NotImplementedError

    def _depends(self, x: np.ndarray) -> Dependence | None:
        raise NotImplementedError

    def _product(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _matrix(self, x: np.ndarray) -> Any:
        raise NotImplementedError


class OfArrays(Objective):
    """An objective whose variables are the first argument of the function."""

    def __init__(
        self, fn: Callable[..., Any], x0: Any, args: tuple[Any, ...], hess: str, name: str = "objective"
    ) -> None:
        super().__init__(name, hess, (fn, x0, args, None))
        self._packing = packing = Packing(name, x0)
        self.x0 = packing.vector()

        def value(z: Tensor) -> Tensor:
            return _number(name, fn(packing.tensors(z), *args))

        self._both = jit(value_and_grad(value))
        self._curvature = Curvature(value)

    def unpack(self, x: Any) -> Any:
        return self._packing.arrays(self._point(x))

    def _value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self._both(Tensor(x))
        return float(value), gradient.asnumpy()

    def _depends(self, x: np.ndarray) -> Dependence | None:
        return self._both.depends_on(Tensor(x))

    def _product(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        return self._curvature.product(x, p)

    def _matrix(self, x: np.ndarray) -> Any:
        return self._curvature.matrix(self._hess, x)


class _OfWeights(Objective):
    """An objective whose variables are Parameters that the function reads; each call assigns its vector to them."""

    def __init__(self, fn: Callable[..., Any], weights: list[Parameter], args: tuple[Any, ...], hess: str) -> None:
        super().__init__("objective", hess, (fn, None, args, weights))
        self._weights = weights
        self._packing = packing = Packing("objective", list(weights))
        self.x0 = packing.vector()

        def value(*given: Any) -> Tensor:
            return _number("objective", fn(*given))

        gradient = grad(value, None, weights)

        def product(*pieces: Tensor) -> Any:
            def along() -> Any:
                return sum([(g * p).sum() for g, p in zip(gradient(*args), pieces, strict=True)])

            return grad(along, None, weights)()

        both = value_and_grad(value, None, weights)
        self._both = jit(lambda: both(*args))
        self._along = jit(product)
        self._rows = jit(lambda *bases: vmap(product)(*bases))

    def unpack(self, x: Any) -> dict[str, np.ndarray]:
        """Cut a vector into the arrays of the Parameters, by name."""
        arrays = self._packing.arrays(self._point(x))
        return {p.name: array for p, array in zip(self._weights, arrays, strict=True)}

    def assign(self, x: Any) -> None:
        """Assign the numbers of a vector, such as the solution, to the Parameters."""
        for p, piece in zip(self._weights, self._packing.arrays(self._point(x)), strict=True):
            p.set_data(Tensor(piece, p.dtype))

    def _value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self.assign(x)
        value, gradients = self._both()
        return float(value), _joined(gradients)

    def _depends(self, x: np.ndarray) -> Dependence | None:
        return self._both.depends_on()

    def _product(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        self.assign(x)
        pieces = [Tensor(a, w.dtype) for a, w in zip(self._packing.arrays(p), self._weights, strict=True)]
        return _joined(self._along(*pieces))

    def _matrix(self, x: np.ndarray) -> Any:
        if self._hess == "product":
            held = np.array(x)
            return operator_of((x.size, x.size), lambda p: self._product(held, p), lambda p: self._product(held, p))
        self.assign(x)
        basis = np.eye(x.size)
        pieces = [Tensor(basis[:, leaf.part].reshape(x.size, *leaf.shape), leaf.dtype) for leaf in self._packing.leaves]
        rows = [np.asarray(g.asnumpy(), np.float64).reshape(x.size, -1) for g in self._rows(*pieces)]
        return np.concatenate(rows, 1)


def _joined(tensors: Sequence[Tensor]) -> np.ndarray:
    return np.concatenate([x.asnumpy().astype(np.float64).ravel() for x in tensors])


#: Advice for a function that returns residuals, by the called function.
_RESIDUALS = {"fit": "pass method='lm'", "objective": "use dualgrad.scipy.residuals"}


def _number(name: str, y: Any) -> Tensor:
    if isinstance(y, Tensor) and y.size == 1:
        return to_shape(y, ())
    what = f"shape {y.shape}" if isinstance(y, Tensor) else type(y).__name__
    advice = ""
    if isinstance(y, Tensor | tuple | list):
        advice = f"; of residuals r return the mean of squares, (r ** 2).mean(), or {_RESIDUALS[name]}"
    raise ValueError(f"{name}: the function returned {what}; expected a Tensor with one element{advice}")


def _restored(fn: Any, x0: Any, args: tuple[Any, ...], weights: Any, hess: str) -> Objective:
    """Make an objective again after a copy or a pickle, without its programs and kept values."""
    return objective(fn, x0, *args, weights=weights, hess=hess)


def objective(
    fn: Callable[..., Any], x0: Any = None, *args: Any, weights: Any = None, hess: str = "product"
) -> Objective:
    """Make the functions that ``scipy.optimize.minimize`` needs, from a function or Cell.

    Parameters
    ----------
    fn : callable
        ``fn(x, *args)`` returns a Tensor with one element. With `weights` it is called as ``fn(*args)``.
    x0 : float, array, Tensor, or pytree of them
        The starting point; `fn` is called with Tensors of this nesting, these shapes and, where they are Tensors, these
        types. A list of numbers is an array. In fields of dataclasses and similar classes, and in registered classes
        (`register_pytree`), floats are variables; other fields stay as they are. With `weights`, the first argument of
        `fn`, if it takes any.
    *args
        Further arguments of `fn`.
    weights : list of Parameters, optional
        The variables, instead of the first argument: ``cell.trainable_params()``. Each call assigns its point to them;
        ``assign(result.x)`` leaves the solution in them.
    hess : {"product", "dense", "sparse"}, default "product"
        The form of the Hessian: a ``LinearOperator``, an array, or a ``csr_array`` (`sparse_hessian`). Products are
        always available as ``hessp``.

    Returns
    -------
    Objective
        With the methods ``fun, jac, hess, hessp`` of flat vectors, ``x0``, and ``unpack(x)``, which cuts a vector into
        a pytree of arrays.

    Raises
    ------
    TypeError, ValueError
        If `fn` cannot be called or returns several numbers, or the variables hold other objects than floats.

    Examples
    --------
    >>> import dualgrad as dg
    >>> import numpy as np
    >>> from scipy.optimize import minimize
    >>> rosenbrock = lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
    >>> f = dg.scipy.objective(rosenbrock, np.full(5, 3.0), hess="dense")
    >>> result = minimize(f.fun, f.x0, jac=f.jac, hess=f.hess, method="trust-exact")
    >>> result.success, np.round(result.x, 6)
    (True, array([1., 1., 1., 1., 1.]))

    Variables of several shapes:

    >>> start = {"centre": np.zeros(2), "radius": np.array(1.0)}
    >>> points = np.array([[3.0, 1.0], [1.0, 3.0], [-1.0, 1.0]])
    >>> def misfit(circle):
    ...     away = dg.Tensor(points) - circle["centre"]
    ...     return (((away * away).sum(1) - circle["radius"] ** 2) ** 2).sum()
    >>> f = dg.scipy.objective(misfit, start)
    >>> result = minimize(f.fun, f.x0, jac=f.jac, hessp=f.hessp, method="trust-ncg")
    >>> f.unpack(np.round(result.x, 4))
    {'centre': array([1., 1.]), 'radius': array(2.)}

    Or a dataclass of them:

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Line:
    ...     slope: object
    ...     offset: object
    ...     unit: str = "m"
    >>> f = dg.scipy.objective(lambda line: (line.slope - 2) ** 2 + (line.offset + 1) ** 2, Line(0.0, 0.0))
    >>> f.unpack(minimize(f.fun, f.x0, jac=f.jac).x.round(6))
    Line(slope=array(2.), offset=array(-1.), unit='m')
    """
    checked_function("objective", fn)
    checked_mode("objective", "hess", hess, ("product", "dense", "sparse"))
    if weights is None:
        if x0 is None:
            raise TypeError("objective: the starting point is missing; give x0, or weights")
        return OfArrays(fn, x0, args, hess)
    several = isinstance(weights, Iterable) and not isinstance(weights, Tensor | np.ndarray)
    found = [weights] if isinstance(weights, Parameter) else list(weights) if several else []
    if not found or not all(isinstance(p, Parameter) for p in found):
        raise TypeError("objective: weights is empty or holds something else than Parameters")
    if hess == "sparse":
        raise ValueError(
            "objective: hess='sparse' is for variables that are arguments; weights have 'dense' and 'product'"
        )
    return _OfWeights(fn, found, args if x0 is None else (x0, *args), hess)
