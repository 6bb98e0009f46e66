"""`residuals`, `system` and `rhs`: vector-valued functions with their Jacobians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine.transforms.pytrees import in_words
from .._nests import matched
from ..dtype import float64
from ..modes import jit
from ..ops._arguments import to_shape
from ..ops.axes._joining import concat
from ..sparse.compressed import sparse_jacobian
from ..tensor import Tensor
from ..transforms.gradient import jvp, vjp
from ..transforms.vectorize import vmap
from ._curvature import Curvature
from ._packing import Latest, Packing, checked_function, checked_mode, operator_of, vector_of

__all__ = ["Equations", "Rhs", "residuals", "rhs", "system"]


class _Map:
    """A recorded function of a vector, with its Jacobian."""

    def __init__(self, name: str, value: Callable[..., Tensor], size: int, jac: str, leading: int = 0) -> None:
        self.name = name
        self.mode = jac
        self.size = size
        self.value: Any = jit(value)
        self.function = value
        self.leading = leading
        self.dense = jit(self._dense)
        self.forward = jit(lambda z, p: jvp(value, z, p)[1])
        self.backward = jit(lambda z, p: vjp(value, z)[1](p)[0])
        self.sparse = sparse_jacobian(value, leading)

    def _dense(self, *given: Any) -> Tensor:
        """The Jacobian by columns or by rows, whichever are fewer."""
        before, z, basis = given[: self.leading], given[self.leading], given[self.leading + 1]

        def of_vector(z: Tensor) -> Tensor:
            return self.function(*before, z)

        if basis.shape[0] == self.size:
            return vmap(lambda p: jvp(of_vector, z, p)[1], out_axes=1)(basis)
        _, pull = vjp(of_vector, z)
        return vmap(lambda p: pull(p)[0])(basis)

    def jacobian(self, rows: int, *given: Tensor) -> Any:
        if self.mode == "sparse":
            return self.sparse(*given)
        return self.dense(*given, Tensor(np.eye(min(rows, self.size)))).asnumpy()


class Equations:
    """A vector-valued function with its Jacobian on flat vectors; `residuals` and `system` make it.

    Attributes
    ----------
    x0 : ndarray
        The starting point as a vector.

    Examples
    --------
    >>> import dualgrad as dg
    >>> import numpy as np
    >>> circle = dg.scipy.system(lambda x: (x * x).sum().reshape(1) - 1, np.array([0.6, 0.8]))
    >>> circle.jac(circle.x0)
    array([[1.2, 1.6]])
    """

    def __init__(self, name: str, fn: Callable[..., Any], x0: Any, args: tuple[Any, ...], jac: str) -> None:
        self._packing = packing = Packing(name, x0)
        self.x0: np.ndarray = packing.vector()
        self._name = name
        self._jac = jac

        def value(z: Tensor) -> Tensor:
            return _flattened(name, fn(packing.tensors(z), *args))

        self._map = _Map(name, value, packing.size, jac)
        self._curvature = Curvature(lambda z, v: (value(z) * v).sum())
        self._values = Latest(
            lambda x: self._map.value(Tensor(x)).asnumpy(), lambda x: self._map.value.depends_on(Tensor(x))
        )
        self._made_of = (name, fn, x0, args, jac)

    def __reduce__(self) -> tuple[Any, ...]:
        return Equations, self._made_of  # without programs and kept values

    def fun(self, x: Any) -> np.ndarray:
        """The values."""
        return self._values(vector_of(self._name, x, self.x0.size)).copy()

    def jac(self, x: Any) -> Any:
        """The Jacobian: an array, a sparse matrix or a linear operator, depending on ``jac``."""
        point = vector_of(self._name, x, self.x0.size)
        if self._jac != "product":
            return self._map.jacobian(self._values(point).size, Tensor(point))
        z = Tensor(point)
        return operator_of(
            (self._values(point).size, point.size),
            lambda p: self._map.forward(z, Tensor(p)).asnumpy(),
            lambda p: self._map.backward(z, Tensor(p)).asnumpy(),
        )

    def hess(self, x: Any, v: Any) -> Any:
        """The Hessian of the sum of values times `v`, in the form of ``jac``, for ``NonlinearConstraint``."""
        point = vector_of(self._name, x, self.x0.size)
        return self._curvature.matrix(self._jac, point, vector_of(self._name, v, self._values(point).size))

    def unpack(self, x: Any) -> Any:
        """Cut a vector into the pytree of arrays."""
        return self._packing.arrays(vector_of(self._name, x, self.x0.size))


def _flattened(name: str, y: Any) -> Tensor:
    parts = y if isinstance(y, tuple | list) else [y]
    if not parts or not all(isinstance(x, Tensor) for x in parts):
        raise TypeError(f"{name}: the function returned a {type(y).__name__}; expected a Tensor, or a tuple of them")
    flat = [to_shape(x, (x.size,)) for x in parts]
    joined = flat[0] if len(flat) == 1 else concat(flat)
    return joined if joined.dtype == float64 else joined.astype(float64)


def residuals(fn: Callable[..., Any], x0: Any, *args: Any, jac: str = "dense") -> Equations:
    """Make the functions that ``scipy.optimize.least_squares`` needs, from a function or Cell that returns residuals.

    Parameters
    ----------
    fn : callable
        ``fn(x, *args)`` returns a Tensor, or a tuple of them, of any shape.
    x0 : float, array, Tensor, or pytree of them
        The starting point, as for `objective`.
    *args
        Further arguments of `fn`.
    jac : {"dense", "sparse", "product"}, default "dense"
        The form of the Jacobian: an array, a ``csr_array`` (`sparse_jacobian`), or a ``LinearOperator``.

    Returns
    -------
    Equations
        With the methods ``fun, jac, unpack`` and ``x0``.

    Raises
    ------
    TypeError, ValueError
        If `fn` cannot be called or does not return tensors, or the variables hold other objects than floats.

    Examples
    --------
    >>> import dualgrad as dg
    >>> import numpy as np
    >>> from scipy.optimize import least_squares
    >>> times = np.linspace(0.0, 2.0, 21)
    >>> seen = 3.0 * np.exp(-1.5 * times)
    >>> r = dg.scipy.residuals(lambda p: p[0] * np.exp(-p[1] * times) - seen, np.array([1.0, 1.0]))
    >>> np.round(least_squares(r.fun, r.x0, jac=r.jac).x, 6)
    array([3. , 1.5])
    """
    checked_function("residuals", fn)
    checked_mode("residuals", "jac", jac, ("dense", "sparse", "product"))
    return Equations("residuals", fn, x0, args, jac)


def system(fn: Callable[..., Any], x0: Any, *args: Any, jac: str = "dense") -> Equations:
    """Make the functions that ``scipy.optimize.root`` needs, from a function or Cell.

    Parameters
    ----------
    fn : callable
        ``fn(x, *args)`` returns a Tensor, or a tuple of them, with as many elements as `x`.
    x0, *args, jac
        As for `residuals`.

    Returns
    -------
    Equations
        With the methods ``fun, jac, unpack`` and ``x0``.

    Raises
    ------
    TypeError, ValueError
        As for `residuals`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> import numpy as np
    >>> from scipy.optimize import root
    >>> def both(x):
    ...     return x[0] ** 2 + x[1] ** 2 - 4, x[0] - x[1]
    >>> f = dg.scipy.system(both, np.array([1.0, 2.0]))
    >>> root(f.fun, f.x0, jac=f.jac).x
    array([1.41421356, 1.41421356])
    """
    checked_function("system", fn)
    checked_mode("system", "jac", jac, ("dense", "sparse", "product"))
    return Equations("system", fn, x0, args, jac)


# ------------------------------------------------------------------------------------------ differential equations


class Rhs:
    """The right-hand side of y' = f(t, y) with its Jacobian on flat vectors; `rhs` makes it.

    Attributes
    ----------
    y0 : ndarray
        The initial state as a vector.

    Examples
    --------
    >>> import dualgrad as dg
    >>> import numpy as np
    >>> f = dg.scipy.rhs(lambda t, y: -t * y, np.array([1.0, 2.0]))
    >>> f.fun(3.0, f.y0), f.jac(3.0, f.y0)
    (array([-3., -6.]), array([[-3.,  0.],
           [ 0., -3.]]))
    """

    def __init__(self, fn: Callable[..., Any], y0: Any, args: tuple[Any, ...], jac: str) -> None:
        self._made_of = (fn, y0, args, jac)
        self._packing = packing = Packing("rhs", y0)
        self.y0: np.ndarray = packing.vector()
        self._wanted = jac

        def value(t: Tensor, z: Tensor) -> Tensor:
            found = _flattened("rhs", _parts_of_state(packing, fn(t, packing.tensors(z), *args)))
            if found.size != packing.size:
                raise ValueError(f"rhs: the function returned {found.size} numbers for a state of {packing.size}")
            return found

        self._map = _Map("rhs", value, packing.size, jac, leading=1)

    def __reduce__(self) -> tuple[Any, ...]:
        return Rhs, self._made_of  # without programs

    def fun(self, t: float, y: Any) -> np.ndarray:
        """The derivative of the state."""
        return self._map.value(*self._given(t, y)).asnumpy()

    def jac(self, t: float, y: Any) -> Any:
        """The Jacobian by the state."""
        return self._map.jacobian(self.y0.size, *self._given(t, y))

    def unpack(self, y: Any) -> Any:
        """Cut a vector into the pytree of arrays."""
        return self._packing.arrays(vector_of("rhs", y, self.y0.size))

    def _given(self, t: float, y: Any) -> tuple[Tensor, Tensor]:
        return Tensor(np.float64(t)), Tensor(vector_of("rhs", y, self.y0.size))


def _parts_of_state(packing: Packing, y: Any) -> Any:
    """The derivatives of the parts of a state, in the order of packing."""
    if isinstance(y, Tensor) or isinstance(packing.nest, Tensor):
        return y
    parts = matched("rhs", packing.nest, y, "the derivative of the state")
    for part, leaf in zip(parts, packing.leaves, strict=True):
        if not isinstance(part, Tensor):
            raise TypeError(f"rhs: the derivative of the state holds {in_words(part)}; expected Tensors")
        if part.shape != leaf.shape:
            raise ValueError(f"rhs: the derivative of a part of shape {leaf.shape} has shape {part.shape}")
    return parts


def rhs(fn: Callable[..., Any], y0: Any, *args: Any, jac: str = "dense") -> Rhs:
    """Make the functions that ``scipy.integrate.solve_ivp`` needs, from the right-hand side of y' = f(t, y).

    Parameters
    ----------
    fn : callable
        ``fn(t, y, *args)`` returns the derivative of the state, in its nesting or in one Tensor; ``t`` is a Tensor
        without axes.
    y0 : float, array, Tensor, or pytree of them
        The initial state, like `x0` of `objective`.
    *args
        Further arguments of `fn`.
    jac : {"dense", "sparse"}, default "dense"
        The form of the Jacobian, for the implicit methods (Radau, BDF, LSODA): an array or a ``csr_array``.

    Returns
    -------
    Rhs
        With the methods ``fun, jac, unpack`` and ``y0``.

    Raises
    ------
    TypeError, ValueError
        If `fn` cannot be called, or its result has another size or nesting than the state.

    Examples
    --------
    Robertson's stiff reactions:

    >>> import dualgrad as dg
    >>> import numpy as np
    >>> from dualgrad import ops
    >>> from scipy.integrate import solve_ivp
    >>> def robertson(t, y):
    ...     a, b = 0.04 * y[0] - 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    ...     return ops.stack((-a, a - b, b))
    >>> f = dg.scipy.rhs(robertson, np.array([1.0, 0.0, 0.0]))
    >>> solution = solve_ivp(f.fun, (0.0, 40.0), f.y0, method="Radau", jac=f.jac, rtol=1e-8, atol=1e-12)
    >>> solution.success, np.round(solution.y[:, -1], 5)
    (True, array([0.71583, 0.00001, 0.28416]))
    """
    checked_function("rhs", fn)
    checked_mode("rhs", "jac", jac, ("dense", "sparse"))
    return Rhs(fn, y0, args, jac)
