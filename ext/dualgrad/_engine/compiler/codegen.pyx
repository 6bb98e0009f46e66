"""Code generation: the instructions of each operation, depending on its manner."""
from .emitter cimport Emitter, Ones, new_emitter
from .executor cimport *
from .instructions cimport Instruction, new_instruction
from .lowering cimport AS_CAST, AS_COPIES, AS_GATHER, AS_LOOP, AS_SCALE, AS_SCATTER, AS_SELECT, AS_SUM, Operation
from .partition cimport FusedRegion
from .allocation cimport Allocation
from .products cimport emit_product, emit_sum
from .rewrites cimport PERIODS, note
from .views cimport Buffer, View, broadcast_strides, packed, product


cdef int emit(Emitter e, Operation o) except -1:
    """Append the instructions of an operation."""
    cdef Py_ssize_t first = len(e.code)
    e.spent = []
    if o.kind == AS_LOOP or o.kind == AS_SELECT or o.kind == AS_CAST:
        emit_loop(e, o)
    elif o.kind == AS_SCALE:
        emit_scaled(e, o)
    elif o.kind == AS_COPIES:
        emit_copies(e, o)
    elif o.kind == AS_SUM:
        emit_sum(e, o)
    elif o.kind == AS_GATHER or o.kind == AS_SCATTER:
        emit_picks(e, o)
    else:
        emit_product(e, o)
    for nbytes, offset in e.spent:
        e.places.give(nbytes, offset)
    return e.bound(first, o)


cdef int emit_loop(Emitter e, Operation o) except -1:
    """Append an elementwise loop, a selection or a conversion."""
    cdef View v
    cdef tuple shape = o.out.shape
    cdef Py_ssize_t item = o.out.item, width = e.width(shape), period = 0, advance
    cdef int k, kind = DG_LOOP if o.kind == AS_LOOP else DG_CAST if o.kind == AS_CAST else DG_SELECT
    cdef Instruction made = new_instruction(kind, [], item)
    if o.kind != AS_SELECT and any([e.repeats(v, shape) for v in o.ins]):
        period = (LEAST + width - 1) // width
        note(PERIODS)
    for k, v in enumerate(o.ins):
        if period and e.repeats(v, shape):
            place, step = e.expand(v, broadcast_strides(v, shape), shape, period), v.buffer.item
            advance = 0
        else:
            place, step = e.operand(v, shape)
            advance = step * width
        made.operand(k, place)
        made.code.step[k] = step
        made.code.advance[k] = advance
    k = <int>len(o.ins)
    made.operand(k, e.result(o.out))
    made.code.n_in = k
    made.code.step[k] = item
    made.code.advance[k] = item * width
    made.code.width = width
    made.code.period = period
    made.calls(o.op, (<View>o.ins[0]).buffer.typenum, o.params)
    e.code.append(made)
    return 0


cdef int emit_scaled(Emitter e, Operation o) except -1:
    """Append a product of rows with numbers, one or several per row."""
    cdef View v
    cdef int k
    cdef list places = [e.place(v, broadcast_strides(v, o.out.shape)[0]) for v in o.ins]
    cdef Instruction made = e.add(DG_SCALE, places + [e.result(o.out)], o.out.item)
    made.code.width = e.width(o.out.shape)
    for k in range(len(o.params)):
        made.code.dims[k] = o.params[k]
    made.calls(o.op, o.out.typenum, o.params)
    return 0


cdef int emit_copies(Emitter e, Operation o) except -1:
    """Append copies of views into parts of the result; None stands for zeros in the rest."""
    cdef tuple target = e.result(o.out), to, source
    cdef Py_ssize_t row = e.partition.row_size(o.out), start, first
    cdef View v
    for part in o.params:
        if part is None:
            emit_zeros(e, o, target)
            continue
        offset, strides, v = part
        if e.margins.of[v.buffer.number].within == o.out.number:      # made there, so no copy is needed
            continue
        if not e.rows:
            to = (target[0], target[1] + offset, 0, 0)
            e.copy(e.place(v, 0), v.strides, to, strides, v.shape, o.out.item, False)
            continue
        start = offset // row               # row i of the result is row i - start of the view
        to = (target[0], target[1] + offset % row, target[2], target[3])
        source = e.place(v, v.strides[0])
        source = (source[0], source[1] - start * (source[2] + source[3]), source[2], source[3])
        first = len(e.code)
        e.copy(source, v.strides, to, strides, v.shape, o.out.item, False)
        e.limit(first, start, start + <Py_ssize_t>v.shape[0])
    return 0


cdef int emit_zeros(Emitter e, Operation o, tuple target) except -1:
    """Zero the elements that the single part of a copy leaves out. If the part has whole rows, zero only the other
    rows."""
    cdef Py_ssize_t start, stop, row, width
    cdef View v
    offset, _, v = o.params[1]
    width = e.width(o.out.shape)
    if e.rows and v.shape[1:] == o.out.shape[1:]:
        row = e.partition.row_size(o.out)
        start = offset // row
        stop = start + <Py_ssize_t>v.shape[0]
        if start > 0:
            e.zero(target, width, o.out.item, 0, start)
        if stop < <Py_ssize_t>o.out.shape[0]:
            e.zero(target, width, o.out.item, stop)
        return 0
    return e.zero(target, width, o.out.item)


cdef int emit_picks(Emitter e, Operation o) except -1:
    """Append a gather or a scatter."""
    cdef View v = <View>o.ins[0], index
    cdef bint gather = o.kind == AS_GATHER
    cdef Py_ssize_t item = o.out.item, step = item, stack = 1, count
    cdef int n = len(o.ins) - 1
    cdef Instruction made
    cdef tuple along = o.out.shape if gather else v.shape, picks, strides, target
    outer, whole = <tuple>o.params
    picks = along[outer:len(along) - (len(whole) - n - outer)]
    strides = v.strides if gather else packed(whole, item)     # of the indexed array
    if gather:
        place = e.place(v, v.strides[0] if outer else 0)
    else:
        place, step = e.operand(v, along)
    args = [place]
    steps = [step]
    for index in o.ins[1:]:
        place, step = (e.place(index, 0), index.buffer.item) if outer else e.operand(index, picks)
        args.append(place)
        steps.append(step)
    target = e.result(o.out)
    args.append(target)
    if not gather and not e.partition.of[o.out.number].added:
        e.zero(target, e.width(o.out.shape), item)
    count = product(picks)
    apart = [0, 0]                          # bytes between samples: of the indexed array, of the gathered elements
    if outer:
        stack = -1 if e.rows else along[0]
        apart = [strides[0], steps[0] * product(along[1:])]
    elif e.rows:
        count = -product(picks[1:])
    made = e.add(DG_GATHER if gather else DG_SCATTER_ADD, args, item)
    made.steps(steps)
    made.code.dims[0] = stack
    made.code.dims[1] = count
    made.code._from[0] = apart[0 if gather else 1]
    made.code.to[0] = apart[1 if gather else 0]
    made.picks(o.out.typenum, (<View>o.ins[1]).buffer.item == 8, product(whole[outer + n:]), whole[outer:outer + n],
               strides[outer:outer + n])
    return 0


cdef Emitter emitted(Allocation allocation, FusedRegion region, Py_ssize_t halo, Py_ssize_t block, Ones ones):
    """Make the instructions of a region for tiles of `block` rows."""
    cdef Emitter e = new_emitter(allocation, region, halo, block, ones)
    cdef dict last = {}
    cdef Operation o
    cdef Buffer buffer
    cdef View v
    cdef int i
    for i, o in enumerate(region.operations):
        for v in o.ins:
            last[e.margins.owner(v.buffer)] = i
    for i, o in enumerate(region.operations):
        emit(e, o)
        for v in o.ins:
            buffer = e.margins.owner(v.buffer)
            if last.get(buffer) == i and buffer in e.local:
                e.release(buffer)
                last.pop(buffer)
    return e
