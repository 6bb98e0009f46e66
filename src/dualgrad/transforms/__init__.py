"""Transforms: functions of functions that return derivatives, batches and Taylor series."""
