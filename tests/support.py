"""Helpers that the tests share.

Three things are compared again and again, each by one rule:

* *results* (``assert_close``): the nesting, the exact types of the containers, the shapes, and the numbers to
  a relative error that depends on the dtype;
* *printed text* (``assert_prints``): the layout character by character, the digits to 1e-5, because the last
  digits of a float32 depend on the order of a sum;
* *errors* (``assert_raises``): the type, and the words without which a message helps nobody.
"""

from __future__ import annotations

import gc
import io
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from engine import forget_programs, programs

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn

#: relative error allowed when a test does not say more, by the dtype of the result
TOLERANCE = {"float16": 1e-3, "float32": 2e-6, "complex64": 2e-6, "float64": 1e-12, "complex128": 1e-12}


class Curve(nn.Cell):
    """w x^2 y + b y with the weights w and b: small, and every gradient differs from every other.

    ``gradients`` states them, each multiplied by the sensitivity of the output.
    """

    def __init__(self, w: float = 2.0, b: float = 3.0) -> None:
        super().__init__()
        self.w = Parameter(np.array([w]), name="w")
        self.b = Parameter(np.array([b]), name="b")

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return self.w * x * x * y + self.b * y

    def gradients(self, x: Tensor, y: Tensor, sens: Any = 1.0) -> dict[str, np.ndarray]:
        """The gradients by the names x, y, w, b."""
        x, y, w, b = (tensor.asnumpy() for tensor in (x, y, self.w, self.b))
        return {
            "x": sens * 2 * w * x * y,
            "y": sens * (w * x * x + b),
            "w": np.sum(sens * x * x * y, keepdims=True),
            "b": np.sum(sens * y, keepdims=True),
        }


def f32(data: Any) -> Tensor:
    """A float32 tensor."""
    return Tensor(np.array(data, np.float32))


def f64(data: Any) -> Tensor:
    """A float64 tensor."""
    return Tensor(np.array(data, np.float64))


def i32(data: Any) -> Tensor:
    """An int32 tensor."""
    return Tensor(np.array(data, np.int32))


def numbers(nest: Any) -> list[np.ndarray]:
    """The arrays of all tensors in tuples and lists, in order."""
    if isinstance(nest, tuple | list):
        return [a for part in nest for a in numbers(part)]
    return [nest.asnumpy()] if isinstance(nest, Tensor) else []


def repeated_grad(f: Callable[..., Any], order: int) -> Callable[..., Any]:
    """``grad`` applied ``order`` times to ``f``."""
    for _ in range(order):
        f = dg.grad(f)
    return f


def assert_close(actual: Any, expected: Any, rtol: float | None = None, scale: float = 0.0, dtype: Any = None) -> None:
    """Check a result, nested or not, against the expected one.

    In ``expected`` a tuple, list or dict stands for the same container, a float or an array (or a list where
    the result is a tensor) for a ``Tensor`` of that shape, and an int, str, bool or None for itself.
    An element may be off by ``rtol * max(abs(element), scale)``: with the default scale a zero is a zero.
    """
    if isinstance(expected, dict):
        assert type(actual) is dict, f"{actual!r} is not a dict"
        assert list(actual) == list(expected)
        for key, part in expected.items():
            assert_close(actual[key], part, rtol, scale, dtype)
    elif isinstance(expected, tuple) or (isinstance(expected, list) and isinstance(actual, list)):
        assert type(actual) is type(expected), f"{actual!r} is not a {type(expected).__name__}"
        assert len(actual) == len(expected), f"{len(actual)} entries instead of {len(expected)}: {actual!r}"
        for one, part in zip(actual, expected, strict=True):
            assert_close(one, part, rtol, scale, dtype)
    elif expected is None or isinstance(expected, int | str):
        assert type(actual) is type(expected)
        assert actual == expected
    else:
        _assert_tensor_close(actual, np.asarray(expected), rtol, scale, dtype)


def _assert_tensor_close(actual: Any, expected: np.ndarray, rtol: float | None, scale: float, dtype: Any) -> None:
    assert type(actual) is Tensor, f"a {type(actual).__name__} instead of a Tensor: {actual!r}"
    assert actual.shape == expected.shape, f"shape {actual.shape} instead of {expected.shape}"
    if dtype is not None:
        assert actual.dtype == dtype, f"dtype {actual.dtype} instead of {dtype}"
    found = actual.asnumpy()
    if rtol is None:
        rtol = TOLERANCE.get(found.dtype.name, 0.0)
    with np.errstate(invalid="ignore"):
        if found.dtype != bool:
            near = np.abs(found - expected) <= rtol * np.maximum(np.abs(expected), scale)
        else:
            near = found == expected
    same = near | (found == expected) | ((found != found) & (expected != expected))
    assert same.all(), f"\n{found!r}\ninstead of\n{expected!r}\n(relative tolerance {rtol}, scale {scale})"


def printed(value: Any) -> str:
    """What ``print`` shows, without the final line break."""
    stream = io.StringIO()
    print(value, file=stream)
    return stream.getvalue()[:-1]


_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan\b|inf\b)")


def assert_prints(actual: str, expected: str) -> None:
    """Compare two printed texts: the layout exactly, the numbers to 1e-5.

    Text with ``Tensor(shape=...`` has fixed field widths, and these are compared too. In NumPy's own layout
    the widths follow from the digits; there runs of blanks, and blanks beside brackets, are of no account.
    """
    fixed_width = "Tensor(shape=" in expected
    both = f"\n{actual}\ninstead of\n{expected}"
    assert _skeleton(actual, fixed_width) == _skeleton(expected, fixed_width), both
    found = np.array([float(text) for text in _NUMBER.findall(actual)])
    wanted = np.array([float(text) for text in _NUMBER.findall(expected)])
    assert np.all(np.abs(found - wanted) <= 1e-5 * np.abs(wanted)), both
    assert np.array_equal(np.signbit(found), np.signbit(wanted)), both


def assert_shows(tensor: Tensor, expected: str) -> None:
    """Check the text of a bare tensor: it is the expected one, and NumPy's own for the numbers at hand."""
    assert_prints(printed(tensor), expected)
    assert str(tensor) == f"{tensor}" == str(tensor.asnumpy())


def _skeleton(text: str, fixed_width: bool) -> str:
    if fixed_width:
        return _NUMBER.sub(lambda match: "#" * len(match.group()), text)
    lines = [re.sub(r" +", " ", _NUMBER.sub("#", line)) for line in text.split("\n")]
    return "\n".join(re.sub(r"\[ ", "[", re.sub(r" \]", "]", line)) for line in lines)


def assert_raises(
    kind: type[Exception] | tuple[type[Exception], ...],
    call: Callable[[], Any],
    *words: str | tuple[str, ...],
) -> None:
    """Check that ``call()`` raises ``kind`` and that the message has each of the words, in any case.

    A tuple among the words stands for alternatives, of which one must be there.
    """
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value).lower()
    for word in words:
        choices = (word,) if isinstance(word, str) else word
        assert any(choice.lower() in message for choice in choices), f"none of {choices} in: {caught.value}"


def assert_leaves_nothing(call: Callable[[], Any]) -> None:
    """Check that calls leave no objects behind, once the collector has run."""

    def objects() -> int:
        call()
        gc.collect()
        return len(gc.get_objects())

    objects()
    before = objects()
    for _ in range(3):
        assert objects() <= before + 5


#: steps of a program that move no numbers, or only copy them
VIEWS = {"reshape", "transpose", "slice", "broadcast_to", "concat"}


def steps(f: Callable[..., Any], *args: Tensor) -> list[tuple[str, str]]:
    """The array program that a call comes down to: the primitive and the shape of the result of each step."""
    forget_programs()
    recorded = dg.jit(f)
    for _ in range(3):
        recorded(*args)
    ((_, confirmed, text),) = programs()
    assert confirmed
    found = [re.match(r"%\d+ = (\w+)\(%.*(\([\d, ]*\))$", line) for line in text.splitlines()]
    return [(step[1], step[2]) for step in found if step]


def work(f: Callable[..., Any], *args: Tensor) -> list[str]:
    """The primitives among the steps that compute something."""
    return [name for name, _ in steps(f, *args) if name not in VIEWS]


def at_once(work: Callable[[int], Any], n: int = 4) -> None:
    """Run work(0) ... work(n - 1) on threads; what they raise is raised here."""
    failures = []
    barrier = threading.Barrier(n)

    def run(k: int) -> None:
        try:
            barrier.wait()
            work(k)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]
