"""The types of tensor elements.

There are fourteen `DType` objects, ``float16`` to ``complex128``, made once when this module is imported. Equal types
are the same object. So ``is`` and ``==`` agree, a type is a good dictionary key, and copies and pickles come back as
the object itself.

A type says which numbers the elements are; NumPy decides how they are stored. Each type therefore carries its NumPy
counterpart (`DType.numpy`) and the type number that compiled code uses (`DType.num`).

One rule for mixed types, `promote`, holds in every operator: the wider type wins, and any float beats any integer.
NumPy's rule differs (there Int64 with Float16 is Float64): code that multiplies float weights by integer counters must
not slide into double precision. The three parts of the rule:

=================  ==========================================================================
floats             Float64 > Float32 > Float16 > every integer type and Bool
integers and Bool  as NumPy: Int8 with UInt8 is Int16, UInt64 with a signed type is Float64
complex            Complex128 when one side is Complex128 or Float64, otherwise Complex64
=================  ==========================================================================

UInt64 and a signed type have no common integer type. Float64 rounds integers of more than 53 bits, and does not wrap
around; comparisons are exact. To get an integer, cast one of the operands. Among three or more operands, floats are
looked for first.

A Python number next to a tensor is weaker than any tensor: see `scalar_result`.
"""

from __future__ import annotations

import numpy as np

from . import _dtypes
from ._dtypes import *  # noqa: F403
from ._dtypes import _BY_NUM, DType, as_dtype, complex64, complex128, default_complex, default_float, float64, int64

__all__ = [
    "dtype_to_nptype",
    "dtype_to_pytype",
    "promote",
    "promotion_table",
    "pytype_to_dtype",
    "scalar_result",
    "type_size_in_bytes",
]
__all__ += _dtypes.__all__


def promote(a: DType, b: DType) -> DType:
    """The type of a result of two tensors: the wider wins, and any float beats any integer.

    The order of the operands does not matter. Neither does the grouping of three operands, unless UInt64 meets a signed
    type and a float. 0-d tensors count like others. The module docstring states the full rule.

    Parameters
    ----------
    a, b : DType
        The types of the operands.

    Returns
    -------
    DType

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.dtype import promote
    >>> promote(dg.float32, dg.float64)
    dualgrad.float64
    >>> promote(dg.int64, dg.float16)
    dualgrad.float16
    >>> promote(dg.int8, dg.uint8)
    dualgrad.int16
    """
    for each in (a, b):
        if not isinstance(each, DType):
            raise TypeError(f"promote: expected types as dualgrad.float32, got {type(each).__name__}")
    if a is b:
        return a
    if a.is_complex or b.is_complex:
        double_precision = any(t is complex128 or t is float64 for t in (a, b))
        return complex128 if double_precision else complex64
    if a.is_float and b.is_float:
        return a if a.itemsize > b.itemsize else b
    if a.is_float or b.is_float:
        return a if a.is_float else b
    return _BY_NUM[np.promote_types(a.numpy, b.numpy).num]


def promotion_table() -> dict[tuple[int, int], int]:
    """The rule of `promote` as a table of NumPy type numbers, for compiled code.

    Returns
    -------
    dict
        ``(a.num, b.num)`` to ``promote(a, b).num``, for every pair of numbers that `from_num` accepts. Each value is
        the `DType.num` of its type.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.dtype import from_num, promotion_table
    >>> from_num(promotion_table()[dg.int32.num, dg.float16.num])
    dualgrad.float16
    """
    return {(m, n): promote(a, b).num for m, a in _BY_NUM.items() for n, b in _BY_NUM.items()}


def scalar_result(dtype: DType, pytype: type) -> DType:
    """The type of a result of a tensor and a Python number.

    The number adapts to the tensor. Only a number of a kind that the tensor cannot hold changes the type. An int next
    to a Bool tensor gives Int64; a float next to an integer or Bool tensor gives Float32. A complex number next to a
    Float64 tensor gives Complex128, and next to any other real tensor Complex64.

    Parameters
    ----------
    dtype : DType
        The type of the tensor.
    pytype : type
        The type of the number: ``bool``, ``int``, ``float``, ``complex`` or a subclass. NumPy's scalar
        classes count as the Python type of their kind.

    Returns
    -------
    DType

    Raises
    ------
    TypeError
        If `pytype` is not a type of numbers.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.dtype import scalar_result
    >>> scalar_result(dg.float16, float), scalar_result(dg.int32, float), scalar_result(dg.bool_, int)
    (dualgrad.float16, dualgrad.float32, dualgrad.int64)
    """
    if not isinstance(pytype, type) or not isinstance(dtype, DType):
        raise TypeError(
            "scalar_result: expected a type as dualgrad.float32 and a Python type of numbers, got "
            f"{dtype!r:.40} and {pytype!r:.40}"
        )
    if issubclass(pytype, (bool, np.bool_)):
        return dtype
    if issubclass(pytype, (int, np.integer)):
        return int64 if dtype.is_bool else dtype
    if issubclass(pytype, (float, np.floating)):
        return default_float() if dtype.is_int or dtype.is_bool else dtype
    if issubclass(pytype, (complex, np.complexfloating)):
        if dtype.is_complex:
            return dtype
        return default_complex() if not dtype.is_float else complex128 if dtype is float64 else complex64
    raise TypeError(
        f"scalar_result: {pytype!r} is not a type of numbers. Expected bool, int, float, complex or a NumPy "
        "scalar class; make anything else a Tensor first."
    )


# ------------------------------------------------------------------- conversions under MindSpore's names
# All of them raise the TypeError of `as_dtype` for an object that is not a type.


def dtype_to_nptype(type_: DType) -> type[np.generic]:
    """The NumPy scalar class of a type.

    Parameters
    ----------
    type_ : DType

    Returns
    -------
    type
        For example ``numpy.float32``.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.dtype import dtype_to_nptype
    >>> dtype_to_nptype(dg.float32)
    <class 'numpy.float32'>
    """
    kind: type[np.generic] = as_dtype(type_, where="dtype_to_nptype").numpy.type
    return kind


def dtype_to_pytype(type_: DType) -> type:
    """The Python type for the numbers of a type: ``bool``, ``int``, ``float`` or ``complex``.

    Parameters
    ----------
    type_ : DType

    Returns
    -------
    type

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.dtype import dtype_to_pytype
    >>> dtype_to_pytype(dg.uint8)
    <class 'int'>
    """
    found = as_dtype(type_, where="dtype_to_pytype")
    if found.is_bool:
        return bool
    if found.is_int:
        return int
    return float if found.is_float else complex


def pytype_to_dtype(obj: type | np.dtype | DType) -> DType:
    """The type of tensors made from values of a Python or NumPy type.

    Parameters
    ----------
    obj : type, numpy.dtype or DType
        For example ``int``, ``float`` or ``numpy.float64``.

    Returns
    -------
    DType

    Examples
    --------
    >>> from dualgrad.dtype import pytype_to_dtype
    >>> pytype_to_dtype(int), pytype_to_dtype(float)
    (dualgrad.int64, dualgrad.float32)
    """
    return as_dtype(obj, where="pytype_to_dtype")


def type_size_in_bytes(dtype: DType) -> int:
    """Bytes per element of a type.

    Parameters
    ----------
    dtype : DType

    Returns
    -------
    int

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad.dtype import type_size_in_bytes
    >>> type_size_in_bytes(dg.float16)
    2
    """
    return as_dtype(dtype, where="type_size_in_bytes").itemsize
