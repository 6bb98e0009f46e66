"""Levels, dual values and `bind`, the one way to apply a primitive.

Design
------
A transform opens a *level*: a token with a serial number that is never used again. Values belong to a level by
identity, so two perturbations can never be confused. `bind` chooses a rule by the kinds of the operands:

* all arrays: execute the primitive;
* a node among them: the rule of the reverse tape (nodes.pyx);
* else duals or batches: the rule of the highest level among them (rules.pyx, batch.pyx), which calls `bind` again,
  one level down.

Nodes are always outermost. The primal of a node is an array, a dual or a batch, never another node: a reverse level
works on values without outer reverse levels (its leaves keep the link). So one field access strips a node, and duals of
higher order are plain towers of duals over arrays.

A dual is an element of a small commutative algebra. Its coefficients, `parts`, are values of lower level; a part that
is None is zero and costs nothing. Coefficients are normalised (derivative / k!).

A batch is many values of one shape, one for each sample of a `vmap`. Its value has the batch axis first, which users do
not see: the shape of a batch is the shape of one sample.

The stack of open levels belongs to the thread. A level is open only during one synchronous call, so tasks of an event
loop cannot interleave inside it. A thread-local pointer costs a hundredth of a context variable. The stack is read only
where a parameter is read and where a level is opened or closed.
"""
cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdlib cimport free, malloc

from ..arrays.array cimport DG_DEBUG, ARRAY, BATCH, DUAL, HOOKS, LEAVING, NODE, Array, Value, count, shape_tuple
from ..arrays.thread cimport thread_state
from ..primitives.execute cimport execute, tracing
from ..primitives.opcodes cimport *
from ..primitives.watch cimport active_watch

from contextvars import ContextVar

cdef extern from "memory/pool.h":
    ctypedef struct dg_pool:
        int n
    object dg_pool_take(dg_pool *pool, PyTypeObject *type)
    void dg_pool_give(dg_pool *pool, PyTypeObject *type, PyObject *o) noexcept

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(PyObject *o) noexcept

cdef extern from "memory/shared.h":
    long long dg_add_shared(long long *counter, long long n) noexcept
    long long dg_read_shared(long long *counter) noexcept

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() nogil

cdef long long SERIAL = 0


cdef long long next_serial() noexcept:
    return dg_add_shared(&SERIAL, 1)


cdef long long last_serial() noexcept:
    return dg_read_shared(&SERIAL)


cdef unsigned long this_thread() noexcept nogil:
    return PyThread_get_thread_ident()


# --------------------------------------------------------------------------------------------------- levels

cdef class Claim:
    """The promise that derivatives may still pass through values of a level: while it or a level it depends on is open.

    Claims are separate from levels, because a closed tape remembers the levels it depends on. Those tapes hold the
    instruction that replaced the closed tape. If the closed tape also held them, neither would ever be freed.
    """

    cdef bint stands(self):
        cdef Claim claim
        if self.open:
            return True
        if self.outer is not None:
            for claim in self.outer:
                if claim.stands():
                    return True
        return False


cdef class Level:
    """One active transform."""

    def __cinit__(self):
        self.serial = next_serial()
        self.open = True
        self.thread = this_thread()
        self.watched = tracing() and active_watch() is not None
        if DG_DEBUG:
            count("Level", 1)

    def __dealloc__(self):
        if DG_DEBUG:
            count("Level", -1)

    cdef Claim claim(self):
        if self.own_claim is None:
            self.own_claim = Claim()
            self.own_claim.open = self.open
        return self.own_claim

    cdef bint depends_on_open(self):
        """True if an open level could still need a derivative of a value of this level."""
        return self.open or (self.own_claim is not None and self.own_claim.stands())

    def __repr__(self):
        return f"<level {self.serial} of {self.name}, {'open' if self.open else 'closed'}>"


cdef class BatchLevel(Level):
    """One active `vmap`."""


cdef BatchLevel new_batch_level(str name):
    """A level for a number of samples that is not known yet."""
    cdef BatchLevel level = BatchLevel.__new__(BatchLevel)
    level.name = name
    level.size = -1
    return level


cdef Level new_level(str name):
    """An open level that is not on the stack."""
    cdef Level level = Level.__new__(Level)
    level.name = name
    return level


cdef int push_level(Level level) except -1:
    level.outer = current_level()
    Py_INCREF(level)
    thread_state().level = <PyObject *>level
    return 0


cdef int pop_level(Level level) except -1:
    level.open = False
    if level.own_claim is not None:
        level.own_claim.open = False
    thread_state().level = NULL if level.outer is None else <PyObject *>level.outer
    level.outer = None
    Py_DECREF(level)
    return 0


def open_levels():
    """The open levels of this thread, innermost first."""
    cdef Level level = current_level()
    found = []
    while level is not None:
        found.append(level)
        level = level.outer
    return found


cdef object misuse(Level level):
    """The error for a value used on a wrong thread, or after its level was closed."""
    if level.open:
        text = (f"a value that {level.name} is differentiating was used on another thread than the one {level.name} "
                f"runs on, where its derivative would be lost")
        advice = f"pass plain tensors between threads, or call {level.name} inside the thread"
    else:
        text = (f"a value made inside {level.name} is used after that call has returned, while an outer derivative it "
                f"may depend on is still being taken")
        advice = ("return it from the function (has_aux=True) instead of storing it, or store "
                  "ops.stop_gradient(value)")
    refuse(level, text, advice)
    return RuntimeError(f"{text}; {advice}")


cdef int show_leaving(object error) except -1:
    """If NumPy raised an error because numbers would leave a derivative, raise the original error.

    NumPy reports any failure to set an element of an array as "a sequence".
    """
    if isinstance(error.__cause__, <object>HOOKS.objects[LEAVING]):
        raise error.__cause__ from None
    return 0


# ------------------------------------------------------------------------------------------------- refused exits
#
# A value that carries a derivative raises an error when asked for plain numbers, or used where it must not be. User
# code may catch that error and continue with a constant. Therefore the value's level is marked, and its transform
# raises when the function has returned. Only the innermost level is marked: the error would also occur without the
# outer levels, so their derivatives are right for what the program then does.

LEAVING_ALLOWED = ContextVar("dualgrad_leaving_allowed", default=False)     # inside `allow_leaving`
cdef dict UNSETTLED = {}            # thread -> text of a refusal in a running rule, for a level not on the stack


cdef int refuse(Level level, str what, str advice) except -1:
    """Record that a value of a level was refused. `what` and `advice` form the message if user code catches the
    error."""
    cdef Level each = current_level()
    if LEAVING_ALLOWED.get():
        return 0
    text = (f"{what}. That was refused and the error was caught, so the result would be wrong: {advice}. Where what "
            f"comes instead is meant, write it in a block `with dualgrad.allow_leaving():`")
    if type(level) is BatchLevel and (<BatchLevel>level).tape is not None:
        level = (<BatchLevel>level).tape
    if not level.open:                  # an outer open level may need the value: see `Claim`
        while each is not None:
            if each.own_claim is not None and leads_to(level.own_claim, each.own_claim):
                note_refused(each, text)
            each = each.outer
        return 0
    while each is not None and each is not level:
        each = each.outer
    if each is level or level.thread != this_thread():
        note_refused(level, text)
    else:
        UNSETTLED[this_thread()] = text
    return 0


cdef int note_refused(Level level, str text) except -1:
    with cython.critical_section(level):
        if level.refused is None:
            level.refused = text
    return 0


cdef list refusals():
    """The refusals noted so far on this thread, for `forget_refusals`."""
    cdef Level level = current_level()
    cdef list noted = [UNSETTLED.get(this_thread())]
    while level is not None:
        noted.append((level, level.refused))
        level = level.outer
    return noted


cdef int forget_refusals(list noted) except -1:
    """Forget later refusals: the code that caught their errors has no effect."""
    cdef Level level
    UNSETTLED.pop(this_thread(), None)
    if noted[0] is not None:
        UNSETTLED[this_thread()] = noted[0]
    for level, text in noted[1:]:
        with cython.critical_section(level):
            level.refused = text
    return 0


cdef bint leads_to(Claim claim, Claim other):
    """True if `claim` depends on `other`, directly or through other levels."""
    cdef Claim outer
    if claim is other:
        return True
    if claim is not None and claim.outer is not None:
        for outer in claim.outer:
            if leads_to(outer, other):
                return True
    return False


cdef int settle(Level level) except -1:
    """Raise if plain numbers of a level's value were refused and user code caught the error."""
    with cython.critical_section(level):
        text = level.refused
    if text is not None:
        raise (<object>HOOKS.objects[LEAVING])(text)
    return 0


cdef object called_rule(object rule, tuple args, dict kwargs):
    """Call a user's rule in a sweep. The levels of its arguments may not be on the stack. So if the rule catches the
    error for refused plain numbers, this function raises it again."""
    cdef unsigned long thread = this_thread()
    former = UNSETTLED.pop(thread, None) if UNSETTLED else None
    try:
        found = rule(*args, **kwargs)
        text = UNSETTLED.get(thread) if UNSETTLED else None
        if text is not None:
            raise (<object>HOOKS.objects[LEAVING])(text)
        return found
    finally:
        if UNSETTLED:
            UNSETTLED.pop(thread, None)
        if former is not None:
            UNSETTLED[thread] = former


# -------------------------------------------------------------------------------------------------- algebras

cdef class Algebra:
    """A finite-dimensional commutative local algebra: the degrees of a basis and the products of its elements.

    Basis element 0 is the unit and alone has degree 0. An entry (i, j, k, c) of `products` says that the product of
    basis elements i and j contains c times element k. Both orders are listed, products with the unit are not. In a
    graded algebra degrees add up. In one that is not (`graded=False`) they mean nothing; `top` is then the highest
    power of an element without unit part that may be nonzero.

    Elements with similar products can form one *block*, whose coefficients are one array with the elements along its
    first axis. `sizes` then has the number of elements in each block. If the product of a block with itself is a single
    element, the product sums over the block: e_i e_j = delta_ij c e_k.
    """

    def __init__(self, str name, degrees, products, sizes=None, bint graded=True, top=None):
        self.name = name
        self.degrees = tuple(degrees)
        self.dim = len(degrees)
        self.products = tuple(products)
        self.sizes = (1,) * self.dim if sizes is None else tuple(sizes)
        self.channels = sum(self.sizes)
        self.stacked = self.channels > self.dim
        self.graded = graded
        self.top = max(degrees) if top is None else top
        self.truncations = {}
        self.into = [[] for _ in degrees]
        self.of_degree = [[k for k in range(self.dim) if self.degrees[k] == d] for d in range(self.top + 1)]
        for i, j, k, c in products:
            (<list>self.into[k]).append((i, j, c))
        for i, j, k, _ in products:
            if graded and degrees[i] + degrees[j] != degrees[k]:
                raise ValueError(f"algebra {name}: the product of elements {i} and {j} does not have the degree of {k}")

    cdef Algebra truncated(self, int degree):
        """The quotient in which everything above a degree is zero. It keeps the unused higher channels."""
        cdef Algebra quotient
        if degree >= self.top:
            return self
        quotient = self.truncations.get(degree)
        if quotient is None:
            quotient = Algebra(f"{self.name} to degree {degree}", self.degrees,
                               [product for product in self.products if self.degrees[product[2]] <= degree],
                               self.sizes, self.graded)
            quotient.top = degree
            self.truncations[degree] = quotient
        return quotient

    def __repr__(self):
        return f"<algebra {self.name}, {self.channels} channels>"


cdef Algebra DUAL_NUMBERS = Algebra("R[e]/e^2", (0, 1), ())
cdef dict KINDS = {DUAL: "Dual", NODE: "Node", BATCH: "Batch"}      # names for counts in debug builds


cdef void born(Value v, unsigned char kind):
    v.kind = kind
    if DG_DEBUG:
        count(KINDS[kind], 1)


cdef void died(Value v):
    if DG_DEBUG:
        count(KINDS[v.kind], -1)


@cython.final
cdef class Dual(Value):
    """An element of an algebra over the values of lower level; see the module's design note."""

    def __cinit__(self):
        born(self, DUAL)

    def __dealloc__(self):
        died(self)

    @property
    def coefficients(self):
        return self.parts


@cython.final
cdef class Node(Value):
    """A place on a reverse tape; its rule is in nodes.pyx."""

    def __cinit__(self):
        born(self, NODE)

    def __dealloc__(self):
        died(self)


@cython.final
cdef class Batch(Value):
    """Many values of one shape; the rules are in batch.pyx."""

    def __cinit__(self):
        born(self, BATCH)

    def __dealloc__(self):
        died(self)


cdef dg_pool NODES


cdef Node new_node(Level level, Value primal, Py_ssize_t slot):
    """A node on a tape."""
    cdef Node node = <Node>dg_pool_take(&NODES, <PyTypeObject *>Node) if NODES.n > 0 else Node.__new__(Node)
    node.level = level
    node.primal = primal
    node.slot = slot
    return node


cdef void free_node(PyObject *self) noexcept:
    PyObject_GC_UnTrack(self)
    (<Node>self).level = None
    (<Node>self).primal = None
    dg_pool_give(&NODES, <PyTypeObject *>Node, self)


if not DG_DEBUG:                # debug builds count freed nodes in __dealloc__
    (<PyTypeObject *>Node).tp_dealloc = free_node


cdef Value make_batch(BatchLevel level, Value v):
    """The batch with its samples along the first axis of a value."""
    cdef Batch b = Batch.__new__(Batch)
    b.level = level
    b.value = v
    return b


cdef Dual new_dual(Level level, Algebra algebra, tuple parts):
    """The element of an algebra with these coefficients."""
    cdef Dual d = Dual.__new__(Dual)
    d.level = level
    d.algebra = algebra
    d.parts = parts
    return d


cdef Value make_dual(Level level, Value primal, Value tangent):
    """primal + e tangent; only the primal if the tangent is zero (None)."""
    return primal if tangent is None else new_dual(level, DUAL_NUMBERS, (primal, tangent))


cdef Value part(Value v, Level level, int k):
    """Coefficient k of a value at a level. A value of another level is a constant there."""
    cdef Dual d
    if v is None:
        return None
    if v.kind == DUAL:
        d = <Dual>v
        if d.level is level:
            return <Value>d.parts[k] if k < len(d.parts) else None
    return v if k == 0 else None


cdef long long serial_of(Value v) noexcept:
    """The serial number of the level of a dual or batch."""
    return (<Batch>v).level.serial if v.kind == BATCH else (<Dual>v).level.serial


# ------------------------------------------------------------------------------------------------------ bind

cdef Value bind(int op, object params, PyObject **args, int n):
    """Apply a primitive to values of any kind."""
    cdef int kinds = 0, i
    for i in range(n):
        kinds |= (<Value>args[i]).kind
    if kinds == ARRAY:
        return execute(op, params, args, n)
    if kinds & NODE:
        return HOOKS.node(op, params, args, n)
    return HOOKS.dual(op, params, args, n)


cdef Value bind1(int op, object params, Value a):
    cdef PyObject *args = <PyObject *>a
    if a.kind == ARRAY:
        return execute(op, params, &args, 1)
    return bind(op, params, &args, 1)


cdef Value bind2(int op, object params, Value a, Value b):
    cdef PyObject *args[2]
    args[0] = <PyObject *>a
    args[1] = <PyObject *>b
    return bind(op, params, args, 2)


cdef Value bind3(int op, object params, Value a, Value b, Value c):
    cdef PyObject *args[3]
    args[0] = <PyObject *>a
    args[1] = <PyObject *>b
    args[2] = <PyObject *>c
    return bind(op, params, args, 3)


cdef Value bind_list(int op, object params, list args):
    """`bind` for any number of operands; none of them may be None."""
    cdef PyObject *few[8]
    cdef int n = len(args), i
    cdef tuple held = tuple(args)
    if n <= 8:
        for i in range(n):
            few[i] = <PyObject *>held[i]
        return bind(op, params, few, n)
    return bind_many(op, params, held, n)


cdef Value bind_many(int op, object params, tuple held, int n):
    cdef PyObject **args = <PyObject **>malloc(n * sizeof(PyObject *))
    cdef int i
    if args is NULL:
        raise MemoryError()
    try:
        for i in range(n):
            args[i] = <PyObject *>held[i]
        return bind(op, params, args, n)
    finally:
        free(args)


# -------------------------------------------------------------------------------------------------- properties

cdef Array array_of(Value v):
    """The array behind a value: the primal without any level; samples of batches lie along leading axes."""
    while v.kind != ARRAY:
        if v.kind == NODE:
            v = (<Node>v).primal
        elif v.kind == DUAL:
            v = <Value>(<Dual>v).parts[0]
        else:
            v = (<Batch>v).value
    return <Array>v


cdef Array shaped_array(Value v, int *first):
    """The array behind a value. Its axes from `first` on are the axes of the value."""
    first[0] = 0
    while v.kind != ARRAY:
        if v.kind == NODE:
            v = (<Node>v).primal
        elif v.kind == DUAL:
            v = <Value>(<Dual>v).parts[0]
        else:
            v = (<Batch>v).value
            first[0] += 1
    return <Array>v


cdef Value constant_of(Value v):
    """The value without derivatives at any level; a batch stays a batch."""
    while v.kind != ARRAY:
        if v.kind == NODE:
            v = (<Node>v).primal
        elif v.kind == DUAL:
            v = <Value>(<Dual>v).parts[0]
        else:
            return make_batch((<Batch>v).level, constant_of((<Batch>v).value))
    return v


cdef int ndim_of(Value v) noexcept:
    cdef int first
    cdef Array a = shaped_array(v, &first)
    return a.ndim - first


cdef tuple shape_of(Value v):
    cdef int first
    cdef Array a = shaped_array(v, &first)
    return shape_tuple(a) if first == 0 else shape_tuple(a)[first:]


cdef Py_ssize_t size_of(Value v) noexcept:
    cdef int first, i
    cdef Array a = shaped_array(v, &first)
    cdef Py_ssize_t size = 1
    if first == 0:
        return a.size
    for i in range(first, a.ndim):
        size *= a.shape[i]
    return size


cdef bint same_shapes(Value a, Value b) noexcept:
    """`same_shape_of` of any two values."""
    cdef int first, second, i
    cdef Array x = shaped_array(a, &first)
    cdef Array y = shaped_array(b, &second)
    if x.ndim - first != y.ndim - second:
        return False
    for i in range(x.ndim - first):
        if x.shape[first + i] != y.shape[second + i]:
            return False
    return True
