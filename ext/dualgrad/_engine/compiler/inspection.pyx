"""Inspection of plans, for `dualgrad.programs`: as plain data, and in runs with a clock.

Design
------
The instructions are read back from the executor's memory: a check of a plan must not rely on the passes. A new kind of
instruction needs its name in KINDS, and an entry in the table of `dualgrad/programs/_instructions.py`.
"""
from time import perf_counter

from .allocation cimport N_BASES, Located, Memory
from .code cimport Code, RegionCode
from .facts cimport memory_data, region_data, view_data
from .plan cimport Plan, make_plan, run_instruction
from .program cimport Program


def plan_of(Program program not None):
    """The plan of a prepared program."""
    return make_plan(program)


def describe(Plan plan not None):
    """A plan as plain data. Instructions are read back from the executor's memory."""
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
    """The operations of a region on single numbers, which was made without them."""
    cdef Located at
    cdef Memory m
    cdef dict buffers = {}                # slot -> id of its memory
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
    """A plan that runs with a clock: each region as a whole, then its instructions one by one."""
    cdef list seconds               # for each region (seconds, [seconds of each instruction])

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
                run_instruction(region, i, bases, row0)
                each[i] += perf_counter() - start
        self.seconds.append((whole, each))
        return 0

    cdef bint run_generic(self, object o, char **bases, list held) except -1:
        start = perf_counter()
        fits = Plan.run_generic(self, o, bases, held)
        self.seconds.append((perf_counter() - start, []))
        return fits


def run_timed(Plan plan not None, list inputs):
    """Run a plan on arrays; for each region return (seconds, [seconds of each instruction]). Results and effects are
    dropped.

    None if the dtype or shape of a handle or result has changed.
    """
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
