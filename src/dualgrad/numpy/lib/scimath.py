"""The functions of `dualgrad.numpy.emath` under NumPy's longer name."""

from ..emath import arccos, arcsin, arctanh, log, log2, log10, logn, power, sqrt

__all__ = ["arccos", "arcsin", "arctanh", "log", "log2", "log10", "logn", "power", "sqrt"]
