"""A look at plans from outside: as plain data, and run with a clock. For `dualgrad.programs`.

Design
------
What is read back are the instructions themselves, as the executor finds them: a check of a plan must not be told
what it was meant to be. A new kind of instruction needs its name in KINDS, and an entry in the table of
`dualgrad/programs/_instructions.py`.
"""
from cpython.exc cimport PyErr_Occurred

from time import perf_counter

from .allocation cimport N_BASES, Located, Memory
from .code cimport Code, RegionCode
from .facts cimport memory_data, region_data, view_data
from .plan cimport Plan, make_plan
from .program cimport Program
from .running cimport dg_run_block


def plan_of(Program program not None):
    """The plan of a program that is ready to run."""
    return make_plan(program)


def describe(Plan plan not None):
    """A plan as plain data. Instructions are read back as the executor finds them."""
    cdef Memory m
    cdef RegionCode region
    cdef Located at
    regions = [region_data(region) for region in plan.tasks]
    if plan.tasks and not (<RegionCode>plan.tasks[0]).region.operations:
        regions[0]["operations"] = operations_on_numbers(plan)
    return {"program": plan.program, "arena": plan.arena, "block_bytes": plan.block_bytes,
            "total_bytes": plan.total_bytes, "first_root": N_BASES,
            "buffers": [memory_data(m) for m in plan.memories], "results": [view_data(at) for at in plan.results],
            "regions": regions}


cdef list operations_on_numbers(Plan plan):
    """The operations of a region that was made without any."""
    cdef Located at
    cdef Memory m
    cdef dict buffers = {}                # slot -> what it is known by
    cdef list found = []
    p = plan.program
    where = {(m.kind, id(m.which)): id(m.identity) for m in plan.memories}
    for slot in range(len(p.kinds)):
        kind = ("input", "handle", "constant", "step")[p.kinds[slot]]
        buffers[slot] = where.get((kind, id(p.sources[slot])), (id(plan), slot))
    for slot, at in zip(p.outputs + [slot for _, slot in p.effects], plan.results):
        buffers[slot] = id(at.view.buffer)
    for op, _, ins, out in p.steps:
        found.append({"op": op, "kind": "loop", "shape": p.shapes[out], "typenum": p.typenums[out],
                      "place": "block" if isinstance(buffers[out], tuple) else "memory", "id": buffers[out],
                      "ins": [buffers[slot] for slot in ins]})
    return found


cdef class TimedPlan(Plan):
    """A plan that is run with a clock: each region, then its instructions one by one."""
    cdef list seconds               # for each region (seconds, those of each instruction)

    cdef int run_region(self, object task, char **bases, int threads) except -1:
        cdef RegionCode region = <RegionCode>task
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
    cdef Code code = Code()
    code.regions = plan.tasks
    code.memories = plan.memories
    code.results = plan.results
    code.arena = plan.arena
    code.block_bytes = plan.block_bytes
    code.total_bytes = plan.total_bytes
    timed.seconds = []
    timed.take(code)
    return None if timed.run(inputs) is None else timed.seconds
