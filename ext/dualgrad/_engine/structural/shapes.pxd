# Primitives that put the same elements into another shape. See shapes.pyx.
from ..arrays.array cimport Array

cdef Array reshaped_array(Array a, tuple target)
