# Inputs of transforms. See inputs.pyx.

cpdef tuple apart(str name, tuple args, tuple given, dict kwargs, list met=*)
