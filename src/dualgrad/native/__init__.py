"""Machine code for programs that run often: an option that needs llvmlite, and changes no result.

See `set_context(native=True)`. Files, lowest first: `_expressions` parses the kernels of table rows, `_steps` assembles
values from them, `_zeros` drops additions of zero that have no effect, `_text` writes LLVM text. `_numbers` and `_runs`
choose the instructions of a function; `_cache` keeps machine code on disk, `_machine` compiles and holds it; `_making`
compiles one region, `_tier` decides when.
"""

from __future__ import annotations

from ._tier import join, status, switch

__all__ = ["join", "status", "switch"]
