"""What becomes of a sample: the value, and the derivatives of three orders by two engines beside an independent one."""

from __future__ import annotations

import os
import re
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import dualgrad as dg
import dualgrad.numpy as mnp
from dualgrad import Tensor

from .reference import HIGHEST, Derivatives, exact_derivatives, interpolated
from .sample import Sample

__all__ = ["Finding", "in_short", "look_at"]

DOUBLE = 1e-10  # how far values may be from NumPy's, relative to the largest element
SINGLE = 1e-6  # the same where numbers in single precision take part
SLOPE = 1e-7  # the same of derivatives, relative to the largest element, beyond what the reference is sure of
SURE = 1e-4  # how exact the reference must be to count, relative to the derivative


@dataclass
class Finding:
    """What a sample has shown.

    Attributes
    ----------
    outcome
        ``value``: nothing floating comes out; ``raises``: not even values on tensors; ``differs``: other values than
        NumPy's; ``refused``: values, and an error where they would be differentiated; ``slopes``: derivatives up to
        `order` are right; ``wrong``: order `order` + 1 is not.
    order
        Up to this order both engines are right.
    checked
        Up to this order the reference was sure of itself.
    error
        Type and text of an exception, or a difference.
    where
        The line of SciPy that an exception passed last.
    constant
        All derivatives are zero.
    single
        Numbers in single precision have taken part, though all inputs are of double precision.
    """

    outcome: str
    order: int = 0
    checked: int = 0
    error: str = ""
    where: str = ""
    constant: bool = False
    single: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The fields that say something."""
        return {name: value for name, value in asdict(self).items() if value not in ("", False, 0)}


def _leaves(result: Any) -> list[Any]:
    """The arrays and numbers in a result of SciPy."""
    if isinstance(result, Tensor | np.ndarray | np.generic | bool | int | float | complex):
        return [result]
    if isinstance(result, Mapping):
        return [leaf for item in result.values() for leaf in _leaves(item)]
    if isinstance(result, tuple | list):
        return [leaf for item in result for leaf in _leaves(item)]
    if result is None or isinstance(result, str):
        return []
    raise TypeError(f"the sample has to say which part of a {type(result).__name__} is looked at")


def _plain(leaf: Any) -> np.ndarray:
    return leaf.asnumpy() if isinstance(leaf, Tensor) else np.asarray(leaf)


def _vector(leaves: list[Any]) -> np.ndarray:
    """Floating leaves as one real vector."""
    parts = [_plain(leaf).ravel() for leaf in leaves]
    parts = [np.concatenate([x.real, x.imag]) for x in parts if x.dtype.kind in "fc"]
    return np.concatenate(parts) if parts else np.empty(0)


def _tensor_vector(leaves: list[Any]) -> Tensor:
    """The same of tensors, derivatives included."""
    parts = []
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            leaf = Tensor(np.asarray(leaf))
        if leaf.dtype.is_complex:
            parts += [mnp.real(leaf).reshape((-1,)), mnp.imag(leaf).reshape((-1,))]
        elif leaf.dtype.is_float:
            parts += [leaf.reshape((-1,)), leaf.reshape((-1,)) * 0]
    return mnp.concat([part.astype(dg.float64) for part in parts])


def _integers(leaves: list[Any]) -> np.ndarray:
    flat = [_plain(leaf).ravel() for leaf in leaves]
    return np.concatenate([np.empty(0), *(x.astype(float) for x in flat if x.dtype.kind not in "fc")])


def _directions(sample: Sample) -> list[np.ndarray]:
    rng = np.random.default_rng(11)
    return [rng.uniform(0.3, 1.0, x.shape) * rng.choice([-1.0, 1.0], x.shape) for x in sample.inputs]


def in_short(error: BaseException) -> str:
    """Type and text of an exception, without what differs from machine to machine."""
    text = re.sub(r" from '[^']*'|/[\w./-]*/", "", " ".join(str(error).split()))
    return f"{type(error).__name__}: {text.partition(' takes plain numbers')[0][:160]}"


def _error(error: BaseException) -> dict[str, str]:
    """Type, text and the last line of SciPy that an exception passed."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f"{os.sep}scipy{os.sep}" in f.filename]
    where = ""
    if frames:
        where = f"{frames[-1].filename.rpartition('site-packages' + os.sep)[2]}: {frames[-1].line}"
    return {"error": in_short(error), "where": where}


def _off(found: np.ndarray, expected: np.ndarray, scale: float = 0.0) -> float:
    """The largest error, relative to the largest element."""
    if found.shape != expected.shape:
        return np.inf
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(all="ignore"):
        gaps = np.where(same, 0.0, np.abs(found - expected))
    size = np.abs(expected[np.isfinite(expected)]).max(initial=scale)
    worst = float(gaps.max(initial=0.0))
    return 0.0 if worst == 0 else np.inf if np.isnan(worst) or size == 0 else worst / float(size)


def look_at(thing: Any, sample: Sample) -> Finding:
    """Call a function of SciPy on arrays and on tensors, and differentiate it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _looked_at(thing, sample)


def _looked_at(thing: Any, sample: Sample) -> Finding:
    expected = _leaves(sample.call(thing, np.asarray, *sample.inputs))
    try:
        found = _leaves(sample.call(thing, Tensor, *map(Tensor, sample.inputs)))
    except Exception as error:
        return Finding("raises", **_error(error))
    off = max(_off(_vector(found), _vector(expected)), _off(_integers(found), _integers(expected)))
    if off > SINGLE:
        return Finding("differs", error=f"values differ by {off:.1e} of the largest")
    single = off > DOUBLE
    finding = Finding("value")
    if _vector(expected).size and sample.inputs:
        finding = _slopes(thing, sample, SINGLE * 10 if single else SLOPE)
    finding.single = single
    return finding


def _slopes(thing: Any, sample: Sample, within: float) -> Finding:
    """The derivatives of the floating results along a line."""
    directions = _directions(sample)

    def of_numpy(t: float) -> np.ndarray:
        at = [x + t * v for x, v in zip(sample.inputs, directions, strict=True)]
        return _vector(_leaves(sample.call(thing, np.asarray, *at)))

    def of_tensors(t: Tensor) -> Tensor:
        at = [Tensor(x) + t * Tensor(v) for x, v in zip(sample.inputs, directions, strict=True)]
        return _tensor_vector(_leaves(sample.call(thing, Tensor, *at)))

    engines = _engines(of_tensors)
    if isinstance(engines, Exception):
        return Finding("refused", **_error(engines))
    if sample.exact:
        reference = exact_derivatives(sample.exact, sample.inputs, directions)
        reference.values = [np.concatenate([row, 0 * row]) for row in reference.values]  # no imaginary parts
    else:
        reference = interpolated(of_numpy, sample.reach)
    return _compared(*engines, reference, within)


def _weights(size: int) -> np.ndarray:
    return np.random.default_rng(5).uniform(0.5, 1.5, size)


def _engines(curve: Any) -> tuple[np.ndarray, list[np.ndarray]] | Exception:
    """All derivatives of a curve as a series, and those of a weighted sum by nested gradients; or what was raised."""
    zero = Tensor(0.0, dg.float64)
    nested = [lambda t: (curve(t) * Tensor(_weights(int(curve(zero).size)))).sum()]
    for _ in range(HIGHEST):
        nested.append(dg.grad(nested[-1]))
    try:
        series = dg.jet(curve, zero, Tensor(np.eye(HIGHEST, 1)[:, 0]))[1].asnumpy()
        return series, [function(zero).asnumpy() for function in nested[1:]]
    except Exception as error:
        return error


def _compared(series: np.ndarray, swept: list[np.ndarray], reference: Derivatives, within: float) -> Finding:
    """Both engines beside the reference, order by order."""
    size = reference.values[0].size
    weights, largest = _weights(size), float(np.abs(reference.values[0]).max(initial=0.0))
    finding = Finding("slopes", constant=not np.any(series))
    for k in range(1, HIGHEST + 1):
        expected, unsure = reference.values[k], reference.errors[k]
        scale = max(float(np.abs(expected).max(initial=0.0)), largest * 1e-3, 1e-300)
        off = float(np.abs(series[k - 1] - expected).max(initial=0.0)) / scale
        apart = float(np.abs(weights @ series[k - 1] - swept[k - 1])) / scale
        if not (off <= within + unsure / scale and apart <= within * max(size, 1)):
            finding.outcome = "wrong"
            finding.error = (
                f"order {k}: off by {off:.1e}, engines {apart:.1e} apart, reference sure to {unsure / scale:.0e}"
            )
            return finding
        finding.order = k
        if unsure <= SURE * scale and finding.checked == k - 1:
            finding.checked = k
    return finding
