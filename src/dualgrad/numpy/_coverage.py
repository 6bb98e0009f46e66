"""A table of all functions in NumPy's main namespace and ``numpy.linalg``: which are supported, and why others are not.

A function is differentiable if tensors support it and it is not listed here. For other functions and for refused
arguments, this file gives the reason. The documentation page and the tests are generated from `coverage`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._functions import LINALG, NAMES

__all__ = ["DIFFERENTIABLE", "NOT_OFFERED", "REFUSED", "REFUSED_ARGUMENTS", "WITHOUT_SLOPE", "Entry", "coverage"]

DIFFERENTIABLE, WITHOUT_SLOPE = "differentiable", "without slope"
REFUSED, NOT_OFFERED = "refused", "not offered"


class Entry(NamedTuple):
    """The support of a function: one of four words, and the reason."""

    kind: str
    why: str


def _words(text: str) -> list[str]:
    return text.split()


_WITHOUT_SLOPE: dict[str, str] = {
    **dict.fromkeys(
        _words("""all any equal greater greater_equal isclose isfinite isinf isin isnan isneginf isposinf less
        less_equal logical_and logical_not logical_or logical_xor not_equal signbit allclose array_equal
        array_equiv iscomplex isreal"""),
        "the result is bools",
    ),
    **dict.fromkeys(
        _words("""argmax argmin argpartition argsort argwhere count_nonzero digitize flatnonzero lexsort nanargmax
        nanargmin nonzero searchsorted diag_indices_from tril_indices_from triu_indices_from ravel_multi_index
        unravel_index ix_ linalg.matrix_rank"""),
        "the result is positions or counts",
    ),
    **dict.fromkeys(
        _words("around ceil fix floor floor_divide rint round sign trunc spacing"), "constant between its steps"
    ),
    **dict.fromkeys(
        _words("""bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
        bitwise_xor gcd invert lcm left_shift right_shift packbits unpackbits"""),
        "of integers",
    ),
    **dict.fromkeys(
        _words("arange empty empty_like eye identity ones ones_like tri zeros zeros_like"), "the result is constant"
    ),
    **dict.fromkeys(
        _words("""array2string array_repr array_str broadcast_shapes can_cast common_type einsum_path finfo iinfo
        iscomplexobj isdtype isfortran isrealobj may_share_memory min_scalar_type ndim result_type shape shares_memory
        size"""),
        "about shapes, types, memory or text",
    ),
    **dict.fromkeys(_words("save savetxt savez savez_compressed"), "writes a file; refused inside of derivatives"),
}

_REFUSED: dict[str, str] = {
    "isnat": "of dates, which tensors do not hold",
}

_NOT_OFFERED: dict[str, str] = {
    **dict.fromkeys(
        _words("bartlett blackman hamming hanning"), "makes an array of a length, which is a constant beside tensors"
    ),
    **dict.fromkeys(
        _words("diag_indices indices mask_indices tril_indices triu_indices"),
        "makes arrays of indices of a length, which index tensors as they are",
    ),
    **dict.fromkeys(
        _words("frombuffer fromfile fromiter fromregex fromstring genfromtxt load loadtxt memmap"),
        "reads data; make a tensor of the array",
    ),
    **dict.fromkeys(
        _words("""busday_count busday_offset busdaycalendar is_busday datetime_as_string datetime_data"""),
        "of dates, which tensors do not hold",
    ),
    **dict.fromkeys(
        _words("""base_repr binary_repr format_float_positional format_float_scientific get_printoptions printoptions
        set_printoptions typename"""),
        "about text",
    ),
    **dict.fromkeys(
        _words("""errstate getbufsize geterr geterrcall setbufsize seterr seterrcall get_include info show_config
        show_runtime test"""),
        "settings and information of NumPy itself",
    ),
    **dict.fromkeys(
        _words("isscalar issubdtype iterable mintypecode promote_types dtype"),
        "about types of Python or of arrays; `dualgrad.dtype` has those of tensors",
    ),
    **dict.fromkeys(
        _words("broadcast flatiter nditer nested_iters ndenumerate ndindex"), "iterates over the memory of arrays"
    ),
    **dict.fromkeys(
        _words("asmatrix bmat matrix chararray recarray record ndarray"),
        "makes a kind of array; tensors are of one kind",
    ),
    "asarray_chkfinite": "looks at numbers; use dualgrad.check_finite",
    "require": "about memory, which tensors do not show",
    "fromfunction": "calls the function with arrays of indices; call it with tensors of them",
    "frompyfunc": "makes a ufunc of Python objects; write the function with tensors, or as a primitive",
    "vectorize": "calls a function with numbers; use dualgrad.vmap",
    "poly1d": "a class with a polynomial in it; use the functions polyval, polymul ... of coefficients",
    "in1d": "a former name of isin",
    "row_stack": "a former name of vstack",
    "trapz": "a former name of trapezoid",
    "ufunc": "the class of ufuncs",
}

REFUSED_ARGUMENTS: dict[str, dict[str, str]] = {
    "": {
        "out": "an array cannot hold a derivative; use the result",
        "like": "of functions that make arrays: dualgrad.numpy makes tensors",
        "subok": "tensors have no subclasses that NumPy knows",
    },
    "ufunc": {
        "where": "leaves elements of the result undefined; choose elements with where()",
        "casting": "operands are converted by the rule of tensors",
        "order": "tensors have no memory order of their own",
        "axes": "move the axes first",
        "keepdims": "expand the axes afterwards",
        "axis": "of functions of vectors only: vecdot has it",
        "signature": "of NumPy's loops",
        "extobj": "of NumPy's loops",
    },
    "sort": {"order": "names of fields, which tensors do not have"},
    "partition": {"order": "names of fields, which tensors do not have"},
    "argpartition": {"order": "names of fields, which tensors do not have"},
    "argsort": {"order": "names of fields, which tensors do not have"},
    "array": {"ndmax": "lists are read to the end"},
    "clip": {"kwargs": "those of ufuncs"},
    "corrcoef": dict.fromkeys(_words("bias ddof"), "without effect, and gone since NumPy 2.4"),
    "percentile": {"interpolation": "a former name of method"},
    "quantile": {"interpolation": "a former name of method"},
    "nanpercentile": {"interpolation": "a former name of method"},
    "nanquantile": {"interpolation": "a former name of method"},
    "reshape": {"newshape": "a former name of shape"},
}
"""Refused arguments that NumPy documents, by function ("" for all) and name, with the reason."""


def _public(space: Any) -> list[str]:
    """The functions and classes of a namespace, without element types and exceptions."""
    found = []
    for name in space.__all__:
        value = getattr(space, name, None)
        scalar = isinstance(value, type) and issubclass(value, np.generic | Exception)
        if callable(value) and not scalar and not name.startswith("_"):
            found.append(name)
    return sorted(found)


def coverage() -> dict[str, Entry]:
    """Look up every public function of NumPy and ``numpy.linalg`` ("linalg.det") in the table.

    Raises
    ------
    LookupError
        If NumPy has a function that the table lacks, or an offered function is listed as not offered.
    """
    found = {}
    for prefix, space, offered in (("", np, NAMES), ("linalg.", np.linalg, LINALG)):
        for name in _public(space):
            found[prefix + name] = _entry(prefix + name, name in offered)
    return found


def _entry(name: str, offered: bool) -> Entry:
    absent = {**dict.fromkeys(_REFUSED, REFUSED), **dict.fromkeys(_NOT_OFFERED, NOT_OFFERED)}
    if offered != (name not in absent):
        known = f"is listed as {absent[name]}, but offered" if offered else "is neither offered nor listed"
        raise LookupError(f"np.{name} {known} (dualgrad/numpy/_coverage.py)")
    if offered:
        why = _WITHOUT_SLOPE.get(name)
        return Entry(DIFFERENTIABLE, "") if why is None else Entry(WITHOUT_SLOPE, why)
    return Entry(absent[name], {**_REFUSED, **_NOT_OFFERED}[name])
