"""Cell: a function that owns parameters.

A call of a Cell calls its `construct` and must not cost more. So the class decides once, when it is made, whether it
has its own gradient (`bprop`). The base `Members` registers and names the members of a Cell; `State` keeps its buffers
and gives its state, `Hookable` registers hooks, `Flags` holds flags and settings without effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

from dualgrad._engine.transforms.custom import call_custom
from dualgrad._foreign import CELL, attach, without_foreign
from dualgrad.dtype import DType, as_dtype
from dualgrad.nn._flags import Flags
from dualgrad.nn._hooks import Hookable, Hooked
from dualgrad.nn._precision import Typed, inner_construct, kind_of_views, own_construct, set_inner_construct
from dualgrad.nn._state import State
from dualgrad.transforms.recompute import Recomputed

if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    R = TypeVar("R", covariant=True)

    class _Constructs(Protocol[R]):
        """A Cell whose calls return what its `construct` returns."""

        def construct(self, *args: Any, **kwargs: Any) -> R: ...


__all__ = ["Cell"]


class Cell(State, Flags, Hookable):
    """Base of all networks, layers and losses.

    A subclass calls ``super().__init__()`` first, assigns its Parameters and Cells to attributes and defines
    ``construct``. It may define ``bprop(self, *inputs, out, dout)``, which replaces the gradient of ``construct`` and
    returns one gradient for each input.

    Parameters
    ----------
    auto_prefix : bool, default True
        True to put the path of attributes in front of the names of the parameters below. Cells that only refer to a
        network, such as an optimiser or a training step, set it to False.
    flags : dict, optional
        Flags to set, see `add_flags`.

    Raises
    ------
    AttributeError
        If a Parameter or a Cell is assigned before ``super().__init__()``, or a Cell without ``construct`` is
        called.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad import Parameter, Tensor, nn
    >>> class Line(nn.Cell):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w = Parameter(np.array([6.0], np.float32))
    ...         self.b = Parameter(np.array([1.0], np.float32))
    ...
    ...     def construct(self, x):
    ...         return self.w * x + self.b
    >>> net = Line()
    >>> print(net(Tensor(np.array([2.0], np.float32))))
    [13.]
    >>> [p.name for p in net.trainable_params()]
    ['w', 'b']
    """

    training: bool = False
    requires_grad: bool = False
    _takes_types: bool = True  # true if `to_float` has an effect
    _computes_as_stored: bool = False  # true if Parameters are read as they are stored nevertheless

    def __init__(self, auto_prefix: bool = True, flags: Mapping[str, Any] | None = None) -> None:
        super().__init__(auto_prefix)
        self.training = False
        self.requires_grad = False
        if not isinstance(flags, Mapping | None):
            raise TypeError(
                f"{type(self).__name__}: flags must be a dict of settings by name, got {type(flags).__name__}"
            )
        self.add_flags(**(flags or {}))

    # Calling.

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own_gradient = callable(getattr(cls, "bprop", None))
        if cls.__call__ is _call or cls.__call__ is _call_with_bprop:
            wanted = _call_with_bprop if own_gradient else _call
            if cls.__call__ is not wanted:
                type.__setattr__(cls, "__call__", wanted)
        elif own_gradient:
            # Its `__call__` would reach `construct` without the gradient of `bprop`.
            raise TypeError(f"{cls.__name__}: a Cell that defines bprop must not define __call__; use construct")

    if TYPE_CHECKING:

        def __call__(self: _Constructs[R], *args: Any, **kwargs: Any) -> R: ...

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; every Cell that is called must define it."""
        advice = "; call its method construct, not forward" if "forward" in dir(self) else ""
        raise AttributeError(f"{type(self).__name__} cannot be called: it does not define construct{advice}")

    # Settings.

    def set_train(self, mode: bool = True) -> Self:
        """Set `training` here and below; layers that act differently in training read it.

        Parameters
        ----------
        mode : bool, default True
            True for training, False for use.

        Returns
        -------
        Cell
            This Cell.

        Raises
        ------
        TypeError
            If `mode` is not a bool.

        Examples
        --------
        >>> from dualgrad import nn
        >>> nn.Dense(2, 3).set_train().training
        True
        """
        if not isinstance(mode, bool):
            raise TypeError(f"set_train: mode must be a bool, got {type(mode).__name__}")
        for _, cell in self.cells_and_names():
            cell.training = mode
        return self

    def set_grad(self, requires_grad: bool = True, *, flag: bool | None = None) -> Self:
        """Remember `requires_grad` here and below; gradients do not depend on it.

        Parameters
        ----------
        requires_grad : bool, default True
            The value to remember.
        flag : bool, optional
            Another spelling of `requires_grad`.

        Returns
        -------
        Cell
            This Cell.
        """
        for _, cell in self.cells_and_names():
            cell.requires_grad = requires_grad if flag is None else flag
        return self

    def recompute(self, **kwargs: Any) -> None:
        """Recompute the inner values of every call in the gradient instead of keeping them; see `dualgrad.recompute`.

        Parameters
        ----------
        **kwargs
            Accepted so that ported code runs; they have no meaning here.

        Examples
        --------
        >>> import dualgrad as dg
        >>> from dualgrad import nn
        >>> net = nn.SequentialCell(nn.Dense(3, 8), nn.Tanh())
        >>> net.recompute()
        >>> dg.grad(net)(dg.Tensor([[1.0, 2.0, 3.0]])).shape
        (1, 3)
        """
        construct = inner_construct(self)
        if isinstance(construct, Hooked):
            construct.inner = Recomputed(self)
        else:
            set_inner_construct(self, Recomputed(self))

    def _own_construct(self) -> Callable[..., Any]:
        """The `construct` of the class, without its replacements."""
        return own_construct(self)

    def __copy__(self) -> Self:
        twin = super().__copy__()
        typed = twin.__dict__.get("construct")
        construct = inner_construct(twin)
        if isinstance(typed, Typed):
            object.__setattr__(twin, "construct", Typed(twin, typed.dtype, None, typed.returned))
        if isinstance(construct, Hooked):
            construct = construct.copied(twin)
            set_inner_construct(twin, construct)
            if isinstance(construct.inner, Recomputed):
                twin.recompute()
        elif construct is not None:
            twin.recompute()
        return twin

    def to_float(self, dst_type: Any) -> Self:
        """Have this Cell and all below compute in a floating type.

        From now on, each call of one of these Cells casts floating tensors among its inputs to the type, in tuples,
        lists and dicts too, before hooks and `construct` see them. Parameters and floating tensors that are attributes
        of Cells are read in this type by `construct`. Stored values keep their type, and a gradient has the type of its
        Parameter or input. Integers, complex numbers and Python numbers stay as they are, and results are not cast
        back.

        Parameters
        ----------
        dst_type : type
            float16, float32 or float64. A later call, here or for a Cell below, replaces it.

        Returns
        -------
        Cell
            This Cell.

        Raises
        ------
        ValueError
            If it is not a floating type.
        TypeError
            If it is not a type of this library, such as bfloat16; or if a class has ``__slots__``.
        RuntimeError
            When the Cell is called, if `construct` changes a copy in place: elements of a Parameter or tensor, or a
            list among the inputs. `ops.assign`, `assign_add`, `assign_sub` and `set_data` change the stored Parameter.
            Also if it takes a gradient by a Parameter that it has read before.

        Notes
        -----
        Casts in `construct` to a wider type are respected, as in MindSpore's graphs; its eager mode casts the operands
        of each operator. Tensors in lists, tuples and ParameterTuples that are attributes keep their types, as do
        optimisers below. `BatchNorm2d`, `InstanceNorm2d` and their kin cast their input and output, and compute in the
        type of their parameters.

        See Also
        --------
        dualgrad.amp.auto_mixed_precision : types for whole networks, by levels.

        Examples
        --------
        >>> import dualgrad as dg
        >>> from dualgrad import nn, ops
        >>> net = nn.Dense(2, 3).to_float(dg.float16)
        >>> x = ops.ones((1, 2))
        >>> net(x).dtype, net.weight.dtype
        (dualgrad.float16, dualgrad.float32)
        >>> dg.grad(net)(x).dtype, dg.grad(net, None, net.weight)(x).dtype
        (dualgrad.float32, dualgrad.float32)
        """
        wanted = as_dtype(dst_type, where="to_float")
        if not wanted.is_float:
            raise ValueError(f"{type(self).__name__}.to_float: got {wanted}; expected float16, float32 or float64")
        for _, cell in self.cells_and_names():
            cell._compute_in(wanted)
        return self

    def _compute_in(self, dtype: DType, returned: DType | None = None) -> None:
        """Have this Cell alone compute in a type, and optionally cast its results to another."""
        if self._takes_types:
            kind_of_views(type(self))  # not while a call is recorded
            object.__setattr__(self, "construct", Typed(self, dtype, inner_construct(self), returned))

    def apply(self, fn: Callable[[Cell], object]) -> Self:
        """Call `fn` with every Cell below, children before parents, and with this one; return this Cell."""
        for cell in reversed([cell for _, cell in self.cells_and_names()]):
            fn(cell)
        return self

    @property
    def cls_name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    # Text.

    def __dir__(self) -> list[str]:
        return without_foreign(self, super().__dir__())

    def _repr_html_(self) -> str:
        from dualgrad.nn._table import cell_html  # for notebooks alone

        return cell_html(self)

    def extend_repr(self) -> str:
        """Return the part of `repr` with the Cell's own settings; meant to be overridden."""
        return ""

    def __repr__(self) -> str:
        settings = self.extend_repr()
        lines = [settings] if settings and self._cells else []
        lines += [f"({name}): {cell!r}" for name, cell in self._cells.items()]
        if not lines:
            return f"{type(self).__name__}({settings})"
        inside = "\n".join(lines).replace("\n", "\n  ")
        return f"{type(self).__name__}(\n  {inside}\n)"


_WITH_BPROP = Hooked, Typed  # these call `bprop` themselves


def _call_with_bprop(self: Cell, *args: Any, **kwargs: Any) -> Any:
    if isinstance(self.construct, _WITH_BPROP):
        return self.construct(*args, **kwargs)
    bprop = self.bprop  # type: ignore[attr-defined]
    return call_custom(self.construct, bprop, args, kwargs, name=type(self).__name__)


attach(Cell, CELL)
_call = Cell.__call__
