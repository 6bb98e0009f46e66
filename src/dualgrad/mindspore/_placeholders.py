"""Placeholders for names that dualgrad lacks: they can be imported, and raise an error when used."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["Placeholder"]


class Placeholder:
    """Stands for an imported name that does not exist.

    For imports it is a module too: ``from mindspore.lacking import name`` gives another placeholder.
    """

    __path__: tuple[str, ...] = ()  # marks a package: names imported from it are looked up as its submodules

    def __init__(self, name: str, text: str) -> None:
        self.__name__ = name
        self.__dict__["_text"] = text

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise AttributeError(self.__dict__["_text"])

    __call__ = __getitem__ = __iter__ = __len__ = __contains__ = __instancecheck__ = __subclasscheck__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name[:2] == name[-2:] == "__":  # Python looks these up by itself
            raise AttributeError(name)
        self._refuse()

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type]:
        """The base of a class that derives from the placeholder: it raises when the class is called."""
        text = self.__dict__["_text"]

        def refuse(cls: type, *args: object, **kwargs: object) -> NoReturn:
            raise AttributeError(f"{cls.__name__} derives from {text}")

        class Lacking:
            def __init_subclass__(cls, **kwargs: object) -> None:
                super().__init_subclass__(**kwargs)
                cls.__new__ = refuse  # type: ignore[method-assign]

        return (Lacking,)

    def __repr__(self) -> str:
        return f"<placeholder for {self.__name__}, which dualgrad lacks>"
