"""A look at plans from outside: as plain data, and run with a clock. For `dualgrad.programs`.

Design
------
What is read back are the instructions themselves, as the executor finds them: whoever checks a plan must not be told
what it was meant to be. A new kind of instruction needs its name in KINDS, and an entry in the table of
`dualgrad/programs/_instructions.py`.
"""
from cpython.exc cimport PyErr_Occurred

from time import perf_counter

from .codegen cimport N_BASES
from .executor cimport *
from .lowering cimport MANNERS, Operation
from .plan cimport Plan, make_plan
from .program cimport Program
from .partition cimport Region
from .views cimport Root, View, view_of

cdef dict KINDS = {DG_LOOP: "loop", DG_MATMUL: "matmul", DG_MATMUL_ADD: "matmul_add", DG_SUM_ALL: "sum_all",
                   DG_SUM_AXIS: "sum_axis", DG_COPY: "copy", DG_ZERO: "zero", DG_SELECT: "select", DG_CAST: "cast",
                   DG_GATHER: "gather", DG_SCATTER_ADD: "scatter_add", DG_SUM_ROWS: "sum_rows"}


def plan_of(Program program not None):
    """The plan of a program that is ready to run."""
    return make_plan(program)


def describe(Plan plan not None):
    """A plan as plain data. Instructions are read back as the executor finds them."""
    cdef Root r
    cdef Region region
    roots = []
    for r in plan.roots:
        kind, source = (None, None) if r.source is None else <tuple>r.source
        roots.append({"id": id(r), "base": r.base, "typenum": r.typenum, "item": r.item, "shape": r.shape,
                      "source": kind or ("generic" if r.dynamic else "result"), "which": source})
    return {"program": plan.program, "arena": plan.arena, "block_bytes": plan.block_bytes,
            "total_bytes": plan.total_bytes, "first_root": N_BASES, "roots": roots,
            "results": [view_data(<View>v) for v in plan.results],
            "regions": [region_data(region, plan) for region in plan.tasks]}


cdef dict view_data(View v):
    return {"id": id(v.root), "base": v.root.base, "offset": v.root.offset + v.offset, "shape": v.shape,
            "strides": v.strides, "typenum": v.root.typenum, "item": v.root.item}


cdef list operations_on_numbers(Plan plan):
    """The operations of a region that was made without any."""
    cdef View v
    cdef Root r
    cdef dict roots = {}                # slot -> what it is known by
    cdef list found = []
    p = plan.program
    where = {}
    for r in plan.roots:
        if r.source is not None:
            where[(<tuple>r.source)[0], id((<tuple>r.source)[1])] = id(r)
    for slot in range(len(p.kinds)):
        kind = ("input", "handle", "constant", "step")[p.kinds[slot]]
        roots[slot] = where.get((kind, id(p.sources[slot])), (id(plan), slot))
    for slot, v in zip(p.outputs + [slot for _, slot in p.effects], plan.results):
        roots[slot] = id(v.root)
    for op, _, ins, out in p.steps:
        found.append({"op": op, "kind": "loop", "shape": p.shapes[out], "typenum": p.typenums[out],
                      "place": "block" if isinstance(roots[out], tuple) else "memory", "id": roots[out],
                      "ins": [roots[slot] for slot in ins]})
    return found


cdef dict region_data(Region region, Plan plan):
    cdef Operation o
    cdef Root r
    cdef Py_ssize_t i
    data = {"rows": region.rows, "generic": None, "instructions": [], "operations": [], "totals": []}
    if not region.operations:
        data["operations"] = operations_on_numbers(plan)
    for o in region.operations:
        place = "total" if o.out.added else "memory" if o.out.outside else "block"
        data["operations"].append({"op": o.op, "kind": MANNERS[o.kind], "shape": o.out.shape, "typenum": o.out.typenum,
                                   "place": place, "id": id(o.out), "ins": [id((<View>v).root) for v in o.ins]})
    if region.code is NULL:
        o = <Operation>region.operations[0]
        data["generic"] = {"op": o.op, "params": o.params, "ins": [view_data(<View>v) for v in o.ins],
                           "out": view_data(view_of(o.out))}
        return data
    for r in region.totals:
        data["totals"].append({"offset": r.total, "nbytes": r.size * r.item, "typenum": r.typenum, "base": r.base,
                               "to": r.offset})
    data.update(n_rows=region.n_rows, block=region.block, block_bytes=region.block_bytes,
                total_bytes=region.total_bytes, workers=region.workers)
    data["instructions"] = [instruction_data(&region.code[i], region.listing[i]) for i in range(region.count)]
    return data


cdef dict instruction_data(const dg_instruction *p, object primitive):
    cdef int k
    return {"kind": KINDS.get(p.kind, f"kind {p.kind}"), "op": None if primitive is None else primitive[0],
            "typenum": None if primitive is None else primitive[1],
            "fused": None if primitive is None or p.kind == DG_CAST else primitive[2],
            "target": primitive[2] if p.kind == DG_CAST else None, "n_in": p.n_in,
            "args": [(p.arg[k].base, p.arg[k].offset, p.arg[k].row, p.arg[k].local) for k in range(5)],
            "low": p.low, "high": p.high, "before": p.before, "after": p.after,
            "step": [p.step[k] for k in range(5)], "width": p.width, "period": p.period,
            "advance": [p.advance[k] for k in range(5)], "dims": [p.dims[k] for k in range(4)],
            "strides": [p.strides[k] for k in range(9)], "axes": p.axes, "shape": [p.shape[k] for k in range(6)],
            "from": [p._from[k] for k in range(6)], "to": [p.to[k] for k in range(6)], "item": p.item,
            "picks": [(p.picks.extent[k], p.picks.stride[k]) for k in range(p.picks.count)],
            "index_item": 8 if p.picks.wide else 4, "pick": p.picks.width, "once": bool(p.once)}


cdef class TimedPlan(Plan):
    """A plan that is run with a clock: each region, then its instructions one by one."""
    cdef list seconds               # for each region (seconds, those of each instruction)

    cdef int run_region(self, object task, char **bases, int threads) except -1:
        cdef Region region = <Region>task
        cdef Py_ssize_t i, row0
        cdef list each = [0.0] * region.count
        start = perf_counter()
        Plan.run_region(self, task, bases, threads)
        whole = perf_counter() - start
        for row0 in range(0, region.n_rows, region.block):
            for i in range(region.count):
                start = perf_counter()
                dg_run_block(region.code + i, 1, bases, row0, min(region.block, region.n_rows - row0), row0 == 0,
                             NULL, 0)
                if PyErr_Occurred():
                    return -1
                each[i] += perf_counter() - start
        self.seconds.append((whole, each))
        return 0

    cdef bint run_generic(self, object o, char **bases, list held) except -1:
        start = perf_counter()
        fits = Plan.run_generic(self, o, bases, held)
        self.seconds.append((perf_counter() - start, []))
        return fits


def run_timed(Plan plan not None, list inputs):
    """Run a plan on arrays: for each region (seconds, those of each instruction); None if a handle or a result
    has changed its type or shape. Results are dropped, effects do not happen."""
    cdef TimedPlan timed = TimedPlan()
    timed.tasks = plan.tasks
    timed.roots = plan.roots
    timed.results = plan.results
    timed.arena = plan.arena
    timed.block_bytes = plan.block_bytes
    timed.total_bytes = plan.total_bytes
    timed.seconds = []
    timed.settle()
    return None if timed.run(inputs) is None else timed.seconds
