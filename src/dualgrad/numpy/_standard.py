"""The array API standard's inspection of a namespace: version, devices, types and limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtype as _dtype
from .._device import CPU, Device, on_cpu
from .._dtypes import default_complex, default_float
from .._engine.transforms import tensor as _engine
from .._settings import one_of
from ..dtype import DType, as_dtype, from_num, promote, scalar_result
from ..ops._arguments import ALL_AXES, operand
from ..tensor import Tensor
from ._entries import standard

__all__ = ["VERSIONS", "FloatInfo", "IntInfo", "NamespaceInfo"]

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The supported versions of the standard; the last one is followed exactly."""

_TYPES = tuple([t for t in _dtype.all_types if t is not _dtype.float16])  # the standard does not know float16
_KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (_dtype.bool_,),
    "signed integer": _dtype.int_type,
    "unsigned integer": _dtype.uint_type,
    "integral": _dtype.int_type + _dtype.uint_type,
    "real floating": _dtype.float_type,
    "complex floating": _dtype.complex_type,
    "numeric": _dtype.number_type,
}


def _of_kinds(name: str, kind: Any) -> tuple[DType, ...]:
    """The types of a kind, or of several."""
    if isinstance(kind, tuple):
        return tuple([t for one in kind for t in _of_kinds(name, one)])
    if isinstance(kind, str):
        if not one_of(kind, _KINDS):
            raise ValueError(f"{name}: kind is {kind!r}; expected one of {', '.join(map(repr, _KINDS))}, or a type")
        return _KINDS[kind]
    return (as_dtype(kind, where=name),)


# ------------------------------------------------------------------------------------------------- the namespace


class NamespaceInfo:
    """The capabilities of ``dualgrad.numpy``, as the array API standard defines them.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> info = mnp.__array_namespace_info__()
    >>> info.default_dtypes()["real floating"], info.devices()
    (dualgrad.float32, ('CPU',))
    >>> sorted(info.dtypes(kind="complex floating"))
    ['complex128', 'complex64']
    """

    def capabilities(self) -> dict[str, Any]:
        """Indexing with masks, shapes that depend on data, and the largest number of axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": len(ALL_AXES) - 1}

    def default_device(self) -> Device:
        """The CPU, the only device."""
        return CPU

    def devices(self) -> tuple[Device, ...]:
        """All devices: the CPU."""
        return (CPU,)

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The default types."""
        on_cpu("default_dtypes", device)
        return {
            "real floating": default_float(),
            "complex floating": default_complex(),
            "integral": _dtype.int64,
            "indexing": _dtype.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The standard's types by name, of one kind or all. Float16 is not in the standard, so it is left out.

        Raises
        ------
        ValueError
            For a kind that the standard does not have.
        """
        on_cpu("dtypes", device)
        wanted = _TYPES if kind is None else _of_kinds("dtypes", kind)
        return {t.name: t for t in _TYPES if t in wanted}


@standard("__array_namespace_info__")
def _namespace_info() -> NamespaceInfo:
    """The capabilities, devices and types of this namespace, as the array API standard requires.

    Returns
    -------
    NamespaceInfo

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> mnp.__array_namespace_info__().capabilities()["boolean indexing"]
    True
    """
    return NamespaceInfo()


# --------------------------------------------------------------------------------------------- limits of types


class FloatInfo:
    """Limits of a floating type, as Python numbers; for a complex type, the limits of its parts.

    Attributes
    ----------
    bits : int
        Bits of one element.
    eps, max, min, smallest_normal : float
        The distance from 1 to the next number, the largest number and its negative, and the smallest number with full
        precision.
    tiny, resolution, precision
        The same as in NumPy.
    dtype : DType
        The real type.
    """

    def __init__(self, dtype: DType) -> None:
        found = np.finfo(as_dtype(dtype, where="finfo").numpy)
        self.dtype = from_num(np.dtype(found.dtype).num)
        self.bits = int(found.bits)
        self.eps, self.max, self.min = float(found.eps), float(found.max), float(found.min)
        self.smallest_normal = self.tiny = float(found.smallest_normal)
        self.resolution, self.precision = float(found.resolution), int(found.precision)

    def __repr__(self) -> str:
        return f"finfo(resolution={self.resolution}, min={self.min}, max={self.max}, dtype={self.dtype.name})"


class IntInfo:
    """Limits of an integer type.

    Attributes
    ----------
    bits : int
        Bits of one element.
    max, min : int
        The largest and the smallest number.
    dtype : DType
        The type.
    """

    def __init__(self, dtype: DType) -> None:
        dtype = as_dtype(dtype, where="iinfo")
        found = np.iinfo(dtype.numpy)
        self.dtype = dtype
        self.bits, self.max, self.min = int(found.bits), int(found.max), int(found.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype.name})"


def _type_of(name: str, x: Any) -> DType:
    """The type of a tensor or array, or the type itself."""
    return operand(name, x).dtype if isinstance(x, Tensor | np.ndarray) else as_dtype(x, where=name)


@standard("finfo")
def _finfo(type: Any, /) -> FloatInfo:
    """Limits of a floating type.

    Parameters
    ----------
    type : dtype or Tensor
        Real or complex floating, or a tensor of such a type.

    Returns
    -------
    FloatInfo

    Raises
    ------
    TypeError
        For another type.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> mnp.finfo(mnp.float64).eps == 2.0**-52
    True
    """
    found = _type_of("finfo", type)
    if not (found.is_float or found.is_complex):
        raise TypeError(f"finfo: {found} is no floating type; see iinfo for integers")
    return FloatInfo(found)


@standard("iinfo")
def _iinfo(type: Any, /) -> IntInfo:
    """Limits of an integer type.

    Parameters
    ----------
    type : dtype or Tensor
        An integer type, or a tensor of one.

    Returns
    -------
    IntInfo

    Raises
    ------
    TypeError
        For another type.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> mnp.iinfo(mnp.uint8).max
    255
    """
    found = _type_of("iinfo", type)
    if not found.is_int:
        raise TypeError(f"iinfo: {found} is no integer type; see finfo for floating ones")
    return IntInfo(found)


# ------------------------------------------------------------------------------------------------ kinds of types


@standard("isdtype")
def _isdtype(dtype: Any, kind: Any) -> bool:
    """True if a type is the given type or of the given kind.

    Parameters
    ----------
    dtype : dtype
        The type.
    kind : dtype, str or tuple of both
        A type; or 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating', 'complex floating' or
        'numeric'; a tuple means any of its members.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        For an object that is not a type.
    ValueError
        For an unknown kind.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> mnp.isdtype(mnp.float32, "real floating"), mnp.isdtype(mnp.bool, ("integral", mnp.float32))
    (True, False)
    """
    return as_dtype(dtype, where="isdtype") in _of_kinds("isdtype", kind)


@standard("result_type")
def _result_type(*arrays_and_dtypes: Any) -> DType:
    """The type of a result of these operands, by the rules of this library.

    Parameters
    ----------
    *arrays_and_dtypes : Tensor, dtype or number
        The operands; numbers, of Python or NumPy, are weaker than tensors and types.

    Returns
    -------
    DType

    Raises
    ------
    ValueError
        Without any operand.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> mnp.result_type(mnp.int8, mnp.uint8, 3), mnp.result_type(mnp.ones(2), mnp.int64)
    (dualgrad.int16, dualgrad.float32)
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type: expected one type, tensor or number or more, got none")
    given = [x.item() if isinstance(x, np.generic) else x for x in arrays_and_dtypes]
    numbers = [x for x in given if isinstance(x, bool | int | float | complex)]
    types = [_type_of("result_type", x) for x in given if not isinstance(x, bool | int | float | complex)]
    if not types:
        return from_num(_engine.common_type(*numbers))
    inexact = [t for t in types if t.is_float or t.is_complex]
    common = inexact[0] if inexact else types[0]
    for t in inexact or types:
        common = promote(common, t)
    for x in numbers:
        common = scalar_result(common, type(x))
    return common


@standard("can_cast")
def _can_cast(from_: Any, to: Any, /, casting: str = "safe") -> bool:
    """True if a type can be converted to another by NumPy's rules: without loss, unless `casting` allows more.

    Parameters
    ----------
    from_ : dtype or Tensor
        The type, or a tensor of it.
    to : dtype
        The other type.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, default 'safe'
        The conversions that are allowed.

    Returns
    -------
    bool

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> mnp.can_cast(mnp.int8, mnp.int16), mnp.can_cast(mnp.float64, mnp.float32)
    (True, False)
    """
    found = np.can_cast(_type_of("can_cast", from_).numpy, as_dtype(to, where="can_cast").numpy, casting)  # type: ignore[arg-type]
    return bool(found)


@standard("astype")
def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """A tensor converted to a type; derivatives pass between floating types.

    Parameters
    ----------
    x : Tensor
        Any shape and type.
    dtype : dtype
        The type.
    copy : bool, default True
        If False, `x` itself is returned if it already has the type.
    device : 'cpu', optional
        The device.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        For a complex tensor and a real type: use `real` or `imag` instead.

    Examples
    --------
    >>> import dualgrad.numpy as mnp
    >>> mnp.astype(mnp.ones(2), mnp.int8).dtype
    dualgrad.int8
    """
    on_cpu("astype", device)
    x, target = operand("astype", x), as_dtype(dtype, where="astype")
    if x.dtype is target:
        return +x if copy else x
    if x.dtype.is_complex and not (target.is_complex or target.is_bool):
        raise TypeError(f"astype: {x.dtype} to {target} would lose the imaginary part; take real(x) or imag(x) first")
    return x.astype(target)
