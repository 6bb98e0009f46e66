"""Gradients: `GradOperation`, `grad`, `value_and_grad`, `get_grad`, `stop_gradient`.

The functions here check their arguments and arrange the results of the engine; the work is in
`_engine/transforms/gradient.pyx`. A gradient function is a plain function of the inputs of `fn`, so gradients nest to
any depth. A value belongs to a level by identity, and an inner gradient is one instruction of the outer tape.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import porting
from .._engine.transforms.calls import CellCall
from .._engine.transforms.custom import call_custom
from .._engine.transforms.forward import run_jvp
from .._engine.transforms.gradient import GradientFunction, run_gradient
from .._engine.transforms.handles import stop
from .._engine.transforms.inputs import as_input, as_inputs
from .._engine.transforms.pullback import run_vjp
from .._engine.transforms.pytrees import differentiable
from .._nests import mapped
from .._settings import truth_value
from ..parameter import Parameter
from ..tensor import Tensor
from .positions import PositionError as PositionError
from .positions import check_callable, check_sensitivity, checked_position, checked_weights, inputs_at, parameters_of
from .transformed import transformation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Concatenate, Literal, overload

    from .transformed import A, Input, Number, P, R, X

__all__ = [
    "GradOperation",
    "call_custom",
    "get_grad",
    "grad",
    "jvp",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]


class GradOperation:
    """Makes gradient functions of a function or Cell.

    Parameters
    ----------
    get_all
        Gradients of all inputs instead of the first only.
    get_by_list
        Gradients of weights.
    sens_param
        The gradient function takes a sensitivity: its last positional argument, or the keyword `sens`. Without one it
        differentiates the sum of all elements of all outputs.
    complex_gradients : {'jax', 'mindspore'}, optional
        The convention of complex gradients; by default the one set by `dualgrad.porting.follow`, initially JAX's.

    Raises
    ------
    ValueError
        If the convention is unknown.
    TypeError
        If a flag is not a bool; when a gradient is computed, if the function returns no tensor.

    Notes
    -----
    For outputs y = f(x) with sensitivity v the result is the vector-Jacobian product v^T dy/dx (reverse mode;
    Griewank and Walther, Evaluating Derivatives, 2008, section 3.2).

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> square = lambda x: x * x
    >>> ops.GradOperation()(square)(dg.Tensor([3.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 6.00000000e+00])
    """

    __slots__ = ("_last", "complex_gradients", "get_all", "get_by_list", "sens_param")

    if TYPE_CHECKING:  # without flags the type is another one, which keeps the function's signature

        @overload
        def __new__(
            cls,
            get_all: Literal[False] = False,
            get_by_list: Literal[False] = False,
            sens_param: Literal[False] = False,
            *,
            complex_gradients: str | None = None,
        ) -> _OfFirst: ...
        @overload
        def __new__(
            cls,
            get_all: bool = False,
            get_by_list: bool = False,
            sens_param: bool = False,
            *,
            complex_gradients: str | None = None,
        ) -> GradOperation: ...
        def __new__(cls, *args: Any, **kwargs: Any) -> GradOperation: ...

        get_all: bool
        get_by_list: bool
        sens_param: bool
        complex_gradients: str | None
        _last: tuple[Any, Any]

    if not TYPE_CHECKING:  # __new__ has the same signature

        def __init__(
            self,
            get_all: bool = False,
            get_by_list: bool = False,
            sens_param: bool = False,
            *,
            complex_gradients: str | None = None,
        ) -> None:
            for flag, value in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
                if not isinstance(value, bool):
                    raise TypeError(f"GradOperation: {flag} is {value!r}; expected True or False")
            self.get_all = get_all
            self.get_by_list = get_by_list
            self.sens_param = sens_param
            if complex_gradients is not None:
                porting.checked_convention("GradOperation", complex_gradients)
            self.complex_gradients = complex_gradients
            # A Cell may make the gradient function of an inner Cell at each of its calls; this returns the same one.
            self._last = (None, None)

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> Callable[..., Any]:
        last, function = self._last
        ported = porting.warned or (self.complex_gradients or porting.convention) != "jax"
        if fn is last and weights is None and not ported:
            return function
        if not callable(fn):
            check_callable("GradOperation", fn)  # type: ignore[unreachable]
        parameters: list[Parameter] | None = None
        single = False
        if self.get_by_list and weights is not None:
            parameters, single = checked_weights("GradOperation", weights)
        function = (_OfSensitivity if self.sens_param else GradientFunction)(
            fn, self.get_all, self.get_by_list, self.sens_param, parameters, single, parameters_of
        )
        if ported:
            return _Ported(function, self)
        if weights is None and isinstance(fn, CellCall):
            self._last = (fn, function)
        return function

    def __repr__(self) -> str:
        flags = f"get_all={self.get_all}, get_by_list={self.get_by_list}, sens_param={self.sens_param}"
        return f"GradOperation({flags})"


if TYPE_CHECKING:

    class _OfFirst(GradOperation):
        @overload
        def __call__(
            self, fn: Callable[Concatenate[Tensor, P], object], weights: None = None
        ) -> Callable[Concatenate[Input, P], Tensor]: ...
        @overload
        def __call__(
            self, fn: Callable[Concatenate[Number, P], object], weights: None = None
        ) -> Callable[Concatenate[Input, P], Tensor]: ...
        @overload
        def __call__(
            self, fn: Callable[Concatenate[X, P], object], weights: None = None
        ) -> Callable[Concatenate[X, P], X]: ...
        @overload
        def __call__(self, fn: Callable[..., Any], weights: Any = None) -> Callable[..., Any]: ...
        def __call__(self, fn: Any, weights: Any = None) -> Any: ...


class _OfSensitivity(GradientFunction):
    """A gradient function with a sensitivity. Its error says so if the sensitivity was forgotten."""

    __slots__ = ("plain",)

    def __init__(self, *settings: Any) -> None:
        super().__init__(*settings)
        self.plain = GradientFunction(*settings)  # the engine may run it twice, and this frame only once

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.plain(*args, **kwargs)
        except TypeError:
            if "sens" not in kwargs and args:
                check_sensitivity("GradOperation", self.fn, args[:-1], kwargs)
            raise

    def __copy__(self) -> _OfSensitivity:
        return _OfSensitivity(*self.plain.__reduce__()[1])

    def __reduce__(self) -> tuple[Any, ...]:
        return _OfSensitivity, self.plain.__reduce__()[1]


class _Ported:
    """A gradient function of `GradOperation` in MindSpore's convention, or with warnings about differences."""

    def __init__(self, gradient: Callable[..., Any], operation: GradOperation) -> None:
        self.gradient = gradient
        self.operation = operation

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        operation = self.operation
        conjugated = (operation.complex_gradients or porting.convention) == "mindspore"
        if conjugated and operation.sens_param:
            if "sens" in kwargs:
                kwargs["sens"] = porting.conjugated(kwargs["sens"])
            elif args:
                args = (*args[:-1], porting.conjugated(args[-1]))
        gradients = self.gradient(*args, **kwargs)
        if conjugated:
            gradients = porting.conjugated(gradients)
        if porting.warned:
            inputs = args[:-1] if operation.sens_param and "sens" not in kwargs else args
            if operation.get_all:
                porting.note_nests("GradOperation", inputs)
            porting.note_gradients("GradOperation", inputs, gradients, conjugated)
        return gradients


_NO_WEIGHTS: list[Parameter] = []  # a single object, so that new gradient functions have equal keys


def _make(
    name: str,
    fn: Any,
    grad_position: Any,
    weights: Any,
    has_aux: Any,
    return_ids: Any,
    sens_param: Any,
    with_value: bool,
) -> Callable[..., Any]:
    positions, several = checked_position(name, grad_position, weights)
    for flag, value in (("has_aux", has_aux), ("return_ids", return_ids), ("sens_param", sens_param)):
        if not isinstance(value, bool):
            raise TypeError(f"{name}: {flag} is {value!r}; expected True or False")
    check_callable(name, fn)
    parameters, single = _NO_WEIGHTS, False
    if weights is not None:
        parameters, single = checked_weights(name, weights)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        sens, split = None, False
        if sens_param:
            if "sens" in kwargs:
                sens = kwargs.pop("sens")
            elif args:
                sens, args, split = args[-1], args[:-1], True
            else:
                raise TypeError(f"{name}: the sensitivity is missing; with sens_param=True it is the last argument")
            sens = as_input(name, "the sensitivity", sens)
        conjugated = porting.convention == "mindspore"
        if conjugated and sens is not None:
            sens = porting.conjugated(sens)
        try:
            args, kwargs = inputs_at(name, positions, args, kwargs, weights is not None)
            value, aux, inputs, by_weights = run_gradient(
                name, fn, args, kwargs, positions, parameters, sens, sens_param, has_aux, with_value
            )
        except (TypeError, PositionError):
            if split:
                check_sensitivity(name, fn, args, kwargs)
            raise
        if conjugated:
            inputs, by_weights = porting.conjugated(inputs), porting.conjugated(by_weights)
        if porting.warned:
            differentiated = tuple(args[p] for p in positions)
            porting.note_nests(name, differentiated)
            porting.note_gradients(name, differentiated, (inputs, by_weights), conjugated)
        gradients = _arranged(inputs, by_weights)
        if not with_value:
            return (gradients, aux) if has_aux else gradients
        return ((value, *aux) if has_aux else value), gradients

    def _arranged(inputs: list[Any], by_weights: list[Any]) -> Any:
        if return_ids:
            inputs = list(zip(positions, inputs, strict=True))
            by_weights = [(p.name, g) for p, g in zip(parameters, by_weights, strict=True)]
        by_position = (tuple(inputs) if several else inputs[0]) if positions else None
        if weights is None:
            return by_position
        found = by_weights[0] if single else tuple(by_weights)
        return (by_position, found) if positions else found

    return gradient


if TYPE_CHECKING:

    @overload
    def grad(
        fn: Callable[Concatenate[Tensor, P], object], grad_position: Literal[0] = 0, *, has_aux: Literal[False] = False
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def grad(
        fn: Callable[Concatenate[Number, P], object], grad_position: Literal[0] = 0, *, has_aux: Literal[False] = False
    ) -> Callable[Concatenate[Input, P], Tensor]: ...
    @overload
    def grad(
        fn: Callable[Concatenate[X, P], object], grad_position: Literal[0] = 0, *, has_aux: Literal[False] = False
    ) -> Callable[Concatenate[X, P], X]: ...
    @overload
    def grad(
        fn: Callable[Concatenate[Tensor, P], object], grad_position: Literal[0] = 0, *, has_aux: Literal[True]
    ) -> Callable[Concatenate[Input, P], tuple[Tensor, tuple[Any, ...]]]: ...
    @overload
    def grad(
        fn: Callable[Concatenate[A, Tensor, P], object], grad_position: Literal[1]
    ) -> Callable[Concatenate[A, Input, P], Tensor]: ...
    @overload
    def grad(  # type: ignore[overload-overlap]
        fn: Callable[Concatenate[Tensor, Tensor, P], object], grad_position: tuple[Literal[0], Literal[1]]
    ) -> Callable[Concatenate[Input, Input, P], tuple[Tensor, Tensor]]: ...
    @overload
    def grad(
        fn: Callable[P, object], grad_position: tuple[int, int, *tuple[int, ...]]
    ) -> Callable[P, tuple[Any, ...]]: ...
    @overload
    def grad(fn: Callable[P, object], grad_position: None, weights: Parameter) -> Callable[P, Tensor]: ...
    @overload
    def grad(
        fn: Callable[P, object], grad_position: None, weights: Sequence[Parameter]
    ) -> Callable[P, tuple[Tensor, ...]]: ...
    @overload
    def grad(
        fn: Callable[..., Any],
        grad_position: int | tuple[int, ...] | None = 0,
        weights: Any = None,
        has_aux: bool = False,
        return_ids: bool = False,
        sens_param: bool = False,
    ) -> Callable[..., Any]: ...


@transformation
def grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """Make the gradient function of a function or Cell.

    Parameters
    ----------
    fn
        Returns a tensor, or a pytree of tensors (a nest of tuples, lists, dicts, dataclasses and classes of
        `register_pytree`); the sum of all elements is differentiated. Other objects in the pytree are ignored.
    grad_position
        The position of the input, or a tuple of positions; None for weights alone. A tuple of one gives a bare
        gradient. There a floating or complex number, or a NumPy array of them, also in nests, becomes a Tensor of its
        type (a float is float64).
    weights
        A Parameter (bare gradient), or a ParameterTuple, list or tuple (tuple of gradients).
    has_aux
        `fn` returns a tuple whose first entry alone is differentiated; the result is (gradients, (others...)).
    return_ids
        Each gradient becomes (position, gradient) or (parameter name, gradient).
    sens_param
        The last argument of the gradient function is a sensitivity.

    Returns
    -------
    Callable
        Takes the inputs of `fn`. Each gradient has the shape and type of its input. The gradient of a pytree has its
        nesting: tuples, lists and dicts without members that hold no tensor; objects with fields become objects of the
        same class, whose other fields are kept. The gradient of an integer tensor has the floating type of its
        derivative, float32 for ``t / 2``; if all operations stay integer, or no derivative leads to it, the integer
        type.

    Raises
    ------
    ValueError, TypeError, IndexError
        For positions and weights that do not fit, with the reason; TypeError for a Python int or bool, or an array of
        integers, at a position.
    TypeError
        If `fn` returns no tensor (but a number, a NumPy array, None, a generator): nothing could be differentiated.
    ValueError
        If an input or a result is nested more than 1000 levels deep, or contains itself.

    Examples
    --------
    >>> import dualgrad as dg
    >>> cube = lambda x: x * x * x
    >>> x = dg.Tensor([2.0])
    >>> float(dg.grad(cube)(x)), float(dg.grad(dg.grad(cube))(x)), float(dg.grad(dg.grad(dg.grad(cube)))(x))
    (12.0, 12.0, 6.0)
    >>> print(dg.grad(cube)(2.0), dg.grad(lambda t: t * t / 2)(dg.Tensor([1, 2])))
    12.0 [1. 2.]
    """
    return _make("grad", fn, grad_position, weights, has_aux, return_ids, sens_param, False)


if TYPE_CHECKING:

    @overload
    def value_and_grad(
        fn: Callable[Concatenate[Tensor, P], R], grad_position: Literal[0] = 0, *, has_aux: bool = False
    ) -> Callable[Concatenate[Input, P], tuple[R, Tensor]]: ...
    @overload
    def value_and_grad(
        fn: Callable[Concatenate[Number, P], R], grad_position: Literal[0] = 0, *, has_aux: bool = False
    ) -> Callable[Concatenate[Input, P], tuple[R, Tensor]]: ...
    @overload
    def value_and_grad(
        fn: Callable[Concatenate[X, P], R], grad_position: Literal[0] = 0, *, has_aux: bool = False
    ) -> Callable[Concatenate[X, P], tuple[R, X]]: ...
    @overload
    def value_and_grad(
        fn: Callable[Concatenate[A, Tensor, P], R], grad_position: Literal[1], *, has_aux: bool = False
    ) -> Callable[Concatenate[A, Input, P], tuple[R, Tensor]]: ...
    @overload
    def value_and_grad(  # type: ignore[overload-overlap]
        fn: Callable[Concatenate[Tensor, Tensor, P], R],
        grad_position: tuple[Literal[0], Literal[1]],
        *,
        has_aux: bool = False,
    ) -> Callable[Concatenate[Input, Input, P], tuple[R, tuple[Tensor, Tensor]]]: ...
    @overload
    def value_and_grad(
        fn: Callable[P, R], grad_position: tuple[int, int, *tuple[int, ...]], *, has_aux: bool = False
    ) -> Callable[P, tuple[R, tuple[Any, ...]]]: ...
    @overload
    def value_and_grad(
        fn: Callable[P, R], grad_position: None, weights: Parameter, has_aux: bool = False
    ) -> Callable[P, tuple[R, Tensor]]: ...
    @overload
    def value_and_grad(
        fn: Callable[P, R], grad_position: None, weights: Sequence[Parameter], has_aux: bool = False
    ) -> Callable[P, tuple[R, tuple[Tensor, ...]]]: ...
    @overload
    def value_and_grad(
        fn: Callable[..., Any],
        grad_position: int | tuple[int, ...] | None = 0,
        weights: Any = None,
        has_aux: bool = False,
        return_ids: bool = False,
        sens_param: bool = False,
    ) -> Callable[..., tuple[Any, Any]]: ...


@transformation
def value_and_grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """Make the function that returns the value of `fn` and its gradients; arguments as in `grad`.

    Examples
    --------
    >>> import dualgrad as dg
    >>> value, dx = dg.value_and_grad(lambda x: (x * x).sum())(dg.Tensor([1.0, 2.0]))
    >>> print(value, dx)
    5.0 [2. 4.]
    """
    return _make("value_and_grad", fn, grad_position, weights, has_aux, return_ids, sens_param, True)


def get_grad(gradients: Any, identifier: Any) -> Tensor:
    """Look up the gradient for a position or a Parameter in a result with `return_ids=True`.

    Parameters
    ----------
    gradients
        The result of a gradient function with `return_ids=True`.
    identifier : int or Parameter
        The position of an argument, or a weight.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If the identifier is neither an int nor a Parameter.
    ValueError
        If the gradients carry no ids.
    RuntimeError
        If the identifier is not among them.

    Examples
    --------
    >>> import dualgrad as dg
    >>> g = dg.grad(lambda x, y: x * y, (0, 1), return_ids=True)(dg.Tensor([2.0]), dg.Tensor([5.0]))
    >>> print(dg.get_grad(g, 1))
    [2.]
    """
    if isinstance(identifier, Parameter):
        wanted: Any = identifier.name
    elif isinstance(identifier, int):
        wanted = int(identifier)
    else:
        raise TypeError(
            f"get_grad: the identifier is a {type(identifier).__name__}; expected the position of an input "
            "or a Parameter"
        )
    pairs: list[tuple[Any, ...]] = []
    _id_pairs(gradients, pairs)
    if not pairs:
        raise ValueError("get_grad: the gradients carry no ids; make the gradient function with return_ids=True")
    for found, gradient in pairs:
        if type(found) is type(wanted) and found == wanted:
            return gradient
    raise RuntimeError(f"get_grad: no gradient for {wanted!r}; there are gradients for {[found for found, _ in pairs]}")


def _id_pairs(x: Any, pairs: list[tuple[Any, ...]]) -> None:
    if isinstance(x, tuple | list):
        if len(x) == 2 and isinstance(x[0], int | str):
            pairs.append((x[0], x[1]))
        else:
            for item in x:
                _id_pairs(item, pairs)


def stop_gradient(value: Any) -> Any:
    """Make a value a constant at every level of differentiation.

    Parameters
    ----------
    value
        A tensor, or a pytree of tensors; other objects are returned as they are.

    Returns
    -------
    Tensor or pytree of Tensors
        The same numbers, with slope 0.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> print(dg.grad(lambda a: a * ops.stop_gradient(a))(dg.Tensor([3.0])))
    [3.]
    """
    return stop(value) if isinstance(value, Tensor) else mapped(value, stop)


if TYPE_CHECKING:

    @overload
    def jvp(fn: Callable[..., R], inputs: Any, v: Any, has_aux: Literal[False] = False) -> tuple[R, R]: ...
    @overload
    def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool) -> tuple[Any, Any, Any]: ...


def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function and its derivative along a direction (forward mode).

    Parameters
    ----------
    fn
        A function of the inputs; returns a tensor, or a pytree with tensors in it.
    inputs, v
        A tensor and its tangent, or two tuples (lists) of equal length, of tensors or pytrees. Each tangent has the
        nesting, shapes and types of its input; the tangent of an integer tensor has the same type or a floating one.
        Floating numbers and NumPy arrays become tensors of their type.
    has_aux
        `fn` returns a tuple whose first entry alone is differentiated.

    Returns
    -------
    tuple
        (outputs, tangents); with `has_aux` (first, tangent of first, other), where a single other is bare.

    Raises
    ------
    ValueError
        If the lengths or shapes differ.
    TypeError
        If a type differs, an input or tangent is a Python int or bool, or an array of integers, or `fn` returns no
        tensor.

    Examples
    --------
    >>> import dualgrad as dg
    >>> y, dy = dg.jvp(lambda x: x * x, dg.Tensor([3.0]), dg.Tensor([1.0]))
    >>> print(y, dy)
    [9.] [6.]
    """
    check_callable("jvp", fn)
    if isinstance(inputs, tuple | list):
        if not isinstance(v, tuple | list) or len(v) != len(inputs):
            raise ValueError(
                f"jvp: there are {len(inputs)} inputs, and v is "
                f"{f'{len(v)} tangents' if isinstance(v, tuple | list) else type(v).__name__}; expected one "
                "tangent for each"
            )
        primals, tangents = tuple(inputs), tuple(v)
    else:
        if isinstance(v, tuple | list):
            raise ValueError(f"jvp: inputs is one tensor, but v holds {len(v)} tangents; expected one tensor")
        primals, tangents = (inputs,), (v,)
    primals, tangents = as_inputs("jvp", "input", primals), as_inputs("jvp", "the tangent of input", tangents)
    for i, x in enumerate(primals):
        if not differentiable(x):
            raise TypeError(f"jvp: input {i} is a {type(x).__name__}; expected a Tensor or a floating number")
    has_aux = truth_value("jvp", "has_aux", has_aux)
    value, tangent, aux = run_jvp("jvp", fn, primals, tangents, has_aux)
    if not has_aux:
        return value, tangent
    return value, tangent, aux[0] if len(aux) == 1 else aux


def _by_input_and_weight(weights: bool, single: bool, by_input: tuple[Any, ...], by_weight: list[Any]) -> Any:
    """Arrange the results of a pullback."""
    if not weights:
        return by_input
    return by_input, (by_weight[0] if single else tuple(by_weight))


if TYPE_CHECKING:

    @overload
    def vjp(
        fn: Callable[..., R], *inputs: Any, weights: Any = None, has_aux: Literal[False] = False
    ) -> tuple[R, Callable[..., tuple[Any, ...]]]: ...
    @overload
    def vjp(
        fn: Callable[..., Any], *inputs: Any, weights: Any = None, has_aux: bool
    ) -> tuple[Any, Callable[..., tuple[Any, ...]], Any]: ...


def vjp(fn: Callable[..., Any], *inputs: Any, weights: Any = None, has_aux: bool = False) -> tuple[Any, ...]:
    """Compute a function, and return its value and the function that pulls cotangents back (reverse mode).

    Parameters
    ----------
    fn
        A function of the inputs; returns a tensor, or a pytree with tensors in it.
    inputs
        Tensors, or pytrees of tensors. Floating numbers and NumPy arrays become tensors of their type.
    weights
        A Parameter, or a ParameterTuple, list or tuple of them.
    has_aux
        `fn` returns a tuple whose first entry alone is differentiated.

    Returns
    -------
    tuple
        (outputs, pull), with `has_aux` (first, pull, other). `pull(v)`, for several outputs `pull(v1, v2)` or
        `pull((v1, v2))`, returns a tuple over all inputs; with weights ((inputs...), (weights...)). It can be called
        repeatedly and differentiated.

    Raises
    ------
    ValueError, TypeError
        If a cotangent does not have the shape, type or nesting of its output. TypeError also if `fn` returns no tensor.

    Examples
    --------
    >>> import dualgrad as dg
    >>> y, pull = dg.vjp(lambda x: x * x, dg.Tensor([3.0]))
    >>> print(y, pull(dg.Tensor([1.0]))[0])
    [9.] [6.]
    """
    check_callable("vjp", fn)
    parameters, single = _NO_WEIGHTS, False
    if weights is not None:
        parameters, single = checked_weights("vjp", weights)

    inputs = as_inputs("vjp", "input", inputs)
    arrange = functools.partial(_by_input_and_weight, weights is not None, single)
    has_aux = truth_value("vjp", "has_aux", has_aux)
    value, pull, aux = run_vjp("vjp", fn, inputs, parameters, has_aux, arrange)
    if not has_aux:
        return value, pull
    return value, pull, aux[0] if len(aux) == 1 else aux
