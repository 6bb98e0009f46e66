"""Tensors: the handles users hold, their operators, and the type rules of operands.

Design
------
A Tensor is a handle on an immutable value, whatever its kind: inside a function that is being differentiated it holds
a node or a dual, and looks the same. Assignment (`t[i] = v`, `set_data`, an optimiser's step) rebinds the handle.

A parameter is by itself no value of any level. When a primitive reads it, every open level that differentiates it
adds its leaf, lowest level first.

Operands of different types are cast here, before a primitive is applied, so that gradients go back in the type of
each. Python numbers take the type of the tensor beside them.
"""
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF

import copyreg

import numpy as np


from ..arrays.array cimport (ARRAY, BATCH, CELL_CALLED, DUAL, HOOKS, N_TYPES, NODE, TRANSFORM_CALLED, Array, Value,
                             copy_of, from_ndarray, is_complex, is_inexact, scalar, shape_tuple, to_ndarray)
from ..arrays.thread cimport dg_thread, thread_state
from ..primitives.execute cimport Tracer, active_tracer, tracing
from ..primitives.registry import opcodes
from ..primitives.registry cimport op_name, wants_float
from ..primitives.opcodes cimport *
from ..tape.closed_call cimport Region, before_draw
from ..tape.tape cimport Tape
from ..values.levels cimport (Batch, BatchLevel, Dual, Level, Node, bind1, bind2, bind_list, constant_of, current_level,
                              last_serial, ndim_of, shape_of, shaped_array, size_of, type_of)
from ..primitives.watch cimport user_line

cdef extern from *:
    """
    static PyObject *dg_tp_new(PyTypeObject *type, PyObject *args) { return type->tp_new(type, args, NULL); }
    """
    object dg_tp_new(PyTypeObject *type, tuple args)

OPCODES = opcodes()                 # of each name

cdef long long LATER = (<long long>1 << 62)
cdef type TENSOR = None             # dualgrad.Tensor, once it exists
cdef int UINT64 = np.dtype(np.uint64).num
cdef dict DTYPES = {}               # type number -> dualgrad.dtype object
cdef int[N_TYPES][N_TYPES] PROMOTED
cdef tuple EMPTY = ()


def install(type tensor, dict dtypes, dict promotion):
    """Tell the engine the face's Tensor class, its types by number, and how types combine."""
    global TENSOR
    TENSOR = tensor
    DTYPES.update(dtypes)
    for (a, b), c in promotion.items():
        PROMOTED[a][b] = c


cdef object wrap(Value v):
    """A new Tensor on a value."""
    cdef TensorBase t = <TensorBase>dg_tp_new(<PyTypeObject *>TENSOR, EMPTY)
    t.value = v
    return t


cdef bint is_plain(object x) noexcept:
    """Whether something is a Tensor of no derived class, so that it has no attributes of its user's."""
    return type(x) is TENSOR


cdef inline Value held(TensorBase t):
    """The value of a tensor by itself."""
    if t.value is None:
        raise RuntimeError("a tensor is used before its __init__ has run; call super().__init__() first")
    return t.value


cdef inline Value current(TensorBase t):
    """The value of a tensor by itself; a recording learns where it comes from."""
    cdef Value v = held(t)
    if v.kind == ARRAY and tracing():
        return active_tracer().reference(t, <Array>v)
    return v


cdef Value base(TensorBase t):
    """The value of a tensor by itself, as the active region sees it."""
    cdef PyObject *region = thread_state().region
    if region is NULL or t.birth >= (<Region>region).level.serial:
        return current(t)
    return within(t, <Region>region)


cdef Value within(TensorBase t, Region region):
    """The value in a region of a handle that is older."""
    found = region.table.get(id(t))
    if found is not None:
        return <Value>found
    return region.capture(t, seen(t, region.outer, region.level.serial))


cdef Value seen(TensorBase t, Region region, long long before):
    """The value of a tensor in a region (None: outside of all) as the levels opened there before a time see it."""
    cdef Level level
    cdef Value v
    cdef list levels
    cdef long long after = -1
    if region is None or t.birth >= region.level.serial:
        v = current(t)
    else:
        v = within(t, region)
        after = region.level.serial
    if not t.parameter:
        return v
    level = current_level()
    if level is None:
        return v
    levels = []
    while level is not None:
        if (level.reverse and after < level.serial < before and (<Tape>level).wanted is not None
                and id(t) in (<Tape>level).wanted):
            levels.append(level)
        elif after < level.serial < before and level.given is not None and id(t) in level.given:
            original, substitute = level.given[id(t)]
            if original is t.value:
                v = <Value>substitute
                break
        level = level.outer
    for level in reversed(levels):
        v = (<Tape>level).parameter_leaf(t, v)
    return v


cdef Value read(TensorBase t):
    """The value of a tensor as the open levels see it."""
    cdef dg_thread *thread = thread_state()
    cdef Value v
    if thread.region is NULL and not t.parameter:
        v = held(t)
        if v.kind == ARRAY and thread.tracer is not NULL:
            return (<Tracer>thread.tracer).reference(t, <Array>v)
        return v
    return seen(t, current_region(), LATER)


cdef Region current_region():
    """The innermost active region of this thread, or None."""
    cdef PyObject *region = thread_state().region
    return None if region is NULL else <Region>region


cdef Region swap_region(Region region):
    """Make another region (None for none) the innermost one; returns the former."""
    cdef Region former = current_region()
    if region is not None:
        Py_INCREF(region)
    thread_state().region = NULL if region is None else <PyObject *>region
    if former is not None:
        Py_DECREF(former)
    return former


cdef Array number_of(Value v, str what):
    """The numbers of a value that is one number (or array) whatever the sample."""
    cdef int first
    cdef Array a = shaped_array(v, &first)
    if tracing() and a.trace == active_tracer().trace:
        active_tracer().asked(a, what)
    if first:
        raise ValueError(f"a tensor inside vmap stands for all samples at once, so Python cannot be given {what}, "
                         f"which may differ from sample to sample; use ops.where to choose by value, or take the "
                         f"numbers outside of vmap")
    return a


cdef Level carrier(Value v):
    """The level that the derivative of a value, or its samples, belong to; None for a constant."""
    cdef Level level
    if v.kind == NODE:
        level = (<Node>v).level
        return level if level.depends_on_open() else carrier((<Node>v).primal)
    if v.kind == DUAL:
        level = (<Dual>v).level
        if level.open:
            for part in (<Dual>v).parts[1:]:
                if part is not None:
                    return level
        return carrier(<Value>(<Dual>v).parts[0])
    return (<Batch>v).level if v.kind == BATCH else None


def carried(TensorBase t not None):
    """What plain numbers of a tensor would lose: the name of the transform, whether it is one of samples, and the
    user's line. None where they lose nothing."""
    cdef Level level = carrier(read(t))
    cdef Region region = current_region()
    if level is None:
        return None
    while region is not None:                   # a loop or a block: the transform is around it
        if level is region.level and level.outer is not None:
            level = level.outer
        region = region.outer
    return level.name, isinstance(level, BatchLevel), user_line()


cdef Value value_of(object x):
    """The value of a tensor or array; numbers are not accepted here."""
    if isinstance(x, TensorBase):
        return read(<TensorBase>x)
    if isinstance(x, np.ndarray):
        return from_ndarray(x)
    raise TypeError(f"expected a Tensor, got {type(x).__name__}; wrap it in dualgrad.Tensor(...)")


# ------------------------------------------------------------------------------------------------- type rules

cdef int scalar_type(int typenum, object number) except -1:
    """The type of a tensor with a Python number beside it."""
    if isinstance(number, bool):
        return typenum
    if isinstance(number, int):
        return cnp.NPY_INT64 if typenum == cnp.NPY_BOOL else typenum
    if isinstance(number, float):
        return typenum if is_inexact(typenum) else cnp.NPY_FLOAT
    if isinstance(number, complex):
        if is_complex(typenum):
            return typenum
        return cnp.NPY_CDOUBLE if typenum == cnp.NPY_DOUBLE else cnp.NPY_CFLOAT
    raise TypeError(f"expected a number, got {type(number).__name__}")


cdef Value number_as(object number, int typenum):
    if isinstance(number, complex):
        return copy_of(np.asarray(number).astype(cnp.PyArray_DescrFromType(typenum)))
    if is_inexact(typenum) and not is_complex(typenum):
        return scalar(typenum, number)
    try:
        return copy_of(np.asarray(number, dtype=cnp.PyArray_DescrFromType(typenum)))
    except OverflowError:
        raise OverflowError(f"the number {number} does not fit the tensor's type "
                            f"{cnp.PyArray_DescrFromType(typenum)}; convert the tensor first") from None


cdef Value as_type(Value v, int typenum):
    if type_of(v) == typenum:
        return v
    return bind1(OP_CAST, typenum, v)


cdef bint is_number(object x):
    return isinstance(x, (int, float, complex, np.generic))


cdef object plain_number(object x):
    return x.item() if isinstance(x, np.generic) else x


COMPLEX_FORMS = {}          # opcode -> function of a tensor, for what is not analytic: filled by the face


cdef Value apply_unary(int op, object x):
    cdef Value v = value_of(x)
    cdef int typenum = type_of(v)
    if is_complex(typenum):
        form = COMPLEX_FORMS.get(op)
        if form is not None:
            return read(<TensorBase>form(wrap(v)))
    if wants_float(op):
        if not is_inexact(typenum):
            v = as_type(v, cnp.NPY_FLOAT)
    return bind1(op, None, v)


cdef object apply_binary(int op, object x, object y):
    """A binary primitive on tensors, arrays and numbers; NotImplemented for anything else."""
    cdef Value a, b
    cdef int ta, tb, common
    if isinstance(x, TensorBase):
        a = read(<TensorBase>x)
    elif isinstance(x, np.ndarray):
        a = from_ndarray(x)
    elif is_number(x):
        a = None
    else:
        return NotImplemented
    if isinstance(y, TensorBase):
        b = read(<TensorBase>y)
    elif isinstance(y, np.ndarray):
        b = from_ndarray(y)
    elif is_number(y):
        b = None
    else:
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
                common = cnp.NPY_FLOAT
    if wants_float(op) and not is_inexact(common):
        common = cnp.NPY_FLOAT
    a = number_as(x, common) if a is None else as_type(a, common)
    b = number_as(y, common) if b is None else as_type(b, common)
    return wrap(bind2(op, None, a, b))


cdef int mirrored(int op) noexcept:
    """The comparison that says the same of exchanged operands."""
    if op == OP_LT:
        return OP_GT
    if op == OP_GT:
        return OP_LT
    if op == OP_LE:
        return OP_GE
    return OP_LE if op == OP_GE else op


cdef Value compared(int op, Value a, Value b):
    """UInt64 compared with a signed type, exactly: no type that both are cast to holds all numbers of both."""
    cdef Value zero, found, negative
    if type_of(b) == UINT64:
        a, b, op = b, a, mirrored(op)
    zero = scalar(type_of(b), 0)
    negative = bind2(OP_LT, None, b, zero)
    found = bind2(op, None, a, as_type(bind2(OP_MAXIMUM, None, b, zero), UINT64))
    if op == OP_NE or op == OP_GT or op == OP_GE:
        return bind2(OP_LOGICAL_OR, None, found, negative)
    return bind2(OP_LOGICAL_AND, None, found, bind1(OP_LOGICAL_NOT, None, negative))


cdef object binary(int op, object x, object y):
    """A binary operator; TypeError is left to Python."""
    return apply_binary(op, x, y)


cdef object power(object x, object y):
    """x ** y: a number as exponent is a primitive of its own, with the polynomial's slope at 0."""
    cdef Value a
    cdef int typenum
    if isinstance(x, TensorBase) and is_number(y) and not isinstance(y, complex):
        y = plain_number(y)
        a = read(<TensorBase>x)
        typenum = scalar_type(type_of(a), y)
        a = as_type(a, typenum)
        if isinstance(y, float) and y.is_integer() and abs(y) < 1e9:
            y = int(y)
        if isinstance(y, bool):
            y = int(y)
        if isinstance(y, int) and abs(y) > 1000000000:
            y = float(y)
        if y == 2:
            return wrap(bind1(OP_SQUARE, None, a))
        if y == 1:
            return wrap(bind1(OP_IDENTITY, None, a))
        return wrap(bind1(OP_POWER, y, a))
    return apply_binary(OP_POW, x, y)


cdef Value matmul_values(Value a, Value b):
    """a @ b for one axis and more, by NumPy's rules."""
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


# What multiplies a tensor with something that is neither a tensor nor an array, a sparse matrix say: functions of both
# operands, NotImplemented for what they do not know. Entered by the modules that know more.
OTHER_PRODUCTS = []


cdef object matmul(object x, object y):
    cdef Value a, b
    cdef int ta, tb
    if not isinstance(x, (TensorBase, np.ndarray)) or not isinstance(y, (TensorBase, np.ndarray)):
        for product in OTHER_PRODUCTS:
            r = product(x, y)
            if r is not NotImplemented:
                return r
        return NotImplemented
    a = value_of(x)
    b = value_of(y)
    ta = type_of(a)
    tb = type_of(b)
    if ta != tb:
        if isinstance(x, TensorBase) and isinstance(y, TensorBase):
            raise TypeError(f"matmul: operands of types {DTYPES[ta]} and {DTYPES[tb]}; expected equal types, convert "
                            f"one of them with astype")
        a = as_type(a, PROMOTED[ta][tb])
        b = as_type(b, PROMOTED[ta][tb])
    return wrap(matmul_values(a, b))


# -------------------------------------------------------------------------------------------------- entry points

def unary(int op, x):
    """Apply an elementwise primitive to a tensor."""
    return wrap(apply_unary(op, x))


def binary_op(int op, x, y):
    """Apply an elementwise primitive to two operands, one of them a tensor at least."""
    r = apply_binary(op, x, y)
    if r is NotImplemented:
        raise TypeError(f"{op_name(op)}: expected Tensors, NumPy arrays or numbers, got {type(x).__name__} and "
                        f"{type(y).__name__}")
    return r


def power_op(x, y):
    """x to the power y."""
    r = power(x, y)
    if r is NotImplemented:
        raise TypeError(f"pow: expected Tensors, NumPy arrays or numbers, got {type(x).__name__} and "
                        f"{type(y).__name__}")
    return r


def matmul_op(x, y):
    """The matrix product."""
    r = matmul(x, y)
    if r is NotImplemented:
        raise TypeError(f"matmul: expected Tensors or NumPy arrays, got {type(x).__name__} and {type(y).__name__}")
    return r


def apply(int op, params, *operands):
    """Apply a primitive to tensors whose types already fit it."""
    if len(operands) == 1:
        return wrap(bind1(op, params, value_of(operands[0])))
    return wrap(bind_list(op, params, [value_of(x) for x in operands]))


def common_type(*operands):
    """The type number of tensors, arrays and numbers together."""
    cdef int common = -1, integers = -1, t
    numbers = []
    for x in operands:
        if isinstance(x, (TensorBase, np.ndarray)):
            t = type_of(value_of(x))
            if is_inexact(t):
                common = t if common < 0 else PROMOTED[common][t]
            else:
                integers = t if integers < 0 else PROMOTED[integers][t]
        elif is_number(x):
            numbers.append(plain_number(x))
        else:
            raise TypeError(f"expected Tensors, NumPy arrays or numbers, got {type(x).__name__}")
    if common < 0:
        common = integers  # else a floating type beats them all, whatever they have in common
    for number in numbers:
        common = scalar_type(cnp.NPY_BOOL if common < 0 else common, number)
    return common


def convert(x, int typenum):
    """A tensor of the given type from a tensor, array or number."""
    if isinstance(x, (TensorBase, np.ndarray)):
        return wrap(as_type(value_of(x), typenum))
    return wrap(number_as(plain_number(x), typenum))


def inspect(TensorBase t not None, look):
    """The same tensor, its numbers looked at whenever this is executed: `look` gets them as an array, and may raise."""
    return wrap(bind1(OP_INSPECT, look, read(t)))


def draw(source):
    """A tensor of the array that `source()` returns, anew whenever this is executed."""
    before_draw(current_region())
    return wrap(bind_list(OP_DRAW, source, []))


def stop(TensorBase t not None):
    """The tensor's number as a constant of every level."""
    return wrap(constant_of(base(t)))


cdef object REBINDING = None        # called with handles that are about to get a new value


def watch_rebinding(look):
    """Have a function called with each handle that is about to get a new value; None for no such function. Returns the
    former one. Replayed programs do not call it: what they change is written in them."""
    global REBINDING
    former = REBINDING
    REBINDING = look
    return former


cdef int rebound(TensorBase t, Value v) except -1:
    """Give a handle a new value; one that is older than the active region keeps its own until the region is left."""
    cdef Region region = current_region()
    if region is not None and t.birth < region.level.serial:
        within(t, region)
        region.table[id(t)] = v
        region.effects[id(t)] = t
        return 0
    if REBINDING is not None:
        REBINDING(t)
    t.value = v
    if tracing():
        active_tracer().rebound(t)
    return 0


# -------------------------------------------------------------------------------------------------------- handles

cdef class TensorBase:
    """A handle on a value; `dualgrad.Tensor` is its subclass."""

    def __cinit__(self):
        self.birth = last_serial()

    # ---- made from data, and read back

    def _from_ndarray(self, array, bint copy):
        """Hold the contents of a NumPy array."""
        cdef Value v = copy_of(array) if copy else from_ndarray(array)
        if self.value is None:
            self.value = v
        else:
            rebound(self, v)

    def _hold(self, TensorBase other not None):
        """Hold what another tensor does, its derivative included. Numbers are copied: an array may share them."""
        cdef Value v = read(other)
        if v.kind == ARRAY and not tracing():
            v = copy_of(to_ndarray(<Array>v))
        if self.value is None:
            self.value = v
        else:
            rebound(self, v)

    def _rebind(self, TensorBase other not None):
        """Point this handle at another tensor's value."""
        rebound(self, read(other))

    def _detached(self):
        """A plain Tensor of the current number, a constant of every level."""
        return wrap(constant_of(base(self)))

    @property
    def _is_parameter(self):
        return self.parameter

    @_is_parameter.setter
    def _is_parameter(self, bint flag):
        self.parameter = flag

    @property
    def _birth(self):
        return self.birth

    @property
    def _level_serial(self):
        """The serial of the innermost transform whose level the value belongs to; 0 for plain arrays."""
        cdef Value v = held(self)
        if v.kind == NODE:
            return (<Node>v).level.serial
        if v.kind == BATCH:
            return (<Batch>v).level.serial
        return (<Dual>v).level.serial if v.kind == DUAL else 0

    def _numpy(self):
        """A read-only view of the number."""
        cdef Array a = number_of(base(self), "the numbers")
        if tracing():
            active_tracer().frozen(self, a)
        return to_ndarray(a)

    @property
    def shape(self):
        return shape_of(held(self))

    @property
    def dtype(self):
        return DTYPES[type_of(held(self))]

    @property
    def _typenum(self):
        return type_of(held(self))

    @property
    def ndim(self):
        return ndim_of(held(self))

    @property
    def size(self):
        return size_of(held(self))

    def __len__(self):
        if ndim_of(held(self)) == 0:
            raise TypeError("len() of a tensor without axes (shape ()); it is a single number")
        return shape_of(held(self))[0]

    def __bool__(self):
        cdef Array a = number_of(base(self), "the truth value")
        if tracing():
            active_tracer().frozen(self, a)
        if a.size != 1:
            raise ValueError(f"bool(): a tensor of shape {shape_tuple(a)} has no single truth value; use .any() or "
                             ".all()")
        return bool(to_ndarray(a).item())

    # ---- operators

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
        return power(self, other)

    def __rpow__(self, other, modulus):
        return power(other, self)

    def __matmul__(self, other):
        return matmul(self, other)

    def __rmatmul__(self, other):
        return matmul(other, self)

    def __neg__(self):
        return wrap(bind1(OP_NEG, None, read(self)))

    def __pos__(self):
        return wrap(read(self))

    def __abs__(self):
        return wrap(apply_unary(OP_ABS, self))

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
        return wrap(bind1(OP_BITWISE_NOT, None, read(self)))

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


cdef bint GRAPH_MODE = False


cdef bint outermost_in_graph_mode() noexcept:
    """Whether what is called now is to be recorded by itself."""
    return GRAPH_MODE and not tracing() and current_level() is None


cdef object transform_called(str name, fn, tuple settings, parameters, call, tuple args, dict kwargs):
    """Call what a transform of a function is called for, recorded. `settings` and `parameters` are all that decides,
    beside the function and the arguments, what is computed."""
    return (<object>HOOKS.objects[TRANSFORM_CALLED])(name, fn, settings, parameters, call, args, kwargs)


def set_graph_mode(bint on):
    """Whether outermost calls of Cells and gradient functions are recorded."""
    global GRAPH_MODE
    GRAPH_MODE = on


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
            return wrap(apply_unary(self.op, operands[0]))
        if self.op == OP_POW:
            return power_op(operands[0], operands[1])
        return binary_op(self.op, operands[0], operands[1])


cdef class CellCall:
    """The call of a Cell: its construct, without a Python frame in between."""

    def __call__(self, *args, **kwargs):
        if GRAPH_MODE or self.recorded or tracing():
            return (<object>HOOKS.objects[CELL_CALLED])(self, args, kwargs)
        construct = self.construct
        return construct(*args, **kwargs) if kwargs else construct(*args)

    def __reduce__(self):
        return self.__reduce_ex__(2)

    def __reduce_ex__(self, protocol):
        """A copy of a Cell that is recorded is recorded as well."""
        if self.recorded:
            return recorded_cell, (self.pure, type(self)), self.__getstate__()
        return copyreg.__newobj__, (type(self),), self.__getstate__()


def recorded_cell(bint pure, kind):
    """A new Cell whose calls are recorded, before its attributes are set."""
    cdef CellCall cell = kind.__new__(kind)
    cell.recorded = True
    cell.pure = pure
    return cell
