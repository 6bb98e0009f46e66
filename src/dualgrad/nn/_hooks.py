"""Hooks of Cells: functions that are called before and after `construct`, and with its gradients.

A Cell with hooks has an attribute `construct` of its own, which calls them around the `construct` of its class; other
Cells pay nothing. The hooks on gradients are two identities with reverse rules of their own: one around the inputs, one
around the outputs. In a backward pass the rule of the outputs comes first, and keeps the gradients that it has passed
on for the rule of the inputs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from dualgrad._engine.transforms.custom import call_custom, on_tape
from dualgrad._nests import refilled, tensors_in
from dualgrad.hooks import HookHandle, Hooks, replaced_gradients
from dualgrad.nn._precision import inner_construct, own_construct, set_inner_construct
from dualgrad.tensor import Tensor

__all__ = ["Hookable", "Hooked"]


class Hooked:
    """The `construct` of a Cell with hooks; an attribute of that Cell."""

    calls_bprop = True

    def __init__(self, cell: Any, inner: Callable[..., Any] | None) -> None:
        self.cell = cell
        self.inner = inner  # the former replacement of the class's `construct`
        self.before = Hooks()
        self.after = Hooks()
        self.gradients_out = Hooks()  # backward pre-hooks
        self.gradients_in = Hooks()  # backward hooks
        self.with_kwargs: set[int] = set()
        self.always: set[int] = set()

    def copied(self, cell: Any) -> Hooked:
        """Copy the hooks for a copy of the Cell, which may get others."""
        twin = Hooked(cell, self.inner)
        for name in ("before", "after", "gradients_out", "gradients_in"):
            getattr(twin, name).copied_from(getattr(self, name))
        twin.with_kwargs, twin.always = set(self.with_kwargs), set(self.always)
        return twin

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Cell's own construct, with the hooks around it."""
        done: set[int] = set()
        output = None
        try:
            args, kwargs = self._before(args, kwargs)
            call = _BackwardCall(self, args) if self.gradients_in or self.gradients_out else None
            if call is not None:
                args = call.inputs
            output = self._construct(args, kwargs)
            output = self._after(args, kwargs, output, done)
            return output if call is None else call.output(output)
        except Exception as error:
            self._after_error(args, kwargs, output, done, error)
            raise

    def _construct(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        cell = self.cell
        construct = self.inner or own_construct(cell)
        bprop = getattr(cell, "bprop", None)
        if callable(bprop):
            return call_custom(construct, bprop, args, kwargs, name=type(cell).__name__)
        return construct(*args, **kwargs)

    def _before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for number, hook in self.before.items():
            if number not in self.with_kwargs:
                given = hook(self.cell, args)
                if given is not None:
                    args = given if isinstance(given, tuple) else (given,)
                continue
            given = hook(self.cell, args, kwargs)
            if given is None:
                continue
            if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[1], dict):
                raise TypeError(
                    f"{type(self.cell).__name__}: a forward pre-hook with keywords returned {type(given).__name__}; "
                    "expected None, or a tuple of the new arguments and the dict of new keywords"
                )
            args, kwargs = given[0] if isinstance(given[0], tuple) else (given[0],), given[1]
        return args, kwargs

    def _after(self, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any, done: set[int]) -> Any:
        for number, hook in self.after.items():
            done.add(number)
            given = self._called(number, hook, args, kwargs, output)
            if given is not None:
                output = given
        return output

    def _called(
        self, number: int, hook: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> Any:
        if number in self.with_kwargs:
            return hook(self.cell, args, kwargs, output)
        return hook(self.cell, args, output)

    def _after_error(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any, done: set[int], error: Exception
    ) -> None:
        """Call the hooks that are always called and that have not run yet."""
        for number, hook in self.after.items():
            if number in done or number not in self.always:
                continue
            try:
                self._called(number, hook, args, kwargs, output)
            except Exception as other:
                warnings.warn(
                    f"{type(self.cell).__name__}: a forward hook raised {type(other).__name__} ({other}) after "
                    f"{type(error).__name__} was raised, which is passed on",
                    RuntimeWarning,
                    stacklevel=4,
                )


class _BackwardCall:
    """One call of a Cell, for its backward passes."""

    def __init__(self, hooked: Hooked, args: tuple[Any, ...]) -> None:
        self.cell = hooked.cell
        self.hooked = hooked
        self.name = type(self.cell).__name__
        self.inputs = args
        self.passed: tuple[Any, ...] | None = None  # the gradients of the outputs, in this backward pass
        self.outputs: list[tuple[Any, Any]] = []  # shapes and types
        tensors = tensors_in(args)
        self.count = len(tensors)
        self.reached = False
        if tensors and hooked.gradients_in:
            behind = call_custom(_as_given, self._inputs_rule, tuple(tensors), {}, self._text("backward hook"), True)
            self.reached = any(on_tape(t) for t in behind)
            self.inputs = refilled(args, behind)

    def _text(self, what: str) -> str:
        return f"{self.name}, {what}"

    def _noted(self) -> tuple[Any, ...]:
        """Values that tell one rule from another when a loop or checkpoint runs again."""
        return self.name, *self.hooked.gradients_in._by_number.values(), *self.hooked.gradients_out._by_number.values()

    def output(self, output: Any) -> Any:
        """Put the outputs behind the identity that receives their gradients."""
        tensors = tensors_in(output)
        if not tensors:
            return output
        name = self._text("backward pre-hook" if self.hooked.gradients_out else "backward hook")
        behind = call_custom(_as_given, self._outputs_rule, tuple(tensors), {}, name, True)
        self.outputs = [(t.shape, t.dtype) for t in behind]
        return refilled(output, behind)

    def _outputs_rule(self, *called: Any) -> tuple[Any, ...]:
        gradients = called[-1]
        for _, hook in self.hooked.gradients_out.items():
            name = self._text("backward pre-hook")
            gradients = replaced_gradients(name, hook(self.cell, gradients), gradients)
        if self.reached:
            self.passed = gradients
        else:  # no input is differentiated, so they have no gradients
            for _, hook in self.hooked.gradients_in.items():
                hook(self.cell, (None,) * self.count, gradients)
        return gradients

    def _inputs_rule(self, *called: Any) -> tuple[Any, ...]:
        gradients, passed = called[-1], self.passed
        self.passed = None
        if passed is None:  # a derivative of the backward pass has come here without passing the outputs
            passed = tuple(Tensor(shape=shape, dtype=dtype) for shape, dtype in self.outputs)
        for _, hook in self.hooked.gradients_in.items():
            name = self._text("backward hook")
            gradients = replaced_gradients(name, hook(self.cell, gradients, passed), gradients)
        return gradients


def _as_given(*tensors: Any) -> tuple[Any, ...]:
    return tensors


class Hookable:
    """The part of `Cell` that registers hooks."""

    def _hooked(self) -> Hooked:
        """The `construct` with hooks, made when the first hook is registered."""
        cell: Any = self
        found = inner_construct(cell)
        if not isinstance(found, Hooked):
            found = Hooked(self, found)
            set_inner_construct(cell, found)
        return found

    def register_forward_pre_hook(
        self, hook_fn: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Have a function called before each `construct`.

        Parameters
        ----------
        hook_fn : callable
            ``hook_fn(cell, args)`` returns None, or new positional arguments: a tuple, or a single argument bare. With
            `with_kwargs`, ``hook_fn(cell, args, kwargs)`` returns None or ``(args, kwargs)``.
        prepend : bool, default False
            True to call it before hooks registered earlier.
        with_kwargs : bool, default False
            True to pass the keyword arguments to it.

        Returns
        -------
        HookHandle
            Its `remove` removes the hook.

        Raises
        ------
        TypeError
            If `hook_fn` cannot be called; when the Cell is called, if it returns another kind of value.

        Examples
        --------
        >>> import dualgrad as dg
        >>> from dualgrad import nn
        >>> relu = nn.ReLU()
        >>> handle = relu.register_forward_pre_hook(lambda cell, args: (-args[0],))
        >>> print(relu(dg.Tensor([-2.0, 3.0])))
        [2. 0.]
        >>> handle.remove()
        >>> print(relu(dg.Tensor([-2.0, 3.0])))
        [0. 3.]
        """
        hooked = self._hooked()
        handle = hooked.before.add("register_forward_pre_hook", hook_fn, prepend)
        if with_kwargs:
            hooked.with_kwargs.add(handle.handle_id)
        return handle

    def register_forward_hook(
        self,
        hook_fn: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> HookHandle:
        """Have a function called after each `construct`.

        Parameters
        ----------
        hook_fn : callable
            ``hook_fn(cell, args, output)`` returns None, or another output. With `with_kwargs` it is
            ``hook_fn(cell, args, kwargs, output)``.
        prepend : bool, default False
            True to call it before hooks registered earlier.
        with_kwargs : bool, default False
            True to pass the keyword arguments to it.
        always_call : bool, default False
            True to call it, and ignore its result, if an error is raised before its turn.

        Returns
        -------
        HookHandle
            Its `remove` removes the hook.

        Raises
        ------
        TypeError
            If `hook_fn` cannot be called.

        Examples
        --------
        >>> import dualgrad as dg
        >>> from dualgrad import nn
        >>> relu = nn.ReLU()
        >>> with relu.register_forward_hook(lambda cell, args, output: output + args[0]):
        ...     print(relu(dg.Tensor([-2.0, 3.0])))
        [-2.  6.]
        """
        hooked = self._hooked()
        handle = hooked.after.add("register_forward_hook", hook_fn, prepend)
        if with_kwargs:
            hooked.with_kwargs.add(handle.handle_id)
        if always_call:
            hooked.always.add(handle.handle_id)
        return handle

    def register_backward_pre_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Have a function called with the gradients of the outputs, in each backward pass through a call.

        Parameters
        ----------
        hook_fn : callable
            ``hook_fn(cell, grad_output)`` is called with a tuple, one gradient for each tensor among the outputs, zeros
            where none arrives. It returns None, or as many gradients of the same shapes and types; a single one may be
            bare.

        Returns
        -------
        HookHandle
            Its `remove` removes the hook.

        Raises
        ------
        TypeError
            If `hook_fn` cannot be called; in a backward pass, if it returns anything but such gradients.
        ValueError
            In a backward pass, if it returns a gradient of another shape.
        NotImplementedError
            If the Cell is called in forward mode, which has no gradients.

        Examples
        --------
        >>> import dualgrad as dg
        >>> from dualgrad import nn
        >>> tanh = nn.Tanh()
        >>> handle = tanh.register_backward_pre_hook(lambda cell, grad_output: 10 * grad_output[0])
        >>> print(dg.grad(tanh)(dg.Tensor([0.0])))
        [10.]
        """
        return self._hooked().gradients_out.add("register_backward_pre_hook", hook_fn)

    def register_backward_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Have a function called with the gradients of inputs and outputs, in each backward pass through a call.

        Parameters
        ----------
        hook_fn : callable
            ``hook_fn(cell, grad_input, grad_output)`` is called with two tuples: one gradient for each tensor among the
            positional inputs, and one for each among the outputs, zeros where none arrives. It returns None, or other
            gradients of the inputs, of the same shapes and types; a single one may be bare. If no input is
            differentiated, since only weights are, `grad_input` holds None, and the result has no effect.

        Returns
        -------
        HookHandle
            Its `remove` removes the hook.

        Raises
        ------
        TypeError
            If `hook_fn` cannot be called; in a backward pass, if it returns anything but such gradients.
        ValueError
            In a backward pass, if it returns a gradient of another shape.
        NotImplementedError
            If the Cell is called in forward mode, which has no gradients.

        Notes
        -----
        The hook is the reverse rule of an identity around the inputs. So a second derivative goes through the hook once
        more: with the hook 10 g, the second derivative of ``cell(x) = x * x`` is 200, not 20. In a pass that gets there
        only by the derivative of the first backward pass, `grad_output` holds zeros.

        Examples
        --------
        >>> import dualgrad as dg
        >>> from dualgrad import nn
        >>> tanh = nn.Tanh()
        >>> handle = tanh.register_backward_hook(lambda cell, grad_input, grad_output: (10 * grad_input[0],))
        >>> print(dg.grad(tanh)(dg.Tensor([0.0])))
        [10.]
        """
        return self._hooked().gradients_in.add("register_backward_hook", hook_fn)
