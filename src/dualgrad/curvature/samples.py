"""Gradients and Hessian diagonals for each sample of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from .._nests import mapped
from .._settings import described
from ..tensor import Tensor
from ..transforms.gradient import grad
from ..transforms.positions import check_callable
from ..transforms.transformed import transformation
from ..transforms.vectorize import vmap
from ._space import kept
from .diagonals import hessian_diagonal
from .products import one_element

__all__ = ["per_sample_diagonals", "per_sample_gradients"]

Transform = Callable[..., Callable[..., Any]]


@transformation
def per_sample_gradients(
    loss: Callable[..., Any],
    weights: Any = None,
    grad_position: int | tuple[int, ...] | None = None,
    *,
    in_axes: Any = None,
    keepdims: bool = False,
) -> Callable[..., Any]:
    """Make the function that computes the gradient of each sample's loss.

    Parameters
    ----------
    loss : callable
        The loss of one sample, one element: a function or Cell of the arguments of one sample.
    weights : Parameter, or ParameterTuple, list or tuple of them, optional
        Parameters to differentiate by.
    grad_position : int or tuple of ints, optional
        Inputs to differentiate by. Without weights the default is the first one.
    in_axes : optional
        As for `vmap`. By default the batch axis is the first axis of every input, except of differentiated inputs,
        which all samples share.
    keepdims : bool, default False
        Call `loss` with batches of one sample instead of a sample, for Cells that expect a batch axis.

    Returns
    -------
    callable
        Takes a batch, and returns the structure of a gradient, with a batch axis in front of each Tensor.

    Raises
    ------
    TypeError, ValueError, IndexError
        As for `grad` and `vmap`, and if `loss` does not return one element.

    Notes
    -----
    ``vmap(grad(loss))``: no loop over samples. An operation that couples samples (batch normalisation in training) has
    no gradient for a single sample.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import nn, ops
    >>> net = nn.Dense(2, 1)
    >>> loss = lambda x, y: ((net(x) - y) ** 2).sum()
    >>> x, y = dg.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), dg.Tensor([1.0, 2.0, 3.0])
    >>> of_weight, of_bias = dg.curvature.per_sample_gradients(loss, net.trainable_params())(x, y)
    >>> print(of_weight.shape, of_bias.shape)
    (3, 1, 2) (3, 1)
    """
    return _per_sample("per_sample_gradients", grad, loss, weights, grad_position, in_axes, keepdims)


@transformation
def per_sample_diagonals(
    loss: Callable[..., Any],
    weights: Any = None,
    grad_position: int | tuple[int, ...] | None = None,
    *,
    in_axes: Any = None,
    keepdims: bool = False,
) -> Callable[..., Any]:
    """Make the function that computes the Hessian diagonal of each sample's loss.

    Parameters
    ----------
    loss, weights, grad_position, in_axes, keepdims
        As for `per_sample_gradients`.

    Returns
    -------
    callable
        Takes a batch, and returns the structure of a gradient, with a batch axis in front of each Tensor.

    Raises
    ------
    TypeError, ValueError, IndexError
        As for `per_sample_gradients`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> loss = lambda w, x: ((w * x) ** 2).sum()
    >>> w, x = dg.Tensor([1.0, 1.0]), dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(dg.curvature.per_sample_diagonals(loss)(w, x))
    [[ 2.  8.]
     [18. 32.]]
    """
    return _per_sample("per_sample_diagonals", hessian_diagonal, loss, weights, grad_position, in_axes, keepdims)


def _per_sample(
    name: str, transform: Transform, loss: Any, weights: Any, grad_position: Any, in_axes: Any, keepdims: bool
) -> Callable[..., Any]:
    check_callable(name, loss)
    weights = kept(weights)
    if not isinstance(keepdims, bool):
        raise TypeError(f"{name}: keepdims is {keepdims!r}; expected True or False")
    if not isinstance(grad_position, int | tuple | list | None):
        raise TypeError(f"{name}: grad_position must be an int or a tuple of ints, got {described(grad_position)}")
    if grad_position is None and weights is None:
        grad_position = 0
    shared = (grad_position,) if isinstance(grad_position, int) else grad_position or ()

    def number(*args: Any) -> Tensor:
        return one_element(name, "the loss of a sample", loss(*args))

    def batch(*args: Any) -> Any:
        axes = in_axes
        if axes is None:
            axes = tuple(None if i in shared else 0 for i in range(len(args)))
        each = axes if isinstance(axes, tuple | list) else (axes,) * len(args)
        if keepdims and not all(axis is None or isinstance(axis, int) for axis in each):
            raise TypeError(f"{name}: in_axes is {in_axes!r}; with keepdims expected one int or None for each input")

        def of_sample(*sample: Any) -> Any:
            if keepdims:
                sample = tuple(
                    x if axis is None else mapped(x, lambda t: ops.expand_dims(t, 0))
                    for x, axis in zip(sample, each, strict=True)
                )
            return transform(number, grad_position, weights)(*sample)

        return vmap(of_sample, axes)(*args)

    return batch
