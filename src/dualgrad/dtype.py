"""The types of tensor elements.

There are fourteen `DType` objects, ``float16`` to ``complex128``, made when this module is imported and never
again: who holds the same type holds the same object. So ``is`` and ``==`` agree, a type is a good dictionary
key, and copies and pickles come back as the object itself.

A type says what its elements are; how they are stored is NumPy's business. Each type therefore carries its
NumPy counterpart (`DType.numpy`) and the type number by which compiled code knows it (`DType.num`).

Mixed types follow one rule, `promote`, for every operator: the wider wins, and any float beats any integer.
That is not NumPy's rule (there Int64 with Float16 is Float64): code that multiplies float weights by integer
counters must not slide into double precision by doing so. The three parts of the rule:

=================  ==========================================================================
floats             Float64 > Float32 > Float16 > every integer type and Bool
integers and Bool  as NumPy: Int8 with UInt8 is Int16, UInt64 with a signed type is Float64
complex            Complex128 when one side is Complex128 or Float64, otherwise Complex64
=================  ==========================================================================

UInt64 and a signed type have no integer type in common. Float64 rounds what has more than 53 bits, and does
not wrap around; comparisons are exact. Cast one of the operands where the result shall be an integer. Among
three operands or more, floats are looked for first.

A Python number next to a tensor is weaker than any tensor: see `scalar_result`.
"""

from __future__ import annotations

import textwrap
from typing import Final, NoReturn, TypeAlias, final

import numpy as np

__all__ = [
    "DType",
    "DTypeLike",
    "all_types",
    "as_dtype",
    "bool_",
    "complex64",
    "complex128",
    "complex_type",
    "double",
    "dtype_to_nptype",
    "dtype_to_pytype",
    "float16",
    "float32",
    "float64",
    "float_type",
    "from_num",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_type",
    "number_type",
    "promote",
    "promotion_table",
    "pytype_to_dtype",
    "scalar_result",
    "type_size_in_bytes",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uint_type",
]


@final
class DType:
    """The type of a tensor's elements.

    ``DType(spec)`` is `as_dtype`: it returns one of the existing types, it never makes a new one.

    A type equals everything that stands for it in `as_dtype`, except a NumPy dtype in foreign byte order:
    ``t.dtype == np.float32`` and ``t.dtype == "float32"`` ask the same question as
    ``t.dtype == dualgrad.float32``. Its hash is that of its NumPy dtype, so types and NumPy dtypes find each
    other in a dictionary; scalar classes and names, though equal, do not (as with NumPy's own dtypes).

    Attributes
    ----------
    name : str
        NumPy's name: ``"float32"``, ``"bool"``.
    numpy : numpy.dtype
        The NumPy counterpart, in native byte order.
    num : int
        The NumPy type number of `numpy`.
    itemsize : int
        Bytes per element.
    is_float, is_int, is_complex, is_bool : bool
        The kind; exactly one is true. Unsigned integers are ``is_int`` too.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> dg.float32
    dualgrad.float32
    >>> print(dg.float32, dg.float32.itemsize)
    Float32 4
    >>> dg.float32 == np.float32, dg.dtype.DType("float32") is dg.float32
    (True, True)

    NumPy takes these types wherever it takes a dtype:

    >>> np.zeros(2, dtype=dg.int8)
    array([0, 0], dtype=int8)
    """

    __slots__ = ("_title", "is_bool", "is_complex", "is_float", "is_int", "itemsize", "name", "num", "numpy")

    name: str
    numpy: np.dtype
    num: int
    itemsize: int
    is_float: bool
    is_int: bool
    is_complex: bool
    is_bool: bool
    _title: str

    def __new__(cls, spec: DTypeLike) -> DType:
        return as_dtype(spec, where="DType")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("DType cannot be subclassed: its instances are a closed set.")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self!r} is the same object everywhere: its attribute {name!r} cannot be set.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self!r} is the same object everywhere: its attribute {name!r} cannot be deleted.")

    def __repr__(self) -> str:
        return f"dualgrad.{self.name}"

    def __str__(self) -> str:
        return self._title

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        if isinstance(other, np.dtype):
            return self.numpy == other
        if isinstance(other, (type, str)):
            return _BY_SPEC.get(other) is self
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.numpy)

    def __reduce__(self) -> str:
        # A string means: this object is that global of this module. Copies and pickles keep the identity.
        return "bool_" if self.is_bool else self.name

    @property
    def dtype(self) -> np.dtype:
        """The NumPy counterpart, under the name by which NumPy before 2.4 finds it."""
        return self.numpy

    @property
    def __numpy_dtype__(self) -> np.dtype:
        return self.numpy


DTypeLike: TypeAlias = DType | np.dtype | type | str


def _define(name: str) -> DType:
    numpy = np.dtype(name)
    fields = {
        "name": name,
        "numpy": numpy,
        "num": numpy.num,
        "itemsize": numpy.itemsize,
        "is_float": numpy.kind == "f",
        "is_int": numpy.kind in "iu",
        "is_complex": numpy.kind == "c",
        "is_bool": numpy.kind == "b",
        "_title": "UInt" + name[4:] if numpy.kind == "u" else name.capitalize(),
    }
    new = object.__new__(DType)
    for field, value in fields.items():
        object.__setattr__(new, field, value)
    return new


float16: Final = _define("float16")
float32: Final = _define("float32")
float64: Final = _define("float64")
int8: Final = _define("int8")
int16: Final = _define("int16")
int32: Final = _define("int32")
int64: Final = _define("int64")
uint8: Final = _define("uint8")
uint16: Final = _define("uint16")
uint32: Final = _define("uint32")
uint64: Final = _define("uint64")
bool_: Final = _define("bool")
complex64: Final = _define("complex64")
complex128: Final = _define("complex128")

half: Final = float16
double: Final = float64

int_type: Final = (int8, int16, int32, int64)
uint_type: Final = (uint8, uint16, uint32, uint64)
float_type: Final = (float16, float32, float64)
complex_type: Final = (complex64, complex128)
number_type: Final = int_type + uint_type + float_type + complex_type
all_types: Final = (bool_,) + number_type


def _tables() -> tuple[dict[int, DType], dict[type | str, DType]]:
    by_numpy = {t.numpy: t for t in all_types}
    by_num: dict[int, DType] = {}
    # A plain float means Float32, the type of weights, not the Float64 in which the interpreter computes.
    by_spec: dict[type | str, DType] = {bool: bool_, int: int64, float: float32, complex: complex128}
    # C has more integer types than there are widths (on Linux both long and long long have 64 bits). NumPy
    # numbers them all, and an array may carry any of these numbers, so the tables know every one.
    for code in "?bBhHiIlLqQefdFD":
        numpy = np.dtype(code)
        by_num[numpy.num] = by_spec[numpy.type] = by_numpy[numpy]
    for t in all_types:
        by_spec[t.name] = by_spec[str(t)] = t
    by_spec |= {"bool_": bool_, "half": half, "double": double}
    return by_num, by_spec


_BY_NUM, _BY_SPEC = _tables()


def as_dtype(spec: DTypeLike, *, where: str = "as_dtype") -> DType:
    """The type that a type argument stands for.

    Parameters
    ----------
    spec : DType, numpy.dtype, type or str
        A type of this library; a NumPy dtype or scalar class (``np.float32``); a name (``"float32"`` or
        ``"Float32"``); or one of Python's ``bool`` (Bool), ``int`` (Int64), ``float`` (Float32) and
        ``complex`` (Complex128). The byte order of a NumPy dtype is disregarded.
    where : str, optional
        The function that errors name.

    Returns
    -------
    DType

    Raises
    ------
    TypeError
        If `spec` is none of these.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad.dtype import as_dtype
    >>> as_dtype("float64"), as_dtype(np.uint8), as_dtype(float)
    (dualgrad.float64, dualgrad.uint8, dualgrad.float32)
    """
    found: DType | None = None
    if isinstance(spec, DType):
        return spec
    if isinstance(spec, np.dtype):
        found = _BY_NUM.get(spec.num)
    elif isinstance(spec, (type, str)):
        found = _BY_SPEC.get(spec)
    if found is None:
        came = textwrap.shorten(repr(spec), 80, placeholder=" ...")
        raise TypeError(
            f"{where}: {came} is not a type of tensor elements. "
            "Expected a type such as dualgrad.float32, its NumPy counterpart, its name "
            f"(one of {_names()}), or Python's bool, int, float or complex.{_hint(spec)}"
        )
    return found


def _names() -> str:
    return ", ".join(t.name for t in all_types)


def _hint(spec: object) -> str:
    """What to do about a wrong `spec`, for the specs that people write most."""
    kind = spec.type if isinstance(spec, np.dtype) else spec
    if isinstance(kind, type) and issubclass(kind, np.inexact):  # the platform's long doubles
        wanted = "complex128" if issubclass(kind, np.complexfloating) else "float64"
        return f" Convert the data with .astype(np.{wanted})."
    name = kind.__name__ if isinstance(kind, type) else kind
    if isinstance(name, str) and name.lower() == "bfloat16":
        return " There is no bfloat16 here: compute in float32, which holds all its numbers."
    if isinstance(spec, str):
        import difflib  # takes time to import, and a wrong name is rare

        close = difflib.get_close_matches(spec.lower(), [t.name for t in all_types], n=2, cutoff=0.75)
        return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    if not isinstance(spec, type) and isinstance(getattr(spec, "dtype", None), (DType, np.dtype)):
        return " A tensor or an array is not a type: pass its .dtype."
    return ""


def from_num(num: int) -> DType:
    """The type with a NumPy type number.

    Parameters
    ----------
    num : int
        ``numpy.dtype.num``. Where NumPy has several numbers for one type, each is accepted.

    Returns
    -------
    DType

    Raises
    ------
    TypeError
        If no type of this library has this number.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad.dtype import from_num
    >>> from_num(np.ones(3).dtype.num)
    dualgrad.float64
    """
    try:
        return _BY_NUM[num]
    except KeyError:
        raise TypeError(
            f"from_num: no type of tensor elements has the NumPy type number {num!r}. "
            f"Convert the data to one of {_names()} first."
        ) from None


def promote(a: DType, b: DType) -> DType:
    """The type of a result of two tensors: the wider wins, and any float beats any integer.

    The order of the operands does not matter, nor does the grouping of three of them, unless UInt64 meets a
    signed type and a float; 0-d tensors take part like others. The rule is stated in full at the top of this module.

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
    """The rule of `promote` on NumPy type numbers, for compiled code.

    Returns
    -------
    dict
        ``(a.num, b.num)`` to ``promote(a, b).num``, for every pair of numbers that `from_num` accepts. The
        values are always numbers that `DType.num` shows.

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

    The number adapts to the tensor. Only a number of a kind that the tensor cannot hold changes the type: an
    int next to a Bool tensor gives Int64; a float next to an integer or Bool tensor Float32; a complex next
    to a Float64 tensor Complex128, next to any other that is not complex Complex64.

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
    if issubclass(pytype, (bool, np.bool_)):
        return dtype
    if issubclass(pytype, (int, np.integer)):
        return int64 if dtype.is_bool else dtype
    if issubclass(pytype, (float, np.floating)):
        return float32 if dtype.is_int or dtype.is_bool else dtype
    if issubclass(pytype, (complex, np.complexfloating)):
        if dtype.is_complex:
            return dtype
        return complex128 if dtype is float64 else complex64
    raise TypeError(
        f"scalar_result: {pytype!r} is not a type of numbers. Expected bool, int, float, complex or a NumPy "
        "scalar class; make anything else a Tensor first."
    )


# ------------------------------------------------------------------- conversions under MindSpore's names
# All of them raise the TypeError of `as_dtype` for what is not a type.


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
    """The Python type of numbers of a type: ``bool``, ``int``, ``float`` or ``complex``.

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
