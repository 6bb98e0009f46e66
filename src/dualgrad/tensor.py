"""`Tensor`: the array class for users.

The handle, its operators and the type rules of operands are compiled (`_engine/transforms/tensor.pyx`). This file adds
conversion from data and back, printing, DLPack and pickling. Methods that repeat operators (`x.sum()`, `x[i]`, NumPy's
functions) are attached by `dualgrad.ops`, from the same functions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import dtype as _dtype
from ._device import CPU, Device
from ._dtypes import MAKERS, default_float
from ._engine.arrays.shared import SharedArray
from ._engine.transforms import tensor as _engine
from ._engine.transforms.custom import check_hookable, hook_tensor, on_tape
from ._engine.transforms.handles import as_array, install
from ._foreign import TENSOR, attach, refuse_keywords, without_foreign
from ._format import format_repr, format_str
from ._initial_values import initial_values, shape_of
from ._joined import holds_tensor, joined
from ._settings import described, room, whole_number
from .dtype import DType, as_dtype
from .hooks import GradientHooks, HookHandle
from .leaving import formats, picks, stay, stay_beside_scipy

if TYPE_CHECKING:
    from typing import overload

    from ._methods import TensorMethods
else:
    TensorMethods = _engine.Operators  # dualgrad.ops attaches the methods

__all__ = ["Tensor", "tensor"]


def _from_python(data: Any, where: str, keep: bool) -> np.ndarray:
    """Convert numbers and nested lists to an array: floats get the default type, ints int64.

    `keep` keeps the precision of Python's own numbers.
    """
    try:
        array = np.array(data)
    except ValueError as error:
        raise TypeError(
            f"{where}: the nested lists are ragged ({_unequal(data) or error}); expected every row to have the same "
            "length: pad the short ones, or keep a list of tensors"
        ) from None
    if array.dtype.kind not in "biufc":
        raise TypeError(
            f"{where}: expected numbers, a NumPy array or nested lists of numbers, got {type(data).__name__} "
            f"{data!r:.60}"
        )
    if array.dtype == np.float64 and not keep and not _holds_numpy(data):
        return array.astype(default_float().numpy)
    return array


def _unequal(data: Any, path: str = "") -> str:
    """The first entries of a nest whose lengths differ, in words; empty if there are none."""
    if not isinstance(data, list | tuple):
        return ""
    lengths = [len(row) if isinstance(row, list | tuple | np.ndarray) else None for row in data]
    for i, length in enumerate(lengths):
        if length != lengths[0]:
            kinds = ["a number" if n is None else f"of length {n}" for n in (lengths[0], length)]
            return f"entry {path}[0] is {kinds[0]}, entry {path}[{i}] {kinds[1]}"
    return next(filter(None, (_unequal(row, f"{path}[{i}]") for i, row in enumerate(data))), "")


def _whole(data: Any, array: np.ndarray) -> np.ndarray:
    """Convert Python ints beyond int64 without loss: beside smaller ints NumPy would make floats of them."""
    numbers = np.array(data, object)
    if all(isinstance(x, int) for x in numbers.flat):
        return np.bitwise_and(numbers, 2**64 - 1).astype(np.uint64)
    return array


def _holds_numpy(data: Any) -> bool:
    """True if the numbers in a nest came from NumPy, whose types are kept."""
    while isinstance(data, list | tuple) and data:
        data = data[0]
    return isinstance(data, np.ndarray | np.generic) and not isinstance(data, bool)


_KEYWORDS = ("input_data", "dtype", "shape", "init")
# Further arguments of MindSpore's Tensor.
_WITHOUT_EFFECT = {"const_arg", "device", "internal"}


class Tensor(TensorMethods):
    """An array that derivatives can be taken of.

    Parameters
    ----------
    input_data
        A number, a bool, a NumPy array or scalar, a Tensor, or (nested) lists or tuples of them. The data are
        copied; Tensors among them keep their derivatives.
    dtype
        The type of the elements. By default int64, float32, bool or complex128 for Python data, and the array's own
        type for NumPy data. In lists with Tensors, the common type of the Tensors, which numbers follow.
    shape, init
        Without data: a tensor of this shape to be filled, zeros until then. `init` is a number or an initializer. With
        None in the shape it is a placeholder without a value, for `Cell.set_inputs`.

    Raises
    ------
    TypeError
        For data other than numbers, and for ragged lists.
    ValueError
        For ragged lists with Tensors in them.

    Examples
    --------
    >>> import dualgrad as dg
    >>> x = dg.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x * x + 1
    Tensor(shape=[2, 2], dtype=Float32, value=
    [[ 2.00000000e+00,  5.00000000e+00],
     [ 1.00000000e+01,  1.70000000e+01]])

    Tensors in lists are joined, and derivatives pass:

    >>> print(dg.grad(lambda x: (dg.Tensor([x[0] * x[1], 1.0, x[1]]) ** 2).sum())(dg.Tensor([1.0, 2.0])))
    [8. 8.]
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __init__(
            self, input_data: Any, dtype: Any = None, shape: Any = None, init: Any = None, *, const_arg: bool = False
        ) -> None: ...
        @overload
        def __init__(self, *, shape: Any, dtype: Any = None, init: Any = None, const_arg: bool = False) -> None: ...

    def __init__(
        self, input_data: Any = None, dtype: Any = None, shape: Any = None, init: Any = None, **others: Any
    ) -> None:
        if others and (unknown := others.keys() - _WITHOUT_EFFECT):
            refuse_keywords("Tensor", _KEYWORDS, unknown)
            raise TypeError(f"Tensor: there is no keyword {min(unknown)!r}; expected one of {', '.join(_KEYWORDS)}")
        target = None if dtype is None else as_dtype(dtype, where="Tensor")
        if input_data is None:
            if shape is None and (target is None or init is not None):
                raise TypeError(
                    "Tensor: expected data (a number, list, NumPy array or Tensor), got None; pass shape= "
                    "and dtype= for a tensor to be filled"
                )
            if shape is None:
                _leave_open(self, None, target or default_float())
            elif init is None and isinstance(shape, list | tuple) and None in shape:
                _leave_open(self, tuple(shape), target or default_float())
            else:
                self._fill(shape, target or default_float(), init)
            return
        if isinstance(input_data, Tensor) or holds_tensor(input_data):
            self._join(input_data, target)
            return
        if isinstance(input_data, np.ndarray | np.generic):
            array = np.asarray(input_data)
            if array.dtype.kind not in "biufc":
                raise TypeError(
                    f"Tensor: a NumPy array of type {array.dtype} does not hold numbers of a type computed with here; "
                    "expected bools, integers, float16 to float64, complex64 or complex128 (convert numbers of another "
                    "kind, such as bfloat16, with .astype(np.float32))"
                )
        else:
            array = _from_python(input_data, "Tensor", target is not None)
            if target is _dtype.uint64 and array.dtype.kind == "f":
                array = _whole(input_data, array)
        if target is not None and array.dtype != target.numpy:
            with np.errstate(all="ignore"):
                array = array.astype(target.numpy)
            self._from_ndarray(array, False)
        else:
            self._from_ndarray(array, True)

    def _join(self, data: Any, target: DType | None) -> None:
        """Take the value of a tensor or of nested lists with tensors in them, derivatives included."""
        if isinstance(data, Tensor):
            self._hold(data if target is None or data.dtype is target else _engine.convert(data, target.num))
        else:
            self._rebind(joined("Tensor", data, None if target is None else target.num))

    def _fill(self, shape: Any, dtype: DType, init: Any) -> None:
        lengths = (shape,) if isinstance(shape, int) else tuple(shape) if isinstance(shape, tuple | list) else None
        if lengths is None:
            raise TypeError(f"Tensor: shape must be an int or a tuple of them, got {described(shape)}")
        shape = tuple([whole_number("Tensor", "a length in the shape", n) for n in lengths])
        room("Tensor", shape, dtype.itemsize)
        if init is None or isinstance(init, int | float):
            self._from_ndarray(np.full(shape, init or 0, dtype.numpy), False)
            return
        self._from_ndarray(initialized(init, shape, dtype)._numpy(), False)

    def init_data(self, *_: Any) -> Tensor:
        """The tensor itself: its data already exist."""
        return self

    # ------------------------------------------------------------------------------------------- reading back

    @staticmethod
    def from_numpy(array: np.ndarray) -> Tensor:
        """A tensor that shares the memory of a NumPy array.

        The array may be written to at any time: each operator reads the current numbers when it runs. A derivative
        copies the numbers it has read, so ``Tensor(array)``, which owns its numbers, costs less.

        Examples
        --------
        >>> import numpy as np, dualgrad as dg
        >>> dg.Tensor.from_numpy(np.arange(3.0)).dtype
        dualgrad.float64
        """
        if not isinstance(array, np.ndarray):
            raise TypeError(f"Tensor.from_numpy: expected a NumPy array, got {type(array).__name__}")
        return Tensor._owning(np.ndarray.view(array, SharedArray))

    @staticmethod
    def _owning(array: np.ndarray) -> Tensor:
        """Make a tensor on the memory of an array that nothing else writes to."""
        t = Tensor.__new__(Tensor)
        t._from_ndarray(array, False)
        return t

    def asnumpy(self) -> np.ndarray:
        """Copy the elements to a NumPy array. The copy keeps writes away from numbers that a derivative needs.

        Examples
        --------
        >>> import dualgrad as dg
        >>> dg.Tensor([1.0, 2.0]).asnumpy()
        array([1., 2.], dtype=float32)
        """
        return self._numpy().copy()

    def numpy(self) -> np.ndarray:
        """The same as `asnumpy`."""
        return self._numpy().copy()

    def item(self, *index: int) -> Any:
        """One element as a Python number."""
        array = self._numpy()
        if not index and array.size != 1:
            raise ValueError(f"item(): a tensor of shape {self.shape} has {self.size} elements; give an index")
        try:
            return array.item(*index)
        except IndexError as error:
            raise IndexError(f"item(): {error}, in a tensor of shape {self.shape}") from None

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._numpy().tolist()

    def _single(self, what: str) -> Any:
        array = self._numpy()
        if array.size != 1:
            raise ValueError(f"{what}(): a tensor of shape {self.shape} has {self.size} elements; expected one element")
        return array.item()

    def __float__(self) -> float:
        stay(self, "float()", sys._getframe(1), formats)
        return float(self._single("float"))

    def __int__(self) -> int:
        return int(self._single("int"))

    def __complex__(self) -> complex:
        stay(self, "complex()")
        return complex(self._single("complex"))

    def __index__(self) -> int:
        # NumPy calls this on an index first. If it raises, NumPy treats the tensor as an array, which may be a mask.
        if not self.dtype.is_int or self.ndim:
            raise TypeError(
                f"a tensor of type {self.dtype} and shape {self.shape} is not a Python integer; expected an integer "
                "without axes: write int(x)"
            )
        return int(self._single("index"))

    def __round__(self, digits: int = 0) -> Tensor:
        return self.round() if not digits else (self * 10.0**digits).round() / 10.0**digits

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        return self._numpy().strides

    @property
    def T(self) -> Tensor:
        """The axes in reverse order."""
        return self.transpose()

    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
        if self.ndim != 2:
            raise ValueError(f"H: expected a matrix, got shape {self.shape}; use mH for stacks of matrices")
        return self.mH

    @property
    def mH(self) -> Tensor:
        """The conjugate transpose of the last two axes."""
        return self.adjoint()

    @property
    def mT(self) -> Tensor:
        """The array with its last two axes swapped."""
        return self.swapaxes(-2, -1)

    @property
    def device(self) -> Device:
        """Where the elements are: always 'CPU', which equals 'cpu'."""
        return CPU

    # ------------------------------------------------------------------------------------------------
    # printing

    def __str__(self) -> str:
        return format_str(self._shown())

    def __repr__(self) -> str:
        return format_repr(self._shown(), str(self.dtype))

    def _repr_html_(self) -> str:
        from ._html import tensor_html  # for notebooks alone

        return tensor_html(self)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self.size != 1:
            raise TypeError(
                f"format(): {spec!r} is for one number, but the tensor has shape {self.shape}; format its elements, "
                "[format(v, spec) for v in x.tolist()], or use numpy.array2string(x.asnumpy(), precision=3)"
            )
        return format(self._shown().item(), spec)

    def __dir__(self) -> list[str]:
        return without_foreign(self, super().__dir__())

    # ------------------------------------------------------------------------------------------------
    # indexing

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("iteration over a tensor without axes (shape ()); it is a single number")
        return (self[i] for i in range(len(self)))

    def __contains__(self, item: Any) -> bool:
        return bool((self._numpy() == (item._numpy() if isinstance(item, Tensor) else item)).any())

    # ------------------------------------------------------------------------------------- NumPy, DLPack,
    # copies

    __array_priority__: float = 1000.0

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, np.dtype[np.object_]]:
        # Type checkers treat an object with __array__ as an array in NumPy's operators. An array of objects leaves
        # their results open; with an array of numbers they would infer an array where a Tensor comes back.
        caller = sys._getframe(1)
        module = caller.f_globals.get("__name__", "")
        if module.startswith("scipy.sparse."):
            # A sparse matrix is about to use plain numbers, which would lose the derivative. If the result is not a
            # numeric array, SciPy leaves the product to __rmatmul__; `dot` only inspects it, and calls the product.
            name = caller.f_code.co_name
            if name == "_matmul_dispatch":
                return _no_array(self)
            if name != "dot":
                stay(self, "scipy.sparse", instead="A @ x or functions of dualgrad.sparse")
        elif module.startswith("scipy."):
            stay_beside_scipy(self, caller)
        else:
            stay(self, "NumPy", caller, picks)
        array = self._numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            return array.astype(dtype)
        if copy is None:
            array = array.copy()
            array.flags.writeable = not self._is_array  # NumPy's array is the same one: a write would be lost here
        return array.copy() if copy else array

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export the elements: a copy or, with ``copy=False``, the memory itself, which must not be written to.

        DLPack before version 1.0 cannot mark memory as read-only; pass ``max_version`` for the mark.
        """
        stay(self, "DLPack")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"__dlpack__: dl_device is {dl_device}; expected {self.__dlpack_device__()}, the CPU")
        if copy is not False:
            array = self.asnumpy()
        elif max_version is not None and max_version[0] >= 1:
            array = self._numpy()
        else:
            array = _unprotected(self._numpy())
        more: dict[str, Any] = {} if max_version is None else {"max_version": max_version}  # new in NumPy 2.1
        return array.__dlpack__(stream=stream, **more)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._numpy().__dlpack_device__()

    @staticmethod
    def from_dlpack(other: Any) -> Tensor:
        """Make a tensor from any object with DLPack's protocol; memory is shared where the other library allows."""
        if not hasattr(other, "__dlpack__"):
            raise TypeError(f"from_dlpack: expected an object with __dlpack__, got {type(other).__name__}")
        try:
            return Tensor.from_numpy(np.from_dlpack(other))
        except BufferError as error:
            raise TypeError(f"from_dlpack: {type(other).__name__}: {error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        stay(self, "pickle")
        return (_restore_array if self._is_array else _restore), (self.asnumpy(),)

    def __copy__(self) -> Tensor:
        return +self

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        found = Tensor(self)
        return as_array(found) if self._is_array else found

    # -------------------------------------------------------------------------------------------------
    # assigning

    def set_data(self, data: Any) -> Tensor:
        """Replace the value. The shape stays."""
        return self.assign_value(data)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> HookHandle:
        """Register a function that receives the gradient by this tensor in each backward pass and may replace it.

        Parameters
        ----------
        hook : callable
            Takes the gradient. Returns None to keep it, or another Tensor of its shape and type. Several hooks run in
            the order of registration, each with the gradient that the previous hook left.

        Returns
        -------
        HookHandle
            The handle; its `remove` removes the hook.

        Raises
        ------
        TypeError
            If the hook cannot be called; in a backward pass, if it returns an object that is not a Tensor, or has
            another type.
        ValueError
            In a backward pass, if the returned gradient has another shape.
        RuntimeError
            If the tensor is a result of a function that is being differentiated and was used before: register the hook
            right after the tensor is made.
        NotImplementedError
            In forward mode, which has no gradients.

        Notes
        -----
        The hook of an intermediate result receives the sum of all cotangents of that result. The hook of a Parameter or
        an input receives its whole gradient, if a transform takes one. Without a cotangent the hook does not run. The
        hook is the reverse rule of an identity: differentiating the gradient again runs the hook again, and
        differentiates it.

        Examples
        --------
        >>> import dualgrad as dg
        >>> def function(x):
        ...     y = x * x
        ...     y.register_hook(lambda gradient: 10 * gradient)
        ...     return 3 * y
        >>> print(dg.grad(function)(dg.Tensor([2.0])))
        [120.]
        """
        hooks = self._hooks
        if hooks is not None:
            check_hookable(self, "register_hook")
            return hooks.add("register_hook", hook)
        hooks = GradientHooks("register_hook", self._is_parameter or not on_tape(self))
        handle = hooks.add("register_hook", hook)
        hook_tensor(self, hooks, "register_hook")
        return handle

    def hooks(self) -> list[Callable[..., Any]]:
        """Return the hooks on the gradient, in the order in which they run."""
        return [] if self._hooks is None else [hook for _, hook in self._hooks.items()]

    def assign_value(self, value: Any) -> Tensor:
        """Replace the value by another of the same shape, converted to this tensor's type."""
        value = value if isinstance(value, Tensor) else Tensor(value, self.dtype)
        if value.shape != self.shape:
            raise ValueError(f"set_data: the new value has shape {value.shape}; expected {self.shape}")
        self._rebind(value if value.dtype is self.dtype else value.astype(self.dtype))
        return self


attach(Tensor, TENSOR)


class Placeholder(Tensor):
    """A tensor without a value and with unknown lengths. Reading its numbers raises RuntimeError."""

    __slots__ = ()
    forms: ClassVar[dict[int, tuple[tuple[int, ...], DType]]] = {}  # by identity, since a Tensor has no attributes

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths; -1 for unknown ones."""
        return self.forms[id(self)][0]

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.forms[id(self)][1]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"Tensor(shape={[None if n < 0 else n for n in self.shape]}, dtype={self.dtype}, value= <none>)"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return _placeholder, self.forms[id(self)]

    def __copy__(self) -> Tensor:
        return _placeholder(*self.forms[id(self)])

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        return self.__copy__()

    def __del__(self) -> None:
        self.forms.pop(id(self), None)


def _leave_open(t: Tensor, shape: tuple[Any, ...] | None, dtype: DType) -> None:
    """Turn a tensor without a value into a placeholder. Without a shape it is (-2,): any number of axes."""
    for n in shape or ():
        if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 0):
            raise ValueError(f"Tensor: a length of the shape is {n!r}; expected an int that is not negative, or None")
    t.__class__ = Placeholder
    Placeholder.forms[id(t)] = ((-2,) if shape is None else tuple([-1 if n is None else n for n in shape]), dtype)


def _placeholder(shape: tuple[int, ...], dtype: DType) -> Tensor:
    """Make a placeholder again after a copy or a pickle."""
    return Tensor(shape=None if shape == (-2,) else [None if n < 0 else n for n in shape], dtype=dtype)


def _unprotected(array: np.ndarray) -> np.ndarray:
    """The same memory as a writeable array."""
    if not array.flags.c_contiguous:
        raise BufferError("__dlpack__: copy=False, but the elements are not one after another; leave copy out")
    import ctypes  # for this alone

    memory: Any = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
    memory.owner = array  # keeps the array alive as long as the memory is used
    return np.ndarray(array.shape, array.dtype, memory)


def _no_array(x: Any) -> np.ndarray:
    """A NumPy array of objects that holds a single object."""
    box = np.empty((), object)
    box[()] = x
    return box


def _restore(array: np.ndarray) -> Tensor:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"Tensor: a pickle holds a {type(array).__name__}; expected a NumPy array")
    return Tensor._owning(array)


def _restore_array(array: np.ndarray) -> Tensor:
    return as_array(_restore(array))


def tensor(input_data: Any = None, dtype: Any = None, shape: Any = None, init: Any = None, **others: Any) -> Tensor:
    """The same as `Tensor(...)`.

    Parameters
    ----------
    input_data, dtype, shape, init, others
        As for the class.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import dualgrad as dg
    >>> dg.tensor(3)
    Tensor(shape=[], dtype=Int64, value= 3)
    """
    return Tensor(input_data, dtype, shape, init, **others)


install(Tensor, {t.num: t for t in _dtype.all_types})
MAKERS.append(Tensor)
_engine.install_promotion(_dtype.promotion_table())


def initialized(init: Any, shape: Any, dtype: Any) -> Tensor:
    """Make a tensor of initial values; `dualgrad.common.initializer.initializer` lists the ways to give them."""
    if isinstance(init, (Tensor, np.ndarray)):
        value = init._detached() if isinstance(init, Tensor) else Tensor(init)
        if shape is not None and tuple(value.shape) != shape_of(shape):
            raise ValueError(
                f"initializer: the tensor given as init has shape {tuple(value.shape)}, expected {shape_of(shape)}"
            )
        return value
    if shape is None:
        raise TypeError("initializer: shape is missing; only a Tensor given as init has one of its own")
    return Tensor(initial_values(init, shape), dtype)
