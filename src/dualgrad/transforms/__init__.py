"""Transforms: functions of functions, which give derivatives, batches and Taylor series."""
