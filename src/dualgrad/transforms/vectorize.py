"""vmap: a function of one sample, applied to many at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._engine.transforms.inputs import apart
from .._engine.transforms.leaves import checked_result
from .._engine.transforms.pytrees import in_words, with_leaves
from .._engine.transforms.vmap import run_vmap
from ..tensor import Tensor
from .transformed import transformation
from .written import mapped_parameters, writing

if TYPE_CHECKING:
    from .transformed import P, R

__all__ = ["vmap"]

_NUMBERS = (bool, int, float, complex, np.ndarray, np.generic)


@transformation
def vmap(fn: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0) -> Callable[P, R]:
    """Make a function that applies `fn` to all samples of its inputs at once.

    Parameters
    ----------
    fn : callable
        A function or Cell of one sample: tensors, or pytrees of tensors. Inside, shapes are the shapes of one sample.
        It may take derivatives, and call vmap itself.
    in_axes : int, None, or pytree of these, default 0
        The batch axis of the inputs: one for all, or a tuple with an entry for each positional input, nested like it if
        it is a pytree. None: all samples share the input.
    out_axes : int, or pytree of them, default 0
        The batch axis of the results.

    Returns
    -------
    callable
        Takes the arguments of `fn`, with the samples along the axes in `in_axes`; keyword arguments are shared. A
        result of shape ``shape`` returns as ``(samples, *shape)``. A result that is the same for all samples is
        repeated, also a plain number. Fields of objects that hold no tensor are kept as they are.

    Raises
    ------
    TypeError
        If `fn` cannot be called or returns neither tensors nor numbers, or an axis is neither an int nor None. A
        `LeavesDerivativeError` if `fn` passes a tensor to code that needs plain numbers (``float(x)``,
        ``np.asarray(x)``), since they differ between samples.
    ValueError
        If an axis does not exist, mapped axes differ in length, no input is mapped, or `fn` reads the numbers of a
        tensor (``if x > 0``, ``x.asnumpy()``).

    Notes
    -----
    Instead of a loop, each primitive runs once, on all samples. vmap composes with every derivative in any order:
    ``vmap(grad(f))`` gives one gradient for each sample, and ``grad`` of a function that calls vmap gives the gradient
    through all samples.

    Random numbers whose distribution depends on an input (`multinomial` of weights, `gamma` of parameters, a candidate
    sampler of classes) are drawn for each sample separately. Random numbers that depend only on a shape (`randn`,
    dropout) are the same for all samples.

    A mapped Parameter is a tensor inside. If a primitive class such as `ops.ApplyAdagrad` takes an optimiser's step
    with it, both the tensor and the Parameter change.

    Examples
    --------
    >>> import dualgrad as dg
    >>> f = lambda x, w: (w * x).sum() ** 2
    >>> xs, w = dg.Tensor([[1.0, 2.0], [3.0, 4.0]]), dg.Tensor([1.0, 0.5])
    >>> print(dg.vmap(dg.grad(f), in_axes=(0, None))(xs, w))
    [[ 4.  2.]
     [10.  5.]]
    """
    if not callable(fn):
        raise TypeError(f"vmap: expected a function or a Cell, got {type(fn).__name__}")

    if ensemble := getattr(fn, "_over_samples", None):
        return ensemble(in_axes, out_axes)

    @functools.wraps(fn, updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = in_axes
        if isinstance(axes, tuple | list) and len(axes) != len(args):
            raise ValueError(f"vmap: in_axes has {len(axes)} entries for {len(args)} inputs; expected one for each")
        if isinstance(axes, list):
            axes = tuple(axes)
        args, kwargs = apart("vmap", args, args, kwargs)

        def run(function: Callable[..., Any], result_axes: Any) -> Any:
            return run_vmap("vmap", function, args, kwargs, axes, result_axes)

        try:
            if parameters := mapped_parameters(args, axes):
                return writing(run, sample, args, parameters, axes, out_axes)
            return run(sample, out_axes)
        except TypeError:
            _check_mapped(args, axes)
            raise

    def sample(*args: Any, **kwargs: Any) -> Any:
        return checked_result("vmap", with_leaves(fn(*args, **kwargs), _repeatable))

    return mapped


def _check_mapped(args: tuple[Any, ...], axes: Any) -> None:
    """Raise for a mapped input that holds other objects than tensors, with advice."""
    each = axes if isinstance(axes, tuple) else (axes,) * len(args)
    for position, (x, axis) in enumerate(zip(args, each, strict=True)):

        def check(leaf: Any, named: bool, position: int = position, axis: Any = axis) -> Any:
            if not (named or isinstance(leaf, Tensor)):
                raise TypeError(
                    f"vmap: in_axes names axis {axis} of input {position}, which holds {in_words(leaf)}; expected "
                    "Tensors there: wrap an array or a list of numbers, Tensor(x), or give None in in_axes for what "
                    "all samples share"
                ) from None
            return leaf

        if isinstance(axis, int):
            with_leaves(x, check)


def _repeatable(leaf: Any, named: bool) -> Any:
    """Convert a returned number to a tensor, to be repeated for each sample; numbers in fields stay as they are."""
    return leaf if named or not isinstance(leaf, _NUMBERS) else Tensor(leaf)
