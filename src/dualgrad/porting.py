"""Options for code written for MindSpore: its convention of complex gradients, and warnings where numbers differ.

Both are off by default, since code written for dualgrad needs neither. A ported program sets them once, at its top,
with `follow`. Each line of user code warns once for each difference.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, Final

from ._engine.transforms import tensor as _engine
from ._engine.transforms.custom import on_tape
from ._nests import mapped, tensors_in
from ._settings import one_of
from .hooks import forget_programs
from .tensor import Tensor

__all__ = ["PortingWarning", "follow"]

CONVENTIONS: Final = ("jax", "mindspore")
_PACKAGE: Final = os.path.join(os.path.dirname(__file__), "")
_CONJ: Final = _engine.OPCODES["conj"]
_said: set[tuple[str, str, int]] = set()

# Module globals and not in a dict, since calls whose numbers may differ read them each time.
warned: bool = False
convention: str = "jax"


class PortingWarning(UserWarning):
    """A number differs from MindSpore's on purpose; `dualgrad.porting.follow` switches these warnings on.

    Examples
    --------
    >>> import warnings
    >>> import dualgrad as dg
    >>> dg.porting.follow(differences=True)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     print(dg.Tensor([1, 2]).mean(), [w.category.__name__ for w in caught])
    1.5 ['PortingWarning']
    >>> dg.porting.follow(differences=False)
    """


def follow(*, differences: bool | None = None, complex_gradients: str | None = None) -> None:
    """Choose the warnings about differences and the convention of complex gradients for ported code.

    All arguments are checked before any of them takes effect. Recorded programs are discarded and recorded again.

    Parameters
    ----------
    differences : bool, optional
        If True, `PortingWarning` reports where a number differs from MindSpore's on purpose, once for each line of
        code: the mean of integers, a derivative that meets a cast to integers, a gradient by an integer tensor that is
        not rounded to integers, a complex gradient, or a gradient of a tuple, list or dict that MindSpore leaves out.
    complex_gradients : {'jax', 'mindspore'}, optional
        The convention of `GradOperation`, `grad` and `value_and_grad`. MindSpore's convention conjugates sensitivities
        and gradients.

    Raises
    ------
    TypeError
        If `differences` is not a bool.
    ValueError
        If the convention is not known.

    Notes
    -----
    For a real function f of z = x + iy the gradient is ∂f/∂x - i ∂f/∂y in JAX's convention, and ∂f/∂x + i ∂f/∂y in
    MindSpore's (and PyTorch's), which points uphill. For a holomorphic f they are f'(z) and its conjugate. Inside a
    backward pass, all cotangents (also those given to `vjp`, `bprop` and hooks) follow JAX's convention.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops, porting
    >>> z = dg.Tensor([3 + 4j])
    >>> print(dg.grad(ops.abs)(z))
    [0.6-0.8j]
    >>> porting.follow(complex_gradients="mindspore")
    >>> print(dg.grad(ops.abs)(z))
    [0.6+0.8j]
    >>> porting.follow(complex_gradients="jax")
    """
    global warned, convention
    if differences is not None and not isinstance(differences, bool):
        raise TypeError(f"follow: differences must be a bool, got {type(differences).__name__}")
    if complex_gradients is not None:
        checked_convention("follow", complex_gradients)
    warned = warned if differences is None else differences
    convention = convention if complex_gradients is None else complex_gradients
    forget_programs()


def checked_convention(where: str, name: Any) -> str:
    """Check the name of a convention of complex gradients."""
    if not one_of(name, CONVENTIONS):
        raise ValueError(f"{where}: complex_gradients is {name!r}; expected one of {', '.join(map(repr, CONVENTIONS))}")
    return name


def note(what: str, message: str) -> None:
    """Warn of a difference at the user's line, once."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    place = (what, frame.f_code.co_filename, frame.f_lineno)
    if place not in _said:
        _said.add(place)
        warnings.warn_explicit(
            f"{what}: {message}. The page on porting has all such differences",
            PortingWarning,
            frame.f_code.co_filename,
            frame.f_lineno,
            module=frame.f_globals.get("__name__", "unknown"),
        )


def note_cast(name: str, x: Tensor, to_integers: bool) -> None:
    """Warn that no derivative passes a cast to integers."""
    if to_integers and (x.dtype.is_float or x.dtype.is_complex) and on_tape(x):
        note(name, "a derivative meets a cast to integers, whose slope is 0; MindSpore takes it for 1")


def note_mean(x: Tensor) -> None:
    """Warn that the mean of integers is a floating number."""
    if x.dtype.is_int:
        note("mean", "the mean of integers is Float32; MindSpore cuts it off to an integer")


def note_gradients(name: str, inputs: Any, gradients: Any, conjugated: bool) -> None:
    """Warn of complex gradients and of gradients by integers."""
    if any(t.dtype.is_complex for t in tensors_in(gradients)) and not conjugated:
        note(
            name,
            "a gradient is complex, in JAX's convention; MindSpore gives the conjugate (for that call "
            "dualgrad.porting.follow(complex_gradients='mindspore'))",
        )
    integers = {t.shape for t in tensors_in(inputs) if t.dtype.is_int}
    if integers and any(t.dtype.is_float and t.shape in integers for t in tensors_in(gradients)):
        note(
            name,
            "an input is an integer tensor, whose gradient is a floating one; MindSpore may cut it off to integers",
        )


def note_nests(name: str, inputs: tuple[Any, ...]) -> None:
    """Warn that a tuple, list or dict has a gradient."""
    if any(isinstance(x, tuple | list | dict) and tensors_in(x) for x in inputs):
        note(
            name,
            "an input is a tuple, list or dict, which has a gradient; MindSpore leaves it out unless it is mutable",
        )


def conjugated(nest: Any) -> Any:
    """The same nest with its complex tensors conjugated."""
    return mapped(nest, lambda t: _engine.unary(_CONJ, t) if t.dtype.is_complex else t)
