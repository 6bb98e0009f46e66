"""The device of all tensors: the CPU is the only one."""

from __future__ import annotations

from typing import Any

__all__ = ["CPU", "Device", "on_cpu"]


class Device(str):
    """The name of a device, equal in any case: MindSpore writes 'CPU', the array API standard 'cpu'."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.upper() == other.upper()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.upper())


CPU = Device("CPU")


def on_cpu(name: str, device: Any) -> None:
    """Raise for a device other than None and the CPU.

    Raises
    ------
    ValueError
        If `device` is another one.
    """
    if not isinstance(device, str | Device | None) or (device is not None and device != CPU):
        raise ValueError(f"{name}: device is {device!r}; expected 'cpu' or None, tensors are nowhere else")
