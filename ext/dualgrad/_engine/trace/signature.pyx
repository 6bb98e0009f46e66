"""Arguments and results of recorded functions.

Design
------
The key of a call holds everything in its arguments that the program depends on. These are types, shapes and pytree
structure of tensors, repeated objects, the value of numbers and strings, the identity of other objects. A parameter is
in the key by identity, name and requires_grad; the program reads it like a captured tensor. A tensor that some function
captures is in the key by identity too, because this function may capture the same one. Arguments that share elements,
with each other or with a captured tensor, have no key.

Results are kept as a template: the returned pytree with a Leaf in place of each tensor. An object that occurs twice in
the results of the function occurs twice in the results of the program. A view of an argument, of another result or of a
tensor outside is such a view in the results of the program too. Views that share elements of a new array need this
array as an output, even if it is not returned. Results keep the order of NumPy's array in memory.
"""
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from collections import defaultdict

from ..arrays.array import np
from ..arrays.array cimport ARRAY, Array, Value, copy_of, shape_tuple, with_numbers
from ..transforms.containers cimport (DICT, DICTS, LEAF, LIST, LISTS, NAMED, RECORD, REGISTERED, TUPLE, back,
                                      children_of, deeper, kind_of, labels_of, rebuilt, same)
from .guards cimport is_a
from .kinds cimport METHODS
from .objects cimport PyObject_GenericGetDict, _PyObject_GetDictPtr, address, of_python
from .recorder cimport Recorder
from ..transforms.handles cimport (TensorBase, are_apart, as_array, as_view, has_view_in, hooks_of, is_captured,
                                   is_plain, kind_of_alias, layouts_alone, new_layout, refuse_writes, set_layout,
                                   value_in, wrap)

cdef extern from "Python.h":
    PyObject *_PyType_Lookup(PyTypeObject *t, object name)     # borrowed; no code of the metaclass runs

cdef enum:
    MAX_DEPTH = 64                  # levels of a pytree; keys are compared by recursion

cdef type GENERIC = np.generic
cdef type VOID = np.void
cdef type DEFAULTS = defaultdict


cdef class ByIdentity:
    """A key that is equal to another only if both hold the same object, which it keeps alive."""

    def __init__(self, held):
        self.held = held

    def __hash__(self):
        return <Py_hash_t>(<size_t><PyObject *>self.held >> 4)

    def __eq__(self, other):
        return isinstance(other, ByIdentity) and self.held is (<ByIdentity>other).held


cdef object value_key(object x):
    """The key of a number, string or bytes; None for other objects. Signed zeros differ, all nans are the same."""
    cdef type kind = type(x)
    if kind is float:
        return (kind, x) if x == x and x != 0 else (kind, repr(x))
    if kind is complex:
        return kind, repr(x)
    if kind is bool or kind is int or kind is str or kind is bytes or x is None:
        return kind, x
    if is_a(x, GENERIC) and not is_a(x, VOID) and not of_python(kind):
        return kind, x.dtype.str, x.tobytes()   # the dtype of times has a unit
    return None


cdef Signature signature_of(tuple args, dict kwargs):
    cdef Signature g = Signature()
    g.args = args
    g.kwargs = kwargs
    g.tensors = []
    g.others = []
    g.inputs = []
    g.arrays = []
    g.containers = []
    g.met = {}
    return g


cdef class Signature:

    cdef object flatten(self, object x):
        """The key of a pytree of arguments without its tensors, which are appended to a list."""
        if isinstance(x, TensorBase):
            self.tensors.append(x)
            return TensorBase if is_plain(x) else self.flatten_subclass(x)
        key = value_key(x)
        if key is not None:
            return key
        if kind_of(x) == LEAF or has_other_state(x):
            self.others.append(x)
            return ByIdentity(x)
        if id(x) in self.met:
            return Signature, self.met[id(x)]       # the same object at a second place
        deeper()
        self.depth += 1
        self.deep = self.deep or self.depth > MAX_DEPTH
        try:
            key = None if self.deep else self.flatten_nest(x, kind_of(x))
            self.met[id(x)] = len(self.met)
            return key
        finally:
            self.depth -= 1
            back()

    cdef tuple flatten_subclass(self, TensorBase x):
        """The key of a tensor of a derived class: by identity if it is a parameter or may have attributes."""
        if type(x).__dictoffset__ or x.parameter:
            self.others.append(x)
            return type(x), None if x.parameter else ByIdentity(x)
        self.others.append(type(x))
        return type(x), None

    cdef tuple flatten_nest(self, object x, int kind):
        """The key of a node: its class, and the keys of its children."""
        cdef list children = children_of(x)
        if kind == LIST or kind == DICT or kind == LISTS or kind == DICTS or kind == RECORD:
            self.containers.append((x, list(children), list(x) if isinstance(x, dict) else None))
        if kind != TUPLE and kind != LIST and kind != DICT:
            self.others.append(type(x))
        names = tuple([self.flatten(name) for name in x]) if isinstance(x, dict) else \
            tuple(labels_of(x)) if kind == RECORD else None
        return (type(x), names, tuple([self.flatten(item) for item in children]))

    cdef tuple key(self):
        """The key of the arguments; None if they cannot have one."""
        cdef list key = [self.flatten(x) for x in self.args]
        cdef dict seen = {}, arrays = {}
        cdef TensorBase t
        cdef Value v
        cdef Array a
        for name in self.kwargs:
            key.append((name, self.flatten(self.kwargs[name])))
        if self.deep:
            return None
        for x in self.tensors:
            t = <TensorBase>x
            a = arrays.get(id(t))
            if a is None:
                v = value_in(t)
                if v is None or v.kind != ARRAY or hooks_of(t):
                    return None         # hooks belong to one tensor: a program of another one has none
                a = arrays[id(t)] = with_numbers(<Array>v)
            known = 0
            alias = False
            if t.alias is not None:
                alias = kind_of_alias(t)
            if t.parameter:
                known = (id(t), t.requires_grad, t.name)
            else:
                if is_captured(t):
                    known = id(t)
                if id(t) not in seen:
                    self.inputs.append(t)
                    self.arrays.append(a)
            # the same handle at two places is one input
            key.append((a.typenum, shape_tuple(a), known, (seen.setdefault(id(t), len(seen)), alias)))
        return tuple(key) if are_apart(self.inputs) else None

    cdef bint any_container_in(self, object reached) except -1:
        """True if the id of a list, dict or record among the arguments is in `reached`."""
        for x, _, _ in self.containers:
            if id(x) in reached:
                return True
        return False

    cdef bint changed(self) except -1:
        """True if a list, dict or record among the arguments has changed."""
        for x, children, names in self.containers:
            if not same(children_of(x), children) or names is not None and not same(list(x), names):
                return True
        return False


cdef bint has_other_state(object x) except -1:
    """True if a node has state besides its children, so that its key is its identity."""
    cdef int kind = kind_of(x)
    if kind == TUPLE or kind == LIST or kind == DICT:
        return False
    if kind == REGISTERED or is_a(x, DEFAULTS) or reads_itself(type(x), kind):
        return True
    attributes = None if _PyObject_GetDictPtr(<PyObject *>x) is NULL else PyObject_GenericGetDict(x, NULL)
    return bool(attributes) and (kind != RECORD or len(attributes) > len(children_of(x)))


cdef bint reads_itself(object cls, int kind) except -1:
    """True if a class of nodes has its own code to read their children."""
    cdef PyObject *found
    for name in ("__getattribute__",) if kind == RECORD else ("__iter__", "__len__", "keys", "values") \
            if kind == DICTS else ("__iter__", "__len__"):
        found = _PyType_Lookup(<PyTypeObject *>cls, name)
        if found is not NULL and address(type(<object>found)) not in METHODS:
            return True
    return False


# --------------------------------------------------------------------------------------------------------- results

cdef class Leaf:
    """A tensor in a pytree of results: an output, an argument, a handle from outside, or a constant."""
    cdef int output                 # position among the outputs; -1 for a handle, -2 for a constant
    cdef int argument               # position of the argument that is returned, or -1
    cdef object handle
    cdef Array constant
    cdef bint again                 # it occurs at another place too, or is a view or has one
    cdef bint array                 # NumPy's rules hold for it
    cdef object refused             # the reason to refuse writes, or None
    cdef tuple layout               # shape, strides and type of the layout in memory; None for C order
    # For a view: the source (a Leaf, the position of an argument, or a handle), and how to take the elements.
    cdef tuple view

    def __reduce__(self):
        if self.view is not None:
            raise TypeError("a result that is a view cannot be pickled with the program that makes it")
        return leaf_again, (self.output, self.argument, self.handle,
                            None if self.constant is None else self.constant.numpy(), self.again, self.array,
                            self.refused, self.layout)


cdef class SharedNode:
    """A list, dict or record: one object, even if it occurs at several places."""
    cdef object nest

    def __reduce__(self):
        return node_again, (self.nest,)


def leaf_again(int output, int argument, handle, constant, bint again, bint array, refused, layout):
    """Restore a leaf that was pickled."""
    cdef Leaf leaf = Leaf()
    leaf.output = output
    leaf.argument = argument
    leaf.handle = handle
    leaf.constant = None if constant is None else copy_of(constant)
    leaf.again = again
    leaf.array = array
    leaf.refused = refused
    leaf.layout = layout
    return leaf


def node_again(nest):
    """Restore a node that was pickled."""
    cdef SharedNode node = SharedNode()
    node.nest = nest
    return node


def template_again(nest, list outputs, bint repeats):
    """Restore a template that was pickled."""
    cdef Template t = Template()
    t.nest = nest
    t.outputs = outputs
    t.repeats = repeats
    t.made = []
    t.views = []
    return t


cdef Template template_of_results(Signature g, Recorder recorder, object x):
    """A pytree of results with leaves in place of tensors; TypeError for objects that a program cannot return."""
    cdef Template t = Template()
    cdef Py_ssize_t i
    t.recorder = recorder
    t.outputs = []
    t.made = []
    t.views = []
    t.met = {}
    t.positions = {id(g.inputs[i]): i for i in range(len(g.inputs))}
    t.nest = t.template(x)
    t.note_views()
    t.met = t.positions = None
    t.recorder = None
    return t


cdef class Template:

    def __reduce__(self):
        return template_again, (self.nest, self.outputs, self.repeats)

    cdef object template(self, object x):
        if isinstance(x, TensorBase):
            leaf = self.met.get(id(x))
            if leaf is None:
                leaf = self.met[id(x)] = self.leaf_of(x)
                if (<TensorBase>x).alias is not None and (<TensorBase>x).alias.source is not None:
                    self.views.append((leaf, x))
            else:
                self.repeats = (<Leaf>leaf).again = True
            return leaf
        if value_key(x) is not None:
            return x
        if kind_of(x) == LEAF:
            raise TypeError(f"a {type(x).__name__} is returned")
        if self.depth == MAX_DEPTH:
            raise TypeError(f"a pytree of more than {MAX_DEPTH} levels is returned")
        deeper()
        self.depth += 1
        try:
            return self.template_of_nest(x, kind_of(x))
        finally:
            self.depth -= 1
            back()

    cdef object template_of_nest(self, object x, int kind):
        if kind == LIST or kind == DICT or kind == RECORD:
            return self.container(x)
        if kind == TUPLE or kind == NAMED:
            return rebuilt(x, [self.template(item) for item in x])
        raise TypeError(f"a {type(x).__name__} is returned")

    cdef object container(self, object x):
        """The template of a mutable container."""
        cdef SharedNode found = self.met.get(id(x))
        if found is not None:
            if found.nest is None:
                raise TypeError(f"a {type(x).__name__} that holds itself is returned")
            self.repeats = True
            return found
        found = self.met[id(x)] = SharedNode()
        self.made.append(x)
        found.nest = rebuilt(x, [self.template(item) for item in children_of(x)])
        return found

    cdef int note_views(self) except -1:
        """Note the sources of the new views among the results."""
        cdef list views = self.views
        cdef dict hidden = {}                   # id of a source that is not returned -> [(leaf, view)]
        cdef Leaf leaf
        cdef TensorBase t
        self.views = []
        for found, x in views:
            leaf = <Leaf>found
            t = <TensorBase>x
            source = t.alias.source
            if leaf.argument >= 0 or leaf.output == -1:
                continue
            place = self.positions.get(id(source))
            if place is None:
                place = self.met.get(id(source))
                if place is not None:
                    pass
                elif has_view_in(<TensorBase>source, self.positions):
                    raise TypeError("a view of a view that it was given is returned")
                elif (<TensorBase>source).birth < self.recorder.start:
                    place = source
                else:
                    hidden.setdefault(id(source), []).append((leaf, x))
                    continue
            self.note_view(leaf, t, place)
        for group in hidden.values():
            layouts = layouts_alone([x for _, x in group])
            place = None if layouts is not None else self.leaf_of((<TensorBase>group[0][1]).alias.source)
            for i, (leaf, x) in enumerate(group):
                if layouts is None:
                    self.note_view(leaf, <TensorBase>x, place)
                else:
                    leaf.refused = leaf.refused or (<TensorBase>x).alias.source.alias.refused
                    leaf.layout = in_numbers(layouts[i])

    cdef int note_view(self, object found, TensorBase t, place) except -1:
        cdef Leaf leaf = <Leaf>found
        if type(place) is Leaf:
            (<Leaf>place).again = True
        leaf.view = (place, t.alias.how)
        leaf.layout = None
        leaf.again = self.repeats = True
        self.views.append(leaf)

    cdef object leaf_of(self, TensorBase t):
        cdef Leaf leaf = Leaf()
        cdef Value v = value_in(t)
        cdef Array a
        leaf.argument = -1
        leaf.array = t.alias is not None and t.alias.array
        if t.alias is not None:
            leaf.refused = t.alias.refused
            leaf.layout = None if t.alias.layout is None else in_numbers(t.alias.layout)
        position = self.positions.get(id(t))
        if position is not None:
            leaf.argument = position
        elif t.birth < self.recorder.start:
            leaf.output = -1
            leaf.handle = t
        elif not is_plain(t) or v.kind != ARRAY:
            raise TypeError(f"a {type(t).__name__} is returned")
        else:
            a = <Array>v
            if a.trace == self.recorder.trace:
                leaf.output = len(self.outputs)
                self.outputs.append(a.slot)
            else:
                leaf.output = -2
                leaf.constant = a
        return leaf

    cdef bint same_as(self, Template other) except -1:
        return same_template(self.nest, other.nest)

    cdef object fill(self, list arrays, list inputs):
        """The pytree of results."""
        cdef dict met = {} if self.repeats else None
        cdef Leaf leaf
        found = fill_template(self.nest, arrays, inputs, met)
        for leaf in self.views:
            place, how = leaf.view
            source = inputs[place] if isinstance(place, int) else place
            if type(place) is Leaf:
                source = fill_template(place, arrays, inputs, met)      # it is not among the results, or met already
            as_view(met[id(leaf)], source, how, None, leaf.refused)
        return found


cdef object fill_leaf(Leaf leaf, list arrays, list inputs):
    if leaf.argument >= 0:
        return inputs[leaf.argument]
    if leaf.output == -1:
        return leaf.handle
    found = wrap(<Array>arrays[leaf.output] if leaf.output >= 0 else leaf.constant)
    if leaf.refused is not None:
        refuse_writes(found, leaf.refused)
    elif leaf.array:
        as_array(found)
    if leaf.layout is not None:
        shape, strides, kind = leaf.layout
        set_layout(found, new_layout(shape, strides, kind))
    return found


cdef tuple in_numbers(layout):
    """Shape, strides and type of a layout; None for C order."""
    return None if layout.flags.c_contiguous else (layout.shape, layout.strides, layout.dtype.char)


cdef object fill_template(object x, list arrays, list inputs, dict met):
    """A pytree of results. `met`: id of a template that occurs at several places -> its result."""
    cdef Py_ssize_t i
    if type(x) is Leaf:
        if met is None or not (<Leaf>x).again:
            return fill_leaf(<Leaf>x, arrays, inputs)
        if id(x) not in met:
            met[id(x)] = fill_leaf(<Leaf>x, arrays, inputs)
        return met[id(x)]
    if type(x) is tuple:
        nest = PyTuple_New(len(<tuple>x))
        for i in range(len(<tuple>x)):
            item = fill_template((<tuple>x)[i], arrays, inputs, met)
            Py_INCREF(item)
            PyTuple_SET_ITEM(nest, i, item)
        return nest
    if type(x) is SharedNode:
        if met is not None and id(x) in met:
            return met[id(x)]
        inner = (<SharedNode>x).nest
        if type(inner) is list:
            nest = [fill_template(item, arrays, inputs, met) for item in inner]
        else:
            nest = rebuilt(inner, [fill_template(item, arrays, inputs, met) for item in children_of(inner)])
        if met is not None:
            met[id(x)] = nest
        return nest
    if isinstance(x, tuple):
        return rebuilt(x, [fill_template(item, arrays, inputs, met) for item in x])
    return x


cdef bint same_view(Leaf a, Leaf b) except -1:
    """True if two leaves are views of the same elements of the same tensor, or neither is a view."""
    if a.view is None or b.view is None:
        return a.view is b.view
    x, y = a.view[0], b.view[0]
    if type(x) is Leaf and type(y) is Leaf:
        x, y = (<Leaf>x).output, (<Leaf>y).output
    return (x is y or isinstance(x, int) and isinstance(y, int) and x == y) and a.view[1:] == b.view[1:]


cdef bint same_template(object x, object y) except -1:
    cdef Leaf a, b
    if type(x) is not type(y):
        return False
    if type(x) is Leaf:
        a = <Leaf>x
        b = <Leaf>y
        return a.output == b.output and a.argument == b.argument and a.handle is b.handle and a.again == b.again and (
            a.array == b.array and a.refused == b.refused and a.layout == b.layout and same_view(a, b)) and (
            a.output != -2 or a.constant is b.constant
            or a.constant.numpy().tobytes() == b.constant.numpy().tobytes())
    if type(x) is SharedNode:
        return same_template((<SharedNode>x).nest, (<SharedNode>y).nest)
    if kind_of(x) == LEAF:
        return x == y or x != x and y != y
    return labels_of(x) == labels_of(y) and all([same_template(p, q) for p, q in zip(children_of(x), children_of(y))])
