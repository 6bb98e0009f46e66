"""Complex numbers in the table: rows that convert between complex numbers and pairs of reals, and rows for reals only.

Derivatives pair a cotangent with a tangent as Re(ct * dz), without conjugation. Under this pairing, an analytic row has
the same rule for real and complex numbers: its partials are analytic, too. (If the real slope is a primitive for reals
only, the row also has ``complex_partials``.) The rows below are linear over the reals only, and their transposes are

    conj               conj
    view_as_real       ct -> conj(view_as_complex(ct))
    view_as_complex    ct -> view_as_real(conj(ct))

All other functions that are not analytic (abs, angle, sign ...) are composed of these and of rows on reals.
"""

from __future__ import annotations

from .row import structural

COMPLEX = (
    structural("conj", "linear", summary="complex conjugate"),
    structural("view_as_real", "linear", summary="real and imaginary part along a new last axis", result="any"),
    structural("view_as_complex", "linear", summary="complex numbers of the pairs along the last axis", result="any"),
)

# Rows that refuse complex operands, although NumPy would order them by real part first. Complex numbers have no order,
# and a function that is not analytic has no partial.
REAL_ONLY = frozenset({
    "maximum", "minimum", "fmax", "fmin", "gt", "ge", "lt", "le", "sign", "round",
    "reduce_max", "reduce_min", "argmax", "argmin", "argsort",
})  # fmt: skip
