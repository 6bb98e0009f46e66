"""Reading and writing with an index: ``t[index]`` and ``t[index] = value``.

Writing makes a new value, ``where(written, value, old)``, and points the handle at it. Values computed from the old
value keep it, so nothing changes behind the back of a derivative that has yet to read it. Derivatives go to the new
elements and to the old elements that are left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._engine.transforms.handles import one_step
from ...tensor import Tensor
from .._arguments import operand
from ._elements import replaced, taken
from ._lost_writes import refuse_lost_write
from ._views import array, placed, seen, taken_by_index, writable

__all__: list[str] = []


def getitem(t: Tensor, index: Any) -> Tensor:
    """Return the elements at an index, by NumPy's rules; derivatives go back to their places.

    Parameters
    ----------
    t : Tensor
        Any shape and type.
    index
        Ints, slices, Ellipsis, None, bool masks, tensors, arrays and lists of ints, or a tuple of these.

    Returns
    -------
    Tensor

    Raises
    ------
    IndexError
        If there are more indices than axes, or one is out of range or of a wrong kind.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(x[1], x[:, 0], x[x > 1.5])
    [3. 4.] [1. 3.] [2. 3. 4.]
    """
    found = taken(t, index)
    return found if t._alias is None else seen(found, t, index)


def setitem(t: Tensor, index: Any, value: Any) -> None:
    """Write elements at an index: point the handle at a new value.

    Parameters
    ----------
    t : Tensor
        Any shape and type.
    index
        As in `getitem`.
    value
        A tensor, array, number or list that broadcasts to the elements; it is converted to the type of `t`.

    Raises
    ------
    IndexError
        If the index does not fit.
    ValueError
        If the value does not broadcast to the elements at the index, or NumPy's array would be read-only.
    TypeError
        If the value is complex and `t` is not.
    RuntimeError
        If the value is being differentiated and `t` was made outside of the function, or is a Parameter: the derivative
        would end in a tensor that outlives it. If nothing else holds `t` (``a[0][1] = value``) and it is not a view:
        the assignment would be lost. Arrays of `dualgrad.numpy` have views, other tensors have none.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x = dg.Tensor([1.0, 2.0, 3.0])
    >>> x[1:] = 0.0
    >>> print(x)
    [1. 0. 0.]
    """
    if not t._is_array:
        refuse_lost_write(t)
    elif taken_by_index(value, t, index):
        return  # after ``a[index] += value``, which has written into the view
    writable("t[index] = value", t)
    with one_step(t):
        rewritten("t[index] = value", t, replaced(t, index, value))


def rewritten(name: str, t: Tensor, new: Tensor) -> Tensor:
    """Point the handle of `t` at a new value, unless a derivative would end in a tensor that outlives it.

    The elements of a view change in its root. Who computes `new` from `t` holds `one_step`.
    """
    writable(name, t)
    alias = t._alias
    if alias is not None and alias.root is not None:
        with one_step(t):
            rewritten(name, alias.root, placed(alias.root, alias.how, new))
            t._rebind(new)
        return t
    serial = new._level_serial
    if serial > 0 and (t._is_parameter or serial > t._birth):
        what = "a Parameter" if t._is_parameter else "a tensor that was made outside of the function"
        raise RuntimeError(
            f"{name}: a value that is being differentiated cannot be written into {what} (shape {t.shape}); make the "
            "tensor inside the function (a copy: t.copy()), or build the result with ops.where, ops.concat or "
            "ops.tensor_scatter_update"
        )
    t._rebind(new)
    return t


def written(name: str, x: Tensor, new: Any) -> Tensor:
    """Give a tensor a new value of its own shape; a value of another type, but the same kind, is converted."""
    new = operand(name, new)
    if new.shape != x.shape:
        raise ValueError(f"{name}: the new value has shape {new.shape}; expected that of the tensor, {x.shape}")
    if new.dtype is x.dtype:
        return rewritten(name, x, new)
    if not np.can_cast(new.dtype.numpy, x.dtype.numpy, "same_kind"):
        raise TypeError(
            f"{name}: the new value has type {new.dtype}, which the tensor, of type {x.dtype}, cannot hold; convert "
            "one of them first (astype), or give the result a name of its own"
        )
    return rewritten(name, x, new.astype(x.dtype))


def copied(self: Tensor) -> Tensor:
    """Return an array with the same value, whose slices are views; derivatives pass."""
    return array(+self)


METHODS: dict[str, Any] = {"__getitem__": getitem, "__setitem__": setitem, "copy": copied}
