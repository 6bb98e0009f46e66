"""Parameters: named tensors that a model keeps, differentiates and changes.

A `Parameter` is a `Tensor`, so it works in every operator; the results are plain tensors. In addition it has an
identity. Its value may be replaced (`set_data`, an optimiser's step) while the object stays the same, and gradient
functions name the object, not the value. Values themselves are immutable: a replacement points the handle at another
value, so no number changes that a derivative has yet to read.

A name has two parts. The *own name* is given by the user, or is the attribute under which a Cell first took the
parameter. The path of the surrounding Cells comes in front (`fc.weight`). The own name is stored separately, so that a
Cell can move to another parent, or into a second one, without names that grow at every move.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, SupportsIndex

import numpy as np

from dualgrad import dtype as mstype
from dualgrad._dtypes import _RANK
from dualgrad._engine.transforms.containers import as_plain_tuple
from dualgrad._joined import holds_tensor
from dualgrad.leaving import stay
from dualgrad.tensor import Tensor, initialized

__all__ = ["Parameter", "ParameterTuple"]

_running_number = itertools.count(1)
_INT32 = np.iinfo(np.int32)
# A value may be cast within its kind or upwards.


def _first_value(data: Any) -> Tensor:
    """Convert a new Parameter's data to a tensor; a bare Python int becomes Int32 where it fits."""
    if isinstance(data, Tensor):
        return data._detached()
    if isinstance(data, int) and not isinstance(data, bool):
        fits = _INT32.min <= data <= _INT32.max
        return Tensor(data, mstype.int32 if fits else mstype.int64)
    if isinstance(data, (bool, float, complex, list, tuple, np.ndarray, np.generic)):
        return Tensor(data)._detached()  # a list may hold tensors that are being differentiated
    raise TypeError(
        f"Parameter: default_input must be a Tensor, an array, a number or a list of numbers, got {type(data).__name__}"
    )


def _restore(cls: type[Parameter], value: Tensor) -> Parameter:
    """Make a bare handle of class `cls` on `value`. Copying and unpickling then fill in its attributes."""
    parameter = cls.__new__(cls)
    parameter._rebind(value)
    parameter._is_parameter = True
    return parameter


class Parameter(Tensor):
    """A tensor that belongs to a model: named, differentiated by default, and changed in place.

    Parameters
    ----------
    default_input : Tensor, array, number or list of numbers
        The first value. A NumPy array keeps its type, a Python int is Int32, Python floats are Float32. It counts as a
        constant: derivatives end at a Parameter and do not pass to the data it was made of.
    name : str, optional
        The default is ``Parameter#1``, ``Parameter#2`` and so on, until a Cell takes the parameter under the name of an
        attribute.
    requires_grad : bool, default True
        True puts the parameter among a Cell's `trainable_params`. The gradient of a frozen one is zero.
    layerwise_parallel, parallel_optimizer, storage_format
        Accepted so that ported code runs; they have no meaning here.

    Raises
    ------
    TypeError
        If the data are not numbers, `name` is not a string or `requires_grad` is not a bool.
    ValueError
        If `name` is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad import Parameter
    >>> w = Parameter(np.array([6.0], np.float32), name="w")
    >>> w
    Parameter (name=w, shape=(1,), dtype=Float32, requires_grad=True)
    >>> print(w * 2)
    [12.]
    """

    _name: str
    _own_name: str | None
    _requires_grad: bool

    def __init__(
        self,
        default_input: Any,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
        storage_format: str = "",
    ) -> None:
        # The constructor of Tensor would copy, but values are immutable and can be shared.
        self._rebind(_first_value(default_input))
        self._is_parameter = True
        if name is None:
            self._name = f"Parameter#{next(_running_number)}"
            self._own_name = None
        else:
            self.name = name
        self.requires_grad = requires_grad

    # Identity: the name and `requires_grad`.

    @property
    def cache_enable(self) -> bool:
        """False: no parameter server keeps the value."""
        return False

    @property
    def layerwise_parallel(self) -> bool:
        """False: every process holds the whole value."""
        return False

    @property
    def name(self) -> str:
        """The name, with the path of the Cells around the parameter in front."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"Parameter: name must be a str, got {type(name).__name__}")
        if not name:
            raise ValueError("Parameter: name must not be empty")
        self._name = self._own_name = name

    def _place(self, prefix: str, attribute: str) -> None:
        """Put `prefix` before the own name. A parameter without a name takes `attribute` as its own name."""
        if self._own_name is None:
            self._own_name = attribute
        self._name = prefix + self._own_name

    @property
    def _is_placed(self) -> bool:
        """True if a Cell has put a path before the own name."""
        return self._own_name is not None and self._name != self._own_name

    @property
    def requires_grad(self) -> bool:
        """True if the parameter is trained. The gradient of a frozen parameter is zero."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        if not isinstance(flag, bool):
            raise TypeError(f"Parameter: requires_grad must be a bool, got {type(flag).__name__}")
        self._requires_grad = flag

    # The value.

    @property
    def data(self) -> Parameter:
        """The parameter itself."""
        return self

    def value(self) -> Tensor:
        """Return the value as a plain Tensor, differentiable like the parameter itself.

        Examples
        --------
        >>> from dualgrad import Parameter
        >>> Parameter(1.5, name="w").value()
        Tensor(shape=[], dtype=Float32, value= 1.5)
        """
        return +self

    def set_data(self, data: Any) -> Parameter:
        """Replace the value for every holder of the parameter.

        Parameters
        ----------
        data : Tensor, array, number or list of numbers
            Must have the parameter's shape; counts as a constant. It is cast to the parameter's type within its kind or
            upwards (Float64 into Float32, Int64 into Float32), never downwards (Float32 into Int32).

        Returns
        -------
        Parameter
            The parameter itself.

        Raises
        ------
        ValueError
            If the shape differs.
        TypeError
            If the type is of a wider kind, or the data are not numbers.

        Examples
        --------
        >>> from dualgrad import Parameter
        >>> w = Parameter([1.0, 2.0], name="w")
        >>> print(w.set_data([3.0, 4.0]).asnumpy())
        [3. 4.]
        """
        value = data._detached() if isinstance(data, Tensor) else self._tensor_of(data)
        if tuple(value.shape) != tuple(self.shape):
            raise ValueError(
                f"set_data: parameter '{self._name}' has shape {tuple(self.shape)}, the new data have shape "
                f"{tuple(value.shape)}; reshape them or make a new Parameter"
            )
        if value.dtype != self.dtype:
            if _RANK[value.dtype.numpy.kind] > _RANK[self.dtype.numpy.kind]:
                raise TypeError(
                    f"set_data: parameter '{self._name}' is {self.dtype}, which cannot hold {value.dtype} "
                    "data; cast them first if the loss is meant"
                )
            value = value.astype(self.dtype)
        self._rebind(value)
        return self

    def assign_value(self, value: Any) -> Parameter:
        """Replace the value, as `set_data` does."""
        return self.set_data(value)

    def _tensor_of(self, data: Any) -> Tensor:
        """Convert numbers exactly: a Python float must not pass through Float32 on its way to Float64."""
        if holds_tensor(data):
            return Tensor(data)._detached()
        array = np.asarray(data)
        if array.dtype.kind not in _RANK:
            raise TypeError(
                f"set_data: parameter '{self._name}' needs a Tensor, an array, a number or a list of "
                f"numbers, got {type(data).__name__}"
            )
        return Tensor(array)

    # Copies.

    def clone(self, init: Any = "same") -> Parameter:
        """Make a new parameter with the same name, shape, type and `requires_grad`.

        Parameters
        ----------
        init : str, number, Tensor or Initializer, default 'same'
            'same' keeps the value; anything else is given to `initializer`.

        Returns
        -------
        Parameter

        Examples
        --------
        >>> from dualgrad import Parameter
        >>> w = Parameter([1.0, 2.0], name="w")
        >>> print(w.clone(init="zeros").asnumpy())
        [0. 0.]
        """
        twin = _restore(type(self), self._detached())
        twin.__dict__.update(self.__dict__)
        if not (isinstance(init, str) and init == "same"):
            twin.set_data(initialized(init, self.shape, self.dtype))
        return twin

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        stay(self, "pickle")
        return _restore, (type(self), self._detached()), dict(self.__dict__)

    def __copy__(self) -> Parameter:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if not isinstance(memo, dict):
            raise TypeError(f"__deepcopy__: memo must be a dict, got {type(memo).__name__}")
        # The value is immutable and can be shared; attributes that the user added may be mutable.
        twin = memo[id(self)] = _restore(type(self), self._detached())
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin

    # Text.

    def __repr__(self) -> str:
        return (
            f"Parameter (name={self._name}, shape={tuple(self.shape)}, dtype={self.dtype}, "
            f"requires_grad={self._requires_grad})"
        )

    def __str__(self) -> str:
        return self.__repr__()

    def _repr_html_(self) -> str:
        from ._html import tensor_html  # for notebooks alone

        return tensor_html(self, f"Parameter {self._name}", "trainable" if self._requires_grad else "not trainable")

    def __format__(self, spec: str) -> str:
        return format(self.__repr__(), spec)


class ParameterTuple(tuple[Parameter, ...]):
    """A tuple of parameters with different names.

    Parameters
    ----------
    iterable : iterable of Parameter
        A list, a tuple, or the result of `Cell.get_parameters`. It may be empty.

    Raises
    ------
    TypeError
        If the argument is not a collection of Parameters; a single Parameter must be put into a list.
    ValueError
        If two of them have the same name.

    Examples
    --------
    >>> from dualgrad import Parameter, ParameterTuple
    >>> weights = ParameterTuple([Parameter(1.0, name="w"), Parameter(2.0, name="b")])
    >>> [p.name for p in weights]
    ['w', 'b']
    """

    __slots__ = ()

    def __new__(cls, iterable: Iterable[Parameter] = ()) -> ParameterTuple:
        if isinstance(iterable, Tensor):
            raise TypeError(
                "ParameterTuple: expected a collection of Parameters, got a single "
                f"{type(iterable).__name__}; put it into a list"
            )
        if not isinstance(iterable, Iterable) or (isinstance(iterable, np.ndarray) and not iterable.ndim):
            raise TypeError(f"ParameterTuple: expected a collection of Parameters, got {type(iterable).__name__}")
        members = tuple(iterable)
        names: set[str] = set()
        for index, member in enumerate(members):
            if not isinstance(member, Parameter):
                raise TypeError(f"ParameterTuple: entry {index} is not a Parameter but {type(member).__name__}")
            if member.name in names:
                raise ValueError(
                    f"ParameterTuple: entry {index} has the name '{member.name}' of an earlier one; give "
                    "every Parameter a name of its own (for a whole Cell: update_parameters_name)"
                )
            names.add(member.name)
        return super().__new__(cls, members)

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """Copy every parameter under the name ``prefix.name``.

        Parameters
        ----------
        prefix : str
            The text before the dot.
        init : str, number, Tensor or Initializer, default 'same'
            As in `Parameter.clone`.

        Returns
        -------
        ParameterTuple

        Examples
        --------
        >>> from dualgrad import Parameter, ParameterTuple
        >>> moments = ParameterTuple([Parameter(1.0, name="w")]).clone("moment", init="zeros")
        >>> moments[0].name
        'moment.w'
        """
        if not isinstance(prefix, str) or not prefix:
            raise TypeError(f"ParameterTuple.clone: prefix must be a str that is not empty, got {prefix!r}")
        return ParameterTuple(self._clones(prefix, init))

    def _clones(self, prefix: str, init: Any) -> Iterator[Parameter]:
        for parameter in self:
            twin = parameter.clone(init)
            twin.name = f"{prefix}.{parameter.name}"
            yield twin


as_plain_tuple(ParameterTuple)  # gradients are not Parameters, so they come in a plain tuple
