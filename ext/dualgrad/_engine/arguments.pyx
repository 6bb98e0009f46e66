"""Arguments and results of recorded functions.

Design
------
The key of a call is what its program depends on: the types, shapes and nesting of tensors, which of them are the
same, numbers and texts by value, other objects by identity. A parameter is known by identity and is read like one that
the function captures.

While a function is recorded it is given fresh tensors in place of those of the call. So a tensor that is both an
argument and captured is two different things, as it may be at the next call; and the caller's tensors are left alone,
which other threads may be using. What the function does to its arguments in place is put back afterwards.

Results are kept as a template: the nest that was returned, with leaves for its tensors.
"""
from cpython.ref cimport Py_INCREF, PyObject
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

import copy

from .array cimport ARRAY, Array, shape_tuple
from .recorder cimport Recorder
from .tensor cimport TensorBase, wrap


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
    if isinstance(x, float):
        return (type(x), x) if x == x and x != 0 else (type(x), repr(x))
    if isinstance(x, complex):
        return type(x), repr(x)
    if isinstance(x, (bool, int, str, bytes)) or x is None:
        return type(x), x
    return None


cdef object with_items(object x, list items):
    """A tuple of the kind of x with these items; x itself if they are its own."""
    if all([a is b for a, b in zip(items, x)]):
        return x
    return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)


cdef Given given(tuple args, dict kwargs):
    cdef Given g = Given()
    g.args = args
    g.kwargs = kwargs
    g.tensors = []
    g.others = []
    g.inputs = []
    return g


cdef class Given:

    cdef object flatten(self, object x):
        """What is not a tensor in a nest of arguments, as a key; the tensors go to a list."""
        if isinstance(x, TensorBase):
            self.tensors.append(x)
            return TensorBase
        if isinstance(x, (tuple, list)):
            return (type(x), tuple([self.flatten(item) for item in x]))
        if isinstance(x, dict):
            return (type(x), tuple([(key, self.flatten(item)) for key, item in x.items()]))
        key = value_key(x)
        if key is None:
            self.others.append(x)
            key = ByIdentity(x)
        return key

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
            if id(t) not in seen and not t.parameter:
                self.inputs.append(t)
            # the same handle at two places is one input
            key.append((a.typenum, shape_tuple(a), id(t) if t.parameter else 0, seen.setdefault(id(t), len(seen))))
        return tuple(key)

    cdef list arrays(self):
        """The numbers of the inputs."""
        cdef TensorBase t
        return [t.value for t in self.inputs]

    # ---- while recording

    cdef tuple substitutes(self, Recorder recorder):
        """The arguments, with fresh tensors."""
        cdef dict fresh = {}
        cdef TensorBase t, new
        self.fresh = []
        self.marked = []
        self.copies = []
        for t in self.inputs:
            new = type(t).__new__(type(t))
            if hasattr(t, "__dict__"):
                new.__dict__.update(t.__dict__)
            new.value = recorder.input(<Array>t.value)
            self.marked.append(new.value)
            fresh[id(t)] = new
            self.fresh.append(new)
        return (tuple([self.replaced(x, fresh) for x in self.args]),
                {name: self.replaced(x, fresh) for name, x in self.kwargs.items()})

    cdef object replaced(self, object x, dict fresh):
        if isinstance(x, TensorBase):
            return fresh.get(id(x), x)
        if isinstance(x, tuple):
            return with_items(x, [self.replaced(item, fresh) for item in x])
        if not isinstance(x, (list, dict)):
            return x
        new = copy.copy(x)
        for key in range(len(x)) if isinstance(x, list) else x:
            new[key] = self.replaced(x[key], fresh)
        self.copies.append((x, new, copy.copy(new)))
        return new

    cdef bint put_back(self) except -1:
        """Hand on what was done in place to fresh tensors and copies; whether a list or dict has other entries."""
        cdef bint changed = False
        cdef TensorBase t, new
        cdef Py_ssize_t i
        for i in range(len(self.inputs)):
            t = <TensorBase>self.inputs[i]
            new = <TensorBase>self.fresh[i]
            if new.value is not self.marked[i]:
                t.value = new.value
        for original, new_nest, before in self.copies:
            now = list(new_nest.items()) if isinstance(new_nest, dict) else list(new_nest)
            then = list(before.items()) if isinstance(before, dict) else list(before)
            if len(now) == len(then) and all([a is b or isinstance(a, tuple) and a[0] == b[0] and a[1] is b[1]
                                              for a, b in zip(now, then)]):
                continue
            changed = True
            original.clear()
            if isinstance(original, dict):
                original.update([(key, self.original(item)) for key, item in now])
            else:
                original.extend([self.original(item) for item in now])
        return changed

    cdef object original(self, object x):
        """A nest of results with the caller's own tensors, lists and dicts in place of those given to the function."""
        cdef Py_ssize_t i
        if isinstance(x, TensorBase):
            for i in range(len(self.fresh)):
                if x is self.fresh[i]:
                    return self.inputs[i]
            return x
        if isinstance(x, tuple):
            return with_items(x, [self.original(item) for item in x])
        if isinstance(x, (list, dict)):
            for old, new, _ in self.copies:
                if x is new:
                    return old
            for key in range(len(x)) if isinstance(x, list) else list(x):
                item = self.original(x[key])
                if item is not x[key]:
                    x[key] = item
        return x

    cdef object template(self, Recorder recorder, object x, list outputs):
        """A nest of results with leaves in place of tensors; TypeError for what a program cannot return."""
        cdef Leaf leaf
        cdef TensorBase t
        cdef Array a
        if isinstance(x, TensorBase):
            t = <TensorBase>x
            leaf = Leaf()
            leaf.argument = -1
            for i, new in enumerate(self.fresh):
                if new is t:
                    leaf.argument = i
                    return leaf
            if t.birth < recorder.start:
                leaf.output = -1
                leaf.handle = t
                return leaf
            if type(t) is not type(wrap(None)) or t.value.kind != ARRAY:
                raise TypeError(f"a {type(t).__name__} is returned")
            a = <Array>t.value
            if a.trace == recorder.trace:
                leaf.output = len(outputs)
                outputs.append(a.slot)
            else:
                leaf.output = -2
                leaf.constant = a
            return leaf
        if isinstance(x, (tuple, list)):
            parts = [self.template(recorder, item, outputs) for item in x]
            if type(x) is tuple:
                return tuple(parts)
            if type(x) is list:
                return parts
            if hasattr(x, "_fields"):
                return type(x)(*parts)
            raise TypeError(f"a {type(x).__name__} is returned")
        if type(x) is dict:
            return {key: self.template(recorder, item, outputs) for key, item in x.items()}
        if value_key(x) is not None:
            return x
        raise TypeError(f"a {type(x).__name__} is returned")


# --------------------------------------------------------------------------------------------------------- results

cdef class Leaf:
    """Where a tensor stands in a nest of results: a slot, a handle from outside, or a constant."""
    cdef int output                 # position among the outputs; -1 for a handle, -2 for a constant
    cdef int argument               # number of the input that is returned as it came, or -1
    cdef object handle
    cdef Array constant


cdef object filled(object x, list arrays, list inputs):
    """A nest of results."""
    cdef Leaf leaf
    cdef Py_ssize_t i
    if type(x) is Leaf:
        leaf = <Leaf>x
        if leaf.argument >= 0:
            return inputs[leaf.argument]
        if leaf.output >= 0:
            return wrap(<Array>arrays[leaf.output])
        return leaf.handle if leaf.output == -1 else wrap(leaf.constant)
    if type(x) is tuple:
        nest = PyTuple_New(len(<tuple>x))
        for i in range(len(<tuple>x)):
            item = filled((<tuple>x)[i], arrays, inputs)
            Py_INCREF(item)
            PyTuple_SET_ITEM(nest, i, item)
        return nest
    if type(x) is list:
        return [filled(item, arrays, inputs) for item in x]
    if type(x) is dict:
        return {key: filled(item, arrays, inputs) for key, item in x.items()}
    if isinstance(x, tuple):
        return type(x)(*[filled(item, arrays, inputs) for item in x])
    return x


cdef bint same_template(object x, object y):
    cdef Leaf a, b
    if type(x) is not type(y):
        return False
    if isinstance(x, Leaf):
        a = <Leaf>x
        b = <Leaf>y
        return a.output == b.output and a.argument == b.argument and a.handle is b.handle and (
            a.output != -2 or a.constant is b.constant
            or a.constant.numpy().tobytes() == b.constant.numpy().tobytes())
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all([same_template(p, q) for p, q in zip(x, y)])
    if isinstance(x, dict):
        return list(x) == list(y) and all([same_template(x[key], y[key]) for key in x])
    return x == y or x != x and y != y
