"""Flags of Cells, and methods that configure compilers and devices, which dualgrad does not have.

Ported code calls these methods when it builds a model. They do nothing and return the same as in MindSpore, so that a
script runs unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

from dualgrad._nests import mapped
from dualgrad.dtype import DType, as_dtype

if TYPE_CHECKING:
    from dualgrad.nn.cell import Cell

__all__ = ["Flags"]

_TYPES = {"fp16": "float16", "fp32": "float32", "bf16": "bfloat16"}


class Flags:
    """The part of `Cell` that holds flags and takes settings without a meaning here."""

    training: bool

    if TYPE_CHECKING:

        def cells_and_names(self, cells: Iterable[Cell] = (), name_prefix: str = "") -> Iterator[tuple[str, Cell]]: ...
        def parameters_dict(self, recurse: bool = True) -> dict[str, Any]: ...
        def _compute_in(self, dtype: DType, returned: DType | None = None) -> None: ...

    # Flags.

    def add_flags(self, **flags: Any) -> Self:
        """Set flags, which are attributes that `get_flags` lists; return this Cell.

        The flags `fp16`, `fp32` and `bf16`, if true, have this Cell compute in the type, as `to_float` does, but not
        the Cells below.

        Raises
        ------
        TypeError
            If `bf16` is true: the type does not exist here.

        Examples
        --------
        >>> from dualgrad import nn
        >>> net = nn.Dense(2, 3).add_flags(frozen=True)
        >>> net.frozen, net.get_flags()
        (True, {'frozen': True})
        """
        for name, value in flags.items():
            setattr(self, name, value)
        self.__dict__.setdefault("_flags", {}).update(flags)
        for flag, name in _TYPES.items():
            if flags.get(flag):
                self._compute_in(as_dtype(name, where=f"add_flags({flag}=True)"))
        return self

    def add_flags_recursive(self, **flags: Any) -> Self:
        """Set flags here and in all Cells below; return this Cell."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        """Return the flags that were set, by name."""
        return dict(self.__dict__.get("_flags", {}))

    @property
    def phase(self) -> str:
        """``"train"`` or ``"predict"``, after `training`, until it is set; setting it has no effect."""
        return self.__dict__.get("_phase") or ("train" if self.training else "predict")

    @phase.setter
    def phase(self, value: str) -> None:
        if not isinstance(value, str):
            raise TypeError(
                f"{type(self).__name__}: phase must be a str, got {type(value).__name__}: the name belongs to "
                f"every Cell, as the phase of training; give the attribute another one"
            )
        self.__dict__["_phase"] = value

    def check_names(self) -> None:
        """Check that no two parameters have the same name.

        Raises
        ------
        ValueError
            If two parameters have the same name.
        """
        self.parameters_dict()

    # Settings without effect.

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Accepted and ignored: nothing has to be compiled before a call."""

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Keep descriptions of inputs for `get_inputs`; inputs of any shape are still allowed.

        Parameters
        ----------
        *inputs, **kwargs
            Tensors, maybe placeholders such as ``Tensor(shape=[None, 3], dtype=float32)``, numbers or None.

        Raises
        ------
        ValueError
            If positional and keyword arguments are given.

        Examples
        --------
        >>> from dualgrad import Tensor, float32, nn
        >>> net = nn.Dense(3, 1)
        >>> net.set_inputs(Tensor(shape=[None, 3], dtype=float32))
        >>> net.get_inputs()[0].shape
        (-1, 3)
        """
        if inputs and kwargs:
            raise ValueError(f"{type(self).__name__}.set_inputs: inputs come by position or by keyword, not both")
        self.__dict__["_inputs"] = kwargs or inputs

    def get_inputs(self) -> Any:
        """Return the arguments of `set_inputs`: a tuple or a dict; None if it was not called."""
        return self.__dict__.get("_inputs")

    def compile_and_run(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Cell; nothing has to be compiled first."""
        return self(*args, **kwargs)  # type: ignore[operator]

    def cast_inputs(self, inputs: tuple[Any, ...], dst_type: Any) -> tuple[Any, ...]:
        """Return the inputs, tensors of floating types converted to a type."""
        wanted = as_dtype(dst_type, where="cast_inputs")
        return mapped(tuple(inputs), lambda t: t.astype(wanted) if t.dtype.is_float else t)

    def check_names_and_refresh_name(self) -> None:
        """Check that no two parameters have the same name, as `check_names` does."""
        self.parameters_dict()

    @property
    def bprop_debug(self) -> bool:
        """True if set to True. A `bprop` is ordinary Python and can always be debugged; setting this has no effect."""
        return self.__dict__.get("_bprop_debug", False)

    @bprop_debug.setter
    def bprop_debug(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(f"{type(self).__name__}: bprop_debug must be a bool, got {type(value).__name__}")
        self.__dict__["_bprop_debug"] = value

    def set_jit_config(self, jit_config: Any) -> None:
        """Accepted and ignored: no compiler has to be configured."""

    def set_boost(self, boost_type: str) -> Self:
        """Accepted and ignored; return this Cell."""
        return self

    def set_broadcast_flag(self, mode: bool = True) -> Self:
        """Accepted and ignored, since everything runs in one process; return this Cell."""
        return self

    def set_comm_fusion(self, fusion_type: int, recurse: bool = True) -> Self:
        """Accepted and ignored, since everything runs in one process; return this Cell."""
        return self

    def set_data_parallel(self) -> None:
        """Accepted and ignored: everything runs in one process."""
