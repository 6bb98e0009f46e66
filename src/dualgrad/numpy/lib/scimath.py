"""The functions of `dualgrad.numpy.emath` under the longer one of NumPy's two names."""

from ..emath import arccos, arcsin, arctanh, log, log2, log10, logn, power, sqrt

__all__ = ["arccos", "arcsin", "arctanh", "log", "log2", "log10", "logn", "power", "sqrt"]
