"""The base of the primitive classes that take a step of an optimiser."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...parameter import Parameter
from ...tensor import Tensor
from ...transforms.gradient import stop_gradient
from ...transforms.written import rewrite, stands_for_parameter
from .._arguments import Primitive, operand
from ._classes import REQUIRED

__all__ = ["Step"]

_FORM = """One step of `{like}` in place: ``ops.{name}({settings})({inputs})``.

    Parameters
    ----------
    {changed} : Parameter
        What is changed, of one shape. Inside `vmap`, what stands for one sample of a Parameter.
    {others} : Tensor or float
        {gradient} has the shape of {variable}; the other ones are numbers.{indices}

    Returns
    -------
    {result}

    Raises
    ------
    TypeError
        If what is to be changed is no Parameter.
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> import dualgrad as dg
    >>> from dualgrad import ops
    >>> {parameters} = [dg.Parameter([1.0, 2.0]) for _ in range({count})]
    >>> _ = ops.{name}({made})({called})
    >>> {variable}.shape
    (2,)
    """


class Step(Primitive):
    """The base of the classes: ``class A(Step, inputs="var accum grad lr", changed="var accum", update=f)``.

    Further keywords are settings with their defaults; `use_locking` has no meaning. `update` is called with inputs and
    settings by their names and returns the new values of the changed inputs. A step returns all changed inputs, or the
    first with ``first=True``.
    """

    __slots__ = ("_settings",)
    _signature: inspect.Signature
    _inputs: tuple[str, ...]
    _changed: tuple[str, ...]
    _update: Callable[..., tuple[Any, ...]]
    _first: bool

    def __init_subclass__(
        cls,
        update: Callable[..., tuple[Any, ...]],
        inputs: str,
        changed: str,
        like: str,
        first: bool = False,
        **settings: Any,
    ) -> None:
        super().__init_subclass__()
        cls._inputs, cls._changed = tuple(inputs.split()), tuple(changed.split())
        cls._update, cls._first = staticmethod(update), first or len(cls._changed) == 1
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        cls._signature = inspect.Signature([inspect.Parameter(n, kind, default=d) for n, d in settings.items()])
        others = [name for name in cls._inputs if name not in cls._changed]
        gradient = next(name for name in others if name in ("grad", "gradient", "delta"))
        ones = {gradient: "dg.Tensor([1.0, 1.0])", "indices": "dg.Tensor([0, 1])"}
        cls.__doc__ = _FORM.format(
            like=like,
            name=cls.__name__,
            settings=", ".join(n if d is REQUIRED else f"{n}={d!r}" for n, d in settings.items()),
            inputs=", ".join(cls._inputs),
            changed=", ".join(cls._changed),
            others=", ".join(others),
            gradient=f"`{gradient}`",
            variable=cls._changed[0],
            indices="\n        `indices` says which rows its rows belong to." if "indices" in others else "",
            result="Parameter" if cls._first else "tuple of Parameter",
            parameters=", ".join(cls._changed) + ("," if len(cls._changed) == 1 else ""),
            count=len(cls._changed),
            made=", ".join(f"{n}=0.5" for n, d in settings.items() if d is REQUIRED),
            called=", ".join(name if name in cls._changed else ones.get(name, "0.5") for name in cls._inputs),
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}; the settings are {self._signature}") from None
        bound.apply_defaults()
        self._settings = dict(bound.arguments)

    def __call__(self, *operands: Any) -> Any:
        name = type(self).__name__
        if len(operands) != len(self._inputs):
            raise TypeError(f"{name}: got {len(operands)} operands; expected {', '.join(self._inputs)}")
        given = dict(zip(self._inputs, operands, strict=True))
        changed = [given[each] for each in self._changed]
        for each, parameter in zip(self._changed, changed, strict=True):
            if not (isinstance(parameter, Parameter) or stands_for_parameter(parameter)):
                raise TypeError(f"{name}: {each} is a {type(parameter).__name__}; expected a Parameter")
            if parameter.shape != changed[0].shape:
                raise ValueError(f"{name}: {each} has shape {parameter.shape}; expected {changed[0].shape}")
        constants = {n: stop_gradient(x) if isinstance(x, Tensor) else x for n, x in given.items()}
        settings = {n: x for n, x in self._settings.items() if n != "use_locking"}
        self._check_gradient(name, constants, changed[0])
        after = type(self)._update(**constants, **settings)
        for parameter, new in zip(changed, after, strict=True):
            value = operand(name, new).astype(parameter.dtype)
            if isinstance(parameter, Parameter):
                parameter.set_data(value)
            else:
                rewrite(parameter, value)
        return changed[0] if self._first else tuple(changed)

    @staticmethod
    def _check_gradient(name: str, given: dict[str, Any], variable: Any) -> None:
        for each in ("grad", "gradient", "delta"):
            if each in given and "indices" not in given:
                given[each] = operand(name, given[each])
                if given[each].shape != variable.shape:
                    raise ValueError(f"{name}: {each} has shape {given[each].shape}; expected {variable.shape}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._settings.items())})"
