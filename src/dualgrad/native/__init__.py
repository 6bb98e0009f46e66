"""Machine code for programs that run often: an option that needs llvmlite, and changes no result.

See `set_context(native=True)`. Files, lowest first: `_expressions` reads what rows of the table compute, `_steps` puts
it together, `_zeros` leaves out what nobody sees, `_text` writes it; `_numbers` and `_runs` say what becomes a
function; `_cache` keeps machine code on disk, `_machine` compiles and holds it; `_making` makes that of one region,
`_tier` decides when.
"""

from __future__ import annotations

from ._tier import join, status, switch

__all__ = ["join", "status", "switch"]
