"""The text of tensors for ``str`` and ``repr``.

`format_str` is for reading: NumPy's text of the values, always with NumPy's default settings, so a program prints the
same whatever print options its user has set. `format_repr` is complete: shape, type and the values to a fixed number of
digits, in MindSpore's layout. Its rules:

* A 0-d value follows on the same line, in the style of C's ``%g``; a vector follows on the same line; more
  dimensions begin on a new line, each inner row indented by one space for each bracket that is open.
* Columns: Float32 and Float64 ``%.8e`` in 15 characters, Float16 ``%.4e`` in 11, Bool in 5, integers in the
  width of the widest one that is shown. Complex values stand plain.
* A vector of more than 1000 elements is shortened. A shorter one wraps after 12 floats or bools, or after 24 numbers of
  another kind; when the last line is exactly full, the bracket closes on the next one. In arrays of more dimensions,
  every axis longer than 6 shows its first and last three entries.

Only the shown elements are read, so the text of a large array costs no more than the text of a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["format_repr", "format_str"]

_EDGE = 3  # entries shown at either end of a shortened axis
_LONG_VECTOR = 1000  # a vector with more elements is shortened ...
_LONG_AXIS = 2 * _EDGE  # ... and in arrays of more dimensions an axis with more entries is, too

# Written out, since NumPy keeps no copy of its defaults after a change.
_NUMPY_DEFAULTS: dict[str, Any] = {
    "edgeitems": 3,
    "floatmode": "maxprec",
    "formatter": None,
    "infstr": "inf",
    "legacy": False,
    "linewidth": 75,
    "nanstr": "nan",
    "precision": 8,
    "sign": "-",
    "suppress": False,
    "threshold": 1000,
}


def format_str(array: np.ndarray) -> str:
    """NumPy's text of an array, with NumPy's default print options.

    Parameters
    ----------
    array : numpy.ndarray
        An array of any shape and dtype.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad._format import format_str
    >>> with np.printoptions(precision=2):
    ...     print(format_str(np.array([1.0, 2.0 / 3.0])))
    [1.         0.66666667]
    """
    with np.printoptions(**_NUMPY_DEFAULTS):
        return np.array_str(array)


def format_repr(array: np.ndarray, dtype_name: str) -> str:
    """The complete text ``Tensor(shape=..., dtype=..., value=...)`` of a tensor.

    Parameters
    ----------
    array : numpy.ndarray
        The values: bools, integers, floats or complex numbers, of any shape.
    dtype_name : str
        The displayed type, for example ``"Float32"``.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad._format import format_repr
    >>> print(format_repr(np.array([[1, 20], [3, 4]]), "Int64"))
    Tensor(shape=[2, 2], dtype=Int64, value=
    [[ 1, 20],
     [ 3,  4]])
    """
    return f"Tensor(shape={list(array.shape)}, dtype={dtype_name}, value={_value(array)})"


def _value(array: np.ndarray) -> str:
    if array.ndim == 0:
        return " " + _scalar(array.item())
    lead = " " if array.ndim == 1 else "\n"
    if array.size == 0:
        return lead
    limit = _LONG_VECTOR if array.ndim == 1 else _LONG_AXIS
    shortened = [length > limit for length in array.shape]
    shown = _ends(array, shortened) if any(shortened) else array
    text = _element(shown)
    if array.ndim == 1 and not shortened[0]:
        per_line = 12 if array.dtype.kind in "fb" else 24
        return lead + _wrapped([text(x) for x in shown.tolist()], per_line)
    return lead + _rows(shown.tolist(), shortened, text)


def _ends(array: np.ndarray, shortened: Sequence[bool]) -> np.ndarray:
    """The entries of `array` to show: both ends of each shortened axis, and all entries of the others."""
    ends = np.r_[0:_EDGE, -_EDGE:0]
    # One gather for all axes: shortening axis after axis would copy large parts of the array on the way.
    axes = zip(array.shape, shortened, strict=True)
    shown: np.ndarray = array[np.ix_(*(ends if cut else np.arange(length) for length, cut in axes))]
    return shown


def _scalar(x: Any) -> str:
    """The text of a 0-d value, a Python number."""
    if isinstance(x, complex):
        return _complex(x)
    return f"{x:g}" if isinstance(x, float) else str(x)


def _complex(x: complex) -> str:
    return f"{x.real:g}{x.imag:+g}j"


def _element(shown: np.ndarray) -> Callable[[Any], str]:
    """The function that formats one element, given all shown elements."""
    match shown.dtype.kind:
        case "f":
            return ("{:11.4e}" if shown.itemsize == 2 else "{:15.8e}").format
        case "c":
            return _complex
        case "b":
            return "{!s:>5}".format
        case _:
            width = max(len(str(shown.min())), len(str(shown.max())))
            return f"{{:{width}d}}".format


def _wrapped(cells: list[str], per_line: int) -> str:
    """Format a whole vector on one or several lines."""
    lines = [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
    last_line_is_full = len(cells) % per_line == 0
    return "[" + ", \n ".join(lines) + ("\n ]" if last_line_is_full else "]")


def _rows(block: list[Any], shortened: Sequence[bool], text: Callable[[Any], str], depth: int = 0) -> str:
    """Format nested lists inside `depth` open brackets."""
    if depth == len(shortened) - 1:
        entries = [text(x) for x in block]
        comma, dots = ", ", " ... "
    else:
        entries = [_rows(inner, shortened, text, depth + 1) for inner in block]
        newline = "\n" + " " * (depth + 1)
        comma, dots = "," + newline, "," + newline + "..." + newline
    if shortened[depth]:
        return "[" + comma.join(entries[:_EDGE]) + dots + comma.join(entries[-_EDGE:]) + "]"
    return "[" + comma.join(entries) + "]"
