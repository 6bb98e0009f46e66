"""`linearize`: the value of a function at a point, with its derivative as a reusable linear function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._engine.transforms.inputs import as_inputs
from .._engine.transforms.pullback import run_vjp
from .._engine.transforms.pytrees import differentiable
from .positions import check_callable

if TYPE_CHECKING:
    from .._engine.trace.cache import Repeated
    from .transformed import R

__all__ = ["linearize"]


def linearize(fn: Callable[..., R], inputs: Any) -> tuple[R, Callable[..., R]]:
    """Compute a function at a point. Returns its value, and its derivative there as a linear function.

    Parameters
    ----------
    fn : callable
        A function or Cell of the inputs.
    inputs : Tensor, or tuple or list of Tensors
        The point; entries may also be pytrees. Floating numbers and NumPy arrays, also in tangents, become tensors of
        their type.

    Returns
    -------
    outputs : Tensor or pytree of Tensors
        ``fn(*inputs)``.
    tangent : callable
        Takes a tangent arranged like `inputs` (or, for several inputs, one argument for each) and returns the tangent
        of the outputs, as `jvp` does. It can be called repeatedly and differentiated.

    Raises
    ------
    TypeError
        If `fn` cannot be called or returns no Tensor, an input cannot be differentiated by, or a tangent has another
        type than its input.
    ValueError
        If a tangent does not have the nesting or the shape of its input.

    See Also
    --------
    jvp : The same for one direction; keeps no values.

    Notes
    -----
    `fn` runs once, here, and its intermediate values are kept; each call of the tangent is a sweep over them. From the
    third call on the sweep is recorded, with all values that do not depend on the tangent as constants, and then
    replayed. For ``fn = grad(f)`` the tangents are products with the Hessian, for conjugate gradients or a Lanczos
    iteration.

    Examples
    --------
    >>> import dualgrad as dg
    >>> y, tangent = dg.linearize(lambda x: x**3, dg.Tensor([1.0, 2.0]))
    >>> print(y, tangent(dg.Tensor([1.0, 0.0])), tangent(dg.Tensor([0.0, 1.0])))
    [1. 8.] [3. 0.] [ 0. 12.]
    """
    check_callable("linearize", fn)
    several = isinstance(inputs, tuple | list)
    points = as_inputs("linearize", "input", tuple(inputs) if several else (inputs,))
    for i, x in enumerate(points):
        if not differentiable(x):
            raise TypeError(f"linearize: input {i} is a {type(x).__name__}; expected a Tensor or a floating number")
    from .._engine.trace.cache import Repeated  # takes time to import, and not every program records

    value, pull, _ = run_vjp("linearize", fn, points, [], False, _by_input)
    return value, _Tangent(Repeated("the tangent of linearize", pull.push), len(points), several)


def _by_input(found: tuple[Any, ...], _: Any) -> tuple[Any, ...]:
    return found


class _Tangent:
    """The derivative at a point, as a function of tangents."""

    def __init__(self, push: Repeated, count: int, several: bool) -> None:
        self._push = push
        self._count = count
        self._several = several

    def __call__(self, *v: Any) -> Any:
        if self._several and len(v) == 1 and isinstance(v[0], tuple | list) and (self._count > 1 or len(v[0]) == 1):
            v = tuple(v[0])
        if len(v) != self._count:
            raise ValueError(f"linearize: {len(v)} tangents for {self._count} inputs; expected one for each")
        return self._push(as_inputs("linearize", "the tangent of input", v))
