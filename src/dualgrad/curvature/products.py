"""Hessian, Gauss-Newton and Fisher matrices: operators at a point, and products with one direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from .._engine.trace.cache import Repeated
from .._engine.transforms.gradient import run_gradient
from .._engine.transforms.pullback import run_vjp
from .._nests import tensors_in
from .._settings import one_of
from ..tensor import Tensor
from ..transforms.gradient import grad
from ..transforms.hessians import hvp
from ..transforms.linearization import linearize
from ..transforms.positions import check_callable
from ..transforms.selection import Selected
from ..transforms.transformed import transformation
from ._linear import SymmetricOperator
from ._space import Space, selected, selection_of

__all__ = [
    "empirical_fisher_operator", "empirical_fisher_product", "fisher_operator", "fisher_product",
    "gauss_newton_operator", "gauss_newton_product", "hessian_operator", "hvp",
]  # fmt: skip


@transformation
def hessian_operator(
    fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = None, weights: Any = None
) -> Callable[..., SymmetricOperator]:
    """Make the function that returns the Hessian at a point as an operator.

    Parameters
    ----------
    fn : callable
        Returns a tensor, or a pytree of tensors; the sum of all elements is differentiated.
    grad_position : int or tuple of ints, optional
        The inputs to differentiate by, which may be pytrees. Without weights the default is the first one.
    weights : Parameter, or ParameterTuple, list or tuple of them, optional
        Parameters to differentiate by.

    Returns
    -------
    callable
        Takes the inputs of `fn` and returns a `SymmetricOperator`.

    Raises
    ------
    TypeError, ValueError, IndexError
        For positions and weights that do not fit, as for `grad`; for complex or integer variables.

    See Also
    --------
    hvp : One product; keeps no values.

    Notes
    -----
    The function and its gradient are evaluated once; a product is a tangent of the gradient (forward over reverse).

    Examples
    --------
    >>> import dualgrad as dg
    >>> A = dg.curvature.hessian_operator(lambda x: (x**4).sum())(dg.Tensor([1.0, 2.0]))
    >>> print(A @ dg.Tensor([1.0, 1.0]))
    [12. 48.]
    """
    name = "hessian_operator"
    selection = selection_of(name, fn, grad_position, weights)

    def operator(*args: Any, **kwargs: Any) -> SymmetricOperator:
        call = selected(selection, fn, args, kwargs)
        everything = tuple(range(len(call.leaves)))

        def gradient(*leaves: Tensor) -> Any:
            return tuple(run_gradient(name, call, leaves, {}, everything, [], None, False, False, True)[2])

        _, tangent = linearize(gradient, tuple(call.leaves))
        return SymmetricOperator(name, Space(call), lambda v: list(tangent(*v)))

    return operator


@transformation
def gauss_newton_operator(
    loss: Callable[..., Any],
    model: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = None,
    weights: Any = None,
) -> Callable[..., SymmetricOperator]:
    """Make the function that returns the generalised Gauss-Newton matrix J^T H J of a loss as an operator.

    Parameters
    ----------
    loss : callable
        ``loss(outputs, *targets)``, a Tensor with one element. Other tensors that it reads are constants.
    model : callable
        A function or Cell that returns the outputs: a tensor, or a pytree of tensors.
    grad_position, weights
        The inputs and weights to differentiate the model by, as for `hessian_operator`.

    Returns
    -------
    callable
        Takes the inputs of `model`, and as the keyword `targets` the tuple of the other arguments of `loss` (a single
        Tensor counts as a tuple of one). Returns a `SymmetricOperator`.

    Raises
    ------
    TypeError, ValueError, IndexError
        As for `hessian_operator`, and if `loss` does not return one element.

    Notes
    -----
    J is the Jacobian of the outputs by the variables, H the Hessian of the loss by the outputs (Schraudolph, "Fast
    curvature matrix-vector products for second-order gradient descent", 2002). The matrix equals the Hessian of the
    whole if the model is linear, and is positive semidefinite if the loss is convex in the outputs. The model is
    evaluated once; a product is a forward sweep, a small product at the outputs, and a reverse sweep.

    Examples
    --------
    >>> import dualgrad as dg
    >>> squares = lambda out, y: 0.5 * ((out - y) ** 2).sum()
    >>> model = lambda w, x: w[0] * dg.ops.exp(w[1] * x)
    >>> w, x, y = dg.Tensor([2.0, 0.0]), dg.Tensor([0.0, 1.0]), dg.Tensor([1.0, 5.0])
    >>> print(dg.curvature.gauss_newton_operator(squares, model)(w, x, targets=y).dense())
    [[2. 2.]
     [2. 4.]]
    """
    name = "gauss_newton_operator"
    check_callable(name, loss)
    selection = selection_of(name, model, grad_position, weights)

    def operator(*args: Any, targets: Any = (), **kwargs: Any) -> SymmetricOperator:
        call = selected(selection, model, args, kwargs)
        given = targets if isinstance(targets, tuple) else (targets,)

        def number(outputs: Any) -> Tensor:
            return one_element(name, "the loss", loss(outputs, *given))

        def curvature_of(outputs: Any) -> Callable[[Any], Any]:
            return linearize(grad(number), (outputs,))[1]

        return _factored(name, call, curvature_of)

    return operator


def _information(likelihood: str, outputs: Tensor, variance: Any) -> Callable[[Tensor], Tensor]:
    """The Fisher matrix of a likelihood by the outputs, as a map of their tangents."""
    if likelihood == "gaussian":
        return lambda u: (u / variance).astype(u.dtype)
    if likelihood == "poisson":
        rate = ops.exp(outputs)
        return lambda u: rate * u
    if likelihood == "bernoulli":
        p = ops.sigmoid(outputs)
        return lambda u: p * (1.0 - p) * u
    p = ops.softmax(outputs, -1)
    return lambda u: p * (u - (p * u).sum(-1, keepdims=True))


LIKELIHOODS = ("gaussian", "categorical", "bernoulli", "poisson")


@transformation
def fisher_operator(
    model: Callable[..., Any],
    likelihood: str,
    grad_position: int | tuple[int, ...] | None = None,
    weights: Any = None,
    *,
    variance: Any = 1.0,
) -> Callable[..., SymmetricOperator]:
    """Make the function that returns the Fisher information matrix of a model, summed over its outputs, as an operator.

    Parameters
    ----------
    model : callable
        A function or Cell that returns one Tensor: the means of Gaussians, logits of categories along the last axis,
        logits of Bernoulli variables, or logarithms of Poisson rates.
    likelihood : {"gaussian", "categorical", "bernoulli", "poisson"}
        The distribution of the data, given the outputs.
    grad_position, weights
        The inputs and weights to differentiate the model by, as for `hessian_operator`.
    variance : float or Tensor, default 1.0
        The variance of the Gaussians; broadcasts against the outputs.

    Returns
    -------
    callable
        Takes the inputs of `model` and returns a `SymmetricOperator`. It needs no data, since the expectation over them
        is exact. Divide by the number of samples for a mean.

    Raises
    ------
    TypeError, ValueError, IndexError
        As for `hessian_operator`, and for an unknown likelihood or outputs other than a single Tensor.

    See Also
    --------
    empirical_fisher_operator : The sum of squared gradients on given data, which is another matrix.

    Notes
    -----
    F = sum_i J_i^T E[-d^2 log p(y | f_i)] J_i with the expectation over y. For these likelihoods, with natural
    parameters as outputs, it is the Gauss-Newton matrix of the negative log-likelihood (Martens, "New insights and
    perspectives on the natural gradient method", 2020): 1 / variance, diag(p) - p p^T, p (1 - p), and the rate.

    Examples
    --------
    >>> import dualgrad as dg
    >>> logits = lambda w: dg.ops.stack([w, -w])
    >>> print(dg.curvature.fisher_operator(logits, "categorical")(dg.Tensor(0.0)).dense())
    [[1.]]
    """
    name = "fisher_operator"
    if not one_of(likelihood, LIKELIHOODS):
        raise ValueError(f"{name}: likelihood is {likelihood!r}; expected one of {', '.join(LIKELIHOODS)}")
    if isinstance(variance, int | float) and not variance > 0:
        raise ValueError(f"{name}: variance is {variance}; expected a positive number")
    if likelihood != "gaussian" and not (isinstance(variance, int | float) and variance == 1):
        raise ValueError(f"{name}: a variance for the likelihood {likelihood!r}; expected one for 'gaussian' only")
    selection = selection_of(name, model, grad_position, weights)

    def operator(*args: Any, **kwargs: Any) -> SymmetricOperator:
        def curvature_of(outputs: Any) -> Callable[[Any], Any]:
            if not isinstance(outputs, Tensor) or (likelihood == "categorical" and not outputs.ndim):
                what = f"shape {outputs.shape}" if isinstance(outputs, Tensor) else type(outputs).__name__
                raise TypeError(f"{name}: the model returned {what}; expected one Tensor, with an axis of categories")
            return _information(likelihood, outputs, variance)

        return _factored(name, selected(selection, model, args, kwargs), curvature_of)

    return operator


@transformation
def empirical_fisher_operator(
    losses: Callable[..., Any], grad_position: int | tuple[int, ...] | None = None, weights: Any = None
) -> Callable[..., SymmetricOperator]:
    """Make the function that returns the sum of the outer products of the samples' gradients as an operator.

    Parameters
    ----------
    losses : callable
        A function or Cell that returns the losses of the samples, one element each (``reduction="none"``).
    grad_position, weights
        The inputs and weights to differentiate by, as for `hessian_operator`.

    Returns
    -------
    callable
        Takes the inputs of `losses` and returns a `SymmetricOperator`.

    Raises
    ------
    TypeError, ValueError, IndexError
        As for `hessian_operator`.

    Notes
    -----
    With J the Jacobian of the losses it is J^T J: a forward and a reverse sweep; no gradient of a single sample is
    formed. It is not the Fisher matrix: labels are given, not drawn from the model (Kunstner, Balles, Hennig,
    "Limitations of the empirical Fisher approximation", 2019).

    Examples
    --------
    >>> import dualgrad as dg
    >>> losses = lambda w, x: w * x
    >>> print(dg.curvature.empirical_fisher_operator(losses)(dg.Tensor(2.0), dg.Tensor([1.0, 3.0])).dense())
    [[10.]]
    """
    name = "empirical_fisher_operator"
    selection = selection_of(name, losses, grad_position, weights)

    def operator(*args: Any, **kwargs: Any) -> SymmetricOperator:
        return _factored(name, selected(selection, losses, args, kwargs), lambda outputs: lambda u: u)

    return operator


def _factored(name: str, call: Selected, curvature_of: Callable[[Any], Callable[[Any], Any]]) -> SymmetricOperator:
    """The operator J^T M J, with J the Jacobian of a call, and M the result of `curvature_of` for its outputs."""
    outputs, pull, _ = run_vjp(name, call, tuple(call.leaves), [], False, lambda found, _: found)
    for y in tensors_in(outputs):
        if not y.dtype.is_float:
            raise TypeError(f"{name}: the model returned a Tensor of {y.dtype}; expected real floats")
    middle = curvature_of(outputs)

    def product(*v: Tensor) -> tuple[Tensor, ...]:
        return tuple(pull.pulled(*tensors_in(middle(pull.push(v)))))

    repeated = Repeated(f"a product of {name}", product)
    return SymmetricOperator(name, Space(call), lambda v: list(repeated(*v)))


def one_element(name: str, what: str, value: Any) -> Tensor:
    """Check that a result is one number. Returns it as a Tensor of shape ()."""
    if not isinstance(value, Tensor) or value.size != 1:
        found = f"shape {value.shape}" if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"{name}: {what} returned {found}; expected a Tensor with one element")
    return value.reshape(())


# ------------------------------------------------------------------------------------------------ single products

_MISSING = object()


def _with_direction(name: str, operator: Callable[..., SymmetricOperator]) -> Callable[..., Any]:
    """Make a function of the inputs and the direction, which is the last argument or the keyword `v`."""

    def product(*args: Any, v: Any = _MISSING, **kwargs: Any) -> Any:
        if v is _MISSING:
            if not args:
                raise TypeError(f"{name}: the direction is missing; it is the last argument, or the keyword v")
            args, v = args[:-1], args[-1]
        return operator(*args, **kwargs)(v)

    return product


@transformation
def gauss_newton_product(
    loss: Callable[..., Any],
    model: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = None,
    weights: Any = None,
) -> Callable[..., Any]:
    """Make the function that multiplies the generalised Gauss-Newton matrix J^T H J by a direction.

    Parameters
    ----------
    loss, model, grad_position, weights
        As for `gauss_newton_operator`.

    Returns
    -------
    callable
        Takes the inputs of `model`, the keyword `targets`, and the direction in the structure of a gradient, as last
        positional argument or as the keyword `v`. Returns the product in that structure.

    Raises
    ------
    TypeError, ValueError, IndexError
        As for `gauss_newton_operator`, and for a direction that is missing or has another structure.

    Examples
    --------
    >>> import dualgrad as dg
    >>> squares = lambda out, y: 0.5 * ((out - y) ** 2).sum()
    >>> model = lambda w, x: w[0] * dg.ops.exp(w[1] * x)
    >>> w, x, y = dg.Tensor([2.0, 0.0]), dg.Tensor([0.0, 1.0]), dg.Tensor([1.0, 5.0])
    >>> print(dg.curvature.gauss_newton_product(squares, model)(w, x, dg.Tensor([0.0, 1.0]), targets=y))
    [2. 4.]
    """
    return _with_direction("gauss_newton_product", gauss_newton_operator(loss, model, grad_position, weights))


@transformation
def fisher_product(
    model: Callable[..., Any],
    likelihood: str,
    grad_position: int | tuple[int, ...] | None = None,
    weights: Any = None,
    *,
    variance: Any = 1.0,
) -> Callable[..., Any]:
    """Make the function that multiplies the Fisher information matrix by a direction.

    Parameters
    ----------
    model, likelihood, grad_position, weights, variance
        As for `fisher_operator`.

    Returns
    -------
    callable
        Takes the inputs of `model` and the direction in the structure of a gradient, as last positional argument or as
        the keyword `v`. Returns the product in that structure.

    Raises
    ------
    TypeError, ValueError, IndexError
        As for `fisher_operator`, and for a direction that is missing or has another structure.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import nn
    >>> net = nn.Dense(2, 3)
    >>> product = dg.curvature.fisher_product(net, "gaussian", weights=net.trainable_params(), variance=0.5)
    >>> of_weight, of_bias = product(dg.Tensor([[1.0, 2.0]]), (dg.ops.zeros((3, 2)), dg.ops.ones((3,))))
    >>> print(of_bias)
    [2. 2. 2.]
    """
    return _with_direction(
        "fisher_product", fisher_operator(model, likelihood, grad_position, weights, variance=variance)
    )


@transformation
def empirical_fisher_product(
    losses: Callable[..., Any], grad_position: int | tuple[int, ...] | None = None, weights: Any = None
) -> Callable[..., Any]:
    """Make the function that multiplies the empirical Fisher matrix by a direction.

    Parameters
    ----------
    losses, grad_position, weights
        As for `empirical_fisher_operator`.

    Returns
    -------
    callable
        As for `fisher_product`.

    Raises
    ------
    TypeError, ValueError, IndexError
        As for `empirical_fisher_operator`, and for a direction that is missing or has another structure.

    Examples
    --------
    >>> import dualgrad as dg
    >>> product = dg.curvature.empirical_fisher_product(lambda w, x: w * x)
    >>> print(product(dg.Tensor(2.0), dg.Tensor([1.0, 3.0]), dg.Tensor(1.0)))
    10.0
    """
    return _with_direction("empirical_fisher_product", empirical_fisher_operator(losses, grad_position, weights))
