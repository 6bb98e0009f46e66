"""`Fixed`: the base of immutable objects."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["Fixed"]


class Fixed:
    """An object whose attributes are set once and never deleted, so methods may rely on them."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            raise AttributeError(f"{type(self).__name__}: the attribute {name!r} is for reading; it cannot be set")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}: the attribute {name!r} is for reading; it cannot be deleted")
