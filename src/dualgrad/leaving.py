"""The error for numbers that would leave a derivative without a word.

Python and NumPy turn a tensor into plain numbers wherever they need one: ``math.sin(x)``, ``np.array([x, y])``,
``array[0] = x``. While the tensor carries a derivative the result would be a constant, and the gradient wrong. So these
ways raise. Those that say what they do (``x.asnumpy()``, ``x.item()``) and printing stay open.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

from ._engine.arrays.array import install
from ._engine.transforms.handles import carried

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["LeavesDerivativeError"]


def never(tensor: Tensor, name: str, argument: str) -> bool:
    """No instruction is harmless."""
    return False


class LeavesDerivativeError(TypeError):
    """Plain numbers were taken of a tensor that is being differentiated, or that stands for the samples of `vmap`.

    The message names the transform, the type and shape of the tensor, and the line.

    Notes
    -----
    What Python and NumPy do by themselves raises: ``float(x)``, ``complex(x)``, functions of `math`, ``np.asarray(x)``,
    ``np.array([x, y])``, assignment of a tensor into an array, compiled functions of SciPy, ``out=`` arrays, DLPack,
    pickles, `numpy.save`. Use ``dualgrad.ops`` and ``dualgrad.numpy`` there: ``dualgrad.numpy.array([x, y])`` and
    ``Tensor([x, y])`` join tensors and keep their derivatives.

    Where a constant is meant, say so: ``x.asnumpy()``, ``x.item()``, ``x.tolist()`` or ``ops.stop_gradient(x)``.
    Printing, ``bool(x)``, comparisons, ``int(x)`` and indices are allowed as they are.

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
        Whose numbers are about to be taken.
    what : str
        Who takes them, for the message.
    caller : frame, optional
        Where they are asked for.
    harmless : callable, optional
        Whether nothing is lost, of the tensor and the instruction that the frame is at, its name and its argument.
    instead : str, optional
        What to use, for the message.

    Raises
    ------
    LeavesDerivativeError
        If they would.
    """
    found = carried(tensor)
    if found is None or (caller is not None and harmless(tensor, *_instruction(caller))):
        return
    name, samples, line = found
    loss = (
        "which stands for all samples at once"
        if samples
        else "which carries a derivative; that would end there, and the result be wrong"
    )
    where = "" if line is None else f" (in {line[0]}, line {line[1]})"
    way_out = "take the numbers outside" if samples else "say so with .asnumpy() or ops.stop_gradient"
    raise LeavesDerivativeError(
        f"{name}: {what} takes plain numbers of a tensor ({tensor.dtype}, shape {tensor.shape}), {loss}{where}. Use "
        f"{instead}; where a constant is meant, {way_out}"
    )


def stay_beside_scipy(tensor: Tensor, caller: FrameType) -> None:
    """`stay` where SciPy makes an array of a tensor: the message names SciPy's function, and says what to do.

    Parameters
    ----------
    tensor : Tensor
        Whose numbers SciPy is about to take.
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
        if "<locals>" not in frame.f_code.co_qualname:  # the last one is what the user called; decorators lie between
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
    """The name and argument of the instruction that a frame of Python code is at."""
    import dis  # not needed but for errors

    for found in dis.get_instructions(frame.f_code):
        if found.offset == frame.f_lasti:
            return found.opname, found.argrepr
    return "", ""


def formats(tensor: Tensor, name: str, argument: str) -> bool:
    """Whether an instruction prints a number: ``"%.3f" % x``."""
    return name == "BINARY_OP" and argument == "%"


def picks(tensor: Tensor, name: str, argument: str) -> bool:
    """Whether an instruction reads an item of an array, ``array[t]``: no derivative passes through an index."""
    reads = name == "BINARY_SUBSCR" or (name == "BINARY_OP" and argument == "[]")
    return reads and (tensor.dtype.is_int or tensor.dtype.is_bool)
