"""Tensors: the operators of handles, and the type rules of operands.

Operands of different types are cast here, before a primitive is applied, so that each gradient has the type of its
operand. Python numbers take the type of the tensor beside them.
"""
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject

from ..arrays.array import np
from ..arrays.array cimport N_TYPES, Value, copy_of, is_complex, is_inexact, scalar
from ..arrays.thread cimport thread_state
from ..arrays.defaults cimport default_complex, default_float
from ..primitives.registry import opcodes
from ..primitives.opcodes cimport *
from ..primitives.registry cimport op_name, wants_float
from ..tape.closed_call cimport before_draw
from ..values.levels cimport bind1, bind2, bind_list, ndim_of, shape_of, type_of
from .handles import stop       # no-cython-lint: an entry point too
from .handles cimport (ARRAY_ALIAS, DTYPES, WEAK, Alias, Moment, TensorBase, array_operand, current_closed_call,
                       entering, entering_op, is_plain, layout_in, lies_in_rows, marked, note_operand, now, read,
                       value_of, wrap)
from .weak cimport WeakNumber

OPCODES = opcodes()                 # name -> opcode

cdef int UINT64 = np.dtype(np.uint64).num
cdef int[N_TYPES][N_TYPES] PROMOTED


def install_promotion(dict promotion):
    """Tell the engine how types combine."""
    for (a, b), c in promotion.items():
        PROMOTED[a][b] = c


cdef inline bint in_closed_call() noexcept:
    return thread_state().closed_call is not NULL


# ------------------------------------------------------------------------------------------------- type rules

cdef int scalar_type(int typenum, object number) except -1:
    """The common type of a tensor and a Python number."""
    if isinstance(number, bool):
        return typenum
    if isinstance(number, WeakNumber):
        number = (<WeakNumber>number).number
    if isinstance(number, int):
        return cnp.NPY_INT64 if typenum == cnp.NPY_BOOL else typenum
    if isinstance(number, float):
        return typenum if is_inexact(typenum) else default_float()
    if isinstance(number, complex):
        if is_complex(typenum):
            return typenum
        if is_inexact(typenum):
            return cnp.NPY_CDOUBLE if typenum == cnp.NPY_DOUBLE else cnp.NPY_CFLOAT
        return default_complex()
    raise TypeError(f"expected a number, got {type(number).__name__}")


cdef Value number_as(object number, int typenum):
    if isinstance(number, WeakNumber):
        entering_op(WEAK)
        return as_type((<WeakNumber>number).value, typenum)
    if in_closed_call():
        entering(number)
    if isinstance(number, complex):
        return copy_of(np.asarray(number).astype(cnp.PyArray_DescrFromType(typenum)))
    try:
        if is_inexact(typenum) and not is_complex(typenum):
            return scalar(typenum, number)
        return copy_of(np.asarray(number, dtype=cnp.PyArray_DescrFromType(typenum)))
    except TypeError as error:
        if type(error) is not TypeError or is_plain_number(number):
            raise
        raise TypeError(f"expected a number, got {type(number).__name__}") from None
    except OverflowError:
        raise OverflowError(f"the number {number} does not fit the tensor's type "
                            f"{cnp.PyArray_DescrFromType(typenum)}; convert the tensor first") from None


cdef Value as_type(Value v, int typenum):
    if type_of(v) == typenum:
        return v
    return bind1(OP_CAST, typenum, v)


cdef bint is_plain_number(object x):
    return isinstance(x, (int, float, complex, WeakNumber)) or isinstance(x, np.generic)


cdef bint is_array(object x) except -1:
    return isinstance(x, TensorBase) or isinstance(x, np.ndarray)


cdef object plain_number(object x):
    return x.item() if isinstance(x, np.generic) else x


COMPLEX_FORMS = {}          # opcode -> function of a complex tensor, if not analytic; filled from Python


cdef object apply_unary(int op, object x):
    cdef Value v = value_of(x)
    cdef int typenum = type_of(v)
    cdef bint noted = in_closed_call()
    cdef Moment before
    if noted:
        entering_op(op)
        note_operand(x)
    if is_complex(typenum):
        form = COMPLEX_FORMS.get(op)
        if form is not None:
            return form(wrap(v))
    if wants_float(op):
        if not is_inexact(typenum):
            v = as_type(v, default_float())
    if not noted:
        return wrap(bind1(op, None, v))
    before = now()
    return marked(bind1(op, None, v), before)


cdef inline Value operand_of(object x):
    """The value of a tensor or array; None for anything else."""
    if isinstance(x, TensorBase):
        return read(<TensorBase>x)
    return array_operand(x) if isinstance(x, np.ndarray) else None


cdef object apply_binary(int op, object x, object y):
    """A binary primitive on tensors, arrays and numbers; NotImplemented for anything else."""
    cdef Value a = operand_of(x), b
    cdef int ta, tb, common
    cdef bint noted
    cdef Moment before
    if a is None and not is_plain_number(x):
        return NotImplemented
    b = operand_of(y)
    if b is None and not is_plain_number(y):
        return NotImplemented
    if a is None and b is None:
        raise TypeError(f"{op_name(op)}: expected a Tensor among the operands, got two numbers {x!r} and {y!r}")
    if a is None:
        x = plain_number(x)
        common = scalar_type(type_of(b), x)
    elif b is None:
        y = plain_number(y)
        common = scalar_type(type_of(a), y)
    else:
        ta = type_of(a)
        tb = type_of(b)
        common = ta if ta == tb else PROMOTED[ta][tb]
        if is_inexact(common) and not is_inexact(ta) and not is_inexact(tb):
            if OP_GT <= op <= OP_NE:
                return wrap(compared(op, a, b))
            if OP_BITWISE_AND <= op <= OP_BITWISE_XOR:
                raise TypeError(f"{op_name(op)}: {DTYPES[ta]} and {DTYPES[tb]} have no integer type in common; cast "
                                f"one of them (x.astype(...))")
            if wants_float(op):
                common = default_float()
    if wants_float(op) and not is_inexact(common):
        common = default_float()
    noted = in_closed_call()
    if noted:
        entering_op(op)
        note_operand(x)
        note_operand(y)
    a = number_as(x, common) if a is None else as_type(a, common)
    b = number_as(y, common) if b is None else as_type(b, common)
    if not noted:
        return wrap(bind2(op, None, a, b))
    before = now()
    return marked(bind2(op, None, a, b), before)


cdef int mirrored(int op) noexcept:
    """The comparison that gives the same result for exchanged operands."""
    if op == OP_LT:
        return OP_GT
    if op == OP_GT:
        return OP_LT
    if op == OP_LE:
        return OP_GE
    return OP_LE if op == OP_GE else op


cdef Value compared(int op, Value a, Value b):
    """Compare UInt64 with a signed type, exactly: no common type holds all numbers of both."""
    cdef Value zero, found, negative
    if type_of(b) == UINT64:
        a, b, op = b, a, mirrored(op)
    zero = scalar(type_of(b), 0)
    negative = bind2(OP_LT, None, b, zero)
    found = bind2(op, None, a, as_type(bind2(OP_MAXIMUM, None, b, zero), UINT64))
    if op == OP_NE or op == OP_GT or op == OP_GE:
        return bind2(OP_LOGICAL_OR, None, found, negative)
    return bind2(OP_LOGICAL_AND, None, found, bind1(OP_LOGICAL_NOT, None, negative))


# (result, operands) -> the result as an array, if its elements are not in C order: ops/index/_views.py
LAID_OUT = []


cdef inline bint follows_numpy(object x) noexcept:
    """True for a tensor that follows NumPy's rules, and for a NumPy array."""
    if isinstance(x, TensorBase):
        return (<TensorBase>x).alias is not None and (<TensorBase>x).alias.array
    return cnp.PyArray_Check(x)


cpdef bint in_rows(object x) except -1:
    """True for an operand whose elements lie in memory one after another, in C order."""
    cdef Alias alias
    cdef Value v
    if isinstance(x, TensorBase):
        alias, v = (<TensorBase>x).alias, (<TensorBase>x).value
        if alias is None or (alias.layout is None and alias.source is None) or (v is not None and ndim_of(v) < 2):
            return True
        return lies_in_rows(layout_in(<TensorBase>x))
    return not cnp.PyArray_Check(x) or cnp.PyArray_IS_C_CONTIGUOUS(x)


cdef object of_operands(object r, object x, object y):
    """The result of an operator: an array if an operand is one. Without axes, NumPy makes numbers, not arrays."""
    if (follows_numpy(x) or follows_numpy(y)) and isinstance(r, TensorBase) and ndim_of((<TensorBase>r).value):
        (<TensorBase>r).alias = ARRAY_ALIAS
        if not in_rows(x) or not in_rows(y):
            LAID_OUT[0](r, (x, y))
    return r


cdef inline object binary(int op, object x, object y):
    """A binary operator; NotImplemented lets Python raise the TypeError."""
    return of_operands(apply_binary(op, x, y), x, y)


cdef object power(object x, object y):
    """x ** y. A number as exponent has its own primitive, with the derivative of the polynomial at 0."""
    cdef Value a
    cdef int typenum
    cdef Moment before
    if isinstance(x, TensorBase) and is_plain_number(y) and not isinstance(y, complex):
        y = (<WeakNumber>y).read() if isinstance(y, WeakNumber) else plain_number(y)
        a = read(<TensorBase>x)
        typenum = scalar_type(type_of(a), y)
        entering_op(OP_POWER)
        note_operand(x)
        entering(y)
        before = now()
        a = as_type(a, typenum)
        if isinstance(y, float) and y.is_integer() and abs(y) < 1e9:
            y = int(y)
        if isinstance(y, bool):
            y = int(y)
        if isinstance(y, int) and abs(y) > 1000000000:
            y = float(y)
        if y == 2:
            return marked(bind1(OP_SQUARE, None, a), before)
        if y == 1:
            return marked(bind1(OP_IDENTITY, None, a), before)
        return marked(bind1(OP_POWER, y, a), before)
    return apply_binary(OP_POW, x, y)


cdef Value matmul_values(Value a, Value b):
    """a @ b for operands with axes, by NumPy's rules."""
    cdef int na = ndim_of(a), nb = ndim_of(b)
    cdef Value r
    cdef tuple shape
    if na == 0 or nb == 0:
        raise ValueError(f"matmul: operands of shapes {shape_of(a)} and {shape_of(b)}; expected at least one axis "
                         f"each, use * for a number")
    if na == 1 and nb == 1 and shape_of(a) != shape_of(b) or (
            na == 1 and nb > 1 and shape_of(a)[0] != shape_of(b)[nb - 2]) or (
            nb == 1 and na > 1 and shape_of(a)[na - 1] != shape_of(b)[0]):
        raise ValueError(f"matmul: shapes {shape_of(a)} and {shape_of(b)} do not multiply; the last axis of the first "
                         f"must equal the last but one (or only) axis of the second")
    if na == 1:
        a = bind1(OP_RESHAPE, (1,) + shape_of(a), a)
    if nb == 1:
        b = bind1(OP_RESHAPE, shape_of(b) + (1,), b)
    r = bind2(OP_MATMUL, None, a, b)
    if na == 1 or nb == 1:
        shape = shape_of(r)
        nr = len(shape)
        if na == 1 and nb == 1:
            shape = shape[:nr - 2]
        elif na == 1:
            shape = shape[:nr - 2] + shape[nr - 1:]
        else:
            shape = shape[:nr - 1]
        r = bind1(OP_RESHAPE, shape, r)
    return r


# Products of a tensor with an operand that is neither a tensor nor an array, such as a sparse matrix. The functions
# take both operands, and return NotImplemented for operands that they do not know. Other modules add them.
OTHER_PRODUCTS = []


cdef object matmul(object x, object y, bint promotes):
    """The matrix product. Tensors of different types are cast to their common type; without `promotes`, refused."""
    cdef Value a, b
    cdef int ta, tb
    cdef Moment before
    if not is_array(x) or not is_array(y):
        for product in OTHER_PRODUCTS:
            r = product(x, y)
            if r is not NotImplemented:
                return r
        return NotImplemented
    a = value_of(x)
    b = value_of(y)
    ta = type_of(a)
    tb = type_of(b)
    entering_op(OP_MATMUL)
    note_operand(x)
    note_operand(y)
    before = now()
    if ta != tb:
        if not promotes and isinstance(x, TensorBase) and isinstance(y, TensorBase):
            raise TypeError(f"matmul: operands of types {DTYPES[ta]} and {DTYPES[tb]}; expected equal types, convert "
                            f"one of them with astype")
        a = as_type(a, PROMOTED[ta][tb])
        b = as_type(b, PROMOTED[ta][tb])
    return marked(matmul_values(a, b), before)


def is_new_array(r, tuple operands not None):
    """Make the result of a NumPy function an array. False if it may share elements with an operand, or may not be in C
    order; ops/index/_views.py then decides."""
    if not is_plain(r) or (<TensorBase>r).alias is not None:
        return False
    for x in operands:
        if x is r or not in_rows(x):
            return False
    if ndim_of((<TensorBase>r).value):
        (<TensorBase>r).alias = ARRAY_ALIAS
    return True


cdef object product_of(object r, object x, object y):
    """A matrix product: an array if an operand is one. NumPy's is in C order, except for stacks of matrices."""
    if (follows_numpy(x) or follows_numpy(y)) and isinstance(r, TensorBase) and ndim_of((<TensorBase>r).value):
        (<TensorBase>r).alias = ARRAY_ALIAS
        if ndim_of((<TensorBase>r).value) > 1 and not (in_rows(x) and in_rows(y)) and max(np.ndim(x), np.ndim(y)) > 2:
            LAID_OUT[1](r)
    return r


# -------------------------------------------------------------------------------------------------- entry points

def unary(int op, x):
    """Apply an elementwise primitive to a tensor."""
    return apply_unary(op, x)


cdef object refusal(str name, str expected, object x, object y):
    """The error for operands that a primitive does not take."""
    return TypeError(f"{name}: expected {expected}, got {type(x).__name__} and {type(y).__name__}")


def binary_op(int op, x, y):
    """Apply an elementwise primitive to two operands, at least one of them an array."""
    r = apply_binary(op, x, y)
    if r is NotImplemented:
        raise refusal(op_name(op), "Tensors, NumPy arrays or numbers", x, y)
    return r


def power_op(x, y):
    """x to the power y."""
    r = power(x, y)
    if r is NotImplemented:
        raise refusal("pow", "Tensors, NumPy arrays or numbers", x, y)
    return r


def matmul_op(x, y):
    """The matrix product."""
    r = matmul(x, y, False)
    if r is NotImplemented:
        raise refusal("matmul", "Tensors or NumPy arrays", x, y)
    return r


def apply(int op, params, *operands):
    """Apply a primitive to tensors whose types already fit it."""
    cdef Moment before
    cdef list values
    if not in_closed_call():
        if len(operands) == 1:
            return wrap(bind1(op, params, value_of(operands[0])))
        return wrap(bind_list(op, params, [value_of(x) for x in operands]))
    entering_op(op)
    entering(params)
    for x in operands:
        note_operand(x)
    values = [value_of(x) for x in operands]
    before = now()
    return marked(bind_list(op, params, values), before)


def common_type(*operands):
    """The common type number of tensors, arrays and numbers."""
    cdef int common = -1, integers = -1, t
    numbers = []
    for x in operands:
        if is_array(x):
            t = type_of(value_of(x))
            if is_inexact(t):
                common = t if common < 0 else PROMOTED[common][t]
            else:
                integers = t if integers < 0 else PROMOTED[integers][t]
        elif is_plain_number(x):
            numbers.append(plain_number(x))
        else:
            raise TypeError(f"expected Tensors, NumPy arrays or numbers, got {type(x).__name__}")
    if common < 0:
        common = integers  # a floating type overrides all integer types
    for number in numbers:
        common = scalar_type(cnp.NPY_BOOL if common < 0 else common, number)
    return common


def convert(x, int typenum):
    """A tensor of the given type from a tensor, array or number."""
    cdef Value v
    cdef Moment before
    entering_op(OP_CAST)
    note_operand(x)
    if is_array(x):
        v = value_of(x)
        before = now()
        return marked(as_type(v, typenum), before)
    return wrap(number_as(plain_number(x), typenum))


def inspect(TensorBase t not None, look):
    """The same tensor. Each execution calls `look` with its numbers as an array, and `look` may raise."""
    entering_op(OP_INSPECT)
    note_operand(t)
    return wrap(bind1(OP_INSPECT, look, read(t)))


def draw(source):
    """A tensor of the array that `source()` returns, called at each execution."""
    before_draw(current_closed_call())
    entering_op(OP_DRAW)
    return wrap(bind_list(OP_DRAW, source, []))


# ------------------------------------------------------------------------------------------------------ operators

cdef object negative(int op, TensorBase x):
    """A unary operator that takes all types."""
    cdef Value v = read(x)
    cdef Moment before
    entering_op(op)
    note_operand(x)
    before = now()
    return marked(bind1(op, None, v), before)


cdef class Operators(TensorBase):
    """A handle with operators; `dualgrad.Tensor` is its subclass."""

    def __add__(self, other):
        return binary(OP_ADD, self, other)

    def __radd__(self, other):
        return binary(OP_ADD, other, self)

    def __sub__(self, other):
        return binary(OP_SUB, self, other)

    def __rsub__(self, other):
        return binary(OP_SUB, other, self)

    def __mul__(self, other):
        return binary(OP_MUL, self, other)

    def __rmul__(self, other):
        return binary(OP_MUL, other, self)

    def __truediv__(self, other):
        return binary(OP_DIV, self, other)

    def __rtruediv__(self, other):
        return binary(OP_DIV, other, self)

    def __floordiv__(self, other):
        return binary(OP_FLOOR_DIVIDE, self, other)

    def __rfloordiv__(self, other):
        return binary(OP_FLOOR_DIVIDE, other, self)

    def __mod__(self, other):
        return binary(OP_MOD, self, other)

    def __rmod__(self, other):
        return binary(OP_MOD, other, self)

    def __pow__(self, other, modulus):
        if modulus is not None:
            return NotImplemented
        return of_operands(power(self, other), self, other)

    def __rpow__(self, other, modulus):
        return of_operands(power(other, self), other, self)

    def __matmul__(self, other):
        return product_of(matmul(self, other, True), self, other)

    def __rmatmul__(self, other):
        return product_of(matmul(other, self, True), other, self)

    # `t += x` makes a new tensor, but an array is written into.

    def __iadd__(self, other):
        return NotImplemented if self.alias is None else self._changed("+", other)

    def __isub__(self, other):
        return NotImplemented if self.alias is None else self._changed("-", other)

    def __imul__(self, other):
        return NotImplemented if self.alias is None else self._changed("*", other)

    def __itruediv__(self, other):
        return NotImplemented if self.alias is None else self._changed("/", other)

    def __ifloordiv__(self, other):
        return NotImplemented if self.alias is None else self._changed("//", other)

    def __imod__(self, other):
        return NotImplemented if self.alias is None else self._changed("%", other)

    def __ipow__(self, other, modulus):
        return NotImplemented if self.alias is None else self._changed("**", other)

    def __imatmul__(self, other):
        return NotImplemented if self.alias is None else self._changed("@", other)

    def __iand__(self, other):
        return NotImplemented if self.alias is None else self._changed("&", other)

    def __ior__(self, other):
        return NotImplemented if self.alias is None else self._changed("|", other)

    def __ixor__(self, other):
        return NotImplemented if self.alias is None else self._changed("^", other)

    def __ilshift__(self, other):
        return NotImplemented if self.alias is None else self._changed("<<", other)

    def __irshift__(self, other):
        return NotImplemented if self.alias is None else self._changed(">>", other)

    def __neg__(self):
        return of_operands(negative(OP_NEG, self), self, None)

    def __pos__(self):
        note_operand(self)
        return of_operands(wrap(read(self)), self, None)

    def __abs__(self):
        return of_operands(apply_unary(OP_ABS, self), self, None)

    def __and__(self, other):
        return binary(OP_BITWISE_AND, self, other)

    def __rand__(self, other):
        return binary(OP_BITWISE_AND, other, self)

    def __or__(self, other):
        return binary(OP_BITWISE_OR, self, other)

    def __ror__(self, other):
        return binary(OP_BITWISE_OR, other, self)

    def __xor__(self, other):
        return binary(OP_BITWISE_XOR, self, other)

    def __rxor__(self, other):
        return binary(OP_BITWISE_XOR, other, self)

    def __invert__(self):
        return of_operands(negative(OP_BITWISE_NOT, self), self, None)

    def __eq__(self, other):
        return binary(OP_EQ, self, other)

    def __ne__(self, other):
        return binary(OP_NE, self, other)

    def __lt__(self, other):
        return binary(OP_LT, self, other)

    def __le__(self, other):
        return binary(OP_LE, self, other)

    def __gt__(self, other):
        return binary(OP_GT, self, other)

    def __ge__(self, other):
        return binary(OP_GE, self, other)

    def __hash__(self):
        return <Py_hash_t>(<size_t><PyObject *>self >> 4)


# Operators has no fields of its own, so the deallocator of handles frees it. Cython's own would untrack and track it
# once more.
(<PyTypeObject *>Operators).tp_dealloc = (<PyTypeObject *>TensorBase).tp_dealloc


cdef class PrimitiveCall:
    """The base of primitive classes that take their operands directly, like ops.Mul."""
    cdef int op
    cdef int arity

    def __cinit__(self, *args, **kwargs):
        self.op = type(self)._opcode
        self.arity = type(self)._arity

    def __call__(self, *operands):
        if len(operands) != self.arity:
            raise TypeError(f"{type(self).__name__}: expected {self.arity} operand{'s' if self.arity > 1 else ''}, got "
                            f"{len(operands)}")
        if self.arity == 1:
            return apply_unary(self.op, operands[0])
        if self.op == OP_POW:
            return power_op(operands[0], operands[1])
        return binary_op(self.op, operands[0], operands[1])
