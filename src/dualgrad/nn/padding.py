"""Padding as Cells: make axes longer at their ends, last axis first; see `ops.pad`."""

from __future__ import annotations

from typing import Any

from dualgrad import ops
from dualgrad.nn.cell import Cell
from dualgrad.ops._arguments import integer, operand
from dualgrad.ops.shape._padding import surrounded
from dualgrad.tensor import Tensor

from .._settings import one_of

__all__ = [
    "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "Pad", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
    "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad2d",
]  # fmt: skip


class Pad(Cell):
    """Make axes longer at their ends, with a pair of numbers for every axis.

    Parameters
    ----------
    paddings : tuple of pairs of int
        For each axis, beginning with the first, the number of elements to add before and behind.
    mode : {'CONSTANT', 'REFLECT', 'SYMMETRIC'}, default 'CONSTANT'
        The elements to add: zeros, or the elements inside, mirrored at the outermost element or behind it.

    Raises
    ------
    ValueError
        For another mode, or if more elements are to be added than there are inside.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.Pad(((0, 0), (1, 2)))(Tensor([[1.0, 2.0]])))
    [[0. 1. 2. 0. 0.]]
    """

    def __init__(self, paddings: Any, mode: str = "CONSTANT") -> None:
        super().__init__()
        if not one_of(mode, ("CONSTANT", "REFLECT", "SYMMETRIC")):
            raise ValueError(f"Pad: mode is {mode!r}; expected 'CONSTANT', 'REFLECT' or 'SYMMETRIC'")
        self.paddings = paddings
        self.mode = mode

    def construct(self, x: Tensor) -> Tensor:
        if self.mode == "CONSTANT":
            return ops.Pad(self.paddings)(x)
        return ops.MirrorPad(self.mode)(x, self.paddings)

    def extend_repr(self) -> str:
        return f"paddings={self.paddings}, mode={self.mode}"


class _EndsPad(Cell):
    """Padding of the last n axes of an image, with or without a batch axis."""

    n = 1

    def __init__(self, padding: Any) -> None:
        super().__init__()
        name = type(self).__name__
        given = tuple(padding) if isinstance(padding, tuple | list) else (padding,) * (2 * self.n)
        if len(given) % 2 or not 0 < len(given) <= 2 * self.n:
            raise ValueError(f"{name}: padding is {padding}; expected an int, or two for each axis, last axis first")
        self.padding: tuple[int, ...] = tuple([integer(name, "padding", k) for k in given])

    def _image(self, x: Tensor) -> Tensor:
        x, name = operand(type(self).__name__, x), type(self).__name__
        if x.ndim not in (self.n + 1, self.n + 2):
            raise ValueError(f"{name}: the input has shape {x.shape}; expected {self.n + 1} or {self.n + 2} axes")
        return x

    def extend_repr(self) -> str:
        return f"padding={self.padding}"


class _ConstantPad(_EndsPad):
    """A number around an image."""

    def __init__(self, padding: Any, value: Any) -> None:
        super().__init__(padding)
        self.value = value

    def construct(self, x: Tensor) -> Tensor:
        x = operand(type(self).__name__, x)
        pairs = [*zip(self.padding[::2], self.padding[1::2], strict=True)]
        if len(pairs) > x.ndim:
            raise ValueError(
                f"{type(self).__name__}: the input has shape {x.shape}; expected at least {len(pairs)} axes"
            )
        return surrounded(type(self).__name__, x, ((0, 0),) * (x.ndim - len(pairs)) + tuple(pairs[::-1]), self.value)

    def extend_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """A number before and behind the elements of the last axis.

    Parameters
    ----------
    padding : int or tuple of int
        The number of elements to add at every end, or before and behind; negative numbers cut off.
    value : number or Tensor without axes
        The number. Derivatives go to a Tensor.

    Raises
    ------
    ValueError
        If `padding` or the shape of an input does not fit.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.ConstantPad1d((1, 2), 7.0)(Tensor([1.0])))
    [7. 1. 7. 7.]
    """

    n = 1


class ConstantPad2d(_ConstantPad):
    """A number around the elements of the last two axes.

    Parameters
    ----------
    padding : int or tuple of int
        The number of elements to add at every end, or (left, right, above, below); negative numbers cut off.
    value : number or Tensor without axes
        The number. Derivatives go to a Tensor.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.ConstantPad2d((1, 0, 0, 1), 7.0)(Tensor([[1.0]])))
    [[7. 1.]
     [7. 7.]]
    """

    n = 2


class ConstantPad3d(_ConstantPad):
    """A number around the elements of the last three axes.

    Parameters
    ----------
    padding : int or tuple of int
        The number of elements to add at every end, or two for each axis, last axis first; negative numbers cut off.
    value : number or Tensor without axes
        The number. Derivatives go to a Tensor.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.ConstantPad3d(1, 0.5)(ops.ones((1, 2, 3))).shape
    (3, 4, 5)
    """

    n = 3


class ZeroPad2d(_ConstantPad):
    """Zeros around the elements of the last two axes.

    Parameters
    ----------
    padding : int or tuple of int
        The number of elements to add at every end, or (left, right, above, below); negative numbers cut off.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.ZeroPad2d((1, 0, 0, 1))(Tensor([[1.0]])))
    [[0. 1.]
     [0. 0.]]
    """

    n = 2

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0)

    def extend_repr(self) -> str:
        return f"padding={self.padding}"


class _ReflectionPad(_EndsPad):
    def construct(self, x: Tensor) -> Tensor:
        return ops.pad(self._image(x), self.padding, "reflect")


class _ReplicationPad(_EndsPad):
    def construct(self, x: Tensor) -> Tensor:
        return ops.pad(self._image(x), self.padding, "replicate")


class ReflectionPad1d(_ReflectionPad):
    """The elements inside, mirrored at the outermost elements, around an image (N, C, L) or (C, L).

    Parameters
    ----------
    padding : int or tuple of int
        The number of elements to add at every end, or (before, behind).

    Raises
    ------
    ValueError
        If `padding` or the shape of an input does not fit.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.ReflectionPad1d((2, 1))(Tensor([[1.0, 2.0, 3.0]])))
    [[3. 2. 1. 2. 3. 2.]]
    """

    n = 1


class ReflectionPad2d(_ReflectionPad):
    """The elements inside, mirrored at the outermost elements, around an image (N, C, H, W) or (C, H, W).

    Parameters
    ----------
    padding : int or tuple of int
        The number of elements to add at every end, or (left, right, above, below).

    Raises
    ------
    ValueError
        If `padding` or the shape of an input does not fit.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.ReflectionPad2d(1)(ops.ones((1, 3, 5, 6))).shape
    (1, 3, 7, 8)
    """

    n = 2


class ReflectionPad3d(_ReflectionPad):
    """The elements inside, mirrored at the outermost elements, around an image (N, C, D, H, W) or (C, D, H, W).

    Parameters
    ----------
    padding : int or tuple of int
        The number of elements to add at every end, or two numbers for each axis, last axis first.

    Raises
    ------
    ValueError
        If `padding` or the shape of an input does not fit.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.ReflectionPad3d(1)(ops.ones((1, 3, 4, 5, 6))).shape
    (1, 3, 6, 7, 8)
    """

    n = 3


class ReplicationPad1d(_ReplicationPad):
    """The outermost elements, repeated, around an image (N, C, L) or (C, L).

    Parameters
    ----------
    padding : int or tuple of int
        The number of elements to add at every end, or (before, behind).

    Raises
    ------
    ValueError
        If `padding` or the shape of an input does not fit.

    Examples
    --------
    >>> from dualgrad import Tensor, nn
    >>> print(nn.ReplicationPad1d((2, 1))(Tensor([[1.0, 2.0, 3.0]])))
    [[1. 1. 1. 2. 3. 3.]]
    """

    n = 1


class ReplicationPad2d(_ReplicationPad):
    """The outermost elements, repeated, around an image (N, C, H, W) or (C, H, W).

    Parameters
    ----------
    padding : int or tuple of int
        The number of elements to add at every end, or (left, right, above, below).

    Raises
    ------
    ValueError
        If `padding` or the shape of an input does not fit.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.ReplicationPad2d(1)(ops.ones((1, 3, 5, 6))).shape
    (1, 3, 7, 8)
    """

    n = 2


class ReplicationPad3d(_ReplicationPad):
    """The outermost elements, repeated, around an image (N, C, D, H, W) or (C, D, H, W).

    Parameters
    ----------
    padding : int or tuple of int
        The number of elements to add at every end, or two numbers for each axis, last axis first.

    Raises
    ------
    ValueError
        If `padding` or the shape of an input does not fit.

    Examples
    --------
    >>> from dualgrad import nn, ops
    >>> nn.ReplicationPad3d(1)(ops.ones((1, 3, 4, 5, 6))).shape
    (1, 3, 6, 7, 8)
    """

    n = 3
