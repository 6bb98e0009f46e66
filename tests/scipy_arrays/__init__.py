"""SciPy's functions on tensors: SciPy's own list of them, sample arguments for each, and what is measured.

SciPy reads ``SCIPY_ARRAY_API`` when it is imported, so this package is imported before SciPy, in a process of its own:
``python docs/survey.py`` and `standard/test_scipy.py` start one.
"""

import os
import sys

if "scipy" in sys.modules and not os.environ.get("SCIPY_ARRAY_API"):
    raise ImportError("scipy_arrays: SciPy was imported before, without SCIPY_ARRAY_API=1; use a new process")
os.environ["SCIPY_ARRAY_API"] = "1"
