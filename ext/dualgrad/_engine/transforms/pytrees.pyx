"""Pytrees: nests of tuples, lists, dicts and other containers with tensors in them.

A transform may take and return any pytree. One walk goes over a pytree, always in the same order, and one over two
pytrees at a time. Neither changes them. A `Walk` or a `Pairing` handles the leaves. Walks of the engine have no state
and exist once; the data of a walk is passed along.
"""
cimport cython

from .containers cimport (DICT, DICTS, LEAF, LIST, LISTS, NAMED, RECORD, REGISTERED, TUPLE, aligned_children, back,
                          branch, children_of, deeper, described, holds, kind_of, labels_of, rebuilt, same, with_some)
from .handles cimport TensorBase, as_array


# ------------------------------------------------------------------------------------------------------ the two walks

cdef class Walk:
    """The action of a walk over a pytree at its leaves and containers."""

    cdef object leaf(self, object x, bint named, object state):
        """The object in the place of a leaf. named: it is a field, or below one, or below an object of a registered
        class."""
        return x

    cdef object node(self, object x, int kind, list children):
        """The object in the place of a container, whose children have been walked."""
        return rebuilt(x, children)

    cdef object walk(self, object x, bint named, object state):
        cdef int kind = kind_of(x)
        cdef list children
        cdef Py_ssize_t i
        if kind == LEAF:
            return self.leaf(x, named, state)
        named = named or kind == NAMED or kind == RECORD or kind == REGISTERED
        children = children_of(x)
        deeper()
        try:
            for i in range(len(children)):
                children[i] = self.walk(children[i], named, state)
        finally:
            back()
        return self.node(x, kind, children)


@cython.final
@cython.freelist(8)
cdef class Place:
    """A child of a container, as messages name it."""
    cdef object outer               # the place of the container; a string above the first one
    cdef object container
    cdef Py_ssize_t at

    def __str__(self):
        return f"{self.outer}{labels_of(self.container)[self.at]}"


cdef Place place_in(object outer, object container, Py_ssize_t at):
    cdef Place place = Place.__new__(Place)
    place.outer = outer
    place.container = container
    place.at = at
    return place


cdef class Pairing:
    """The action at the leaves of a walk over two pytrees. The second must have the nesting of the first."""

    cdef int leaf(self, str name, object like, object given, bint named, object where, list found) except -1:
        """Check the entry for a leaf, and append the result to `found`. `named` is as in a `Walk`. `name` and `where`
        (a string or a Place) are for messages."""
        raise NotImplementedError

    cdef list children(self, object like, object given):
        """The entries for the children of a container; None if the nesting differs."""
        return aligned_children(like, given, False)

    cdef object misfit(self, str name, object like, object given, object where):
        """The error for an entry with another nesting; None to go on."""
        raise NotImplementedError

    cdef int walk(self, str name, object like, object given, bint named, object where, list found) except -1:
        cdef int kind = kind_of(like)
        cdef list parts, others
        cdef Py_ssize_t i
        if kind == LEAF:
            return self.leaf(name, like, given, named, where, found)
        others = self.children(like, given)
        if others is None:
            error = self.misfit(name, like, given, where)
            if error is not None:
                raise error
            return 0
        named = named or kind == NAMED or kind == RECORD or kind == REGISTERED
        parts = children_of(like)
        deeper()
        try:
            for i in range(len(parts)):
                self.walk(name, parts[i], others[i], named, place_in(where, like, i), found)
        finally:
            back()
        return 0


cdef str place_of(object x, object leaf, bint named):
    """The labels that lead to the first leaf that is this object, except below fields; None without one."""
    cdef int kind = kind_of(x)
    cdef str place
    if kind == LEAF:
        return "" if x is leaf and not named else None
    named = named or kind == NAMED or kind == RECORD or kind == REGISTERED
    for label, child in zip(labels_of(x), children_of(x)):
        place = place_of(child, leaf, named)
        if place is not None:
            return label + place
    return None


# ---------------------------------------------------------------------------------------------- flattened, put together

cdef bint holds_tensor(object x) except -1:
    """True if there is a tensor in a pytree."""
    return isinstance(x, TensorBase) or holds(x)


cdef class Flattening(Walk):
    """Adds the tensors to a list; nothing is put together."""

    cdef object leaf(self, object x, bint named, object state):
        if isinstance(x, TensorBase):
            (<list>state).append(x)

    cdef object node(self, object x, int kind, list children):
        return None

    cdef object walk(self, object x, bint named, object state):
        if type(x) is not tuple:
            return Walk.walk(self, x, named, state)
        deeper()
        try:
            for child in <tuple>x:
                self.walk(child, named, state)
        finally:
            back()


cdef Flattening FLATTENING = Flattening()


cdef int tensors_in(object x, list found) except -1:
    """Append the tensors of a pytree to `found`, in order."""
    FLATTENING.walk(x, False, found)
    return 0


cdef list tensors_of(object x):
    """The tensors of a pytree, in order."""
    cdef list found = []
    FLATTENING.walk(x, False, found)
    return found


cdef class Noting(Walk):
    """Adds each list, dict and record to a list, with its children and keys."""

    cdef object node(self, object x, int kind, list children):
        return None

    cdef object walk(self, object x, bint named, object state):
        cdef int kind = kind_of(x)
        if kind == LIST or kind == DICT or kind == LISTS or kind == DICTS or kind == RECORD:
            (<list>state).append((x, children_of(x), keys_of(x)))
        return Walk.walk(self, x, named, state)


cdef Noting NOTING = Noting()


cdef list keys_of(object x):
    return list(x) if isinstance(x, dict) else None


cdef list noted_containers(object x):
    """The lists, dicts and records in a pytree with their contents, for `check_containers`."""
    cdef list found = []
    NOTING.walk(x, False, found)
    return found


cdef int check_containers(str name, list noted) except -1:
    """Raise if a function has changed a list, dict or record that it was given."""
    for x, children, keys in noted:
        if not same(children_of(x), children) or keys is not None and not same(keys_of(x), keys):
            raise RuntimeError(f"{name}: the function changes a {type(x).__name__} that it is given, and code outside "
                               f"would not see the change; work on a copy of it")
    return 0


cdef class Replacing(Walk):
    """Puts the next item of an iterator in the place of each tensor."""

    cdef object leaf(self, object x, bint named, object state):
        return of_kind(<TensorBase>x, next(state)) if isinstance(x, TensorBase) else x


cdef object of_kind(TensorBase t, object new):
    """A tensor in the place of another one: an array in the place of an array."""
    if t.alias is not None and t.alias.array and isinstance(new, TensorBase) and (<TensorBase>new).alias is None:
        as_array(new)
    return new


cdef Replacing REPLACING = Replacing()


cdef object in_place(object x, list tensors):
    """A pytree with these tensors in the place of its own; other leaves stay."""
    return REPLACING.walk(x, False, iter(tensors))


cdef class Owning(Walk):
    """Makes each list, dict and record anew."""

    cdef object node(self, object x, int kind, list children):
        if kind == LIST:
            return children
        if kind == TUPLE:
            return tuple(children)
        if kind == DICT:
            return dict(zip(x, children))
        return rebuilt(emptied(x), children)        # a record with the same children would be returned itself


cdef Owning OWNING = Owning()


cdef object own(object x):
    """A pytree with its own lists, dicts and records, which holds the same tensors."""
    return x if isinstance(x, TensorBase) else OWNING.walk(x, False, None)


cdef class Arranging(Walk):
    """Like `Replacing`, but tuples, lists and dicts leave out children without tensors. Objects with fields and
    registered objects keep them."""

    cdef object leaf(self, object x, bint named, object state):
        return next(state) if isinstance(x, TensorBase) else NOTHING

    cdef object node(self, object x, int kind, list children):
        for child in children:
            if child is not NOTHING:
                return pruned_node(x, kind, children)
        return NOTHING


cdef class Nothing:
    """Stands in the place of a child without tensors."""


cdef Nothing NOTHING = Nothing()
cdef Arranging ARRANGING = Arranging()


cdef object pruned_node(object x, int kind, list children):
    """A container without some of its children."""
    cdef list at
    cdef Py_ssize_t i
    if kind == NAMED or kind == RECORD or kind == REGISTERED:
        return rebuilt(x, [own if child is NOTHING else child for own, child in zip(children_of(x), children)])
    at = [i for i in range(len(children)) if children[i] is not NOTHING]
    return rebuilt(x, children) if len(at) == len(children) else with_some(x, at, [children[i] for i in at])


cdef object arranged(object x, object gradients):
    """The next gradients of an iterator, in the nesting of their input."""
    if isinstance(x, TensorBase):
        return next(gradients)
    found = ARRANGING.walk(x, False, gradients)
    if found is not NOTHING:
        return found
    return x if kind_of(x) == LEAF else pruned_node(x, kind_of(x), [NOTHING] * len(children_of(x)))


cdef class Hole:
    """The place of a tensor in kept arguments of a call, which must hold no tensors of the tape."""


cdef Hole HOLE = Hole(), ARRAY_HOLE = Hole()


cdef class Emptying(Walk):
    """Puts holes in the place of tensors."""

    cdef object leaf(self, object x, bint named, object state):
        if not isinstance(x, TensorBase):
            return x
        return ARRAY_HOLE if (<TensorBase>x).alias is not None and (<TensorBase>x).alias.array else HOLE

    cdef object node(self, object x, int kind, list children):
        return branch(x, children) if kind == REGISTERED else rebuilt(x, children)


cdef class Refilling(Walk):
    """Puts the next item of an iterator in each hole."""

    cdef object leaf(self, object x, bint named, object state):
        return next(state) if x is HOLE else array_of_hole(next(state)) if x is ARRAY_HOLE else x


cdef object array_of_hole(object new):
    """Make the tensor in the place of an array an array; other objects stay."""
    return as_array(new) if isinstance(new, TensorBase) and (<TensorBase>new).alias is None else new


cdef Emptying EMPTYING = Emptying()
cdef Refilling REFILLING = Refilling()


cdef object emptied(object x):
    """A pytree with holes in place of its tensors."""
    return EMPTYING.walk(x, False, None)


cdef object refilled(object x, object tensors):
    """A pytree with its holes filled, in order."""
    return REFILLING.walk(x, False, tensors)


# ------------------------------------------------------------------------------------------------- for Python

def differentiable(x):
    """True if there is a tensor in a pytree."""
    return holds_tensor(x)


def flat(x):
    """The tensors of a pytree, in order."""
    return tensors_of(x)


def placed(x, list tensors not None):
    """A pytree with other objects in the places of its tensors, in order; other leaves stay."""
    return in_place(x, tensors)


def like_gradient(x, list tensors not None):
    """A pytree with other objects for its tensors, in the form of a gradient. Tuples, lists and dicts leave out
    children without tensors."""
    return arranged(x, iter(tensors))


cdef class Changing(Walk):
    """Calls a function of (leaf, named) for leaves that are not tensors."""
    cdef object change
    cdef object whole

    cdef object leaf(self, object x, bint named, object state):
        return x if isinstance(x, TensorBase) else self.change(x, named)

    cdef object walk(self, object x, bint named, object state):
        if self.whole is not None and kind_of(x) != LEAF and self.whole(x):
            return self.change(x, named)
        return Walk.walk(self, x, named, state)


def with_leaves(x, change, whole=None):
    """A pytree with change(leaf, named) in the place of each leaf that is not a tensor. named: it is a field, or below
    one, or below an object of a registered class. Nodes for which `whole` is true count as leaves."""
    cdef Changing walk = Changing()
    walk.change = change
    walk.whole = whole
    return walk.walk(x, False, None)


def beside(like, given):
    """(label, child, its entry) for the children of a node; None if the nesting of `given` differs."""
    cdef list others = aligned_children(like, given, False)
    return None if others is None else list(zip(labels_of(like), children_of(like), others))


cdef class Matching(Pairing):
    """Finds the entry for each tensor."""
    cdef str what

    cdef int leaf(self, str name, object like, object given, bint named, object where, list found) except -1:
        if isinstance(like, TensorBase):
            found.append(given)
        return 0

    cdef object misfit(self, str name, object like, object given, object where):
        if isinstance(like, dict):
            return ValueError(f"{name}: {self.what}{where} does not have the keys {list(like)}; got {described(given)}")
        return ValueError(f"{name}: {self.what}{where} is {described(given)}; expected {described(like)}")


def matched(str name, like, given, str what, str where=""):
    """The entries of `given` at the places of the tensors of `like`. Both must have the same nesting."""
    cdef Matching pairing = Matching()
    cdef list found = []
    pairing.what = what
    pairing.walk(name, like, given, False, where, found)
    return found


def is_leaf(x):
    """True if a value has no children."""
    return kind_of(x) == LEAF


def in_words(x):
    """A description of a value, for messages."""
    return described(x)
