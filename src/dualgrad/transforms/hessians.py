"""Second derivatives: `hessian`, `hvp`.

Both use forward mode over reverse mode: they compute the gradient with dual numbers, so its tangent is a product of the
Hessian and a direction. A whole Hessian is a batch of such products.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._engine.transforms.forward import run_jvp
from .._engine.transforms.gradient import run_gradient, run_outermost
from .._engine.transforms.inputs import as_input
from ..tensor import Tensor
from .jacobians import columns_of, jacobian_of, rows_of
from .positions import PositionError, check_sensitivity
from .selection import Selected, Selection
from .transformed import transformation

if TYPE_CHECKING:
    from typing import Concatenate, Literal, overload

    from .transformed import Input, Number, P, X

__all__ = ["hessian", "hvp"]


if TYPE_CHECKING:

    @overload
    def hessian(  # type: ignore[overload-overlap]
        fn: Callable[Concatenate[Tensor, P], Tensor], grad_position: Literal[0] = 0, *, chunk_size: int | None = None
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def hessian(  # type: ignore[overload-overlap]
        fn: Callable[Concatenate[Number, P], Tensor], grad_position: Literal[0] = 0, *, chunk_size: int | None = None
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def hessian(
        fn: Callable[Concatenate[X, P], object], grad_position: Literal[0] = 0, *, chunk_size: int | None = None
    ) -> Callable[Concatenate[X, P], Any]: ...
    @overload
    def hessian(
        fn: Callable[..., Any],
        grad_position: int | tuple[int, ...] | None = 0,
        has_aux: bool = False,
        *,
        weights: Any = None,
        chunk_size: int | None = None,
    ) -> Callable[..., Any]: ...


@transformation
def hessian(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    has_aux: bool = False,
    *,
    weights: Any = None,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Make the function that computes second derivatives of a function or Cell.

    Parameters
    ----------
    fn, grad_position, has_aux, weights, chunk_size
        As for `jacfwd`.

    Returns
    -------
    callable
        Takes the inputs of `fn`. The Hessian of an output by two inputs has the shape of the output followed by the
        shapes of the inputs. For several inputs or weights it is nested like a gradient, with each entry nested like a
        gradient again: ``hessian(f, (0, 1))(x, y)`` is ``((xx, xy), (yx, yy))``. With `has_aux`: (Hessian, other).

    Raises
    ------
    TypeError, ValueError, IndexError
        As for `jacfwd`.

    See Also
    --------
    hvp : A product with a direction, at a much lower cost.

    Notes
    -----
    ``hessian(f)`` is ``jacfwd(jacrev(f))``: the function and its gradient are evaluated once for each batch, and each
    column costs one tangent of both. Two entries that should be equal may differ in the last digit if their sums run in
    different orders. Where few variables meet, a program (of `dualgrad.jit`, or of a call on large arrays) computes the
    entries one by one, if that costs less.

    Examples
    --------
    >>> import dualgrad as dg
    >>> print(dg.hessian(lambda x: x[0] ** 2 * x[1])(dg.Tensor([1.0, 2.0])))
    [[4. 2.]
     [2. 0.]]
    """
    rows = jacobian_of("hessian", fn, grad_position, has_aux, weights, None, rows_of)
    columns = jacobian_of("hessian", rows, grad_position, has_aux, weights, chunk_size, columns_of)
    selection = Selection("hessian", fn, grad_position, weights, has_aux)
    settings = (*selection.settings(), chunk_size)

    @functools.wraps(fn, updated=())
    def second(*args: Any, **kwargs: Any) -> Any:
        return run_outermost("hessian", fn, settings, columns, *selection.inputs(args, kwargs))

    return second


@transformation
def hvp(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    with_value: bool = False,
) -> Callable[..., Any]:
    """Make the function that multiplies the Hessian by a direction.

    Parameters
    ----------
    fn : callable
        Returns a tensor, or a pytree of tensors; the sum of all elements is differentiated.
    grad_position, weights
        The inputs and weights to differentiate by, as for `grad`.
    has_aux : bool, default False
        `fn` returns a tuple whose first entry alone is differentiated.
    with_value : bool, default False
        Return the value and the gradient, too. They are computed in any case.

    Returns
    -------
    callable
        Takes the inputs of `fn` and then the direction, as last positional argument or as the keyword `v` (a tensor, a
        floating number or array). Direction and product have the structure of the gradient that `grad` with these
        settings returns. With `has_aux`: (product, (others...)); with `with_value`: (value, gradient, product); with
        both, the others follow the value: ((value, others...), gradient, product).

    Raises
    ------
    TypeError, ValueError, IndexError
        For positions and weights that do not fit, as for `grad`; if the direction is missing, or does not have the
        nesting, shapes and types of the gradient.

    See Also
    --------
    linearize : ``linearize(grad(f), x)`` gives the same products, for many directions at one point.

    Notes
    -----
    Exact; the cost is about four evaluations of `fn`, for any number of variables.

    Examples
    --------
    >>> import dualgrad as dg
    >>> f = lambda x: (x**4).sum()
    >>> x, v = dg.Tensor([1.0, 2.0]), dg.Tensor([1.0, 0.0])
    >>> print(dg.hvp(f)(x, v))
    [12.  0.]
    >>> print(*dg.hvp(f, with_value=True)(x, v))
    17.0 [ 4. 32.] [12.  0.]
    """
    selection = Selection("hvp", fn, grad_position, weights, has_aux)
    if not isinstance(with_value, bool):
        raise TypeError(f"hvp: with_value is {with_value!r}; expected True or False")

    def compute(*args: Any, v: Any, **kwargs: Any) -> Any:
        call = Selected(selection, fn, args, kwargs)
        everything = tuple(range(len(call.leaves)))

        def gradient(*leaves: Tensor) -> Any:
            value, aux, found, _ = run_gradient("hvp", call, leaves, {}, everything, [], None, False, has_aux, True)
            return tuple(found), value, aux

        found, product, (value, aux) = run_jvp(
            "hvp", gradient, tuple(call.leaves), tuple(call.flattened(v, "the direction")), True
        )
        product = call.arranged(list(product))
        if not with_value:
            return (product, aux) if has_aux else product
        return ((value, *aux) if has_aux else value), call.arranged(list(found)), product

    @functools.wraps(fn, updated=())
    def product(*args: Any, **kwargs: Any) -> Any:
        given, split = kwargs, "v" not in kwargs
        if split:
            if not args:
                raise TypeError("hvp: the direction is missing; it is the last argument, or the keyword v")
            args, kwargs = args[:-1], {**kwargs, "v": args[-1]}
        try:
            v = as_input("hvp", "the direction", kwargs.pop("v"))
            args, kwargs = selection.inputs(args, kwargs)
            kwargs = {**kwargs, "v": v}
            return run_outermost("hvp", fn, (*selection.settings(), with_value), compute, args, kwargs)
        except (TypeError, PositionError):
            if split:
                check_sensitivity("hvp", fn, args, given, "direction", "arranged like the gradient")
            raise

    return product
