"""Pytrees: nests of tuples, lists, dicts and other containers with tensors in them.

What a transform takes and returns may be any pytree. There is one walk over it, always in the same order, and one over
two pytrees at a time; both never change what they walk. What is made of the leaves is said by a `Walk` or a `Pairing`.
Those that are not asked for by Python have no state of their own and exist once; what a walk works on is passed along.
"""
cimport cython

from .containers cimport (DICT, DICTS, LEAF, LIST, LISTS, NAMED, RECORD, REGISTERED, TUPLE, aligned_children, back,
                          branch, children_of, deeper, described, holds, kind_of, labels_of, rebuilt, same, with_some)
from .handles cimport TensorBase, as_array


# ------------------------------------------------------------------------------------------------------ the two walks

cdef class Walk:
    """What a walk over a pytree makes of its leaves, and of its containers."""

    cdef object leaf(self, object x, bint named, object state):
        """What stands in the place of a leaf. named: it is a field, or below one, or below an object of a registered
        class."""
        return x

    cdef object node(self, object x, int kind, list children):
        """What stands in the place of a container, whose children have been walked."""
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
    """What a walk over two pytrees, of which the second is to have the nesting of the first, makes of their leaves."""

    cdef int leaf(self, str name, object like, object given, bint named, object where, list found) except -1:
        """Check what is given for a leaf, named as in a `Walk`, and add what is made of it to a list. `name` and
        `where` (a string or a Place) are for messages."""
        raise NotImplementedError

    cdef list children(self, object like, object given):
        """What is given for the children of a container; None if it has not the nesting."""
        return aligned_children(like, given, False)

    cdef object misfit(self, str name, object like, object given, object where):
        """The error for what has not the nesting; None to go on."""
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
    """The labels that lead to the first leaf of a pytree that is this object, below no field; None without one."""
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
    """Whether there is a tensor in a pytree."""
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
    """The tensors of a pytree, in order, added to a list."""
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
    """The lists, dicts and records in a pytree with what they hold, for `check_containers`."""
    cdef list found = []
    NOTING.walk(x, False, found)
    return found


cdef int check_containers(str name, list noted) except -1:
    """An error if a function has changed a list, dict or record that it was given."""
    for x, children, keys in noted:
        if not same(children_of(x), children) or keys is not None and not same(keys_of(x), keys):
            raise RuntimeError(f"{name}: the function changes a {type(x).__name__} that it is given, and code outside "
                               f"would not see the change; work on a copy of it")
    return 0


cdef class Replacing(Walk):
    """Puts the next of an iterator in the place of each tensor."""

    cdef object leaf(self, object x, bint named, object state):
        return of_kind(<TensorBase>x, next(state)) if isinstance(x, TensorBase) else x


cdef object of_kind(TensorBase t, object new):
    """A tensor in the place of another one: an array in the place of an array."""
    if t.alias is not None and t.alias.array and isinstance(new, TensorBase) and (<TensorBase>new).alias is None:
        as_array(new)
    return new


cdef Replacing REPLACING = Replacing()


cdef object in_place(object x, list tensors):
    """A pytree with these tensors in the place of its own; what is no tensor stays."""
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
        return rebuilt(emptied(x), children)        # a record of the same children would be itself


cdef Owning OWNING = Owning()


cdef object own(object x):
    """A pytree with its own lists, dicts and records, which holds the same tensors."""
    return x if isinstance(x, TensorBase) else OWNING.walk(x, False, None)


cdef class Arranging(Walk):
    """Like `Replacing`. Tuples, lists and dicts leave out what holds no tensor; what has fields, and what is
    registered, keeps it."""

    cdef object leaf(self, object x, bint named, object state):
        return next(state) if isinstance(x, TensorBase) else NOTHING

    cdef object node(self, object x, int kind, list children):
        for child in children:
            if child is not NOTHING:
                return pruned_node(x, kind, children)
        return NOTHING


cdef class Nothing:
    """Stands where there is no tensor."""


cdef Nothing NOTHING = Nothing()
cdef Arranging ARRANGING = Arranging()


cdef object pruned_node(object x, int kind, list children):
    """A container of which some children are missing."""
    cdef list at
    cdef Py_ssize_t i
    if kind == NAMED or kind == RECORD or kind == REGISTERED:
        return rebuilt(x, [own if child is NOTHING else child for own, child in zip(children_of(x), children)])
    at = [i for i in range(len(children)) if children[i] is not NOTHING]
    return rebuilt(x, children) if len(at) == len(children) else with_some(x, at, [children[i] for i in at])


cdef object arranged(object x, object gradients):
    """The next of an iterator of gradients, in the nesting of the input they belong to."""
    if isinstance(x, TensorBase):
        return next(gradients)
    found = ARRANGING.walk(x, False, gradients)
    if found is not NOTHING:
        return found
    return x if kind_of(x) == LEAF else pruned_node(x, kind_of(x), [NOTHING] * len(children_of(x)))


cdef class Hole:
    """Where a tensor stood in the arguments of a call; what is kept of it holds none of the tape's own tensors."""


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
    """Puts the next of an iterator in each hole."""

    cdef object leaf(self, object x, bint named, object state):
        return next(state) if x is HOLE else array_of_hole(next(state)) if x is ARRAY_HOLE else x


cdef object array_of_hole(object new):
    """A tensor for the place of an array, which is one from now on; what is no tensor stays what it is."""
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
    """Whether there is a tensor in a pytree."""
    return holds_tensor(x)


def flat(x):
    """The tensors of a pytree, in order."""
    return tensors_of(x)


def placed(x, list tensors not None):
    """A pytree with something else in the places of its tensors, in order; what is no tensor stays."""
    return in_place(x, tensors)


def like_gradient(x, list tensors not None):
    """The same as a gradient of the pytree is arranged: tuples, lists and dicts leave out what holds no tensor."""
    return arranged(x, iter(tensors))


cdef class Changing(Walk):
    """Calls a function of (leaf, named) for what is no tensor."""
    cdef object change
    cdef object whole

    cdef object leaf(self, object x, bint named, object state):
        return x if isinstance(x, TensorBase) else self.change(x, named)

    cdef object walk(self, object x, bint named, object state):
        if self.whole is not None and kind_of(x) != LEAF and self.whole(x):
            return self.change(x, named)
        return Walk.walk(self, x, named, state)


def with_leaves(x, change, whole=None):
    """A pytree with change(leaf, named) in place of what is no tensor and holds nothing; named: it is a field, or below
    one, or below an object of a registered class. What `whole` says yes to is a leaf."""
    cdef Changing walk = Changing()
    walk.change = change
    walk.whole = whole
    return walk.walk(x, False, None)


def beside(like, given):
    """(label, child, what belongs to it) for the children of a node; None if what is given has not its nesting."""
    cdef list others = aligned_children(like, given, False)
    return None if others is None else list(zip(labels_of(like), children_of(like), others))


cdef class Matching(Pairing):
    """Finds what is given for each tensor."""
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
    """What stands in a pytree where another has its tensors; it must have that nesting."""
    cdef Matching pairing = Matching()
    cdef list found = []
    pairing.what = what
    pairing.walk(name, like, given, False, where, found)
    return found


def is_leaf(x):
    """Whether a value has no children."""
    return kind_of(x) == LEAF


def in_words(x):
    """A value in a message."""
    return described(x)
