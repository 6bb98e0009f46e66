"""Classes of sparse tensors, which dualgrad lacks: errors that say what to do."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["COOTensor", "CSRTensor", "RowTensor"]


class _Refused:
    """The base of classes that raise an error when called: `_matrix` names a replacement."""

    _matrix: str

    def __init__(self, *args: object, **kwargs: object) -> None:
        self._refuse()

    @classmethod
    def _refuse(cls) -> NoReturn:
        raise NotImplementedError(
            f"{cls.__name__}: dualgrad has no class of sparse tensors. Make {cls._matrix} and multiply it by "
            "dualgrad.sparse.matmul, or by dualgrad.sparse.csr_matmul where its entries are differentiated."
        )


class COOTensor(_Refused):
    """Refused: dualgrad has no class of sparse tensors.

    ``scipy.sparse.coo_array((values, (rows, columns)), shape)`` is such a matrix of constants. `dualgrad.sparse.matmul`
    multiplies it with tensors.

    Raises
    ------
    NotImplementedError
        Always.

    Examples
    --------
    >>> from dualgrad.common.sparse_tensor import COOTensor
    >>> COOTensor([[0, 1]], [2.0], (2, 2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    NotImplementedError: COOTensor: dualgrad has no class of sparse tensors. Make a scipy.sparse.coo_array and ...
    """

    _matrix = "a scipy.sparse.coo_array"


class CSRTensor(_Refused):
    """Refused: dualgrad has no class of sparse tensors.

    ``scipy.sparse.csr_array((values, indices, indptr), shape)`` is such a matrix of constants. `dualgrad.sparse.matmul`
    multiplies it with tensors; `dualgrad.sparse.csr_matmul` takes its entries as a tensor, with gradients.

    Raises
    ------
    NotImplementedError
        Always.

    Examples
    --------
    >>> from dualgrad.common.sparse_tensor import CSRTensor
    >>> CSRTensor([0, 1, 1], [1], [2.0], (2, 2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    NotImplementedError: CSRTensor: dualgrad has no class of sparse tensors. Make a scipy.sparse.csr_array and ...
    """

    _matrix = "a scipy.sparse.csr_array"


class RowTensor(_Refused):
    """Refused: dualgrad has no class of sparse tensors.

    ``ops.tensor_scatter_add`` adds rows to a tensor, and ``x[indices]`` reads them with gradients.

    Raises
    ------
    NotImplementedError
        Always.

    Examples
    --------
    >>> from dualgrad.common.sparse_tensor import RowTensor
    >>> RowTensor([0], [[1.0, 2.0]], (3, 2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    NotImplementedError: RowTensor: dualgrad has no class of sparse tensors. Make a scipy.sparse.csr_array and ...
    """

    _matrix = "a scipy.sparse.csr_array"
