"""Functions with a custom gradient: `Function`, with a forward and a backward method, and `custom_vjp`.

Both use the engine's functions with a reverse rule (`_engine/transforms/custom.pyx`), as a Cell with `bprop` does.
Differentiating the gradient again differentiates the rule like any other code.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._engine.transforms.custom import call_custom
from .._engine.transforms.handles import carried
from .._nests import refilled, tensors_in
from ..tensor import Tensor
from .gradient import stop_gradient

if TYPE_CHECKING:
    from typing import Protocol, TypeVar, overload

    from .transformed import P, R

    R_co = TypeVar("R_co", covariant=True)

__all__ = ["Function", "custom_vjp"]


class Function:
    """A function with a custom gradient; subclasses define `forward` and `backward`, and `apply` calls it.

    ``forward(ctx, *args)`` computes the outputs: a Tensor, or a tuple or other nest of Tensors. ``backward(ctx,
    *gradients)`` gets one gradient for each output, None for one that is not a Tensor. It returns one gradient for each
    of `args`, None for one that is not a Tensor or has no gradient. `forward` stores the data for `backward` in the
    object `ctx`: tensors by `save_for_backward`, other data as attributes. Both are static methods.

    A subclass may split `forward`: ``forward(*args)`` without `ctx`, and ``setup_context(ctx, inputs, output)``. Then
    `apply` also takes keyword arguments and defaults.

    Attributes
    ----------
    saved_tensors : tuple of Tensor
        The arguments of `save_for_backward`.
    needs_input_grad : tuple of bool
        For each of `args`, True if it is, or depends on, a Tensor that a derivative is taken by.

    Raises
    ------
    RuntimeError
        In a backward pass, if `backward` returns another number of gradients than there are `args`, or a gradient for
        an argument that is not a Tensor.
    TypeError
        If it returns other objects than Tensors and None; if `apply` gets keywords and there is no `setup_context`.
    ValueError
        If the shape of an input does not broadcast to the shape of its gradient. If it does, the gradient is summed to
        it.

    Notes
    -----
    `forward` is not differentiated. A second derivative differentiates `backward`. Saved tensors among the inputs or
    outputs are then these tensors at their current level. For other saved tensors, and for tensors in attributes of
    `ctx`, `forward` runs once more to find how they depend on the inputs.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> class Exponential(dg.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = ops.exp(x)
    ...         ctx.save_for_backward(y)
    ...         return y
    ...
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         (y,) = ctx.saved_tensors
    ...         return 2 * gradient * y
    >>> x = dg.Tensor([0.0])
    >>> print(dg.grad(Exponential.apply)(x), dg.grad(dg.grad(Exponential.apply))(x))
    [2.] [4.]
    """

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    materialize_grads: bool = True

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; a subclass must define it."""
        raise NotImplementedError("Function: the subclass does not define forward, a static method")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of the arguments; a subclass must define it."""
        raise NotImplementedError("Function: the subclass does not define backward, a static method")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Store the data for `backward` in `ctx`, if `forward` takes no `ctx`."""
        raise NotImplementedError("Function: the subclass does not define setup_context")

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`, as ``ctx.saved_tensors``; None is kept too.

        Raises
        ------
        TypeError
            For an argument that is neither a Tensor nor None.
        """
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"{type(self).__name__}: save_for_backward is given a {type(tensor).__name__}; expected Tensors, "
                    "other things can be attributes of ctx"
                )
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Declare outputs as constants: no gradient passes through them."""
        self.non_differentiable = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Declare inputs that were changed in place. Each must be an output; the caller's tensor gets its value."""
        self.dirty_tensors = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether `backward` gets zeros or None for outputs that no gradient reaches.

        Parameters
        ----------
        value : bool
            True, the default, for zeros.
        """
        if not isinstance(value, bool):
            raise TypeError(f"{type(self).__name__}: set_materialize_grads is given {value!r}; expected True or False")
        self.materialize_grads = value

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Parameters
        ----------
        *args
            The arguments of `forward` after `ctx`.
        **kwargs
            Keywords of `forward`, if the subclass defines `setup_context`.

        Returns
        -------
        object
            The result of `forward`.
        """
        if cls.setup_context is not Function.setup_context:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            raise TypeError(f"{cls.__name__}.apply: got keywords {list(kwargs)}; pass all arguments by position")
        return _Call(cls, args).result()


class _Call:
    """One call of a Function."""

    def __init__(self, function: type[Function], args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args
        self.name = function.__name__
        self.needs = tuple(any(carried(t) is not None for t in tensors_in(x)) for x in args)
        self.context = Function()
        self.places: list[tuple[str, int] | None] = []  # of saved tensors, among inputs or outputs, or None
        self.constant: list[int] = []
        self.changed: dict[int, int] = {}  # input: the output whose value it gets

    @property
    def none_for_zero(self) -> bool:
        """True if `backward` gets None for outputs without a gradient. The engine reads this."""
        return not self.context.materialize_grads

    def _noted(self) -> tuple[Any, ...]:
        """The data that distinguish two rules when a loop or block runs again."""
        kept = tuple((k, v) for k, v in vars(self.context).items() if k not in _OWN)
        return self.function, self.function.backward, tuple(self.places), tuple(self.constant), *kept

    def result(self) -> Any:
        """The outputs, with this call as their reverse rule."""
        out = call_custom(self._forward, self, self.args, {}, self.name)
        outputs = tensors_in(out)
        if self.constant:
            outputs = [stop_gradient(t) if i in self.constant else t for i, t in enumerate(outputs)]
            out = refilled(out, outputs)
        inputs = tensors_in(self.args)
        for at, to in self.changed.items():
            inputs[at]._rebind(outputs[to])
        return out

    def _run(self, args: tuple[Any, ...]) -> tuple[Function, Any]:
        """Run `forward`. Returns a new context, and the outputs."""
        context = object.__new__(self.function)
        context.needs_input_grad = self.needs
        if self.function.setup_context is Function.setup_context:
            return context, self.function.forward(context, *args)
        out = self.function.forward(*args)
        self.function.setup_context(context, args, out)
        return context, out

    def _forward(self, *args: Any) -> Any:
        self.context, out = context, _ = self._run(args)
        inputs, outputs = _places(args), _places(out)
        self.constant = [outputs[id(t)] for t in context.non_differentiable if id(t) in outputs]
        self.changed = {}
        for t in context.dirty_tensors:
            if id(t) not in inputs or id(t) not in outputs:
                raise RuntimeError(f"{self.name}: mark_dirty is given a tensor that is no input, or is not returned")
            self.changed[inputs[id(t)]] = outputs[id(t)]
        self.places = []
        for t in context.saved_tensors:
            changed = any(t is d for d in context.dirty_tensors)
            if id(t) in inputs and not changed:
                self.places.append(("input", inputs[id(t)]))
            else:
                self.places.append(("output", outputs[id(t)]) if id(t) in outputs else None)
        return out

    def __call__(self, *called: Any) -> tuple[Any, ...]:
        """The reverse rule: takes the inputs, the output and its cotangents."""
        *inputs, out, gradients = called
        given = self.function.backward(self._context_at(tuple(inputs), out), *_gradients_in(gradients))
        if not isinstance(given, tuple):
            given = (given,)
        found = list(given)
        while len(found) > len(inputs) and found[-1] is None:
            found.pop()
        if len(found) != len(inputs):
            raise RuntimeError(
                f"{self.name}.backward: returned {len(found)} gradients for {len(inputs)} arguments; expected one for "
                "each, None for what is no Tensor"
            )
        for i, (x, gradient) in enumerate(zip(inputs, found, strict=True)):
            if gradient is not None and not tensors_in(x):
                raise RuntimeError(
                    f"{self.name}.backward: argument {i} is a {type(x).__name__}, which has no gradient; expected None "
                    f"for it, got a {type(gradient).__name__}"
                )
        return tuple(found)

    def _context_at(self, inputs: tuple[Any, ...], out: Any) -> Function:
        """The context with its saved tensors at the levels of this call of the rule."""
        first = self.context
        others = [t for t, place in zip(first.saved_tensors, self.places, strict=True) if t is not None and not place]
        kept = {k: v for k, v in vars(first).items() if k not in _OWN}
        if (others or tensors_in(kept)) and any(carried(t) is not None for t in tensors_in(inputs)):
            again, _ = self._run(inputs)
            source: Function = again
        else:
            source = first
        context = object.__new__(self.function)
        vars(context).update(vars(source))
        ins, outs = tensors_in(inputs), tensors_in(out)
        context.saved_tensors = tuple(
            t if place is None else ins[place[1]] if place[0] == "input" else outs[place[1]]
            for t, place in zip(source.saved_tensors, self.places, strict=True)
        )
        return context


_OWN = frozenset(
    {"saved_tensors", "needs_input_grad", "non_differentiable", "dirty_tensors", "materialize_grads"},
)


def _places(nest: Any) -> dict[int, int]:
    """The first position of each tensor in a nest, by identity."""
    found: dict[int, int] = {}
    for i, t in enumerate(tensors_in(nest)):
        found.setdefault(id(t), i)
    return found


def _gradients_in(nest: Any) -> list[Any]:
    """The gradients of the outputs as a flat list; None for an output without one or that is not a tensor."""
    if isinstance(nest, tuple | list):
        return [g for part in nest for g in _gradients_in(part)]
    if isinstance(nest, dict):
        return [g for part in nest.values() for g in _gradients_in(part)]
    return [nest if isinstance(nest, Tensor) else None]


class _CustomVjp:
    """A function with a slot for its reverse rule, made by `custom_vjp`."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fn)
        self.fwd = fn
        self.bwd: Callable[..., Any] | None = None

    def defbwd(self, bwd: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule: ``bwd(*inputs, out, dout)`` returns one gradient for each input. Returns it.

        Raises
        ------
        TypeError
            If it cannot be called.
        """
        if not callable(bwd):
            raise TypeError(f"custom_vjp: the rule is a {type(bwd).__name__}; expected a function")
        self.bwd = bwd
        return bwd

    def _pulled(self, *called: Any) -> Any:
        if self.bwd is None:
            raise TypeError(f"custom_vjp: {self.fwd.__name__} has no gradient; give it one with defbwd")
        return self.bwd(*called)

    def __call__(self, *args: Any) -> Any:
        return call_custom(self.fwd, self._pulled, args, {}, getattr(self.fwd, "__name__", "custom_vjp"))


if TYPE_CHECKING:

    class _WithRule(Protocol[P, R_co]):
        """The type of a function with the method that sets its rule."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
        def defbwd(self, bwd: Callable[..., Any]) -> Callable[..., Any]: ...

    class _GivesRule(Protocol):
        """The type of `custom_vjp()`, which is a decorator."""

        def __call__(self, fn: Callable[P, R]) -> _WithRule[P, R]: ...


if TYPE_CHECKING:

    @overload
    def custom_vjp(fn: Callable[P, R]) -> _WithRule[P, R]: ...
    @overload
    def custom_vjp(fn: None = None) -> _GivesRule: ...


def custom_vjp(fn: Callable[..., Any] | None = None) -> Any:
    """Give a function a custom gradient, set by its method `defbwd`.

    Parameters
    ----------
    fn : callable, optional
        The function, of positional arguments. Without it the result is a decorator.

    Returns
    -------
    callable
        The function, with the method ``defbwd(bwd)``: ``bwd(*inputs, out, dout)`` returns one gradient for each input,
        None for zero.

    Raises
    ------
    TypeError
        If `fn` cannot be called; in a backward pass, if it has no rule.

    Examples
    --------
    >>> import dualgrad as dg
    >>> @dg.custom_vjp
    ... def scaled(x, y):
    ...     return x * y
    >>> scaled.defbwd(lambda x, y, out, dout: (2 * dout * y, 3 * dout * x))  # doctest: +ELLIPSIS
    <function ...>
    >>> print(*dg.grad(scaled, (0, 1))(dg.Tensor([2.0]), dg.Tensor([5.0])))
    [10.] [6.]
    """
    if fn is None:
        return _CustomVjp
    if not callable(fn):
        raise TypeError(f"custom_vjp: expected a function, got {type(fn).__name__}")
    return _CustomVjp(fn)
