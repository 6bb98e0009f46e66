"""Primitive classes made from functions: settings are keywords of the function, operands its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .._arguments import Primitive

REQUIRED = inspect.Parameter.empty
"""The default of a setting without a default."""


class Derived(Primitive):
    """The base of a primitive class that calls a function with settings: ``class A(Derived, function=f, axis=0)``.

    The keywords are the settings in their order, with their defaults. `renamed` maps names of settings to other names
    in the function, `ignored` lists settings that the function lacks. A class without a docstring gets one that names
    the function; `example` is its example.
    """

    __slots__ = ("_settings",)
    _function: Callable[..., Any]
    _renamed: dict[str, str]
    _signature: inspect.Signature

    def __init_subclass__(
        cls,
        function: Callable[..., Any] | None = None,
        renamed: dict[str, str] | None = None,
        ignored: tuple[str, ...] = (),
        call: str = "x",
        example: str = "",
        **settings: Any,
    ) -> None:
        super().__init_subclass__()
        if function is None:
            return
        cls._function = staticmethod(function)
        cls._renamed = {**(renamed or {}), **dict.fromkeys(ignored, "")}
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        cls._signature = inspect.Signature([inspect.Parameter(n, kind, default=d) for n, d in settings.items()])
        if "__doc__" not in vars(cls) or not cls.__doc__:
            given = ", ".join(n if d is REQUIRED else f"{n}={d!r}" for n, d in settings.items())
            said = f"Primitive class of `{function.__name__}`: ``ops.{cls.__name__}({given})({call})``."
            imports = "    >>> import dualgrad as dg\n    >>> from dualgrad import ops\n"
            other = ", ".join(f"`{n}` is its `{to}`" for n, to in cls._renamed.items() if to)
            words = f"\n    {other[0].upper()}{other[1:]}.\n" if other else ""
            unused = ", ".join(f"`{n}`" for n in ignored)
            words += f"\n    {unused}: accepted so that ported code runs; without meaning here.\n" if unused else ""
            code = "".join(f"    {line}\n" for line in example.strip().splitlines())
            cls.__doc__ = f"{said}\n{words}\n    Examples\n    --------\n{imports}{code}    "

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}; the settings are {self._signature}") from None
        bound.apply_defaults()
        self._settings = dict(bound.arguments)

    def __call__(self, *operands: Any) -> Any:
        names = self._renamed
        given = {names.get(name, name): value for name, value in self._settings.items()}
        given.pop("", None)
        return type(self)._function(*operands, **given)

    def __getattr__(self, name: str) -> Any:
        if name != "_settings" and name in self._settings:
            return self._settings[name]
        raise AttributeError(f"{type(self).__name__} has no setting {name!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._settings.items())})"
