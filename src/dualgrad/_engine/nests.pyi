# Nothing here is for Python: the transforms walk nests of tensors with it.
