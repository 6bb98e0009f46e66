"""Instructions of matrix products, contractions and sums.

Design
------
A product is done row by row, over the rows (and then added up), or at once. The loop reads a factor in place where it
can handle the strides; otherwise the factor is copied. A sum without a loop of ours becomes a product with ones.
"""
from ..primitives.opcodes cimport OP_ABSORB_MUL, OP_MUL, OP_NEG
from .allocation cimport IN_BLOCK
from .emitter cimport Emitter
from .executor cimport *
from .instructions cimport Instruction, are_dots, product_loop
from .lowering cimport AS_CONTRACT, AS_LOOP, AS_SCALE, Operation
from .partition cimport FusedRegion
from .rewrites cimport SUM_BY_LOOP, SUM_BY_PRODUCT, SUM_BY_ROWS, note
from .views cimport View, broadcast_strides, is_packed, product, turned

cdef enum:
    FEW = 8                         # limit for a loop of ours that sums over later axes, else a product with ones
    WIDE = 32                       # least elements of a row for a loop of ours that adds up rows
    HALF_ROWS = 96                  # least rows of a product that is worth computing only by half
    LEAST_HALF = 16                 # and of one that is added up over its rows


cdef int emit_product(Emitter e, Operation o) except -1:
    """Append a matrix product, or a group of products fused into one."""
    cdef View a = <View>o.ins[0]
    cdef View b = <View>o.ins[1]
    cdef list mates = e.joined.mates.get(o)
    cdef bint added = e.partition.of[o.out.number].added
    e.products = e.products or not (added and are_dots(o.out.typenum, o.out.size))
    if mates is not None and o is not mates[0]:     # done together with the first one
        return 0
    if o.kind == AS_CONTRACT:
        return contraction(e, o, a, b)
    if added:
        return product_over_rows(e, o, a, b)
    return product_by_rows(e, o, a, b, mates) if e.rows else whole_product(e, o, a, b)


cdef int product_over_rows(Emitter e, Operation o, View a, View b) except -1:
    """Append (m, rows) times (rows, n), added up over the rows."""
    cdef Py_ssize_t item = o.out.item, m = a.shape[0], n = b.shape[1]
    cdef tuple sa = a.strides, sb = b.strides, pa, pb
    pa = e.place(a, a.strides[1])
    pb = e.place(b, b.strides[0])
    if item not in sa and m != 1:
        pa, sa = e.gathered(a, 1)
    if item not in sb and n != 1:
        pb, sb = e.gathered(b, 0)
    e.multiply_rows(o.out.typenum, item, m * n, [pa, pb, e.result(o.out)], [1, m, -1, n],
                    [0, 0, 0, sa[0], sa[1], sb[0], sb[1], n * item, item])
    return half_of_total(e, o, a, b)


cdef bint leaves_alone(Emitter e, Operation o):
    """True if all other results of the region stay inside of it, so that the region may run twice."""
    cdef Operation p
    for p in e.region.operations:
        if p is not o and (e.partition.of[p.out.number].added or e.allocation.of[p.out.number].base != IN_BLOCK):
            return False
    return True


cdef int half_of_total(Emitter e, Operation o, View a, View b) except -1:
    """Let a product over the rows compute half of itself, if it is symmetric: its left factor is the right factor with
    scaled rows. All other results must stay inside of the region, which may have to run twice."""
    cdef Instruction made = <Instruction>e.code[len(e.code) - 1]
    cdef dict makers = {}
    cdef Operation p
    if not made.own or made.code.kind != DG_MATMUL_ONTO or are_dots(o.out.typenum, o.out.size):
        return 0
    if e.capacity != e.block or <Py_ssize_t>a.shape[0] < LEAST_HALF or not leaves_alone(e, o):
        return 0
    for p in e.region.operations:
        makers[p.out] = p
    a = turned(a, (1, 0))
    while a.buffer in makers:
        p = <Operation>makers[a.buffer]
        if p.kind != AS_SCALE or a.shape != p.out.shape or a.offset != 0 or not is_packed(a):
            break
        a = <View>p.ins[0]
    if a.buffer is b.buffer and (a.offset, a.shape, a.strides) == (b.offset, b.shape, b.strides):
        made.half = a.shape[1]
        made.half_from = 0
    return 0


cdef int product_by_rows(Emitter e, Operation o, View a, View b, list mates) except -1:
    """Append a product row by row; each factor is either shared or has a matrix, or a vector, for each row."""
    cdef int na = len(a.shape), nb = len(b.shape)
    cdef Py_ssize_t item = o.out.item, stack = 1, m = a.shape[na - 2], k = a.shape[na - 1], n = b.shape[nb - 1]
    cdef tuple sa = a.strides, sb = b.strides, pa, pb, target
    cdef bint moves = na == 3 or nb == 2            # the left factor runs along the rows
    cdef Operation mate
    pa = e.place(a, a.strides[0] if moves else 0)
    if not walks(a, item):
        pa, sa = e.gathered(a, 0) if moves else e.kept(a)
    pb = e.place(b, b.strides[0] if nb == 3 else 0)
    if not walks(b, item):
        pb, sb = e.gathered(b, 0) if nb == 3 else e.kept(b)
    elif na == 2 and nb == 2 and sb[1] != item and product_loop(o.out.typenum, -1, k, n, sa[1]) is not NULL:
        pb, sb = e.kept(b)                          # our own loop would reorder its columns for each tile
    target = e.result(o.out)
    if mates is not None:
        for mate in mates[1:]:
            e.result(mate.out)
        stack = len(mates)
    if na == 2 and nb == 3:                         # a shared matrix times a matrix for each row
        dims = [-1, m, k, n]
        strides = [0, sb[0], m * n * item, sa[0], sa[1], sb[1], sb[2], n * item, item]
    elif na == 2:
        dims = [stack, -1, k, n]
        strides = [e.local_bytes(a.buffer) if stack > 1 else 0, 0, e.local_bytes(o.out) if stack > 1 else 0,
                   sa[0], sa[1], sb[0], sb[1], n * item, item]
    elif nb == 2 and sa[0] == sa[1] * m:
        dims, strides = [1, -m, k, n], [0, 0, 0, sa[1], sa[2], sb[0], sb[1], n * item, item]
    else:
        dims = [-1, m, k, n]
        strides = [sa[0], sb[0] if nb == 3 else 0, m * n * item, sa[1], sa[2], sb[nb - 2], sb[nb - 1], n * item, item]
    e.multiply(o.out.typenum, [pa, pb, target], dims, strides)
    return half_product(e, o, a, b)


cdef int half_product(Emitter e, Operation o, View a, View b) except -1:
    """Let a product by rows compute half of itself, if it equals its transpose and nothing in the region reads it. The
    other half is copied when all rows are done. All other results must stay inside of the region, which may have to run
    twice."""
    cdef Instruction made = <Instruction>e.code[len(e.code) - 1]
    cdef Py_ssize_t first
    cdef Operation p
    cdef View v
    if len(a.shape) != 2 or len(b.shape) != 2 or made.code.arg[2].row != made.code.strides[7] or e.capacity != e.block:
        return 0
    if a.shape[0] < HALF_ROWS or not made.own:
        return 0
    if not leaves_alone(e, o):
        return 0
    for p in e.region.operations:
        for v in p.ins:
            if v.buffer is o.out:
                return 0
    first = own_columns(e.region, a, b)
    if first >= 0:
        made.half = a.shape[0]
        made.half_from = first
    return 0


cdef Py_ssize_t own_columns(FusedRegion region, View a, View b) except -2:
    """The first column from which the columns of b are the rows of a, up to factors that all rows share; -1 if there is
    no such column, or it is not known."""
    cdef dict makers = {}
    cdef Operation p
    cdef View v
    cdef list alone
    cdef Py_ssize_t column
    for p in region.operations:
        makers[p.out] = p
    while a.buffer in makers:
        p = <Operation>makers[a.buffer]
        if a.shape != p.out.shape or a.offset != 0 or not is_packed(a) or p.kind != AS_LOOP or p.params is not None:
            return -1
        if p.op != OP_MUL and p.op != OP_ABSORB_MUL and p.op != OP_NEG:
            return -1
        alone = [v for v in p.ins if broadcast_strides(v, p.out.shape)[0] != 0]
        if len(alone) != 1 or (<View>alone[0]).shape != p.out.shape:
            return -1
        a = <View>alone[0]
    column = b.strides[1]
    if a.buffer is not b.buffer or a.strides != (column, b.strides[0]):
        return -1
    if column <= 0 or (a.offset - b.offset) % column:
        return -1
    column = (a.offset - b.offset) // column
    return column if 0 <= column <= <Py_ssize_t>b.shape[1] - <Py_ssize_t>a.shape[0] else -1


cdef int whole_product(Emitter e, Operation o, View a, View b) except -1:
    """Append a product of matrices, or of stacks of them, that is done at once."""
    cdef int na = len(a.shape), nb = len(b.shape)
    cdef Py_ssize_t item = o.out.item, stack = 1, m = a.shape[na - 2], k = a.shape[na - 1], n = b.shape[nb - 1]
    cdef tuple sa = a.strides, sb = b.strides, pa, pb
    pa = e.place(a, 0)
    if not walks(a, item):
        pa, sa = e.kept(a)
    pb = e.place(b, 0)
    if not walks(b, item):
        pb, sb = e.kept(b)
    if na == 3 or nb == 3:
        stack = max(<Py_ssize_t>a.shape[0] if na == 3 else 1, <Py_ssize_t>b.shape[0] if nb == 3 else 1)
    return e.multiply(o.out.typenum, [pa, pb, e.result(o.out)], [stack, m, k, n],
                      [sa[0] if na == 3 and a.shape[0] != 1 else 0, sb[0] if nb == 3 and b.shape[0] != 1 else 0,
                       m * n * item, sa[na - 2], sa[na - 1], sb[nb - 2], sb[nb - 1], n * item, item])


cdef int contraction(Emitter e, Operation o, View a, View b) except -1:
    """Append (rows, stack, m) times (rows, stack, n), added up over rows and stacks."""
    cdef Py_ssize_t item = o.out.item, stack = a.shape[1], m = a.shape[2], n = b.shape[2]
    cdef tuple sa, sb, pa, pb, target
    if e.rows and are_dots(o.out.typenum, m * n) and a.strides[1] == item and b.strides[1] == item:   # row by row
        return e.multiply_rows(o.out.typenum, item, m * n,
                               [e.place(a, a.strides[0]), e.place(b, b.strides[0]), e.result(o.out)], [-1, m, stack, n],
                               [a.strides[0], b.strides[0], 0, a.strides[2], item, item, b.strides[2], n * item, item])
    if e.rows:
        pa, sa = e.place(a, a.strides[0]), a.strides
        if not in_line(a):
            pa, sa = e.gathered(a, 0)
        pb, sb = e.place(b, b.strides[0]), b.strides
        if not in_line(b):
            pb, sb = e.gathered(b, 0)
    else:
        pa, sa = e.kept(a)
        pb, sb = e.kept(b)
    target = e.result(o.out)
    strides = [0, 0, 0, sa[2], sa[1], sb[1], sb[2], n * item, item]
    if e.rows:
        return e.multiply_rows(o.out.typenum, item, m * n, [pa, pb, target], [1, m, -stack, n], strides)
    return e.multiply(o.out.typenum, [pa, pb, target], [1, m, stack * <Py_ssize_t>a.shape[0], n], strides)


cdef int emit_sum(Emitter e, Operation o) except -1:
    cdef View v = <View>o.ins[0]
    cdef tuple shape = v.shape, target
    cdef Py_ssize_t item = o.out.item, w, outer, inner
    cdef list axes = list(o.params)
    cdef Instruction made
    place, step = e.operand(v, shape)
    target = e.result(o.out)
    if len(axes) == len(shape):
        note(SUM_BY_LOOP)
        if not e.rows:
            e.zero(target, 1, item)
        made = e.add(DG_SUM_ALL, [place, target], 0)
        made.code.step[1] = step
        made.code.width = e.width(shape)
        return made.totals(o.out.typenum)
    w = product([shape[a] for a in axes])
    inner = product(shape[<Py_ssize_t>axes[len(axes) - 1] + 1:])
    outer = product(shape[1 if e.rows else 0:<Py_ssize_t>axes[0]])
    if axes[0] != 0 and step == item and (inner <= FEW and (inner > 1 or w <= FEW)):
        note(SUM_BY_LOOP)
        made = e.add(DG_SUM_AXIS, [place, target], item)
        made.code.dims[1] = -outer if e.rows else outer
        made.code.dims[2] = w
        made.code.dims[3] = inner
        return made.totals(o.out.typenum)
    if axes[0] == 0 and e.rows and step == item and inner >= WIDE:
        note(SUM_BY_ROWS)
        made = e.add(DG_SUM_ROWS, [place, target], item)
        made.code.width = inner
        made.steps([item, item])
        return made.totals(o.out.typenum)
    note(SUM_BY_PRODUCT)
    return sum_by_product(e, o, place, step, target, w, inner, outer)


cdef int sum_by_product(Emitter e, Operation o, tuple place, Py_ssize_t step, tuple target, Py_ssize_t w,
                        Py_ssize_t inner, Py_ssize_t outer) except -1:
    """Append a sum over `w` numbers, each with `inner` numbers behind it, `outer` times, as a product with ones."""
    cdef Py_ssize_t item = o.out.item
    cdef bint first = <int>(<tuple>o.params)[0] == 0
    cdef int ones
    if inner == 1 and not first:                    # the last axes: times a vector of ones
        ones = e.ones.base(o.out.typenum, w)
        return e.multiply(o.out.typenum, [place, (ones, 0, 0, 0), target],
                          [1, -outer if e.rows else outer, w, 1],
                          [0, 0, 0, step * w, step, item, item, item, item])
    if not first:                                   # axes in the middle: a stack of products, ones times
        ones = e.ones.base(o.out.typenum, w)
        return e.multiply(o.out.typenum, [(ones, 0, 0, 0), place, target],
                          [-outer if e.rows else outer, 1, w, inner],
                          [0, step * w * inner, item * inner, item, item, step * inner, step, item * inner, item])
    if e.rows:                                      # the first axes: ones times
        ones = e.ones.base(o.out.typenum, e.capacity)
        return e.multiply_rows(o.out.typenum, item, inner, [(ones, 0, 0, 0), place, target], [1, 1, -1, inner],
                               [0, 0, 0, item, item, step * inner, step, item, item])
    ones = e.ones.base(o.out.typenum, w)
    return e.multiply(o.out.typenum, [(ones, 0, 0, 0), place, target], [1, 1, w, inner],
                      [0, 0, 0, item, item, step * inner, step, item * inner, item])


cdef bint in_line(View v):
    """True if a product can read the rows and stacks of a factor as one axis with a constant stride. Its numbers must
    be contiguous along that axis or along the last one."""
    cdef Py_ssize_t item = v.buffer.item, s = v.strides[1], t = v.strides[2]
    return (v.strides[0] == s * <Py_ssize_t>v.shape[1] and s >= item and t >= item
            and (s == item or t == item or v.shape[2] == 1))


cdef bint walks(View v, Py_ssize_t item):
    """True if a product can read the last two axes of a factor in place."""
    cdef int n = len(v.shape)
    s, t = v.strides[n - 2], v.strides[n - 1]
    return (s >= item and t >= item and (s == item or t == item)
            or v.shape[n - 1] == 1 and t > 0 and s > 0 and s % item == 0)
