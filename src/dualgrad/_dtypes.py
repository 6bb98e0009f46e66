"""The types of tensor elements: fourteen objects, and the tables that find them by other names."""

from __future__ import annotations

import builtins
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, final

import numpy as np

if TYPE_CHECKING:
    from .tensor import Tensor

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
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uint_type",
]

# The rank of each kind of numbers: a kind can hold the kinds of lower rank.
_RANK: Final = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


@final
class DType:
    """The type of a tensor's elements.

    ``DType(spec)`` is `as_dtype`: it returns one of the existing types and never makes a new one.

    A type equals everything that `as_dtype` maps to it, except a NumPy dtype in foreign byte order: ``t.dtype ==
    np.float32`` and ``t.dtype == "float32"`` mean the same as ``t.dtype == dualgrad.float32``. A type has the hash of
    its NumPy dtype, so a dictionary finds either under the other. Scalar classes and names are equal too, but hash
    differently, as with NumPy's own dtypes.

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
    type, kind, char
        The same attributes of `numpy`: the scalar class, and the codes of kind and type.

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

    Calling a type makes a tensor of that type, as NumPy's scalar classes do; derivatives pass:

    >>> dg.float64(3)
    Tensor(shape=[], dtype=Float64, value= 3)
    >>> print(dg.grad(lambda x: dg.float64(x) ** 2)(dg.Tensor(3.0)))
    6.0
    """

    __module__ = "dualgrad.dtype"  # pickles look the types up in the public module

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
        # A string names a global of this module, so copies and pickles give back the same object.
        return "bool_" if self.is_bool else self.name

    def __call__(self, data: Any = 0) -> Tensor:
        """Convert data to a tensor of this type; derivatives pass."""
        return MAKERS[0](data, self)

    @property
    def type(self) -> builtins.type[np.generic]:
        """NumPy's scalar class."""
        return self.numpy.type

    @property
    def kind(self) -> str:
        """NumPy's code of the kind: one of ``b i u f c``."""
        return self.numpy.kind

    @property
    def char(self) -> str:
        """NumPy's code of the type."""
        return self.numpy.char

    @property
    def dtype(self) -> np.dtype:
        """The NumPy counterpart. NumPy before 2.4 looks for it under this name."""
        return self.numpy

    @property
    def __numpy_dtype__(self) -> np.dtype:
        return self.numpy


DTypeLike: TypeAlias = DType | np.dtype | type | str


# The function that makes a tensor of data and a type. The module of tensors enters its class here.
MAKERS: Final[list[Callable[[Any, DType], Tensor]]] = []


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


# C has more integer types than widths: on Linux both long and long long have 64 bits. NumPy gives each its own number,
# and an array may carry any of them, so the tables know all.
_CODES: Final = "?bBhHiIlLqQefdFD"


def _tables() -> tuple[dict[int, DType], dict[type | str, DType]]:
    by_numpy = {t.numpy: t for t in all_types}
    by_num: dict[int, DType] = {}
    # A plain float means Float32, the usual type of weights, although the interpreter computes in Float64.
    by_spec: dict[type | str, DType] = {bool: bool_, int: int64, float: float32, complex: complex128}
    for code in _CODES:
        numpy = np.dtype(code)
        by_num[numpy.num] = by_spec[numpy.type] = by_numpy[numpy]
    for t in all_types:
        by_spec[t.name] = by_spec[str(t)] = t
    for spec, numpy in _numpy_names().items():
        by_spec.setdefault(spec, by_num[numpy.num])
    by_spec |= {name.__name__: by_spec[name] for name in (bool, int, float, complex)}
    return by_num, by_spec


def _numpy_names() -> dict[str, np.dtype]:
    """NumPy's names and codes of these types: ``"double"``, ``"d"``, ``"f8"``, ``"<f8"`` of this byte order."""
    by_code = {code: np.dtype(code) for code in _CODES}
    by_class = {numpy.type: numpy for numpy in by_code.values()}
    names = {name: by_class[found] for name, found in np.sctypeDict.items() if found in by_class}
    strings = {code: t.numpy for t in all_types for code in (t.numpy.str, t.numpy.str[1:])}
    return {name: numpy for name, numpy in (by_code | names | strings).items() if isinstance(name, str)}


_BY_NUM, _BY_SPEC = _tables()


def default_float() -> DType:
    """The type for Python's floats: Float32, unless `dualgrad.set_default_dtype` has set another."""
    return _BY_SPEC[float]


def default_complex() -> DType:
    """The complex type whose parts are of the default type."""
    return complex128 if default_float() is float64 else complex64


def choose_default(dtype: DType) -> None:
    """Set the type for Python's floats."""
    _BY_SPEC[float] = _BY_SPEC["float"] = dtype


def as_dtype(spec: DTypeLike, *, where: str = "as_dtype") -> DType:
    """Find the type that a type argument means.

    Parameters
    ----------
    spec : DType, numpy.dtype, type or str
        A type of this library; a NumPy dtype or scalar class (``np.float32``); a name (``"float32"`` or ``"Float32"``),
        also NumPy's names (``"single"``, ``"f"``, ``"f4"``); or Python's ``bool`` (Bool), ``int`` (Int64), ``float``
        (the default type, Float32) or ``complex`` (Complex128), or its name. The byte order of a NumPy dtype is
        ignored.
    where : str, optional
        The function that error messages name.

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
    """Advice on the most frequent wrong values of `spec`."""
    kind = spec.type if isinstance(spec, np.dtype) else spec
    if isinstance(kind, type) and issubclass(kind, np.inexact):  # the long doubles of the platform
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
    if isinstance(spec, int | float) and not isinstance(spec, bool):
        return " A shape of several lengths is one tuple, (2, 3), and several numbers are one list."
    return ""


def from_num(num: int) -> DType:
    """Find the type with a NumPy type number.

    Parameters
    ----------
    num : int
        ``numpy.dtype.num``. Where NumPy has several numbers for one type, each works.

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
    except (KeyError, TypeError):
        raise TypeError(
            f"from_num: no type of tensor elements has the NumPy type number {num!r}. "
            f"Convert the data to one of {_names()} first."
        ) from None
