"""Partial derivatives of elementwise rows. They are expressions, parsed on first use into a short list of
primitives."""
cimport cython
from cpython.object cimport PyObject

import ast

from dualgrad._table import CONSTANTS, UNDEFINED
from dualgrad._table.partials import parsed

from ..arrays.array cimport N_TYPES, Value, is_complex, scalar
from ..primitives.registry cimport MAX_OPS, op_name, op_named, row_of
from .levels cimport bind, type_of

cdef extern from "memory/shared.h":
    void *dg_read_pointer(void **place) noexcept
    void dg_write_pointer(void **place, void *value) noexcept

OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Eq: "eq", ast.Gt: "gt"}


cdef class Partial:
    """A partial derivative as a list of steps, or a plain number."""

    def __init__(self, str text):
        self.constants = []
        self.typed = []
        tree = parsed(text)                     # parsed in this package: a recording checks who calls the library
        number = self.literal(tree)
        if number is not None:
            self.is_number = True
            self.number = number
            return
        self.result = self.compile(tree)

    cdef object literal(self, node):
        if isinstance(node, ast.Constant):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in CONSTANTS:
            return CONSTANTS[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.literal(node.operand)
            return None if inner is None else -inner
        return None

    cdef int compile(self, node) except -1:
        """Compile an expression; return the register of its value. Registers of constants follow operands and precede
        steps."""
        cdef int k
        number = self.literal(node)
        if number is not None:
            self.constants.append(number)
            self.typed.append([None] * N_TYPES)
            return 100 + len(self.constants) - 1
        if isinstance(node, ast.Name):
            return ("x", "y", "z", "out").index(node.id)
        if isinstance(node, ast.UnaryOp):
            name, operands = "neg", [node.operand]
        elif isinstance(node, ast.BinOp):
            name, operands = OPERATORS[type(node.op)], [node.left, node.right]
        elif isinstance(node, ast.Compare):
            name, operands = OPERATORS[type(node.ops[0])], [node.left, node.comparators[0]]
        else:
            name, operands = node.func.id, node.args
        registers = [self.compile(operand) for operand in operands]
        k = self.n_steps
        if k == MAX_STEPS:
            raise ValueError(f"a partial derivative is longer than {MAX_STEPS} steps; make a part of it a primitive of "
                             f"its own")
        self.n_steps += 1
        self.op[k] = op_named(name)
        self.arity[k] = len(registers)
        for i, r in enumerate(registers):
            self.operand[k][i] = r
        return X_REGISTERS + k

    cdef Value constant(self, int k, int typenum):
        cdef list typed = <list>self.typed[k]
        with cython.critical_section(self):
            found = typed[typenum]
            if found is None:
                found = typed[typenum] = scalar(typenum, self.constants[k])
        return <Value>found

    cdef Value evaluate(self, PyObject **ins, int n, Value out):
        cdef list registers, held
        cdef PyObject *args[3]
        cdef int typenum, k, j, r
        cdef object constant
        if self.n_steps == 0:
            return out if self.result == 3 else <Value>ins[self.result]
        registers = [None] * (X_REGISTERS + self.n_steps)
        held = []
        typenum = type_of(<Value>ins[0])
        for k in range(n):
            registers[k] = <Value>ins[k]
        registers[3] = out
        for k in range(self.n_steps):
            for j in range(self.arity[k]):
                r = self.operand[k][j]
                if r >= 100:
                    constant = self.constant(r - 100, typenum)
                    held.append(constant)
                    args[j] = <PyObject *>constant
                else:
                    args[j] = <PyObject *>registers[r]
            registers[X_REGISTERS + k] = bind(self.op[k], None, args, self.arity[k])
        return <Value>registers[self.result]


cdef void *PARTIALS[MAX_OPS]        # for each opcode NULL or its Partials
cdef list KEPT = []                 # keeps the Partials alive; held without the GIL while one is added


cdef class Partials:
    """The partials of a primitive, parsed on first use. Threads may read some while another thread parses others."""

    def __cinit__(self, int op):
        row = row_of(op)
        self.texts = [row.partials, row.complex_partials or row.partials]
        self.two_forms = bool(row.complex_partials)
        self.kept = []

    cdef int parse(self, int op, int form, int i) except -1:
        text = self.texts[form][i]
        if isinstance(text, str) and text == UNDEFINED:
            raise NotImplementedError(
                f"{op_name(op)}: no formula is known for its derivative by operand {i + 1}, an order or a setting; "
                f"differentiate by the other operands only, or pass dualgrad.stop_gradient(...) of this one")
        partial = Partial(text) if isinstance(text, str) else text
        with cython.critical_section(self):
            if self.found[form][i] is NULL:     # else another thread has parsed it
                self.kept.append(partial)
                dg_write_pointer(&self.found[form][i], <void *>partial)
        return 0


cdef Partial partial_of(int op, int i, Value operand):
    """The partial of a primitive by operand i, in the form for the dtype of `operand`; None if it is zero."""
    cdef Partials known
    cdef int form
    if dg_read_pointer(&PARTIALS[op]) is NULL:
        known = Partials(op)
        with cython.critical_section(KEPT):
            if PARTIALS[op] is NULL:
                KEPT.append(known)
                dg_write_pointer(&PARTIALS[op], <void *>known)
    known = <Partials>dg_read_pointer(&PARTIALS[op])
    form = known.two_forms and is_complex(type_of(operand))
    if dg_read_pointer(&known.found[form][i]) is NULL:
        known.parse(op, form, i)
    return <Partial>dg_read_pointer(&known.found[form][i])
