"""The default floating type: float32, or float64 for a whole program."""

from __future__ import annotations

from . import _dtypes
from ._dtypes import DType, DTypeLike, as_dtype, float32, float64
from ._engine.arrays.defaults import set_default_float
from .hooks import forget_programs

__all__ = ["get_default_dtype", "set_default_dtype"]


def set_default_dtype(dtype: DTypeLike) -> None:
    """Set the default floating type.

    It applies to tensors made of Python's floats (``Tensor(0.5)``, ``mnp.array([0.1, 0.2])``) and to new tensors
    without a given type (``mnp.zeros(3)``, ``ops.linspace(0, 1, 5)``, random numbers of ``rand`` and ``randn``). It
    also applies to integers that an operator converts to floats (``Tensor([1, 2]) / 3``, ``mnp.exp(2)``) and to the
    type argument ``float``. Complex numbers follow: Complex64 or Complex128. A number combined with a floating tensor
    takes the type of the tensor for every default. Parameters of layers and functions whose stated default is
    ``float32`` keep it.

    Parameters
    ----------
    dtype : type
        ``dualgrad.float32``, the initial default, or ``dualgrad.float64``.

    Raises
    ------
    TypeError
        If `dtype` is not a type of tensor elements.
    ValueError
        If it is another type than these two.
    RuntimeError
        Inside a function that is being differentiated, mapped or recorded.

    Notes
    -----
    The setting belongs to the process: set it once, at the top of a program. Workers of `dualgrad.distributed` take it
    over with each task; other processes set their own. Recorded programs are discarded and recorded again.

    Examples
    --------
    NumPy computes in float64, and code written for it relies on that: float32 holds 0.1 to only 8 digits.

    >>> import dualgrad as dg
    >>> import dualgrad.numpy as mnp
    >>> rate = lambda t: mnp.sum(mnp.array([0.1, 0.2]) * t)
    >>> print(dg.grad(rate)(1.0))
    0.30000000447034836
    >>> dg.set_default_dtype(dg.float64)
    >>> print(dg.grad(rate)(1.0), mnp.zeros(2).dtype, dg.Tensor([1, 2], float).dtype)
    0.30000000000000004 Float64 Float64
    >>> dg.set_default_dtype(dg.float32)
    """
    found = as_dtype(dtype, where="set_default_dtype")
    if found is not float32 and found is not float64:
        raise ValueError(f"set_default_dtype: dtype is {found!r}; expected dualgrad.float32 or dualgrad.float64")
    if found is _dtypes.default_float():
        return
    if not set_default_float(found.num):
        raise RuntimeError(
            "set_default_dtype: called inside of a function that is being differentiated, mapped or recorded, where "
            "numbers of both types would meet; choose the type before, at the top of the program"
        )
    _dtypes.choose_default(found)
    forget_programs()


def get_default_dtype() -> DType:
    """Return the default floating type; `set_default_dtype` sets it.

    Returns
    -------
    DType
        ``dualgrad.float32`` or ``dualgrad.float64``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.get_default_dtype()
    dualgrad.float32
    """
    return _dtypes.default_float()
