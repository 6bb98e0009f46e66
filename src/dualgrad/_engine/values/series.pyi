# Nothing here is for Python: primitives are executed through `values.bind` and the entry points in `tensor`.
