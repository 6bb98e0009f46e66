"""Primitives of your own, valid in every mode and at every order.

Most new functions need nothing from here: a composition of dualgrad's operators can be differentiated any number of
times. Write a primitive for a function that some library computes, or for a formula that is more stable or much cheaper
than the chain rule over its parts. There are four ways to define one:

`elementwise`
    one number from each element: a kernel, and the partial derivatives as expressions;
`linear`
    a linear map: a kernel, and its transpose;
`bilinear`
    a product, linear in each of two operands: a kernel, and its two transposes;
`primitive`
    anything else: a kernel, and its derivative in forward mode (``jvp``), in reverse mode (``vjp``), or in both.

Write the rules with dualgrad's own operators. A higher derivative then differentiates the rules: one first-order rule
serves gradients, Hessians, Taylor coefficients and batches. Rules have to be exact; for a gradient that is *meant* to
differ from the derivative, give a Cell a method ``bprop``. `dualgrad.testing.check` tests all these uses of a primitive
with one call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._dtypes import default_float
from ._engine.primitives.registry import table
from ._engine.transforms.extension import add_elementwise, add_rule
from ._engine.transforms.tensor import apply, common_type, convert
from ._settings import described, one_of, whole_number
from ._table import BY_NAME, CONSTANTS, Row
from ._table.partials import check_partial
from .tensor import Tensor

__all__ = ["Primitive", "bilinear", "elementwise", "linear", "primitive", "rows"]

_CFunction: Any = ctypes.CFUNCTYPE(None).__mro__[1]  # the base class of all ctypes functions
_INEXACT = {np.dtype(code).num for code in "efdFD"}

Kernel = Callable[..., Any]
Rule = Callable[..., Any]


class Primitive:
    """A primitive as a function of tensors, returned by the functions of this module.

    Operands are Tensors, NumPy arrays or numbers. Keywords are settings: they go to the kernel and the rules and are
    not differentiated.

    Attributes
    ----------
    row : Row
        Its row in the table of primitives.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgrad import extend
    >>> doubled = extend.linear("doubled", lambda x: 2.0 * x, lambda ct, x: doubled(ct))
    >>> doubled
    <primitive doubled of 1 operand, linear>
    >>> print(doubled(np.array([1.0, 2.0])))
    [2. 4.]
    """

    def __init__(self, row: Row, opcode: int, settings: bool, types: str, functions: tuple[Any, ...] = ()) -> None:
        if not isinstance(row, Row):
            raise TypeError(
                f"Primitive: row must be a row of the table of primitives, got {type(row).__name__}; "
                "make primitives with elementwise, linear, bilinear or primitive"
            )
        self.row = row
        self.__name__: str = row.name
        self.__doc__ = row.summary
        self._opcode = opcode
        self._settings = settings
        self._types = types
        self._functions = functions  # the kernel and the rules; a recording may run them

    def __call__(self, *operands: Any, **settings: Any) -> Tensor:
        """Apply the primitive."""
        row = self.row
        if row.arity >= 0 and len(operands) != row.arity:
            raise TypeError(f"{row.name}: expected {_count(row.arity, 'operand')}, got {len(operands)}")
        if settings and not self._settings:
            raise TypeError(f"{row.name}: an elementwise primitive takes no settings, got {', '.join(settings)}")
        for x in operands:
            if not isinstance(x, Tensor | np.ndarray | np.generic | bool | int | float | complex):
                raise TypeError(f"{row.name}: expected Tensors, NumPy arrays or numbers, got {type(x).__name__}")
        if self._types == "together":
            common = common_type(*operands)
            if common not in _INEXACT:
                common = default_float().num
            operands = tuple([convert(x, common) for x in operands])
        else:
            operands = tuple([x if isinstance(x, Tensor) else Tensor(np.asarray(x)) for x in operands])
        return apply(self._opcode, tuple(sorted(settings.items())) or None, *operands)

    def __repr__(self) -> str:
        return f"<primitive {self.row.name} of {_count(self.row.arity, 'operand')}, {self.row.family}>"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def rows() -> tuple[Row, ...]:
    """The table of primitives: the built-in rows, then the rows added here.

    Returns
    -------
    tuple of Row
        In the order of their opcodes.

    Examples
    --------
    >>> from dualgrad import extend
    >>> [row.partials for row in extend.rows() if row.name == "sin"]
    [('cos(x)',)]
    """
    return table()


def elementwise(
    name: str,
    kernel: Any,
    *partials: str | None,
    domain: tuple[Any, ...] | None = None,
    exact: str = "",
    summary: str = "",
    slope_note: str = "",
) -> Primitive:
    """Make a primitive that computes one number from each element, from its kernel and its partial derivatives.

    Parameters
    ----------
    name : str
        A name that no built-in primitive has. Partials of later primitives may use it.
    kernel : numpy.ufunc, callable or ctypes function
        Computes the value: a NumPy ufunc (its compiled loops are used directly); a function of NumPy arrays that
        broadcasts; or a C function of one to three doubles or floats, as a ``ctypes`` function with ``argtypes`` and
        ``restype`` set (a Numba ``cfunc`` has one as its attribute ``ctypes``).
    *partials : str or None
        The partial derivative for each operand, as an expression in the operands ``x, y, z``, the result ``out``,
        numbers, ``+ - * /`` and names of elementwise primitives, including this one; None for derivative zero.
    domain : tuple, optional
        The region where the function is defined and smooth, ``(low, high)`` for each operand; for tests.
    exact : str, optional
        The function as an expression of mpmath (``mp``), for tests of its accuracy.
    summary, slope_note : str, optional
        The function in words, and the convention where the derivative needs one; for documentation.

    Returns
    -------
    Primitive
        A function with one operand for each partial; shapes broadcast, types combine as for ``+``.

    Raises
    ------
    ValueError
        If the name is taken or is not an identifier, or a partial cannot be read.
    TypeError
        If the kernel cannot be called.

    Examples
    --------
    The Gaussian, with a derivative written in terms of the result:

    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import extend
    >>> bell = extend.elementwise("bell", lambda x: np.exp(-x * x), "-2 * x * out")
    >>> x = dg.Tensor([0.0, 1.0], dg.float64)
    >>> print(dg.grad(dg.grad(bell))(x))
    [-2.          0.73575888]
    """
    _check_name("extend.elementwise", name, summary)
    if not 1 <= len(partials) <= 3:
        raise ValueError(
            f"extend.elementwise: {name} has {len(partials)} partials; expected one for each of its "
            f"operands, of which there may be 1 to 3"
        )
    _check_partials(name, partials)
    if not isinstance(domain, tuple | None):
        raise TypeError(f"extend.elementwise: {name}: domain must be a tuple of pairs, got {described(domain)}")
    limits = domain or ((-np.inf, np.inf),) * len(partials)
    if not isinstance(limits[0], tuple):
        limits = (limits,)
    family = "constant" if all(partial is None for partial in partials) else "elementwise"
    row = Row(
        name, family, len(partials), partials=partials, domain=limits, summary=summary or name, slope_note=slope_note
    )
    opcode = add_elementwise(row, _kernel(name, kernel, len(partials)))
    return Primitive(row, opcode, False, "together", () if isinstance(kernel, _CFunction) else (kernel,))


def linear(
    name: str,
    kernel: Kernel,
    transpose: Rule,
    *,
    arity: int = 1,
    types: str = "together",
    core: Sequence[int] | Callable[..., Sequence[int]] | None = None,
    summary: str = "",
) -> Primitive:
    """Make a primitive that is linear in its first operand, from its kernel and its transpose.

    Parameters
    ----------
    name : str
        A name that no built-in primitive has.
    kernel : callable
        ``kernel(x, *others, **settings)``, of NumPy arrays, returns one array.
    transpose : callable
        ``transpose(cotangent, x, *others, **settings)``, of tensors, returns the cotangent of ``x``: the map A^T where
        the kernel is A. ``x`` gives its shape and type.
    arity : int, default 1
        Number of operands; all but the first are constants (indices, masks).
    types : {'together', 'apart'}, default 'together'
        'together' converts the operands to a common float type; 'apart' keeps them as they are.
    core : sequence of int or callable, optional
        For each operand, how many of its last axes one application works on, if the kernel broadcasts over all axes
        before them; see `primitive`.
    summary : str, optional
        The function in words.

    Returns
    -------
    Primitive

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import extend
    >>> backwards = extend.linear("backwards", lambda x: x[::-1].copy(), lambda ct, x: backwards(ct))
    >>> f = lambda x: (backwards(x) * x * x).sum()
    >>> print(dg.grad(f)(dg.Tensor([1.0, 2.0, 3.0])))
    [15. 12.  7.]
    """
    _check_callables("extend.linear", name, kernel=kernel, transpose=transpose)
    arity = whole_number("extend.linear", "arity", arity, 1)

    def pulled(cotangent: Tensor, out: Tensor, *operands: Tensor, **settings: Any) -> Any:
        return transpose(cotangent, *operands, **settings)

    return _add(
        "extend.linear", name, "linear", kernel, arity, None, (pulled,) + (None,) * (arity - 1), types, core, summary
    )


def bilinear(
    name: str,
    kernel: Kernel,
    transposes: Sequence[Rule],
    *,
    types: str = "together",
    core: Sequence[int] | Callable[..., Sequence[int]] | None = None,
    summary: str = "",
) -> Primitive:
    """Make a product, linear in each of two operands, from its kernel and its two transposes.

    Parameters
    ----------
    name : str
        A name that no built-in primitive has.
    kernel : callable
        ``kernel(x, y, **settings)``, of NumPy arrays, returns one array.
    transposes : sequence of two callables
        The first, ``(cotangent, x, y, **settings)``, returns the cotangent of ``x``, linear in ``y``; the second
        returns the cotangent of ``y``, linear in ``x``.
    types, core, summary
        As for `linear`.

    Returns
    -------
    Primitive

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import extend
    >>> convolve = extend.bilinear(
    ...     "circular_convolution",
    ...     lambda x, y: np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(y), len(x)),
    ...     (
    ...         lambda ct, x, y: convolve(ct, dg.ops.roll(dg.ops.flip(y, (0,)), 1, 0)),
    ...         lambda ct, x, y: convolve(ct, dg.ops.roll(dg.ops.flip(x, (0,)), 1, 0)),
    ...     ),
    ... )
    >>> x, y = dg.Tensor([1.0, 2.0, 0.0], dg.float64), dg.Tensor([1.0, 0.0, 3.0], dg.float64)
    >>> print(dg.grad(lambda x: convolve(x, y)[0] ** 2)(x).round(6))
    [14. 42.  0.]
    """
    if not isinstance(transposes, tuple | list):
        raise TypeError(f"extend.bilinear: transposes must be two functions, got {type(transposes).__name__}")
    if len(transposes) != 2:
        raise ValueError(f"extend.bilinear: {name} was given {_count(len(transposes), 'transpose')}; expected two")
    _check_callables("extend.bilinear", name, kernel=kernel, first=transposes[0], second=transposes[1])

    def without_out(transpose: Rule) -> Rule:
        return lambda cotangent, out, *operands, **settings: transpose(cotangent, *operands, **settings)

    pulled = tuple([without_out(transpose) for transpose in transposes])
    return _add("extend.bilinear", name, "bilinear", kernel, 2, None, pulled, types, core, summary)


def primitive(
    name: str,
    kernel: Kernel,
    *,
    jvp: Rule | Sequence[Rule | None] | None = None,
    vjp: Rule | Sequence[Rule | None] | None = None,
    residual: Rule | None = None,
    correction: Rule | None = None,
    arity: int = 1,
    types: str = "together",
    core: Sequence[int] | Callable[..., Sequence[int]] | None = None,
    summary: str = "",
) -> Primitive:
    """Make a primitive from its kernel and an exact rule for its derivative.

    One rule is enough: the derivative in forward mode (``jvp``), in reverse mode (``vjp``), or, for a function that
    solves an equation, the ``residual`` of that equation and its ``correction``. From ``jvp`` or the pair, dualgrad
    derives ``vjp`` by transposition, and ``jvp`` from ``vjp``; giving ``vjp`` as well saves that work. A rule that
    applies the primitive to an operand in which it is linear (a linear solve does) cannot be transposed: give ``vjp``
    with it. `dualgrad.testing.check` verifies that the rules agree.

    Parameters
    ----------
    name : str
        A name that no built-in primitive has.
    kernel : callable
        ``kernel(*arrays, **settings)``, of NumPy arrays, returns one array. A kernel joins several results (values and
        vectors of an eigenproblem) into one array, which slices take apart again.
    jvp : callable or sequence of callables
        For each operand ``rule(tangent, out, *operands, **settings)``, linear in the tangent, which returns the
        tangent of the result; None for derivative zero. Or one callable ``rule(tangents, out, *operands, **settings)``.
    vjp : callable or sequence of callables
        For each operand ``rule(cotangent, out, *operands, **settings)``, linear in the cotangent, which returns the
        cotangent of that operand; None for derivative zero. Or one callable that returns a tuple of them.
    residual : callable
        ``residual(out, *operands, **settings)``, zero where ``out`` is the result: ``b - a @ out`` for a linear solve.
    correction : callable
        ``correction(residual, out, *operands, **settings)``, linear in the residual: the change of ``out`` that
        removes a small residual, ``solve(a, residual)`` for a linear solve. Taylor coefficients of any order then
        come from one residual each (Newton's method in the algebra).
    arity : int, default 1
        Number of operands.
    types : {'together', 'apart'}, default 'together'
        'together' converts the operands to a common float type; 'apart' keeps them as they are.
    core : sequence of int or callable, optional
        For each operand, how many of its last axes one application works on, if the kernel broadcasts over all axes
        before them, as the functions of ``numpy.linalg`` do: (2,) for ``inv``. Also a function of the settings that
        returns these numbers. A batch is then computed in one call; otherwise in one call for each sample. A ``jvp``
        may get such batches, too.
    summary : str, optional
        The function in words.

    Returns
    -------
    Primitive

    Raises
    ------
    ValueError
        If the name is taken or is not an identifier, no rule is given, or the numbers of rules and operands differ.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgrad as dg
    >>> from dualgrad import extend
    >>> invert = extend.primitive("invert", np.linalg.inv, jvp=(lambda dx, out, x: -(out @ dx @ out),), core=(2,))
    >>> x = dg.Tensor([[2.0, 1.0], [0.0, 4.0]], dg.float64)
    >>> print(dg.grad(lambda x: invert(x).sum())(x))
    [[-0.1875   -0.125   ]
     [-0.046875 -0.03125 ]]
    """
    if (residual is None) != (correction is None):
        raise ValueError(f"extend.primitive: {name} has only one of residual and correction; give both")
    if jvp is not None and residual is not None:
        raise ValueError(f"extend.primitive: {name} has both jvp and residual; one of them is enough")
    if jvp is None and vjp is None and residual is None:
        raise ValueError(
            f"extend.primitive: {name} has neither jvp nor vjp nor residual; give one, or define a function of "
            f"slope zero with extend.elementwise(name, kernel, None)"
        )
    arity = whole_number("extend.primitive", "arity", arity, -1)  # -1 is any number
    for label, rules in (("jvp", jvp), ("vjp", vjp)):
        if rules is None or callable(rules):
            continue
        if not isinstance(rules, tuple | list):
            raise TypeError(
                f"extend.primitive: {label} of {name} must be a function, or a tuple of one for each operand, got "
                f"{type(rules).__name__}"
            )
        if len(rules) != arity:
            raise ValueError(
                f"extend.primitive: {name} has {_count(arity, 'operand')} but {len(rules)} rules in {label}; "
                f"expected one for each operand (None for slope zero)"
            )
        _check_callables(
            "extend.primitive", name, **{f"{label}[{i}]": rule for i, rule in enumerate(rules) if rule is not None}
        )
    _check_callables("extend.primitive", name, kernel=kernel)
    return _add("extend.primitive", name, "rule", kernel, arity, jvp, vjp, types, core, summary, residual, correction)


def _add(
    where: str,
    name: str,
    family: str,
    kernel: Kernel,
    arity: int,
    jvp: Any,
    vjp: Any,
    types: str,
    core: Sequence[int] | Callable[..., Sequence[int]] | None,
    summary: str,
    residual: Rule | None = None,
    correction: Rule | None = None,
) -> Primitive:
    _check_name(where, name, summary)
    if not one_of(types, ("together", "apart")):
        raise ValueError(f"{where}: {name}: types is {types!r}; expected 'together' or 'apart'")
    if not isinstance(core, tuple | list | None) and not callable(core):
        raise TypeError(f"{where}: {name}: core must be a tuple or a function, got {described(core)}")
    if core is not None and not callable(core) and len(core) != arity:
        raise ValueError(f"{where}: {name}: core has {len(core)} entries; expected one for each of {arity} operands")
    row = Row(name, family, arity, result="any", summary=summary or name)
    jvp, vjp = (rule if rule is None or callable(rule) else tuple(rule) for rule in (jvp, vjp))
    opcode = add_rule(
        row, kernel, jvp, vjp, residual, correction, core if core is None or callable(core) else tuple(core)
    )
    return Primitive(row, opcode, True, types, (kernel, jvp, vjp, residual, correction))


def _check_name(where: str, name: str, summary: Any) -> None:
    if not isinstance(summary, str):
        raise TypeError(f"{where}: summary must be a str, got {described(summary)}")
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"{where}: {name!r} is no name; expected letters, digits and _")
    if name in BY_NAME or name in CONSTANTS or name in ("x", "y", "z", "out"):
        raise ValueError(f"{where}: the name {name} is taken by dualgrad; choose another")


def _check_callables(where: str, name: str, **functions: Any) -> None:
    for what, function in functions.items():
        if not callable(function):
            raise TypeError(f"{where}: {name}: {what} is a {type(function).__name__}; expected a function")


def _kernel(name: str, kernel: Any, arity: int) -> Any:
    """Convert a kernel to the engine's form: a ufunc, the address of a C function, or a function of arrays."""
    if isinstance(kernel, np.ufunc):
        if (kernel.nin, kernel.nout) != (arity, 1):
            raise ValueError(
                f"extend.elementwise: {name} has {_count(arity, 'partial')}, but its kernel {kernel} takes "
                f"{_count(kernel.nin, 'operand')} and returns {kernel.nout}"
            )
        return kernel
    if isinstance(kernel, _CFunction):
        real = kernel.restype
        if real not in (ctypes.c_double, ctypes.c_float) or list(kernel.argtypes or ()) != [real] * arity:
            raise TypeError(
                f"extend.elementwise: {name}: the C function takes {kernel.argtypes} and returns {real}; "
                f"expected argtypes and restype set to c_double (or c_float) for {_count(arity, 'operand')}"
            )
        _KEPT.append(kernel)
        return ctypes.cast(kernel, ctypes.c_void_p).value, real is ctypes.c_double
    if not callable(kernel):
        raise TypeError(
            f"extend.elementwise: {name}: the kernel is a {type(kernel).__name__}; expected a NumPy ufunc, a "
            f"function of arrays or a ctypes function"
        )
    return kernel


_KEPT: list[Any] = []  # keeps C functions alive: the table holds only their addresses


def _check_partials(name: str, partials: tuple[str | None, ...]) -> None:
    """Read every partial once, so that a mistake raises here and not at the first gradient."""
    arities = {row.name: row.arity for row in table() if row.partials} | {name: len(partials), "where": 3}
    for i, partial in enumerate(partials):
        if partial is not None:
            check_partial(f"extend.elementwise: {name}: partial {i}", partial, "xyz"[: len(partials)], arities)
