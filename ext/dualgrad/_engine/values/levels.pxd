# Levels, dual values, and the one way to apply a primitive. See levels.pyx.
from cpython.object cimport PyObject
from ..arrays.array cimport ARRAY, Array, Value, same_shape
from ..arrays.thread cimport thread_state


cdef class Claim:
    cdef bint open
    cdef list outer                     # claims of the levels that this level depends on
    cdef bint stands(self)


cdef class Level:
    cdef readonly long long serial      # later levels have larger numbers
    cdef readonly str name              # the transform that opened it, for messages
    cdef public bint open
    cdef readonly bint reverse
    cdef bint watched                   # check derivatives for nan and inf, see watch.pyx
    cdef dict given                     # id of a parameter -> (its value, its replacement while this level is open)
    cdef unsigned long thread
    cdef Level outer                    # the level that was innermost when this one was opened
    cdef Claim own_claim
    cdef list lifting                   # primitives whose jvp is being evaluated in an algebra of this level
    cdef list stacks                    # for a forward transform: for each block the level of its batch, or None
    cdef object refused                 # text of the error for a refused exit (user code may have caught it): `refuse`
    cdef Claim claim(self)
    cdef bint depends_on_open(self)


cdef class BatchLevel(Level):
    cdef public Py_ssize_t size         # number of samples
    cdef Level tape                     # tape of the call, while it runs under a reverse level


cdef class Algebra:
    cdef readonly str name
    cdef readonly int dim               # number of blocks
    cdef readonly int channels          # number of basis elements
    cdef readonly tuple products        # (i, j, k, c): the product of blocks i and j contains c times block k
    cdef readonly tuple degrees
    cdef readonly tuple sizes           # basis elements in each block
    cdef readonly int top               # the highest degree
    cdef readonly bint graded           # True if degrees add up in every product
    cdef bint stacked                   # True if a block has several elements
    cdef object duality                 # representation of cotangents; see dual.pyx
    cdef list into                      # for each k: the products (i, j, c) that add to k
    cdef list of_degree                 # for each degree: the basis elements of that degree
    cdef dict truncations
    cdef Algebra truncated(self, int degree)


cdef class Dual(Value):
    cdef Level level
    cdef Algebra algebra
    cdef tuple parts                    # coefficients; parts[0] is the primal; None or missing means zero


cdef class Batch(Value):
    cdef BatchLevel level
    cdef Value value                    # its first axis is the mapped axis


cdef class Node(Value):
    cdef Level level                    # the tape that holds it
    cdef Value primal                   # an array, a dual or a batch, never a node
    cdef Py_ssize_t slot                # its slot on that tape


cdef Algebra DUAL_NUMBERS
cdef Node new_node(Level level, Value primal, Py_ssize_t slot)
cdef long long next_serial() noexcept
cdef long long last_serial() noexcept
cdef Level new_level(str name)
cdef BatchLevel new_batch_level(str name)

cdef inline Level current_level():
    """The innermost open level of this thread, or None."""
    cdef PyObject *level = thread_state().level
    return None if level is NULL else <Level>level

cdef int push_level(Level level) except -1
cdef int pop_level(Level level) except -1
cdef unsigned long this_thread() noexcept nogil
cdef object misuse(Level level)
cdef int show_leaving(object error) except -1
cdef int refuse(Level level, str what, str advice) except -1
cdef list refusals()
cdef int forget_refusals(list noted) except -1
cdef int settle(Level level) except -1
cdef object called_rule(object rule, tuple args, dict kwargs)

cdef Value bind(int op, object params, PyObject **args, int n)
cdef Value bind1(int op, object params, Value a)
cdef Value bind2(int op, object params, Value a, Value b)
cdef Value bind3(int op, object params, Value a, Value b, Value c)
cdef Value bind_list(int op, object params, list args)

cdef Array array_of(Value v)
cdef Array shaped_array(Value v, int *first)
cdef bint same_shapes(Value a, Value b) noexcept

cdef inline bint same_shape_of(Value a, Value b) noexcept:
    """True if two values have the same shape."""
    if a.kind == ARRAY and b.kind == ARRAY:
        return same_shape(<Array>a, <Array>b)
    return same_shapes(a, b)

cdef Py_ssize_t size_of(Value v) noexcept
cdef Value make_batch(BatchLevel level, Value v)
cdef Value constant_of(Value v)
cdef Dual new_dual(Level level, Algebra algebra, tuple parts)
cdef Value make_dual(Level level, Value primal, Value tangent)
cdef Value part(Value v, Level level, int k)
cdef long long serial_of(Value v) noexcept
cdef tuple shape_of(Value v)

cdef inline int type_of(Value v) noexcept:
    """The type number of the array behind a value."""
    return (<Array>v).typenum if v.kind == ARRAY else array_of(v).typenum

cdef int ndim_of(Value v) noexcept
