"""Convolution and correlation of sequences."""

import numpy as np

from cases import Case, normal
from cases.complex import of_parts

CASES = [
    *[Case(f"np.{function.__name__}", f"{mode} {m} {n}", lambda x, y, f=function, mode=mode: f(x, y, mode),
           (normal(m), normal(n, seed=1)))
      for function in (np.convolve, np.correlate) for mode in ("full", "same", "valid")
      for m, n in ((4, 3), (2, 4), (3, 3), (1, 2))],
    Case("np.convolve", "a sequence with itself", lambda x: np.convolve(x, np.convolve(x, x)), (normal(3),)),
    Case("np.correlate", "complex", of_parts(lambda x, y: np.correlate(x, y, "same")),
         (normal(4), normal(4, seed=1), normal(2), normal(2, seed=1)), narrow=("float32",)),
]  # fmt: skip
