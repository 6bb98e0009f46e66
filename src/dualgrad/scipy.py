"""What SciPy's solvers ask for, from one function: values, gradients, Jacobians, Hessians on flat NumPy vectors.

===============  ==========================================  =====================================
function         for                                         gives
===============  ==========================================  =====================================
`objective`      ``scipy.optimize.minimize``                 ``fun, jac, hess, hessp``
`residuals`      ``scipy.optimize.least_squares``            ``fun, jac``
`system`         ``scipy.optimize.root``                     ``fun, jac``
`rhs`            ``scipy.integrate.solve_ivp``               ``fun, jac``
===============  ==========================================  =====================================

The variables are one array, or a nest of tuples, lists and dicts of arrays, or the Parameters of a Cell; they are packed
into one vector of float64 and unpacked again. What is computed is recorded (`dualgrad.jit`), and a value and its
derivative are computed together and kept for the next question at the same point.

SciPy is needed for sparse matrices and linear operators only: ``pip install 'dualgrad[scipy]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .compressed import sparse_hessian, sparse_jacobian
from .gradient import grad, jvp, value_and_grad, vjp
from .modes import jit
from .ops._arguments import to_shape
from .ops._joining import concat
from .parameter import Parameter
from .tensor import Tensor
from .vectorize import vmap

__all__ = ["Equations", "Objective", "Rhs", "objective", "residuals", "rhs", "system"]


# ----------------------------------------------------------------------------------------------------- packing


class _Leaf:
    """One array among the variables: its shape and type, and where it stands in the vector."""

    def __init__(self, x: Any, start: int) -> None:
        array = x.asnumpy() if isinstance(x, Tensor) else np.asarray(x, np.float64)
        if array.dtype.kind != "f":
            raise TypeError(f"the variables hold an array of {array.dtype}; expected floats")
        self.shape = array.shape
        self.dtype = x.dtype if isinstance(x, Tensor) else None
        self.numbers = array.astype(np.float64).ravel()
        self.part = slice(start, start + array.size)


class _Packing:
    """Between a nest of arrays and one vector."""

    def __init__(self, x: Any) -> None:
        self.size = 0
        self.leaves: list[_Leaf] = []
        self.template = self._walk(x)

    def _walk(self, x: Any) -> Any:
        if isinstance(x, tuple | list) and not self._is_vector(x):
            return type(x)([self._walk(item) for item in x])
        if isinstance(x, dict):
            return {key: self._walk(item) for key, item in x.items()}
        leaf = _Leaf(x, self.size)
        self.size = leaf.part.stop
        self.leaves.append(leaf)
        return leaf

    @staticmethod
    def _is_vector(x: Any) -> bool:
        """A list of numbers is an array, as SciPy has it."""
        return isinstance(x, list) and all(isinstance(item, int | float) for item in x)

    def vector(self) -> np.ndarray:
        """The numbers it was made of."""
        return np.concatenate([leaf.numbers for leaf in self.leaves]) if self.leaves else np.empty(0)

    def fill(self, make: Callable[[_Leaf], Any]) -> Any:
        """The nest with something for each leaf."""
        return _filled(self.template, make)

    def tensors(self, z: Tensor) -> Any:
        """The nest of the pieces of a vector."""

        def piece(leaf: _Leaf) -> Tensor:
            found = z if len(self.leaves) == 1 else z[leaf.part]
            found = found if found.shape == leaf.shape else to_shape(found, leaf.shape)
            return found if leaf.dtype is None or leaf.dtype == z.dtype else found.astype(leaf.dtype)

        return self.fill(piece)

    def arrays(self, x: np.ndarray) -> Any:
        """The nest of the pieces of a vector of numbers."""
        return self.fill(lambda leaf: x[leaf.part].reshape(leaf.shape))


def _filled(template: Any, make: Callable[[_Leaf], Any]) -> Any:
    if isinstance(template, _Leaf):
        return make(template)
    if isinstance(template, dict):
        return {key: _filled(item, make) for key, item in template.items()}
    return type(template)([_filled(item, make) for item in template])


class _Latest:
    """The results at the latest point: SciPy asks for a value and its derivative at the same one, in two calls."""

    def __init__(self, compute: Callable[[np.ndarray], Any]) -> None:
        self.compute = compute
        self.point: np.ndarray | None = None
        self.results: Any = None

    def __call__(self, x: np.ndarray) -> Any:
        if self.point is None or not np.array_equal(x, self.point):
            self.results = self.compute(x)
            self.point = np.array(x)
        return self.results


def _vector(name: str, x: Any, size: int) -> np.ndarray:
    found = np.asarray(x, np.float64)
    if found.shape != (size,):
        raise ValueError(f"{name}: got a vector of shape {found.shape}; expected {(size,)}, the number of variables")
    return found


def _checked_mode(name: str, what: str, mode: Any, modes: tuple[str, ...]) -> None:
    if mode not in modes:
        raise ValueError(f"{name}: {what} is {mode!r}; expected one of {', '.join(map(repr, modes))}")


def _checked_function(name: str, fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"{name}: expected a function or a Cell, got {type(fn).__name__}")


# ---------------------------------------------------------------------------------------------------- objective


class Objective:
    """A function to minimise, with its derivatives, on flat vectors; `objective` makes it.

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

    def __init__(self, name: str, hess: str) -> None:
        self._name = name
        self._hess = hess
        self._latest = _Latest(self._value_and_gradient)

    def fun(self, x: Any) -> float:
        """The value."""
        return self._latest(self._point(x))[0]

    def jac(self, x: Any) -> np.ndarray:
        """The gradient."""
        return self._latest(self._point(x))[1].copy()

    def hessp(self, x: Any, p: Any) -> np.ndarray:
        """The product of the Hessian with a vector."""
        return self._product(self._point(x), _vector(self._name, p, self.x0.size))

    def hess(self, x: Any) -> Any:
        """The Hessian: an array, a sparse matrix or a linear operator, as was asked for."""
        point = self._point(x)
        if self._hess == "dense":
            return self._dense(point)
        if self._hess == "sparse":
            return self._sparse(point)
        operators = _scipy("linear operators", "scipy.sparse.linalg")
        held, size = point.copy(), point.size
        product = lambda p: self._product(held, np.ravel(p).astype(np.float64))
        return operators.LinearOperator(
            (size, size), product, rmatvec=product, dtype=np.float64
        )

    def unpack(self, x: Any) -> Any:
        """The nest of arrays that a vector stands for."""
        raise NotImplementedError

    def _point(self, x: Any) -> np.ndarray:
        return _vector(self._name, x, self.x0.size)

    def _value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        raise NotImplementedError

    def _product(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _dense(self, x: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _sparse(self, x: np.ndarray) -> Any:
        raise NotImplementedError


class _OfArrays(Objective):
    """The variables are the first argument of the function."""

    def __init__(self, fn: Callable[..., Any], x0: Any, args: tuple[Any, ...], hess: str) -> None:
        super().__init__("objective", hess)
        self._packing = packing = _Packing(x0)
        self.x0 = packing.vector()

        def value(z: Tensor) -> Tensor:
            return _number(fn(packing.tensors(z), *args))

        gradient = grad(value)
        self._both = jit(value_and_grad(value))
        self._along = jit(lambda z, p: jvp(gradient, z, p)[1])
        self._rows = jit(lambda z, basis: vmap(lambda p: jvp(gradient, z, p)[1])(basis))
        self._coloured = sparse_hessian(value)

    def unpack(self, x: Any) -> Any:
        return self._packing.arrays(self._point(x))

    def _value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self._both(Tensor(x))
        return float(value), gradient.asnumpy()

    def _product(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        return self._along(Tensor(x), Tensor(p)).asnumpy()

    def _dense(self, x: np.ndarray) -> np.ndarray:
        return self._rows(Tensor(x), _identity(x.size)).asnumpy()

    def _sparse(self, x: np.ndarray) -> Any:
        return self._coloured(Tensor(x))


class _OfWeights(Objective):
    """The variables are Parameters, which the function reads; they are given the numbers of each vector asked for."""

    def __init__(self, fn: Callable[..., Any], weights: list[Parameter], args: tuple[Any, ...], hess: str) -> None:
        super().__init__("objective", hess)
        self._weights = weights
        self._packing = packing = _Packing(list(weights))
        self.x0 = packing.vector()

        def value(*given: Any) -> Tensor:
            return _number(fn(*given))

        gradient = grad(value, None, weights)

        def product(*pieces: Tensor) -> Any:
            along = lambda: sum(((g * p).sum() for g, p in zip(gradient(*args), pieces, strict=True)), Tensor(0.0))
            return grad(along, None, weights)()

        both = value_and_grad(value, None, weights)
        self._both = jit(lambda: both(*args))
        self._along = jit(product)
        self._rows = jit(lambda *bases: vmap(product)(*bases))

    def unpack(self, x: Any) -> dict[str, np.ndarray]:
        """The array of each Parameter by its name."""
        arrays = self._packing.arrays(self._point(x))
        return {p.name: array for p, array in zip(self._weights, arrays, strict=True)}

    def assign(self, x: Any) -> None:
        """Give the Parameters the numbers of a vector: the solution, say."""
        for p, piece in zip(self._weights, self._packing.arrays(self._point(x)), strict=True):
            p.set_data(Tensor(piece, p.dtype))

    def _value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self.assign(x)
        value, gradients = self._both()
        return float(value), _joined(gradients)

    def _product(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        self.assign(x)
        pieces = [Tensor(a, w.dtype) for a, w in zip(self._packing.arrays(p), self._weights, strict=True)]
        return _joined(self._along(*pieces))

    def _dense(self, x: np.ndarray) -> np.ndarray:
        self.assign(x)
        basis = np.eye(x.size)
        pieces = [
            Tensor(basis[:, leaf.part].reshape(x.size, *leaf.shape), leaf.dtype) for leaf in self._packing.leaves
        ]
        rows = [np.asarray(g.asnumpy(), np.float64).reshape(x.size, -1) for g in self._rows(*pieces)]
        return np.concatenate(rows, 1)


def _joined(tensors: Sequence[Tensor]) -> np.ndarray:
    return np.concatenate([x.asnumpy().astype(np.float64).ravel() for x in tensors])


def _number(y: Any) -> Tensor:
    if not isinstance(y, Tensor) or y.size != 1:
        what = f"shape {y.shape}" if isinstance(y, Tensor) else type(y).__name__
        raise ValueError(f"objective: the function returned {what}; expected a Tensor with one element")
    return to_shape(y, ())


def _identity(n: int) -> Tensor:
    return Tensor(np.eye(n))


def _scipy(what: str, module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"dualgrad.scipy: {what} need SciPy; install it with pip install 'dualgrad[scipy]'") from None


def objective(
    fn: Callable[..., Any], x0: Any = None, *args: Any, weights: Any = None, hess: str = "product"
) -> Objective:
    """What ``scipy.optimize.minimize`` asks for, of a function or Cell.

    Parameters
    ----------
    fn : callable
        ``fn(x, *args)`` returns a Tensor with one element. With `weights` it is called as ``fn(*args)``.
    x0 : array, Tensor, or nest of tuples, lists and dicts of them
        The starting point; `fn` is called with Tensors of this nesting, these shapes and, where they are Tensors, types.
        With `weights` the first argument of `fn`, if it takes any.
    *args
        Further arguments of `fn`.
    weights : list of Parameters, optional
        The variables, instead of the first argument: ``cell.trainable_params()``. They are given the numbers of each
        point that is asked for; ``assign(result.x)`` leaves the solution in them.
    hess : {"product", "dense", "sparse"}, default "product"
        What ``hess`` returns: a ``LinearOperator``, an array, or a ``csr_array`` (`sparse_hessian`). Products are always
        there as ``hessp``.

    Returns
    -------
    Objective
        With the methods ``fun, jac, hess, hessp`` of flat vectors, ``x0``, and ``unpack(x)``, which turns a vector into a
        nest of arrays.

    Raises
    ------
    TypeError, ValueError
        If `fn` cannot be called, returns more than one number, or variables hold no floats.

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
    """
    _checked_function("objective", fn)
    _checked_mode("objective", "hess", hess, ("product", "dense", "sparse"))
    if weights is None:
        if x0 is None:
            raise TypeError("objective: the starting point is missing; give x0, or weights")
        return _OfArrays(fn, x0, args, hess)
    found = [weights] if isinstance(weights, Parameter) else list(weights)
    if not found or not all(isinstance(p, Parameter) for p in found):
        raise TypeError("objective: weights is empty or holds something else than Parameters")
    if hess == "sparse":
        raise ValueError("objective: hess='sparse' is for variables that are arguments; weights have 'dense' and 'product'")
    return _OfWeights(fn, found, args if x0 is None else (x0, *args), hess)


# ---------------------------------------------------------------------------------------------------- equations


class _Map:
    """A function of a vector with its Jacobian, recorded."""

    def __init__(self, name: str, value: Callable[..., Tensor], size: int, jac: str, leading: int = 0) -> None:
        self.name = name
        self.mode = jac
        self.size = size
        self.value = jit(value)
        self.function = value
        self.leading = leading
        self.dense = jit(self._dense)
        self.forward = jit(lambda z, p: jvp(value, z, p)[1])
        self.backward = jit(lambda z, p: vjp(value, z)[1](p)[0])
        self.sparse = sparse_jacobian(value, leading)

    def _dense(self, *given: Any) -> Tensor:
        """The Jacobian by columns where there are fewer of them, or by rows."""
        before, z, basis = given[: self.leading], given[self.leading], given[self.leading + 1]
        of_vector = lambda z: self.function(*before, z)
        if basis.shape[0] == self.size:
            return vmap(lambda p: jvp(of_vector, z, p)[1], out_axes=1)(basis)
        _, pull = vjp(of_vector, z)
        return vmap(lambda p: pull(p)[0])(basis)

    def jacobian(self, rows: int, *given: Tensor) -> Any:
        if self.mode == "sparse":
            return self.sparse(*given)
        return self.dense(*given, _identity(min(rows, self.size))).asnumpy()


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
        self._packing = packing = _Packing(x0)
        self.x0 = packing.vector()
        self._name = name
        self._jac = jac

        def value(z: Tensor) -> Tensor:
            return _flattened(name, fn(packing.tensors(z), *args))

        self._map = _Map(name, value, packing.size, jac)
        self._values = _Latest(lambda x: self._map.value(Tensor(x)).asnumpy())

    def fun(self, x: Any) -> np.ndarray:
        """The values."""
        return self._values(_vector(self._name, x, self.x0.size)).copy()

    def jac(self, x: Any) -> Any:
        """The Jacobian: an array, a sparse matrix or a linear operator, as was asked for."""
        point = _vector(self._name, x, self.x0.size)
        if self._jac != "product":
            return self._map.jacobian(self._values(point).size, Tensor(point))
        operators = _scipy("linear operators", "scipy.sparse.linalg")
        z = Tensor(point)
        return operators.LinearOperator(
            (self._values(point).size, point.size),
            lambda p: self._map.forward(z, _direction(p)).asnumpy(),
            rmatvec=lambda p: self._map.backward(z, _direction(p)).asnumpy(),
            dtype=np.float64,
        )

    def unpack(self, x: Any) -> Any:
        """The nest of arrays that a vector stands for."""
        return self._packing.arrays(_vector(self._name, x, self.x0.size))


def _flattened(name: str, y: Any) -> Tensor:
    parts = y if isinstance(y, tuple | list) else [y]
    if not parts or not all(isinstance(x, Tensor) for x in parts):
        raise TypeError(f"{name}: the function returned a {type(y).__name__}; expected a Tensor, or a tuple of them")
    flat = [to_shape(x, (x.size,)) for x in parts]
    return flat[0] if len(flat) == 1 else concat(flat)


def _direction(p: Any) -> Tensor:
    return Tensor(np.ravel(p).astype(np.float64))


def residuals(fn: Callable[..., Any], x0: Any, *args: Any, jac: str = "dense") -> Equations:
    """What ``scipy.optimize.least_squares`` asks for, of a function or Cell that returns residuals.

    Parameters
    ----------
    fn : callable
        ``fn(x, *args)`` returns a Tensor, or a tuple of them, of any shape.
    x0 : array, Tensor, or nest of tuples, lists and dicts of them
        The starting point, as for `objective`.
    *args
        Further arguments of `fn`.
    jac : {"dense", "sparse", "product"}, default "dense"
        What ``jac`` returns: an array, a ``csr_array`` (`sparse_jacobian`), or a ``LinearOperator``.

    Returns
    -------
    Equations
        With the methods ``fun, jac, unpack`` and ``x0``.

    Raises
    ------
    TypeError, ValueError
        If `fn` cannot be called or returns no tensors, or variables hold no floats.

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
    _checked_function("residuals", fn)
    _checked_mode("residuals", "jac", jac, ("dense", "sparse", "product"))
    return Equations("residuals", fn, x0, args, jac)


def system(fn: Callable[..., Any], x0: Any, *args: Any, jac: str = "dense") -> Equations:
    """What ``scipy.optimize.root`` asks for, of a function or Cell whose zero is wanted.

    Parameters
    ----------
    fn : callable
        ``fn(x, *args)`` returns a Tensor, or a tuple of them, of as many elements as `x` has.
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
    _checked_function("system", fn)
    _checked_mode("system", "jac", jac, ("dense", "sparse", "product"))
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
        self._packing = packing = _Packing(y0)
        self.y0 = packing.vector()
        self._wanted = jac

        def value(t: Tensor, z: Tensor) -> Tensor:
            found = _flattened("rhs", _listed(fn(t, packing.tensors(z), *args)))
            if found.size != packing.size:
                raise ValueError(f"rhs: the function returned {found.size} numbers for a state of {packing.size}")
            return found

        self._map = _Map("rhs", value, packing.size, jac, leading=1)

    def fun(self, t: float, y: Any) -> np.ndarray:
        """The derivative of the state."""
        return self._map.value(*self._given(t, y)).asnumpy()

    def jac(self, t: float, y: Any) -> Any:
        """The Jacobian by the state."""
        return self._map.jacobian(self.y0.size, *self._given(t, y))

    def unpack(self, y: Any) -> Any:
        """The nest of arrays that a vector stands for."""
        return self._packing.arrays(_vector("rhs", y, self.y0.size))

    def _given(self, t: float, y: Any) -> tuple[Tensor, Tensor]:
        return Tensor(np.float64(t)), Tensor(_vector("rhs", y, self.y0.size))


def _listed(x: Any) -> Any:
    """The tensors of a nest, in the order in which they are packed."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, tuple | list):
        return [leaf for item in x for leaf in (_listed(item) if isinstance(item, tuple | list | dict) else [item])]
    return x


def rhs(fn: Callable[..., Any], y0: Any, *args: Any, jac: str = "dense") -> Rhs:
    """What ``scipy.integrate.solve_ivp`` asks for, of the right-hand side of y' = f(t, y).

    Parameters
    ----------
    fn : callable
        ``fn(t, y, *args)`` returns the derivative of the state, in its nesting; ``t`` is a Tensor without axes.
    y0 : array, Tensor, or nest of tuples, lists and dicts of them
        The initial state.
    *args
        Further arguments of `fn`.
    jac : {"dense", "sparse"}, default "dense"
        What ``jac`` returns, for the implicit methods (Radau, BDF, LSODA): an array or a ``csr_array``.

    Returns
    -------
    Rhs
        With the methods ``fun, jac, unpack`` and ``y0``.

    Raises
    ------
    TypeError, ValueError
        If `fn` cannot be called or its result has another size than the state.

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
    _checked_function("rhs", fn)
    _checked_mode("rhs", "jac", jac, ("dense", "sparse"))
    return Rhs(fn, y0, args, jac)
