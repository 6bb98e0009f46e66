"""One row of the table of primitives.

A row states the mathematics of a primitive once. Everything else is derived from it: the opcode and the C kernels
(``generate.py``, at build time), the dual, reverse and jet rules (the compiled engine), the public function, class and
``Tensor`` method (``dualgrad.ops``), the documentation and the tests.

This package is plain data and needs only the standard library, so the build, the installed package, the documentation
and the tests can all read it.

Partial derivatives are expressions in the operands ``x, y, z`` and the result ``out``, written with the names of
primitives and ``+ - *  /``. They are parsed once, on first use, into a flat list of engine instructions; applying a
rule runs no Python code.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["CONSTANTS", "UNDEFINED", "Row", "elementwise", "structural"]

CONSTANTS = {
    "LN2": math.log(2.0),
    "HALF_LN2": 0.5 * math.log(2.0),
    "LOG2_E": 1.0 / math.log(2.0),
    "LOG10_E": 1.0 / math.log(10.0),
    "TWO_OVER_SQRT_PI": 2.0 / math.sqrt(math.pi),
}

#: A partial without a known formula, as opposed to None, a slope of zero: using it raises.
UNDEFINED = "undefined"

INF = math.inf


class Row:
    """The immutable entry of one primitive.

    It is not a dataclass, since that would compile its methods whenever the package is imported.

    Attributes
    ----------
    name
        The primitive's own name; its opcode is the position of the row in the table.
    family
        ``elementwise``, ``linear`` (in the first operand, or in every operand when ``variadic``),
        ``bilinear``, ``selection`` (a reduction that selects elements) or ``constant`` (slope zero, or no slope at
        all).
    arity
        Number of operands; -1 when it varies.
    c
        Scalar body of the kernel in C, on ``x, y, z`` of type ``T``, or None.
    c_quick
        A cheaper body that gives the same number or nan: kernels try it first.
    c_complex
        The same as ``c`` for complex numbers, on parts ``x.re, x.im``, for types without a NumPy loop.
    vector
        Types (``f64``, ``f32``) served by a vector kernel of the row's name, from ``ext/include/dg_vector_*.h``.
    ufunc
        Name of the NumPy ufunc whose inner loops serve the types without a kernel above, or None.
    partials
        One expression for each operand, elementwise family only. None: the slope is zero. ``UNDEFINED``: no formula is
        known, and the derivative by this operand raises ``NotImplementedError``.
    complex_partials
        The same for complex operands, if the slopes in ``partials`` are primitives for reals only.
    result
        ``same`` (type of the operands), ``bool``, ``int`` or ``any`` (decided by the primitive).
    keeps_ints
        True if integers stay integers in the primitive and its formal derivative.
    takes_ints
        True if it is defined on integers, with an integer result; otherwise integers become float32 first.
    domain
        The domain of definition and smoothness: one interval for each operand, for tests and documentation.
    function, cls, method
        Public names: in ``dualgrad.ops``, as a primitive class, as a ``Tensor`` method.
    aliases
        Second names, as NumPy and MindSpore spell them: of the function and as methods; names that begin with a capital
        letter are primitive classes.
    written_out
        True if the function has settings and is defined in ``dualgrad.ops``; the row makes only the class.
    summary, slope_note
        Documentation: the function in words, and the convention where the derivative needs one.
    example
        Operands and printed result of the docstring's example; the numbers do not come from this library.
    exact
        The function in ``x, y, z`` and mpmath's ``mp``, without cancellation: the reference for values and derivatives.
    reach
        An expression of the same kind: the distance that each operand may move without meeting a kink, a jump or a
        singular point inside the domain; 0 at such a point.
    orders
        For operands with an undefined slope: their values in tests.
    points
        Hard operands that the domain does not show, for tests: one number, or one tuple, for each.
    """

    name: str
    family: str
    arity: int
    c: str | None = None
    c_quick: str | None = None
    c_complex: str | None = None
    vector: tuple[str, ...] = ()
    ufunc: str | None = None
    partials: tuple[str | None, ...] = ()
    complex_partials: tuple[str | None, ...] = ()
    result: str = "same"
    keeps_ints: bool = False
    takes_ints: bool = False
    domain: tuple[tuple[float, float], ...] = ()
    function: str | None = None
    cls: str | None = None
    method: str | None = None
    aliases: tuple[str, ...] = ()
    written_out: bool = False
    summary: str = ""
    slope_note: str = ""
    example: tuple[str, str] | None = None
    exact: str | None = None
    reach: str | None = None
    orders: tuple[float, ...] = ()
    points: tuple[Any, ...] = ()
    variadic: bool = False
    operands: tuple[str, ...] = ()

    def __init__(self, name: str, family: str, arity: int, **rest: Any) -> None:
        if unknown := rest.keys() - Row.__annotations__.keys():
            raise TypeError(f"the row of {name} has no {', '.join(sorted(unknown))}")
        self.__dict__.update(rest, name=name, family=family, arity=arity)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"the row of {self.name} cannot be changed: {name}")

    @property
    def functions(self) -> tuple[str, ...]:
        """The public functions that equal this primitive; second names follow the first one."""
        if self.function is None or self.written_out:
            return ()
        return self.function, *(name for name in self.aliases if not name[0].isupper())

    @property
    def classes(self) -> tuple[str, ...]:
        """The primitive classes that apply this primitive."""
        return tuple(name for name in (self.cls, *self.aliases) if name and name[0].isupper())

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of tensors that apply this primitive."""
        return tuple(name for name in (self.method, *self.functions[1:]) if name and self.functions)

    @property
    def differentiable(self) -> tuple[int, ...]:
        """The operands that derivatives can be taken by, including zero ones."""
        return tuple(i for i, partial in enumerate(self.partials) if partial != UNDEFINED)


def elementwise(name: str, *partials: str | None, domain: tuple[Any, ...] | None = None, **rest: Any) -> Row:
    """An elementwise row, with an operand for each partial. A single operand's domain may be a bare pair."""
    domain = domain or ((-INF, INF),) * len(partials)
    if not isinstance(domain[0], tuple):
        domain = (domain,)
    family = "constant" if all(partial is None for partial in partials) else "elementwise"
    return Row(name, family, len(partials), partials=partials, domain=domain, **rest)


def structural(name: str, family: str, arity: int = 1, **rest: Any) -> Row:
    """A row whose rule is more than a partial; the engine finds the rule by name."""
    return Row(name, family, arity, **rest)
