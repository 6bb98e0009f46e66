"""matmul: products of matrices, stacked over leading axes that broadcast."""
cimport numpy as cnp
from cpython.object cimport PyObject
from libc.string cimport memset

from ..arrays.array import np
from ..arrays.array cimport (ARRAY, BATCH, MAX_DIMS, N_TYPES, Array, Value, contiguous, is_inexact, new_array,
                             shape_tuple, to_ndarray)
from ..compiler.instructions cimport small_loop
from ..compiler.lowering cimport AS_CONTRACT, AS_GENERIC, AS_MATMUL, MANY, Lowering, matmul_loop
from ..compiler.views cimport View, inverse, permuted, product, turned, view
from ..primitives.elementwise cimport along_axes, strides_in
from ..primitives.opcodes cimport OP_BROADCAST_TO, OP_CONCAT, OP_MATMUL, OP_RESHAPE, OP_SLICE, OP_SUM, OP_TRANSPOSE
from ..primitives.registry cimport Loop, define, no_loop, np_name, numpy_loop
from ..primitives.forms cimport is_float
from ..values.batch cimport first_along, is_batched, leave, padded
from ..values.dual cimport functional_of_product
from ..values.families cimport Bilinear, functional_of_vjp
from ..values.levels cimport (Algebra, Batch, BatchLevel, Level, bind1, bind2, bind_list, make_batch, ndim_of, shape_of,
                              type_of)
from ..values.rules cimport to_shape_of

cdef extern from "memory/shared.h":
    bint dg_flag(bint *flag) noexcept

cnp.import_array()

cdef enum:
    FEW_ROWS = 64                   # at most this many rows: a product of matrices costs more than joining its operands

cdef Loop[N_TYPES] MATMUL
memset(MATMUL, 0, sizeof(MATMUL))


cdef class MatMul(Bilinear):
    """Operands have at least two axes; leading axes broadcast."""

    def __cinit__(self):
        self.odd = self.reads_merged = True
        self.core = 2

    cdef Array execute(self, object params, PyObject **args, int n):
        cdef Array a = <Array>args[0]
        cdef Array b = <Array>args[1]
        cdef Array out
        cdef Loop *loop = &MATMUL[a.typenum]
        cdef Loop small
        cdef Py_ssize_t[MAX_DIMS] shape
        cdef int ndim
        self.form(params, args, n, &ndim, shape)
        if not dg_flag(&loop.known):
            numpy_loop(np.matmul, a.typenum, loop)
        if loop.fn is NULL:
            raise no_loop(OP_MATMUL, a.typenum)
        small.fn = small_loop(a.typenum, a.shape[a.ndim - 2], a.shape[a.ndim - 1], b.shape[b.ndim - 1])
        small.data = NULL
        small.asks = False
        if small.fn is not NULL:
            loop = &small
        else:
            a = a if suits_blas(a) else contiguous(a)
            b = b if suits_blas(b) else contiguous(b)
        out = new_array(a.typenum, ndim, shape)
        if out.size == 0:
            return out
        if a.shape[a.ndim - 1] == 0:
            memset(out.data, 0, out.size * out.itemsize)
            return out
        multiply(loop, a, b, out)
        return out

    cdef int form(self, object params, PyObject **args, int n, int *ndim, Py_ssize_t *shape) except -2:
        cdef Array a = <Array>args[0]
        cdef Array b = <Array>args[1]
        cdef int axes = max(a.ndim, b.ndim), j
        cdef Py_ssize_t p, q
        if a.typenum != b.typenum:
            raise TypeError(f"matmul: the operands have types {np_name(a)} and {np_name(b)}; expected equal types, "
                            f"convert one with astype")
        if a.shape[a.ndim - 1] != b.shape[b.ndim - 2]:
            raise ValueError(f"matmul: shapes {shape_tuple(a)} and {shape_tuple(b)} do not multiply; the last axis of "
                             f"the first ({a.shape[a.ndim - 1]}) must equal the last but one of the second "
                             f"({b.shape[b.ndim - 2]})")
        for j in range(axes - 2):
            p = 1 if j < axes - a.ndim else a.shape[j - (axes - a.ndim)]
            q = 1 if j < axes - b.ndim else b.shape[j - (axes - b.ndim)]
            if p != q and p != 1 and q != 1:
                raise ValueError(f"matmul: shapes {shape_tuple(a)} and {shape_tuple(b)} do not broadcast in their "
                                 f"leading axes")
            shape[j] = q if p == 1 else p
        shape[axes - 2] = a.shape[a.ndim - 2]
        shape[axes - 1] = b.shape[b.ndim - 1]
        ndim[0] = axes
        return a.typenum

    cdef bint can_wait(self, object params, PyObject **args, int n) except -1:
        return is_float((<Array>args[0]).typenum) and (<Array>args[0]).ndim >= 2 and (<Array>args[1]).ndim >= 2

    cdef Value vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct):
        """The cotangent for c = a @ b: ct @ b^T for a, a^T @ ct for b; each is summed over broadcast leading axes."""
        cdef Value a = <Value>ins[0], b = <Value>ins[1]
        if i == 0 and ndim_of(a) == 2 and ndim_of(b) > 2:       # one product over all columns, as below
            return bind2(OP_MATMUL, None, swapped(rows(swapped(ct))), rows(swapped(b)))
        if i == 0:
            return to_shape_of(bind2(OP_MATMUL, None, ct, swapped(b)), a)
        if ndim_of(b) == 2 and ndim_of(a) > 2:          # one product over all rows instead of one for each stack
            a = rows(a)
            ct = rows(ct)
        return to_shape_of(bind2(OP_MATMUL, None, swapped(a), ct), b)

    cdef Value functional_vjp(self, object params, PyObject **ins, int n, Value out, int i, Value ct, object level,
                              object algebra):
        cdef Level at = <Level>level
        cdef Algebra over = <Algebra>algebra
        cdef Value a = <Value>ins[0], b = <Value>ins[1]
        if not is_inexact(type_of(<Value>ins[i])):      # the operands would need the cotangent's dtype
            return functional_of_vjp(self, params, ins, n, out, i, ct, level, algebra)
        if i == 0:
            a = functional_of_product(at, over, OP_MATMUL, ct, swapped(b), True)
        else:
            if ndim_of(b) == 2 and ndim_of(a) > 2:
                a = rows(a)
                ct = rows(ct)
            a = functional_of_product(at, over, OP_MATMUL, swapped(a), ct, False)
        return None if a is None else to_shape_of(a, <Value>ins[i])

    cdef Value batched(self, object params, PyObject **args, int n, object level):
        return product_of_batches(<Value>args[0], <Value>args[1], <BatchLevel>level)

    cdef Value coupled(self, object params, Value a, Value b):
        return frugal_product(a, b)

    cdef Value contracted(self, object params, Value a, Value b, object level):
        """Multiply matrices of all samples in one product, which also sums over the samples."""
        cdef tuple p, q
        if ndim_of(a) != 2 or ndim_of(b) != 2:
            return bind1(OP_SUM, ((0,), False), leave(<BatchLevel>level, bind2(OP_MATMUL, params, a, b)))
        a = leave(<BatchLevel>level, a)
        b = leave(<BatchLevel>level, b)
        if a.kind == ARRAY and (<Array>a).strides[2] == 0 and (<Array>a).shape[2] > 1:      # see frugal_product
            a = first_along(a, 2, shape_of(a))
            b = bind1(OP_SUM, ((1,), True), b)
        p = shape_of(a)
        q = shape_of(b)
        a = bind1(OP_RESHAPE, (p[1], p[0] * p[2]), bind1(OP_TRANSPOSE, (1, 0, 2), a))
        return bind2(OP_MATMUL, None, a, bind1(OP_RESHAPE, (q[0] * q[1], q[2]), b))

    cdef bint coupled_together(self, list a, list b, list out) except -1:
        return rows_together(a, b, out)

    cdef object lowered(self, object params, list ins, int typenum, tuple shape, object lowering):
        return multiplied(<Lowering>lowering, <View>ins[0], <View>ins[1], typenum, shape)

    def reads(self, step, int k):
        """A row of the first operand and a column of the second; only nonzero elements of a constant factor count."""
        a, b = step.shapes[0], step.shapes[1]
        factor = step.numbers(1 - k, constant=True)
        if factor is not None and factor.ndim == 2 and len(step.shapes[k]) == 2 and not factor.all():
            i, j = np.nonzero(factor)
            mine, places = step.positions(k), step.places()
            if len(i) * mine.shape[k] <= step.most:         # (m, inner) @ factor, or factor @ (inner, n)
                targets = places[:, j] if k == 0 else places[i, :]
                sources = mine[:, i] if k == 0 else mine[j, :]
                return step.reads_nonempty(k, targets.ravel(), sources.ravel())
        # Without a constant factor, all of a row meets all of a column, and its dependences are gathered once.
        kept = (*a[:len(a) - 1], 1) if k == 0 else (*b[:len(b) - 2], 1, b[len(b) - 1])
        return step.blocks(k, kept, kept)

    def tokens(self, params, list ins, tuple shape):
        return np.matmul(ins[0], ins[1])

    def accumulated(self, walk, step, int k, list parts, list moving):
        return walk.refused()


define(MatMul(), "matmul")


# ------------------------------------------------------------------------------------------------------------ arrays

cdef bint suits_blas(Array a) noexcept:
    """True if one of the last two strides is the item size, as BLAS requires."""
    return a.strides[a.ndim - 1] == a.itemsize or a.strides[a.ndim - 2] == a.itemsize


cdef int multiply(Loop *loop, Array a, Array b, Array out) noexcept:
    """Multiply stacks of matrices with a loop that has the signature of NumPy's loops."""
    cdef Py_ssize_t[3][MAX_DIMS] strides
    cdef char *pointers[3]
    cdef cnp.npy_intp[4] dims
    cdef cnp.npy_intp[9] steps
    cdef int axes = out.ndim - 2, k
    dims[0] = 1
    dims[1] = a.shape[a.ndim - 2]
    dims[2] = a.shape[a.ndim - 1]
    dims[3] = b.shape[b.ndim - 1]
    steps[0] = steps[1] = steps[2] = 0
    steps[3] = a.strides[a.ndim - 2]
    steps[4] = a.strides[a.ndim - 1]
    steps[5] = b.strides[b.ndim - 2]
    steps[6] = b.strides[b.ndim - 1]
    steps[7] = out.strides[axes]
    steps[8] = out.strides[axes + 1]
    pointers[0] = a.data
    pointers[1] = b.data
    pointers[2] = out.data
    if axes == 0:
        with nogil:
            loop.fn(pointers, dims, steps, loop.data)
        return 0
    strides_in(a, out.ndim, axes, strides[0])
    strides_in(b, out.ndim, axes, strides[1])
    strides_in(out, out.ndim, axes, strides[2])
    dims[0] = out.shape[axes - 1]           # the loop itself walks the innermost leading axis
    for k in range(3):
        steps[k] = strides[k][axes - 1]
    with nogil:
        along_axes(loop, dims, steps, pointers, 3, axes - 1, out.shape, strides)
    return 0


# ------------------------------------------------------------------------------------------------------- derivatives

cdef Value swapped(Value v):
    """Exchange the last two axes."""
    cdef int ndim = ndim_of(v)
    if ndim == 2:
        return bind1(OP_TRANSPOSE, (1, 0), v)
    return bind1(OP_TRANSPOSE, tuple(range(ndim - 2)) + (ndim - 1, ndim - 2), v)


cdef Value rows(Value v):
    """Reshape a stack of matrices into one matrix with all their rows."""
    cdef tuple shape = shape_of(v)
    cdef int last = len(shape) - 1
    return bind1(OP_RESHAPE, (product(shape[:last]), shape[last]), v)


cdef Value frugal_product(Value a, Value b):
    """A product of matrices. If the first one repeats a single row or column (stride 0), multiply that only once.
    Directions that are equal at all points are such a matrix; their product with a layer needs one row."""
    cdef Value v = (<Batch>a).value if a.kind == BATCH else a
    cdef Array x
    cdef tuple shape, found
    cdef int ndim = ndim_of(a), lead
    if v.kind == ARRAY and ndim >= 2:
        x = <Array>v
        shape = shape_of(a)
        if x.strides[x.ndim - 2] == 0 and shape[ndim - 2] > 1:
            v = bind2(OP_MATMUL, None, first_along(a, ndim - 2, shape), b)
            found = shape_of(v)
            lead = len(found) - 2
            return bind1(OP_BROADCAST_TO, found[:lead] + (shape[ndim - 2],) + found[lead + 1:], v)
        if x.strides[x.ndim - 1] == 0 and shape[ndim - 1] > 1:
            return bind2(OP_MATMUL, None, first_along(a, ndim - 1, shape), bind1(OP_SUM, ((ndim_of(b) - 2,), True), b))
    return bind2(OP_MATMUL, None, a, b)


cdef bint rows_together(list a, list b, list out) except -1:
    """Multiply all channels by a constant matrix in one product, if they have few rows; else do nothing and return
    False."""
    cdef list moving = [], pieces = []
    cdef Py_ssize_t count, start = 0
    cdef Value v, x = <Value>a[0], piece
    cdef BatchLevel stack
    cdef int k
    if ndim_of(x) != 2 or (<Value>b[0]).kind != ARRAY or ndim_of(<Value>b[0]) != 2 \
            or any([c is not None for c in b[1:]]):
        return False
    count = shape_of(x)[0]
    if count > FEW_ROWS:
        return False
    for k in range(1, len(a)):
        if a[k] is not None:
            piece = rows_of_channel(<Value>a[k], count)
            if piece is None:
                return False
            moving.append(k)
            pieces.append(piece)
    if len(moving) < 2 or shape_of(x)[1] == 0 or count == 0:
        return False
    v = bind2(OP_MATMUL, None, bind_list(OP_CONCAT, 0, pieces), <Value>b[0])
    for k, piece in zip(moving, pieces):
        count = shape_of(piece)[0]
        x = bind1(OP_SLICE, ((start, count, 1), (0, shape_of(v)[1], 1)), v)
        start += count
        if (<Value>a[k]).kind == BATCH:
            stack = (<Batch>a[k]).level
            x = make_batch(stack, bind1(OP_RESHAPE, (stack.size, count // stack.size, shape_of(v)[1]), x))
        out[k] = x
    return True


cdef Value rows_of_channel(Value v, Py_ssize_t count):
    """A coefficient as one matrix; None if it is not an array or repeats one row (see frugal_product)."""
    cdef Array r
    if v.kind == BATCH:
        v = (<Batch>v).value
    if v.kind != ARRAY:
        return None
    r = <Array>v
    if r.strides[r.ndim - 2] == 0 and count > 1:
        return None
    return v if r.ndim == 2 else bind1(OP_RESHAPE, (r.size // r.shape[r.ndim - 1], r.shape[r.ndim - 1]), r)


# ----------------------------------------------------------------------------------------------------------- batches

cdef Value product_of_batches(Value a, Value b, BatchLevel level):
    """Multiply where at least one factor is batched. If the right factor is shared, or the left factor is shared and
    samples are columns, compute one product over all samples; else one per sample."""
    cdef int ndim = max(ndim_of(a), ndim_of(b)) - 2
    cdef tuple shape
    cdef Value r
    cdef int last
    if not is_batched(b, level) and ndim_of(b) == 2:
        r = (<Batch>a).value
        shape = shape_of(r)
        last = len(shape) - 1
        r = rows_times(bind1(OP_RESHAPE, (product(shape[:last]), shape[last]), r), b)
        return bind1(OP_RESHAPE, shape[:last] + (shape_of(b)[1],), r)
    if not is_batched(a, level) and ndim_of(a) == 2:
        r = (<Batch>b).value
        shape = shape_of(r)
        last = len(shape) - 1
        if shape[last] == 1:
            r = rows_times(bind1(OP_RESHAPE, (product(shape[:last - 1]), shape[last - 1]), r),
                           bind1(OP_TRANSPOSE, (1, 0), a))
            return bind1(OP_RESHAPE, shape[:last - 1] + (shape_of(a)[0], 1), r)
    return bind2(OP_MATMUL, None, padded(a, level, ndim, 2), padded(b, level, ndim, 2))


cdef Value rows_times(Value left, Value matrix):
    """`left` times a matrix. If `left` holds rows of the identity, the product is a slice of the matrix."""
    cdef tuple shape
    cdef Py_ssize_t first
    if left.kind != ARRAY or not (<Array>left).basis:
        return bind2(OP_MATMUL, None, left, matrix)
    shape = shape_of(matrix)
    if (<Array>left).shape[0] == shape[0]:
        return matrix
    first = to_ndarray(<Array>left)[0].argmax()
    return bind1(OP_SLICE, ((first, (<Array>left).shape[0], 1), (0, shape[1], 1)), matrix)


# ---------------------------------------------------------------------------------------------------------- programs

cdef View multiplied(Lowering low, View a, View b, int typenum, tuple shape):
    cdef tuple order = None
    cdef View p, q
    if matmul_loop(typenum).fn is not NULL and product(shape) and product(a.shape):
        if a.merges is not None and b.merges is None and len(b.shape) == 2 and a.shape[1] == a.merges.shape[2]:
            p = a.merges
            return low.another_shape(multiplied(low, p, b, typenum, p.shape[:2] + shape[1:]), shape)
        if (a.merges is not None or b.merges is not None) and len(a.shape) == 2 and len(b.shape) == 2:
            p, q = split_alike(a, b)
            if p is not None:
                if stacks_lie_outside(low, p) and stacks_lie_outside(low, q):
                    p, q = turned(p, (1, 0, 2)), turned(q, (1, 0, 2))
                return low.emit(AS_CONTRACT, OP_MATMUL, None, [p, q], typenum, shape)
    a = low.materialised(a)
    b = low.materialised(b)
    if len(a.shape) == 3 and len(b.shape) == 2 or len(a.shape) == 2 and len(b.shape) == 2:
        order = low.order(shape)
    if order == (1, 0) and len(a.shape) == 2:           # the transposed product
        a, b = turned(b, (1, 0)), turned(a, (1, 0))
    elif order == (1, 0, 2) and len(b.shape) == 2:      # stacks of the same row next to each other
        a = turned(a, order)
    else:
        order = tuple(range(len(shape)))
    if matmul_loop(typenum).fn is not NULL and multiplies(a, b):
        return turned(low.emit(AS_MATMUL, OP_MATMUL, None, [a, b], typenum, permuted(shape, order)), inverse(order))
    return low.emit(AS_GENERIC, OP_MATMUL, None, [a, b], typenum, shape)


cdef bint multiplies(View a, View b) except -1:
    """True if one call of the product's loop does it: at most one axis of stacks, and something to add up."""
    return (len(a.shape) <= 3 and len(b.shape) <= 3 and product(a.shape) > 0 and product(b.shape) > 0
            and not (len(b.shape) == 3 and len(a.shape) == 3 and a.shape[0] != b.shape[0]
                     and a.shape[0] != 1 and b.shape[0] != 1))


cdef bint stacks_lie_outside(Lowering low, View v):
    """True if the second axis of a factor, which the product also sums over, is better as rows. It must be long, and
    its stride in memory must be larger."""
    cdef Py_ssize_t rows = v.shape[0], stack = v.shape[1]
    return v.strides[1] > v.strides[0] and stack >= MANY and (stack == low.rows or rows != low.rows)


cdef tuple split_alike(View a, View b):
    """The factors of a matrix product with their contracted axis split into two, rows first, and their own axis last.
    (None, None) if they are not merged alike."""
    cdef View p = a.merges
    cdef View q = b.merges
    if p is not None and a.shape[0] == p.shape[0]:              # (m, stack, rows)
        p = turned(p, (2, 1, 0))
    elif p is not None:
        return None, None
    if q is not None and b.shape[1] == q.shape[2]:              # (stack, rows, n)
        q = turned(q, (1, 0, 2))
    elif q is not None:
        return None, None
    if p is None:
        p = view(a.buffer, a.offset, (q.shape[0], q.shape[1], a.shape[0]),
                 (a.strides[1], a.strides[1] * <Py_ssize_t>q.shape[0], a.strides[0]))
    if q is None:
        q = view(b.buffer, b.offset, (p.shape[0], p.shape[1], b.shape[1]),
                 (b.strides[0], b.strides[0] * <Py_ssize_t>p.shape[0], b.strides[1]))
    return (p, q) if p.shape[:2] == q.shape[:2] else (None, None)
