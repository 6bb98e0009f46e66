"""The error for numbers that would silently lose a derivative.

Python and NumPy turn a tensor into plain numbers wherever they need them: ``math.sin(x)``, ``np.array([x, y])``,
``array[0] = x``. While the tensor carries a derivative, the result would be a constant and the gradient wrong. So these
conversions raise. Explicit ones (``x.asnumpy()``, ``x.item()``) and printing are allowed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from ._engine.arrays.array import install
from ._engine.transforms.handles import carried, refused
from ._engine.values.levels import LEAVING_ALLOWED

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["LeavesDerivativeError", "allow_leaving"]


def never(tensor: Tensor, name: str, argument: str) -> bool:
    """False: no instruction is harmless."""
    return False


class LeavesDerivativeError(TypeError):
    """A tensor that is being differentiated, or that stands for the samples of `vmap`, was turned into plain numbers.

    The message names the transform, the type and shape of the tensor, and the line.

    Notes
    -----
    Implicit conversions by Python and NumPy raise: ``float(x)``, ``complex(x)``, functions of `math`,
    ``np.asarray(x)``, ``np.array([x, y])``, assignment of a tensor into an array, compiled functions of SciPy, ``out=``
    arrays, DLPack, pickles, `numpy.save`. There use ``dualgrad.ops`` and ``dualgrad.numpy``: ``dualgrad.numpy.array([x,
    y])`` and ``Tensor([x, y])`` join tensors and keep derivatives.

    Where you mean a constant, write ``x.asnumpy()``, ``x.item()``, ``x.tolist()`` or ``ops.stop_gradient(x)``; call
    code of others in a block ``with dualgrad.allow_leaving():``. Printing, ``bool(x)``, comparisons, ``int(x)`` and
    indices are always allowed.

    Catching the error does not help. The differentiated function would go on with a constant, so its transform raises
    this error when the function returns, and names the line. The same holds where Python wants one number of all
    samples (``bool(x)`` inside `vmap`) and the code catches the error.

    Examples
    --------
    >>> import math
    >>> import dualgrad as dg
    >>> x = dg.Tensor(0.5)
    >>> try:
    ...     dg.grad(lambda x: x * math.exp(x))(x)
    ... except dg.LeavesDerivativeError as error:
    ...     print(str(error).partition(",")[0])
    grad: float() takes plain numbers of a tensor (Float32
    >>> print(dg.grad(lambda x: x * dg.ops.exp(x))(x), dg.grad(lambda x: x * math.exp(x.item()))(x))
    2.473082 1.6487212
    """

    __module__ = "dualgrad"


install(leaving=LeavesDerivativeError)


@contextmanager
def allow_leaving() -> Iterator[None]:
    """Inside the block, tensors that carry a derivative may be turned into plain numbers: they are constants.

    Use it for code that takes numbers on purpose, or as a test: ``try: float(x)``. Outside the block that
    raises `LeavesDerivativeError`, even if the code catches the error.

    Returns
    -------
    context manager

    Notes
    -----
    A tensor inside `vmap` stands for all samples at once, so it has no single number. Taking one raises inside the
    block, too; code that catches the error there may go on.

    As everywhere, recorded functions (`jit`, Graph mode) run eagerly if they take numbers. The block belongs to the
    thread or task that entered it.

    Examples
    --------
    >>> import math
    >>> import dualgrad as dg
    >>> def f(x):
    ...     with dg.allow_leaving():
    ...         scale = math.exp(x)
    ...     return x * scale
    >>> print(dg.grad(f)(dg.Tensor(0.5)))
    1.6487212
    """
    former = LEAVING_ALLOWED.set(True)
    try:
        yield
    finally:
        LEAVING_ALLOWED.reset(former)


def stay(
    tensor: Tensor,
    what: str,
    caller: FrameType | None = None,
    harmless: Callable[[Tensor, str, str], bool] = never,
    instead: str = "functions of dualgrad.ops or dualgrad.numpy (dualgrad.numpy.array joins tensors in lists)",
) -> None:
    """Raise if plain numbers of a tensor would lose a derivative or samples.

    Parameters
    ----------
    tensor : Tensor
        The tensor whose numbers are about to be taken.
    what : str
        The reader of the numbers, for the message.
    caller : frame, optional
        The frame that takes the numbers.
    harmless : callable, optional
        ``harmless(tensor, name, argument)`` is True if the instruction of the frame loses nothing.
    instead : str, optional
        The alternative that the message advises.

    Raises
    ------
    LeavesDerivativeError
        If they would.
    """
    found = carried(tensor)
    if found is None or (caller is not None and harmless(tensor, *_instruction(caller))):
        return
    name, samples, line = found
    if not samples and LEAVING_ALLOWED.get():
        return
    loss = (
        "which stands for all samples at once"
        if samples
        else "which carries a derivative; that would end there, and the result be wrong"
    )
    where = "" if line is None else f" (in {line[0]}, line {line[1]})"
    way_out = "take the numbers outside" if samples else "say so with .asnumpy() or ops.stop_gradient"
    numbers = f"{name}: {what} takes plain numbers of a tensor ({tensor.dtype}, shape {tensor.shape})"
    refused(tensor, numbers + where, f"use {instead}")
    raise LeavesDerivativeError(f"{numbers}, {loss}{where}. Use {instead}; where a constant is meant, {way_out}")


def stay_beside_scipy(tensor: Tensor, caller: FrameType) -> None:
    """`stay` where SciPy makes an array of a tensor: the message names SciPy's function and gives advice.

    Parameters
    ----------
    tensor : Tensor
        The tensor whose numbers SciPy is about to take.
    caller : frame
        The innermost frame of SciPy.

    Raises
    ------
    LeavesDerivativeError
        If a derivative or samples would be lost.
    """
    if carried(tensor) is None:
        return
    name, frame = caller.f_globals["__name__"], caller
    while (module := frame.f_globals.get("__name__", "")).startswith("scipy."):
        if "<locals>" not in frame.f_code.co_qualname:  # the last is the user's call; decorators lie between
            name = f"{module.split('._')[0]}.{frame.f_code.co_qualname}"
        if frame.f_back is None:
            break
        frame = frame.f_back
    switch = "" if os.environ.get("SCIPY_ARRAY_API") else "SCIPY_ARRAY_API=1, set before SciPy is imported, or "
    stay(
        tensor,
        name,
        instead=f"{switch}functions of dualgrad.ops, or make a primitive of the function (dualgrad.extend)",
    )


def _instruction(frame: FrameType) -> tuple[str, str]:
    """The name and argument of the instruction that a Python frame is executing."""
    import dis  # only errors need it

    for found in dis.get_instructions(frame.f_code):
        if found.offset == frame.f_lasti:
            return found.opname, found.argrepr
    return "", ""


def formats(tensor: Tensor, name: str, argument: str) -> bool:
    """True if an instruction formats a number: ``"%.3f" % x``."""
    return name == "BINARY_OP" and argument == "%"


def picks(tensor: Tensor, name: str, argument: str) -> bool:
    """True if an instruction reads an item of an array, ``array[t]``: no derivative passes through an index."""
    reads = name == "BINARY_SUBSCR" or (name == "BINARY_OP" and argument == "[]")
    return reads and (tensor.dtype.is_int or tensor.dtype.is_bool)
