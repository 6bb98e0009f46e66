"""Steppers: run the program of one step of a loop many times, in memory that is allocated once.

Design
------
A body is planned like any other program, but its plan does not run as a whole. A `Stepper` allocates memory once for
all steps, and then only changes the addresses of inputs and outputs. So a plan without regions over rows, for example
of an integrator, costs little more than its instructions.
"""
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from libc.string cimport memcpy

from ..arrays.array cimport Array, contiguous, new_array, new_view
from ..arrays.thread cimport thread_state
from .allocation cimport ALIGN, ARENA, BLOCK, N_BASES, Located, Memory
from .code cimport RegionCode
from .native cimport native_of
from .plan cimport Plan, is_on_numbers, loose, make_plan, run_instructions
from .program cimport Program
from .repetitions cimport Body
from .views cimport is_packed
from .workers cimport num_threads

cdef extern from "memory/memory.h":
    void *dg_alloc(size_t n)
    void dg_free(void *p, size_t n)

cdef enum:
    NOT_DIRECT = -1


cdef Plan planned(Body body):
    if body.plan is None:
        body.plan = make_plan(body.program)
    return <Plan>body.plan


cdef inline void place(char **bases, const int *base_of, char *const *at, int n) noexcept:
    """Set bases to the addresses of inputs or outputs."""
    cdef int i
    for i in range(n):
        if base_of[i] != NOT_DIRECT:
            bases[base_of[i]] = at[i]


cdef class Stepper:

    def __cinit__(self, Body body not None):
        cdef Program p = body.program
        self.body = body
        self.n_in = len(p.inputs)
        self.n_out = len(p.outputs)
        self.ins = <char **>PyMem_Calloc(self.n_in + 1, sizeof(char *))
        self.outs = <char **>PyMem_Calloc(self.n_out + 1, sizeof(char *))
        self.base_of = <int *>PyMem_Malloc((self.n_in + 1) * sizeof(int))
        self.made_at = <int *>PyMem_Malloc((self.n_out + 1) * sizeof(int))
        if self.ins is NULL or self.outs is NULL or self.base_of is NULL or self.made_at is NULL:
            raise MemoryError()
        if thread_state().planning:
            self.plan = planned(body)
            self.find_memory()

    def __dealloc__(self):
        if self.memory is not NULL:
            dg_free(self.memory, self.nbytes)
        PyMem_Free(self.bases)
        PyMem_Free(self.ins)
        PyMem_Free(self.outs)
        PyMem_Free(self.base_of)
        PyMem_Free(self.made_at)

    cdef int find_memory(self) except -1:
        cdef Plan plan = self.plan
        cdef Memory m
        cdef Located at
        cdef Array a
        cdef int i
        self.bases = <char **>PyMem_Malloc(plan.n_bases * sizeof(char *))
        if self.bases is NULL:
            raise MemoryError()
        memcpy(self.bases, plan.bases, plan.n_bases * sizeof(char *))
        self.held = plan.held[:]
        self.threads = num_threads() if plan.parallel and not plan.products else 1
        self.nbytes = plan.arena + ALIGN + self.threads * (plan.block_bytes + plan.total_bytes)
        self.memory = <char *>dg_alloc(self.nbytes)
        if self.memory is NULL:
            raise MemoryError()
        self.bases[ARENA] = self.memory
        self.bases[BLOCK] = self.memory + plan.arena
        for i in range(self.n_in):
            self.base_of[i] = NOT_DIRECT
        for m in plan.given:
            self.base_of[<int>m.which] = m.base
        made = {m.base: m for m in plan.made}
        for i in range(self.n_out):
            at = <Located>plan.results[i]
            self.made_at[i] = NOT_DIRECT
            if plan.whole[i] and made.pop(at.base, None) is not None:
                self.made_at[i] = at.base
            else:
                self.copies = True
        for m in made.values():             # several outputs may be parts of one memory
            a = new_array(m.form.typenum, m.form.ndim, m.form.shape)
            self.held[m.base - N_BASES] = a
            self.bases[m.base] = a.data
        if is_on_numbers(plan) and not plan.total_bytes:
            self.numbers = <RegionCode>plan.tasks[0]
        return 0

    cdef int step(self) except -1:
        """Run a step from `ins` to `outs`, which share no memory."""
        cdef RegionCode region
        cdef int i
        if self.plan is None:
            return self.interpret()
        place(self.bases, self.base_of, self.ins, self.n_in)
        place(self.bases, self.made_at, self.outs, self.n_out)
        if self.numbers is not None:
            run_instructions(self.numbers, native_of(self.numbers), self.bases)
        else:
            for region in self.plan.tasks:
                if region.code is not NULL:
                    self.plan.run_region(region, self.bases, self.threads)
                elif not self.plan.run_generic(region, self.bases, self.held):
                    raise changed_form()
        for i in range(self.n_out if self.copies else 0):
            if self.made_at[i] == NOT_DIRECT:
                self.copy_out(i)
        return 0

    cdef int copy_out(self, int i) except -1:
        """Copy an output out of memory that holds something else."""
        cdef Located at = <Located>self.plan.results[i]
        cdef Py_ssize_t nbytes = self.body.nbytes_of(self.body.program.outputs[i])
        if is_packed(at.view):
            memcpy(self.outs[i], self.bases[at.base] + at.offset, nbytes)
        else:
            memcpy(self.outs[i], contiguous(loose(at, self.bases)).data, nbytes)
        return 0

    cdef int interpret(self) except -1:
        """Interpret the step: run each primitive as in eager execution."""
        cdef Program p = self.body.program
        cdef list found
        cdef Array a
        cdef int i
        found = p.run([array_at(p, p.inputs[i], self.ins[i]) for i in range(self.n_in)])
        if found is None:
            raise changed_form()
        for i in range(self.n_out):
            a = contiguous(<Array>found[i])
            memcpy(self.outs[i], a.data, a.size * a.itemsize)
        return 0


cdef object changed_form():
    return RuntimeError("a step of a loop has a result of another shape than the one that was recorded; let shapes not "
                        "depend on numbers")


cdef Array array_at(Program p, int slot, char *data):
    """An array on memory that outlives the step."""
    cdef Array form = new_array(p.typenums[slot], 0, NULL)
    cdef tuple shape = <tuple>p.shapes[slot]
    cdef Py_ssize_t[64] extents
    cdef Py_ssize_t[64] strides
    cdef Py_ssize_t stride = form.itemsize
    cdef int i, ndim = len(shape)
    for i in range(ndim - 1, -1, -1):
        extents[i] = shape[i]
        strides[i] = stride
        stride *= extents[i]
    return new_view(form, ndim, extents, strides, data)
