"""The floating type that numbers have without another word: float32, or float64 for a whole program."""

from __future__ import annotations

from . import _dtypes
from ._dtypes import DType, DTypeLike, as_dtype, float32, float64
from ._engine.arrays.defaults import set_default_float
from .hooks import forget_programs

__all__ = ["get_default_dtype", "set_default_dtype"]


def set_default_dtype(dtype: DTypeLike) -> None:
    """Choose the floating type that numbers have without another word.

    That is the type of tensors made of Python's floats (``Tensor(0.5)``, ``mnp.array([0.1, 0.2])``), of new tensors
    whose type is not given (``mnp.zeros(3)``, ``ops.linspace(0, 1, 5)``, random numbers of ``rand`` and ``randn``), of
    what integers become where they have to be floating (``Tensor([1, 2]) / 3``, ``mnp.exp(2)``), and of the type
    argument ``float``. Complex numbers follow: Complex64 or Complex128. A number beside a floating tensor takes the
    type of the tensor, whatever the default is. Parameters of layers and functions that state ``float32`` as their
    default keep it.

    Parameters
    ----------
    dtype : type
        ``dualgrad.float32``, which is the default at first, or ``dualgrad.float64``.

    Raises
    ------
    TypeError
        If `dtype` is no type of tensor elements.
    ValueError
        If it is another type than these two.
    RuntimeError
        Inside of a function that is being differentiated, mapped or recorded.

    Notes
    -----
    The setting belongs to the process, and is chosen once, at the top of a program. Workers of `dualgrad.distributed`
    take it over with each task; other processes choose their own. Programs that were recorded are recorded anew.

    Examples
    --------
    NumPy computes in float64, and code that was written for it relies on that: 0.1 has 8 digits in float32.

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
    """The floating type that numbers have without another word; `set_default_dtype` chooses it.

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
