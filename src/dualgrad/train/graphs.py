"""Files of other formats, which dualgrad does not write: errors that say what to do."""

from __future__ import annotations

from typing import Any, NoReturn

from dualgrad.nn.cell import Cell

__all__ = ["GraphCell", "export", "load"]


def export(net: Any, *inputs: Any, file_name: str, file_format: str, **kwargs: Any) -> NoReturn:
    """Refuse to write a graph of a network: dualgrad has no such files.

    Parameters
    ----------
    net : Cell
        The network.
    *inputs
        Inputs of the network.
    file_name, file_format : str
        The file, and 'MINDIR', 'AIR' or 'ONNX'.
    **kwargs
        Other settings of MindSpore's function.

    Returns
    -------
    never

    Raises
    ------
    NotImplementedError
        Always.

    Examples
    --------
    >>> from dualgrad import nn
    >>> from dualgrad.train import export
    >>> export(nn.Dense(2, 3), file_name="net", file_format="MINDIR")
    Traceback (most recent call last):
        ...
    NotImplementedError: export: dualgrad writes no 'MINDIR' files. save_checkpoint writes the parameters of a Cell.
    """
    raise NotImplementedError(
        f"export: dualgrad writes no {file_format!r} files. save_checkpoint writes the parameters of a Cell."
    )


def load(file_name: str, **kwargs: Any) -> NoReturn:
    """Refuse to read a graph of a network: dualgrad has no such files.

    Parameters
    ----------
    file_name : str
        The file.
    **kwargs
        Other settings of MindSpore's function.

    Returns
    -------
    never

    Raises
    ------
    NotImplementedError
        Always.

    Examples
    --------
    >>> from dualgrad.train import load
    >>> load("net.mindir")
    Traceback (most recent call last):
        ...
    NotImplementedError: load: dualgrad reads no graphs such as 'net.mindir'. load_checkpoint reads parameters.
    """
    raise NotImplementedError(
        f"load: dualgrad reads no graphs such as {file_name!r}. load_checkpoint reads parameters."
    )


class GraphCell(Cell):
    """Refused: a Cell made of a graph from `load`; dualgrad has no such files.

    Parameters
    ----------
    graph
        The result of `load`.
    **kwargs
        Other settings of MindSpore's class.

    Raises
    ------
    NotImplementedError
        Always.

    Examples
    --------
    >>> from dualgrad.train import GraphCell
    >>> GraphCell(None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    NotImplementedError: GraphCell: dualgrad reads no graphs. Write the network as a Cell; ...
    """

    def __init__(self, graph: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "GraphCell: dualgrad reads no graphs. Write the network as a Cell; load_checkpoint reads parameters."
        )
