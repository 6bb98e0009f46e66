"""Counts of a tape's contents, for tests and for users who look for the use of memory."""
from ..arrays.array cimport ARRAY, DUAL, Array, Value
from ..primitives.opcodes cimport OP_SUBTAPE
from ..primitives.registry cimport op_name
from ..values.levels cimport Dual
from .runs cimport Run, SubTape
from .tape cimport Slots, Tape, new_slots

cdef enum:
    OVERHEAD = 256                  # bytes of a value and its instruction, without the numbers


cdef dict report(Tape self):
    """Count leaves, instructions (by primitive) and bytes of kept arrays; only the bytes include inner tapes."""
    cdef Py_ssize_t i
    cdef dict by_primitive = {}
    cdef set seen = set()
    cdef Py_ssize_t nbytes = 0
    cdef list tapes = [self]
    cdef Tape tape
    cdef Run run
    for i in range(self.n_entries):
        name = op_name(self.entries[i].op)
        by_primitive[name] = by_primitive.get(name, 0) + 1
    while tapes:
        tape = tapes.pop()
        nbytes += bytes_of(tape.values, seen) + bytes_of(tape.constants, seen)
        for i in range(tape.n_entries):
            if tape.entries[i].op == OP_SUBTAPE:
                run = (<SubTape>tape.entries[i].params).run
                tapes.append(run.tape)
                if run.adjoints is not None:
                    nbytes += bytes_of(run.adjoints, seen)
    return {"transform": self.name, "level": self.serial, "leaves": len(self.leaf_slots),
            "instructions": self.n_entries, "by_primitive": by_primitive, "bytes": nbytes}


cdef Py_ssize_t weight(Tape tape, Py_ssize_t value, Py_ssize_t entry) except -1:
    """Estimate the bytes that a tape holds from a given value and instruction on, with inner tapes."""
    cdef set seen = set()
    cdef Py_ssize_t total = (tape.values.n - value) * OVERHEAD
    cdef Slots later = new_slots(0)
    cdef Run run
    for i in range(value, tape.values.n):
        later.push(tape.values.get(i))
    total += bytes_of(later, seen)
    for i in range(entry, tape.n_entries):
        if tape.entries[i].op == OP_SUBTAPE:
            run = (<SubTape>tape.entries[i].params).run
            if run is not None:
                total += weight(run.tape, 0, 0)
                if run.adjoints is not None:
                    total += bytes_of(run.adjoints, seen)
    return total


cdef Py_ssize_t bytes_of(Slots slots, set seen) except -1:
    """Bytes of the distinct arrays in some slots."""
    cdef Py_ssize_t i, total = 0
    cdef Array a
    cdef list stack
    cdef Value v
    for i in range(slots.n):
        if slots.p[i] is NULL:
            continue
        stack = [<Value>slots.p[i]]
        while stack:
            v = stack.pop()
            if v is None:
                continue
            if v.kind == DUAL:
                stack.extend((<Dual>v).parts)
            elif v.kind == ARRAY:
                a = <Array>v
                if <size_t>a.data not in seen:
                    seen.add(<size_t>a.data)
                    total += a.size * a.itemsize if a.data is not <char *>a.inline_data else 0
    return total
