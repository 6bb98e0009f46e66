"""Arguments and results of recorded functions.

Design
------
The key of a call is what its program depends on: the types, shapes and nesting of tensors, which of them are the
same, numbers and texts by value, other objects by identity. A parameter is known by identity, its name and whether it
is differentiated, and is read like one that the function captures. A tensor that some function captures is known by
identity too: it may be the one that this function captures, and then both change together.

Results are kept as a template: the nest that was returned, with leaves for its tensors. What is one object in the
results of the function is one object in those of the program.
"""
from cpython.ref cimport Py_INCREF, PyObject
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

import numpy as np

from .array cimport ARRAY, Array, shape_tuple
from .recorder cimport Recorder
from .tensor cimport TensorBase, wrap

cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char *where) except -1
    void Py_LeaveRecursiveCall()

cdef type GENERIC = np.generic


cdef class ByIdentity:
    """A key that is equal to another only if both hold the same object, which it keeps alive."""

    def __init__(self, held):
        self.held = held

    def __hash__(self):
        return <Py_hash_t>(<size_t><PyObject *>self.held >> 4)

    def __eq__(self, other):
        return isinstance(other, ByIdentity) and self.held is (<ByIdentity>other).held


cdef object value_key(object x):
    """The key of a number or text; None for anything else. Zeros of either sign are different, nan is like nan."""
    cdef type kind = type(x)
    if kind is float:
        return (kind, x) if x == x and x != 0 else (kind, repr(x))
    if kind is complex:
        return kind, repr(x)
    if kind is bool or kind is int or kind is str or kind is bytes or x is None:
        return kind, x
    if isinstance(x, GENERIC) and not isinstance(x, np.void):
        return kind, x.tobytes()
    return None


cdef Given given(tuple args, dict kwargs):
    cdef Given g = Given()
    g.args = args
    g.kwargs = kwargs
    g.tensors = []
    g.others = []
    g.inputs = []
    g.containers = []
    return g


cdef class Given:

    cdef object flatten(self, object x):
        """What is not a tensor in a nest of arguments, as a key; the tensors go to a list."""
        if isinstance(x, TensorBase):
            self.tensors.append(x)
            return TensorBase
        if isinstance(x, (tuple, list, dict)):
            Py_EnterRecursiveCall(" while the arguments of a recorded function are read")
            try:
                return self.flatten_nest(x)
            finally:
                Py_LeaveRecursiveCall()
        key = value_key(x)
        if key is None:
            self.others.append(x)
            key = ByIdentity(x)
        return key

    cdef tuple flatten_nest(self, object x):
        if isinstance(x, dict):
            self.containers.append((x, dict(x)))
            return (type(x), tuple([(self.flatten(key), self.flatten(item)) for key, item in x.items()]))
        if isinstance(x, list):
            self.containers.append((x, list(x)))
        return (type(x), tuple([self.flatten(item) for item in x]))

    cdef tuple key(self):
        """The key of the arguments, or None if they cannot have one."""
        cdef list key = [self.flatten(x) for x in self.args]
        cdef dict seen = {}
        cdef TensorBase t
        cdef Array a
        for name in self.kwargs:
            key.append((name, self.flatten(self.kwargs[name])))
        for x in self.tensors:
            t = <TensorBase>x
            if t.value is None or t.value.kind != ARRAY:
                return None
            a = <Array>t.value
            known = 0
            if t.parameter:
                known = (id(t), t.requires_grad, t.name)
            else:
                if t.captured:
                    known = id(t)
                if id(t) not in seen:
                    self.inputs.append(t)
            # the same handle at two places is one input
            key.append((a.typenum, shape_tuple(a), known, seen.setdefault(id(t), len(seen))))
        return tuple(key)

    cdef list arrays(self):
        """The numbers of the inputs."""
        cdef TensorBase t
        return [t.value for t in self.inputs]

    cdef bint changed(self) except -1:
        """Whether a list or dict among the arguments holds something else than it did."""
        for x, before in self.containers:
            if len(x) != len(before):
                return True
            if isinstance(x, dict):
                if not all([a is b and x[a] is before[b] for a, b in zip(x, before)]):
                    return True
            elif not all([a is b for a, b in zip(x, before)]):
                return True
        return False


# --------------------------------------------------------------------------------------------------------- results

cdef class Leaf:
    """Where a tensor stands in a nest of results: a slot, a handle from outside, or a constant."""
    cdef int output                 # position among the outputs; -1 for a handle, -2 for a constant
    cdef int argument               # number of the input that is returned as it came, or -1
    cdef object handle
    cdef Array constant
    cdef bint again                 # it stands at another place too


cdef class Same:
    """A list or dict that stands at more than one place."""
    cdef object nest


cdef Template template_of(Given g, Recorder recorder, object x):
    """A nest of results with leaves in place of tensors; TypeError for what a program cannot return."""
    cdef Template t = Template()
    cdef Py_ssize_t i
    t.recorder = recorder
    t.outputs = []
    t.made = []
    t.met = {}
    t.positions = {id(g.inputs[i]): i for i in range(len(g.inputs))}
    t.nest = t.template(x)
    t.met = t.positions = None
    t.recorder = None
    return t


cdef class Template:

    cdef object template(self, object x):
        if isinstance(x, TensorBase):
            leaf = self.met.get(id(x))
            if leaf is None:
                leaf = self.met[id(x)] = self.leaf_of(x)
            else:
                self.repeats = (<Leaf>leaf).again = True
            return leaf
        if isinstance(x, (tuple, list, dict)):
            Py_EnterRecursiveCall(" while the results of a recorded function are read")
            try:
                return self.template_of_nest(x)
            finally:
                Py_LeaveRecursiveCall()
        if value_key(x) is not None:
            return x
        raise TypeError(f"a {type(x).__name__} is returned")

    cdef object template_of_nest(self, object x):
        if type(x) is list or type(x) is dict:
            return self.container(x)
        if type(x) is tuple:
            return tuple([self.template(item) for item in x])
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return type(x)(*[self.template(item) for item in x])
        raise TypeError(f"a {type(x).__name__} is returned")

    cdef object container(self, object x):
        """The template of a list or dict."""
        cdef Same found = self.met.get(id(x))
        if found is not None:
            if found.nest is None:
                raise TypeError(f"a {type(x).__name__} that holds itself is returned")
            self.repeats = True
            return found
        found = self.met[id(x)] = Same()
        self.made.append(x)
        if type(x) is list:
            found.nest = [self.template(item) for item in x]
        else:
            found.nest = {key: self.template(item) for key, item in x.items()}
        return found

    cdef object leaf_of(self, TensorBase t):
        cdef Leaf leaf = Leaf()
        cdef Array a
        leaf.argument = -1
        position = self.positions.get(id(t))
        if position is not None:
            leaf.argument = position
        elif t.birth < self.recorder.start:
            leaf.output = -1
            leaf.handle = t
        elif type(t) is not type(wrap(None)) or t.value.kind != ARRAY:
            raise TypeError(f"a {type(t).__name__} is returned")
        else:
            a = <Array>t.value
            if a.trace == self.recorder.trace:
                leaf.output = len(self.outputs)
                self.outputs.append(a.slot)
            else:
                leaf.output = -2
                leaf.constant = a
        return leaf

    cdef bint same_as(self, Template other) except -1:
        return same_template(self.nest, other.nest)

    cdef object filled(self, list arrays, list inputs):
        """The nest of results."""
        return filled(self.nest, arrays, inputs, {} if self.repeats else None)


cdef object leaf_filled(Leaf leaf, list arrays, list inputs):
    if leaf.argument >= 0:
        return inputs[leaf.argument]
    if leaf.output >= 0:
        return wrap(<Array>arrays[leaf.output])
    return leaf.handle if leaf.output == -1 else wrap(leaf.constant)


cdef object filled(object x, list arrays, list inputs, dict met):
    """A nest of results. `met` has what stands at several places and was filled before, by the id of its template."""
    cdef Py_ssize_t i
    if type(x) is Leaf:
        if met is None or not (<Leaf>x).again:
            return leaf_filled(<Leaf>x, arrays, inputs)
        if id(x) not in met:
            met[id(x)] = leaf_filled(<Leaf>x, arrays, inputs)
        return met[id(x)]
    if type(x) is tuple:
        nest = PyTuple_New(len(<tuple>x))
        for i in range(len(<tuple>x)):
            item = filled((<tuple>x)[i], arrays, inputs, met)
            Py_INCREF(item)
            PyTuple_SET_ITEM(nest, i, item)
        return nest
    if type(x) is Same:
        if met is not None and id(x) in met:
            return met[id(x)]
        inner = (<Same>x).nest
        if type(inner) is list:
            nest = [filled(item, arrays, inputs, met) for item in inner]
        else:
            nest = {key: filled(item, arrays, inputs, met) for key, item in inner.items()}
        if met is not None:
            met[id(x)] = nest
        return nest
    if isinstance(x, tuple):
        return type(x)(*[filled(item, arrays, inputs, met) for item in x])
    return x


cdef bint same_template(object x, object y) except -1:
    cdef Leaf a, b
    if type(x) is not type(y):
        return False
    if type(x) is Leaf:
        a = <Leaf>x
        b = <Leaf>y
        return a.output == b.output and a.argument == b.argument and a.handle is b.handle and a.again == b.again and (
            a.output != -2 or a.constant is b.constant
            or a.constant.numpy().tobytes() == b.constant.numpy().tobytes())
    if type(x) is Same:
        return same_template((<Same>x).nest, (<Same>y).nest)
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all([same_template(p, q) for p, q in zip(x, y)])
    if isinstance(x, dict):
        return list(x) == list(y) and all([same_template(x[key], y[key]) for key in x])
    return x == y or x != x and y != y
