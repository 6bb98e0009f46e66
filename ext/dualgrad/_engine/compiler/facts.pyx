"""The result of each pass as plain data, for printed texts, for the specification, and for tests.

Design
------
The key of a buffer is its number; the key of an operation is the number of its result. So facts from several passes
about one thing share a key. Instructions are read back from the executor's memory, whatever the passes intended. Runs
and passes do not use these facts.
"""
from ..primitives.registry cimport op_name
from .allocation cimport Allocation, Located, Memory, Place, Total, new_located
from .code cimport Code, RegionCode
from .executor cimport *
from .horizontal_fusion cimport Joined
from .lowering cimport MANNERS, Operation
from .margins cimport Margin, Margins
from .orders cimport Lowered, Operations
from .partition cimport Making, Partition, FusedRegion
from .program cimport Program
from .vertical_fusion cimport Fused
from .views cimport Buffer, View, view_of


cdef dict facts_of(object made):
    """The result of a pass as plain data."""
    if isinstance(made, Program):
        return program_facts(<Program>made)
    if isinstance(made, Lowered):
        return {"orders": [operations_facts(order) for order in (<Lowered>made).orders]}
    if isinstance(made, Partition):
        return partition_facts(<Partition>made)
    if isinstance(made, Fused):
        return {"regions": [region_facts(region) for region in (<Fused>made).regions]}
    if isinstance(made, Margins):
        return margins_facts(<Margins>made)
    if isinstance(made, Joined):
        return joined_facts(<Joined>made)
    if isinstance(made, Allocation):
        return allocation_facts(<Allocation>made)
    return code_facts(<Code?>made)


cdef dict program_facts(Program p):
    slots = [{"kind": ("input", "handle", "constant", "step")[kind], "typenum": typenum, "shape": shape}
             for kind, typenum, shape in zip(p.kinds, p.typenums, p.shapes)]
    steps = [{"op": op, "name": op_name(op), "params": params, "ins": ins, "out": out}
             for op, params, ins, out in p.steps]
    return {"slots": slots, "steps": steps, "results": [*p.outputs, *[slot for _, slot in p.effects]]}


cdef dict view_facts(View v):
    return {"buffer": v.buffer.number, "offset": v.offset, "shape": v.shape, "strides": v.strides,
            "merges": None if v.merges is None else view_facts(v.merges)}


cdef dict operation_facts(Operation o):
    params = o.params
    if MANNERS[o.kind] == "copies":
        params = [None if part is None else (part[0], part[1], view_facts(part[2])) for part in params]
    return {"out": o.out.number, "op": o.op, "name": op_name(o.op), "manner": MANNERS[o.kind], "params": params,
            "ins": [view_facts(v) for v in o.ins]}


cdef dict operations_facts(Operations order):
    cdef Buffer r
    buffers = [{"typenum": r.typenum, "item": r.item, "shape": r.shape, "size": r.size,
                "source": None if r.source is None else r.source[0]} for r in order.buffers]
    return {"rows": order.rows, "buffers": buffers, "operations": [operation_facts(o) for o in order.operations],
            "results": [view_facts(v) for v in order.results]}


cdef dict region_facts(FusedRegion region):
    return {"number": region.number, "rows": region.rows,
            "operations": [operation_facts(o) for o in region.operations]}


cdef dict partition_facts(Partition p):
    cdef FusedRegion region
    cdef Operation o
    cdef Making *made
    cdef int i
    makings = []
    for i in range(len(p.lowered.buffers)):
        made = &p.of[i]
        makings.append({"region": made.region, "rows": bool(made.rows), "added": bool(made.added),
                        "outside": bool(made.outside), "last": made.last, "reach": made.reach})
    return {"axes_first": p.lowered.rows, "makings": makings,
            "regions": [{"number": region.number, "rows": region.rows,
                         "operations": [o.out.number for o in region.operations]} for region in p.regions]}


cdef dict margins_facts(Margins m):
    cdef Margin *one
    cdef FusedRegion region
    cdef Operation o
    cdef Buffer buffer
    cdef int i
    margins = []
    for i in range(len(m.fused.partition.lowered.buffers)):
        one = &m.of[i]
        margins.append({"before": one.before, "after": one.after, "within": one.within, "start": one.start})
    looks = [(o.out.number, buffer.number, shift) for region in m.fused.regions if region.rows is not None
             for o in region.operations for buffer, shift in m.fused.partition.shifts(o, region)]
    return {"margins": margins, "halos": list(m.halos), "looks": looks}


cdef dict joined_facts(Joined j):
    cdef Operation o
    together = {id(group): [o.out.number for o in group] for group in j.mates.values()}
    beside = {id(group): [(<Buffer>r).number for r in group] for group in j.groups.values()}
    return {"regions": [region_facts(region) for region in j.regions], "together": list(together.values()),
            "beside": list(beside.values())}


cdef dict allocation_facts(Allocation a):
    cdef Place *place
    cdef Memory m
    cdef Total total
    cdef int i
    places = []
    for i in range(len(a.partition.lowered.buffers)):
        place = &a.of[i]
        places.append({"base": place.base, "offset": place.offset, "total": place.total})
    return {"places": places, "arena": a.arena, "total_bytes": list(a.total_bytes),
            "memories": [{"buffer": (<Buffer>m.identity).number, "base": m.base, "kind": m.kind} for m in a.memories],
            "totals": [[total.buffer.number for total in totals] for totals in a.totals]}


cdef tuple stream_data(dg_stream *stream):
    return stream.base, stream.offset, stream.row, stream.low, stream.high


cdef dict code_facts(Code code):
    cdef Memory m
    cdef Located at
    cdef RegionCode region
    cdef int i
    regions = []
    for region in code.regions:
        data = region_data(region)
        data["streams"] = [stream_data(&region.ahead.at[i]) for i in range(region.ahead.count)]
        regions.append(data)
    return {"memories": [memory_data(m) for m in code.memories], "results": [view_data(at) for at in code.results],
            "regions": regions, "arena": code.arena, "block_bytes": code.block_bytes, "total_bytes": code.total_bytes}


# ------------------------------------------------------------------------------------------------- code, read back

cdef dict memory_data(Memory m):
    cdef Buffer r = <Buffer>m.identity
    return {"id": id(r), "base": m.base, "typenum": m.typenum, "item": r.item, "shape": m.shape, "source": m.kind,
            "which": m.which}


cdef dict view_data(Located at):
    cdef View v = at.view
    return {"id": id(v.buffer), "base": at.base, "offset": at.offset, "shape": v.shape, "strides": v.strides,
            "typenum": v.buffer.typenum, "item": v.buffer.item}


cdef dict region_data(RegionCode region):
    cdef Operation o
    cdef Total total
    cdef Located at
    cdef dg_instruction *code
    cdef Py_ssize_t i
    data = {"rows": region.region.rows, "generic": None, "instructions": [], "operations": [], "totals": []}
    for o, kept in zip(region.region.operations, region.kept):
        data["operations"].append({"op": o.op, "kind": MANNERS[o.kind], "shape": o.out.shape, "typenum": o.out.typenum,
                                   "place": kept, "id": id(o.out), "ins": [id((<View>v).buffer) for v in o.ins]})
    if region.code is NULL:
        o = <Operation>region.region.operations[0]
        data["generic"] = {"op": o.op, "params": o.params, "ins": [view_data(at) for at in region.operands],
                           "out": view_data(new_located(view_of(o.out), region.result, 0))}
        return data
    for total in region.totals:
        data["totals"].append({"offset": total.total, "nbytes": total.buffer.size * total.buffer.item,
                               "typenum": total.buffer.typenum, "base": total.base, "to": total.offset})
    data.update(n_rows=region.n_rows, block=region.block, block_bytes=region.block_bytes,
                total_bytes=region.total_bytes, workers=region.workers)
    code = region.code if region.halves is NULL else region.halves
    data["instructions"] = [instruction_data(&code[i], region.listing[i]) for i in range(region.count)]
    return data


cdef dict instruction_data(const dg_instruction *p, object primitive):
    cdef int k
    return {"kind": dg_kind_name(p.kind).decode(), "op": None if primitive is None else primitive[0],
            "typenum": None if primitive is None else primitive[1],
            "fused": None if primitive is None or p.kind == DG_CAST else primitive[2],
            "target": primitive[2] if p.kind == DG_CAST else None, "n_in": p.n_in,
            "args": [(p.arg[k].base, p.arg[k].offset, p.arg[k].row, p.arg[k].local) for k in range(DG_PLACES)],
            "low": p.low, "high": p.high, "before": p.before, "after": p.after,
            "step": [p.step[k] for k in range(DG_PLACES)], "width": p.width, "period": p.period,
            "advance": [p.advance[k] for k in range(DG_PLACES)], "dims": [p.dims[k] for k in range(4)],
            "strides": [p.strides[k] for k in range(9)], "axes": p.axes, "shape": [p.shape[k] for k in range(6)],
            "from": [p._from[k] for k in range(6)], "to": [p.to[k] for k in range(6)], "item": p.item,
            "picks": [(p.picks.extent[k], p.picks.stride[k]) for k in range(p.picks.count)],
            "index_item": 8 if p.picks.wide else 4, "pick": p.picks.width, "once": bool(p.once),
            "half": (p.half, p.half_from)}
