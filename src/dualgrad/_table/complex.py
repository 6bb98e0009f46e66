"""What the table says of complex numbers: the rows that join them to pairs of reals, and who does not take them.

Derivatives pair a cotangent with a tangent as Re(ct * dz), without conjugation. Under this pairing the rule of an
analytic row is the same text for real and complex numbers: its partials are analytic too. (Where the slope for reals
is a primitive for reals only, the row has ``complex_partials`` beside it.) The rows below are linear over the reals
only, and their transposes are

    conj               conj
    view_as_real       ct -> conj(view_as_complex(ct))
    view_as_complex    ct -> view_as_real(conj(ct))

Everything else that is not analytic (abs, angle, sign ...) is composed of these and of rows on reals.
"""

from __future__ import annotations

from .row import structural

COMPLEX = (
    structural("conj", "linear", summary="complex conjugate"),
    structural("view_as_real", "linear", summary="real and imaginary part along a new last axis", result="any"),
    structural("view_as_complex", "linear", summary="complex numbers of the pairs along the last axis", result="any"),
)

# Rows that refuse complex operands although NumPy, which orders them by real part first, would compute something:
# complex numbers have no order, and what is not analytic has no partial.
REAL_ONLY = frozenset({
    "maximum", "minimum", "fmax", "fmin", "gt", "ge", "lt", "le", "sign", "round",
    "reduce_max", "reduce_min", "argmax", "argmin", "argsort",
})  # fmt: skip
