"""Readers and writers of files that dualgrad does not support: errors that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

_WAYS = {
    "MindDataset": "reads no MindRecord files. Read the rows with mindspore once and save the columns by numpy.savez",
    "FileWriter": "writes no MindRecord files. Save the columns by numpy.savez",
    "FileReader": "reads no MindRecord files. Read the rows with mindspore once and save the columns by numpy.savez",
    "TFRecordDataset": "reads no TFRecord files. Read them with tensorflow once and save the columns by numpy.savez",
    "ImageFolderDataset": "reads no images. Read them with Pillow in a function and give it to GeneratorDataset",
    "MnistDataset": "reads no archives of images. Read them with NumPy and give the arrays to NumpySlicesDataset",
    "Cifar10Dataset": "reads no archives of images. Read them with NumPy and give the arrays to NumpySlicesDataset",
    "Cifar100Dataset": "reads no archives of images. Read them with NumPy and give the arrays to NumpySlicesDataset",
}
_END = "; dualgrad.dataset.NumpySlicesDataset takes arrays, and GeneratorDataset functions."

__all__ = sorted(_WAYS)


def _refused(name: str, way: str) -> type:
    """A class that refuses to be made."""

    def refuse(self: Any, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(f"{name}: dualgrad {way}{_END}")

    summary = way.partition(".")[0]
    example = f"Examples\n--------\n>>> from dualgrad.dataset import {name}\n>>> {name}('file')  # doctest: +ELLIPSIS\n"
    example += f"Traceback (most recent call last):\n    ...\nNotImplementedError: {name}: dualgrad {summary}...\n"
    doc = f"Refused: dualgrad {summary}.\n\nRaises\n------\nNotImplementedError\n    Always.\n\n{example}"
    body: dict[str, Callable[..., Any] | str] = {"__init__": refuse, "__doc__": doc, "__module__": __name__}
    return type(name, (), body)


globals().update({name: _refused(name, way) for name, way in _WAYS.items()})
