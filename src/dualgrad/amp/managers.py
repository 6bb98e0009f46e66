"""Managers of the scale of a loss, for `Model`: scalers, and a setting for overflows."""

from __future__ import annotations

from typing import Any

from dualgrad.amp.scalers import DynamicLossScaler, LossScaler, StaticLossScaler

__all__ = ["DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager"]


class LossScaleManager:
    """Base of the managers.

    Attributes
    ----------
    scaler : LossScaler
        Holds the scale, in a Parameter that a recorded step changes too.

    Examples
    --------
    >>> from dualgrad.train import FixedLossScaleManager, LossScaleManager
    >>> issubclass(FixedLossScaleManager, LossScaleManager)
    True
    """

    scaler: LossScaler

    def get_loss_scale(self) -> float:
        """Return the scale."""
        return float(self._own_scaler().scale_value.asnumpy())

    def update_loss_scale(self, overflow: Any) -> None:
        """Change the scale after a step whose gradients were not finite (`overflow` True) or finite (False)."""
        self._own_scaler().adjust(not bool(overflow))

    def _own_scaler(self) -> LossScaler:
        if not hasattr(self, "scaler"):
            raise NotImplementedError(f"{type(self).__name__} must define scaler, or its own methods")
        return self.scaler

    def get_drop_overflow_update(self) -> bool:
        """Return True if steps whose gradients are not finite are left out."""
        raise NotImplementedError(f"{type(self).__name__} must define get_drop_overflow_update(self)")


class FixedLossScaleManager(LossScaleManager):
    """A scale that never changes.

    Parameters
    ----------
    loss_scale : float, default 128.0
        The scale, positive.
    drop_overflow_update : bool, default True
        True to leave out steps whose gradients are not finite. If False, the optimiser gets scaled gradients, and must
        have the same `loss_scale`.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If the scale is not positive.

    Examples
    --------
    >>> from dualgrad.train import FixedLossScaleManager
    >>> manager = FixedLossScaleManager(1024.0)
    >>> manager.update_loss_scale(True)
    >>> manager.get_loss_scale()
    1024.0
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        if not isinstance(drop_overflow_update, bool):
            raise TypeError(
                f"FixedLossScaleManager: drop_overflow_update must be a bool, got {type(drop_overflow_update).__name__}"
            )
        self.scaler: StaticLossScaler = StaticLossScaler(loss_scale)
        self._drop = drop_overflow_update

    def get_drop_overflow_update(self) -> bool:
        return self._drop


class DynamicLossScaleManager(LossScaleManager):
    """A scale that falls when gradients overflow and rises while they do not; steps that overflow are left out.

    Parameters
    ----------
    init_loss_scale : float, default 2**24
        The initial scale, at least 1.
    scale_factor : int, default 2
        The divisor of the scale after an overflow, and its factor after `scale_window` steps without overflow.
    scale_window : int, default 2000
        As above.

    Raises
    ------
    TypeError
        If a setting has the wrong type.
    ValueError
        If a setting is out of its range.

    Examples
    --------
    >>> from dualgrad.train import DynamicLossScaleManager
    >>> manager = DynamicLossScaleManager(8, 2, 2)
    >>> for overflow in (True, False, False):
    ...     manager.update_loss_scale(overflow)
    ...     print(manager.get_loss_scale())
    4.0
    4.0
    8.0
    """

    def __init__(self, init_loss_scale: float = 2**24, scale_factor: int = 2, scale_window: int = 2000) -> None:
        self.scaler: DynamicLossScaler = DynamicLossScaler(init_loss_scale, scale_factor, scale_window)

    def get_drop_overflow_update(self) -> bool:
        return True
