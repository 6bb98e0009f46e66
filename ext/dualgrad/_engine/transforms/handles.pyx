"""Handles: the objects that users hold, and the values of handles as the open levels see them.

Design
------
A Tensor is a handle on an immutable value of any kind. Inside a differentiated function it holds a node or a dual, and
looks the same. Assignment (`t[i] = v`, `set_data`, an optimiser's step) rebinds the handle, even while another thread
reads it: that thread sees the whole former value or the whole new one. So code that needs several properties of a value
(type, shape, numbers) reads the handle once.

A view is a handle that shows elements of another handle, its source: NumPy's views, for arrays (`Alias`). A write into
a view is a write into its source (ops/index/indexing.py). A new value of the source removes the values of its views.
The next read of a view takes its elements from the source again. So reads cost the same for all handles, and a write
costs a few nanoseconds for each living view.

A parameter itself is not a value of any level. When a primitive reads it, every open level that differentiates it adds
its leaf, lowest level first.
"""
cimport cython
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF

import os
import threading

from ..arrays.array import np
from ..arrays.array cimport (ARRAY, BATCH, DG_DEBUG, DUAL, NODE, Array, Value, copy_of, from_ndarray, shape_tuple,
                             to_ndarray, with_numbers)
from ..arrays.shared cimport apart
from ..arrays.thread cimport dg_thread, thread_state
from ..primitives.execute cimport Tracer, active_tracer, given_to_python, tracing
from ..primitives.watch cimport user_line
from ..tape.closed_call cimport ClosedCall, Moment, add_to_history, digest_of, digest_t, mixed, moment, put_back
from ..tape.nodes cimport current_environment, lowered
from ..tape.tape cimport Tape
from ..values.levels cimport (Batch, BatchLevel, Dual, Level, Node, called_rule, constant_of, current_level,
                              last_serial, ndim_of, refuse, shape_of, shaped_array, size_of, type_of)

cdef extern from "memory/pool.h":
    """
    static PyObject *dg_tp_new(PyTypeObject *type, PyObject *args) { return type->tp_new(type, args, NULL); }
    """
    ctypedef struct dg_pool:
        int n
    object dg_pool_take(dg_pool *pool, PyTypeObject *type)
    void dg_pool_give(dg_pool *pool, PyTypeObject *type, PyObject *o) noexcept
    bint dg_lives_on(PyObject *o) noexcept
    void DG_FREE_NESTED(PyObject *o, void (*dealloc)(PyObject *) noexcept, void (*freed)(PyObject *) noexcept) noexcept
    object dg_tp_new(PyTypeObject *type, tuple args)

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(PyObject *o) noexcept

cdef long long LATER = (<long long>1 << 62)
cdef type TENSOR = None             # dualgrad.Tensor, once it exists
cdef dict DTYPES = {}               # type number -> dualgrad.dtype object
cdef tuple EMPTY = ()
cdef dict NO_SETTINGS = {}


def install(type tensor, dict dtypes):
    """Set the Tensor class, and the dtypes by type number."""
    global TENSOR
    TENSOR = tensor
    if not DG_DEBUG:
        (<PyTypeObject *>tensor).tp_dealloc = free_handle
    DTYPES.update(dtypes)


cdef object wrap(Value v):
    """A new Tensor on a value."""
    cdef TensorBase t
    if HANDLES.n > 0:
        t = <TensorBase>dg_pool_take(&HANDLES, <PyTypeObject *>TENSOR)
        t.birth = last_serial()
    else:
        t = <TensorBase>dg_tp_new(<PyTypeObject *>TENSOR, EMPTY)
    t.value = v
    if thread_state().closed_call is not NULL:
        give_mark(t)
    return t


cdef dg_pool HANDLES                # freed tensors, except those with a derived class


cdef void free_handle(PyObject *self) noexcept:
    """Free a tensor. A derived class has already freed its own fields."""
    if dg_lives_on(self):
        return
    PyObject_GC_UnTrack(self)
    if (<TensorBase>self).alias is None and ((<TensorBase>self).value is None
                                             or (<TensorBase>self).value.kind == ARRAY):
        free_plain_handle(self)
    else:
        DG_FREE_NESTED(self, free_handle, free_plain_handle)


cdef void free_plain_handle(PyObject *self) noexcept:
    if (<TensorBase>self).alias is not None and (<TensorBase>self).alias.handle == self:
        (<TensorBase>self).alias.handle = NULL
    (<TensorBase>self).value = None
    (<TensorBase>self).parameter = False
    (<TensorBase>self).captured = False
    (<TensorBase>self).hooks = None
    (<TensorBase>self).alias = None
    dg_pool_give(&HANDLES, <PyTypeObject *>TENSOR, self)


cdef bint is_plain(object x) noexcept:
    """True for a Tensor that is not of a derived class, so that it has no attributes of users."""
    return type(x) is TENSOR


cdef bint is_plain_class(object kind) noexcept:
    """True if a class is Tensor itself. It is a Python class, but `free_handle` frees its objects."""
    return kind is TENSOR


cdef inline Value held(TensorBase t):
    """The tensor's own value; raises if it has none."""
    cdef Value v = value_in(t)
    if v is None:
        raise RuntimeError("a tensor is used before its __init__ has run; call super().__init__() first (a tensor "
                           "whose shape holds None is a placeholder, which never has a value)")
    return v


cdef inline Value current(TensorBase t):
    """The tensor's own value, which an active recording refers to."""
    cdef Value v = held(t)
    if v.kind != ARRAY:
        return v if thread_state().environment is NULL else lowered(v, current_environment())
    return active_tracer().reference(t, <Array>v) if tracing() else kept_numbers(<Array>v)


cdef inline Array kept_numbers(Array a):
    """An array with its numbers. Inside a derivative, which may read it later, no user can write to its memory."""
    return with_numbers(a) if a.owner or thread_state().level is NULL else apart(with_numbers(a))


cdef Value base(TensorBase t):
    """The tensor's own value, as the active closed call sees it."""
    cdef PyObject *closed = thread_state().closed_call
    if closed is NULL or t.birth >= (<ClosedCall>closed).level.serial:
        return current(t)
    return within(t, <ClosedCall>closed)


cdef Value within(TensorBase t, ClosedCall closed):
    """The value of an older handle in a closed call."""
    cdef dg_thread *thread = thread_state()
    cdef PyObject *inner
    cdef Value v
    found = closed.table.get(id(t))
    if found is not None:
        v = <Value>found
    else:                           # a rule inside may read it first, but the whole call reads it
        inner = thread.environment
        thread.environment = NULL if closed.environment is None else <PyObject *>closed.environment
        try:
            v = closed.capture(t, seen(t, closed.outer, closed.level.outer, closed.level.serial),
                               0 if closed.outer is None else mark_of(t, closed.outer))
        finally:
            thread.environment = inner
    return v if thread.environment is NULL or v.kind == ARRAY else lowered(v, current_environment())


cdef Value seen(TensorBase t, ClosedCall closed, Level level, long long before):
    """The value of a tensor in a closed call (None: outside all) for `level` and the levels around it that were opened
    there before serial `before`."""
    cdef Value v
    cdef list levels
    cdef long long after = -1
    if closed is None or t.birth >= closed.level.serial:
        v = current(t)
    else:
        v = within(t, closed)
        after = closed.level.serial
    if not t.parameter:
        return v
    if level is None:
        return v
    levels = []
    while level is not None:
        if (level.reverse and after < level.serial < before and (<Tape>level).wanted is not None
                and id(t) in (<Tape>level).wanted):
            levels.append(level)
        elif after < level.serial < before and level.given is not None and id(t) in level.given:
            original, substitute = level.given[id(t)]
            if original is value_in(t):
                v = <Value>substitute
                break
        level = level.outer
    for level in reversed(levels):
        v = (<Tape>level).parameter_leaf(t, v)
    return v


cdef Value read(TensorBase t):
    """The value of a tensor as the open levels see it."""
    cdef dg_thread *thread = thread_state()
    cdef Value v
    if thread.closed_call is NULL and not t.parameter:
        v = held(t)
        if v.kind != ARRAY:
            return v if thread.environment is NULL else lowered(v, current_environment())
        return kept_numbers(<Array>v) if thread.tracer is NULL else (<Tracer>thread.tracer).reference(t, <Array>v)
    return seen(t, current_closed_call(), current_level(), LATER)


cdef ClosedCall current_closed_call():
    """The innermost active closed call of this thread, or None."""
    cdef PyObject *closed = thread_state().closed_call
    return None if closed is NULL else <ClosedCall>closed


cdef ClosedCall swap_closed_call(ClosedCall closed):
    """Make a closed call, or None, the innermost one; return the former one."""
    cdef ClosedCall former = current_closed_call()
    if closed is not None:
        Py_INCREF(closed)
    thread_state().closed_call = NULL if closed is None else <PyObject *>closed
    if former is not None:
        Py_DECREF(former)
    return former


cdef Array number_of(Value v, str what, bint shown):
    """The numbers of a value that does not depend on the sample; raises for others. shown: they are for printing."""
    cdef int first
    cdef Array a = shaped_array(v, &first)
    given_to_python(a, what)
    if first:
        if not shown:
            refuse_samples(v, what)
        raise ValueError(f"a tensor inside vmap stands for all samples at once, so Python cannot be given {what}, "
                         f"which may differ from sample to sample; use ops.where to choose by value, or take the "
                         f"numbers outside of vmap")
    return a


cdef int refuse_samples(Value v, str what) except -1:
    """Note that Python was refused the numbers of a value that stands for samples."""
    while v.kind != BATCH:
        v = (<Node>v).primal if v.kind == NODE else <Value>(<Dual>v).parts[0]
    line = user_line()
    where = "" if line is None else f" (in {line[0]}, line {line[1]})"
    return refuse((<Batch>v).level, f"{(<Batch>v).level.name}: Python asked for {what} of a tensor that stands for all "
                  f"samples at once{where}", "use ops.where to choose by value")


cdef Level carrier(Value v):
    """The level to which the derivative of a value, or its samples, belong; None for a constant."""
    cdef Level level
    if v.kind == NODE:
        level = (<Node>v).level
        if level.open and (<Tape>level).detached or not level.depends_on_open():
            return carrier((<Node>v).primal)
        return level
    if v.kind == DUAL:
        level = (<Dual>v).level
        if level.open:
            for part in (<Dual>v).parts[1:]:
                if part is not None:
                    return level
        return carrier(<Value>(<Dual>v).parts[0])
    return (<Batch>v).level if v.kind == BATCH else None


def carried(TensorBase t not None):
    """The transform whose derivative or samples are lost in plain numbers of a tensor.

    Returns its name, True if it maps samples, and the user's line; None if nothing is lost.
    """
    cdef Level level = carrier(read(t))
    cdef ClosedCall closed = current_closed_call()
    if level is None:
        return None
    while closed is not None:                   # a loop or a block: the transform is around it
        if level is closed.level and level.outer is not None:
            level = level.outer
        closed = closed.outer
    return level.name, isinstance(level, BatchLevel), user_line()


def refused(TensorBase t not None, str what, str advice):
    """Note that Python was refused plain numbers of a tensor: see `refuse`."""
    cdef Level level = carrier(read(t))
    cdef ClosedCall closed = current_closed_call()
    while closed is not None and closed.level is not level:
        closed = closed.outer
    if closed is None:
        refuse(level, what, advice)
        return
    while level.outer is not None:              # a loop or a block: its values may belong to all transforms around it
        level = level.outer
        refuse(level, what, advice)


cdef Array array_operand(object array):
    """A NumPy array as an operand. A tape and a program get a copy: they read it later, when its user may have changed
    it."""
    cdef dg_thread *thread = thread_state()
    if thread.level is NULL and thread.tracer is NULL:
        return from_ndarray(array)
    entering(array)
    return copy_of(array)


# ------------------------------------------------------------------------------------- histories of closed calls

cdef ClosedCall noting_call():
    """The innermost closed call; None if a recording is active in it, which later runs may find made."""
    cdef dg_thread *thread = thread_state()
    cdef ClosedCall closed = <ClosedCall>thread.closed_call
    if thread.tracer is NULL or thread.tracer is closed.tracer or not (<Tracer>thread.tracer).repeats():
        return closed
    return None


cdef int entering(object x) except -1:
    """Add a primitive to the history, or a number, setting or NumPy array that Python gives to one."""
    cdef ClosedCall closed = noting()
    return 0 if closed is None else add_to_history(closed, digest_of(x))


cdef int entering_op(int op) except -1:
    """Add a primitive or a transform to the history, by its number."""
    cdef ClosedCall closed = noting()
    return 0 if closed is None else add_to_history(closed, <digest_t>op)


cdef int note_operand(object x) except -1:
    """Add a tensor operand of a primitive or transform to the history."""
    cdef ClosedCall closed = noting()
    if closed is None:
        return 0
    if isinstance(x, TensorBase):
        add_to_history(closed, mark_of(<TensorBase>x, closed))
    return 0


cdef digest_t mark_of(TensorBase t, ClosedCall closed) except? 0:
    """The mark of a tensor in a closed call."""
    if t.birth >= closed.level.serial:
        return t.mark
    found = closed.marks.get(id(t))
    if found is None:
        within(t, closed)
        found = closed.marks[id(t)]
    return <digest_t>found


cdef int give_mark(TensorBase t) except -1:
    """Mark a tensor that was made in a closed call, or got a new value there."""
    cdef ClosedCall closed = noting()
    if closed is not None:
        closed.made += 1
        put_mark(t, closed, mixed(closed.history, closed.made))
    return 0


cdef int put_mark(TensorBase t, ClosedCall closed, digest_t mark) except -1:
    if t.birth >= closed.level.serial:
        t.mark = mark
    else:
        closed.marks[id(t)] = mark
    return 0


cdef Moment now():
    """The history before a primitive, or before a transform's operations that depend on the order of a derivative."""
    return moment(noting())


cdef int back_to(Moment before) except -1:
    """Restore the history."""
    cdef ClosedCall closed = noting()
    return 0 if closed is None else put_back(closed, before)


cdef object marked(Value v, Moment before):
    """A new Tensor on the result of a primitive. Rules that ran since `before` are removed from the history."""
    cdef ClosedCall closed = noting()
    if closed is not None:
        put_back(closed, before)
    return wrap(v)


cdef object renewed(Value v, TensorBase t):
    """A new Tensor with another value and the mark of t."""
    cdef ClosedCall closed = noting()
    cdef TensorBase made
    if closed is None:
        return wrap(v)
    made = wrap(v)
    closed.made -= 1
    made.mark = mark_of(t, closed)
    return made


def operand_from(array):
    """A NumPy array as a tensor operand. It shares the array's memory if nothing reads it later."""
    return wrap(array_operand(array))


cdef Value value_of(object x):
    """The value of a tensor or array; numbers are not accepted here."""
    if isinstance(x, TensorBase):
        return read(<TensorBase>x)
    if isinstance(x, np.ndarray):
        return array_operand(x)
    raise TypeError(f"expected a Tensor, got {type(x).__name__}; wrap it in dualgrad.Tensor(...)")


def stop(TensorBase t not None):
    """The tensor as a constant of every level."""
    entering_op(STOPPED)
    note_operand(t)
    return wrap(constant_of(base(t)))


def watch_rebinding(look):
    """Call a function with each handle that this thread is about to give a new value; None for no function.

    Returns the former function. Replayed programs do not call it: their changes are written in them.
    """
    cdef dg_thread *thread = thread_state()
    former = None if thread.rebinding is NULL else <object>thread.rebinding
    if look is not None:
        Py_INCREF(look)
    thread.rebinding = NULL if look is None else <PyObject *>look
    if former is not None:
        Py_DECREF(former)
    return former


cdef int rebound(TensorBase t, Value v) except -1:
    """Give a handle a new value. A handle older than the active closed call keeps its own value until the call ends."""
    cdef dg_thread *thread = thread_state()
    cdef ClosedCall closed = current_closed_call()
    cdef Value former
    if closed is not None:
        if t.birth < closed.level.serial:
            within(t, closed)
            closed.table[id(t)] = v
            closed.effects[id(t)] = t
            give_mark(t)
            return 0 if t.alias is None else outdate_views(t)
        give_mark(t)
    if thread.rebinding is not NULL:
        (<object>thread.rebinding)(t)
    if t.parameter and v.kind == ARRAY:
        v = apart(<Array>v)
    if hooks_of(t) is not None:
        former = value_in(t)
        if former is not None and former.kind == NODE:
            set_hooks(t, None)      # they belong to the value that is replaced
    put(t, v)
    if tracing():
        active_tracer().rebound(t)
    return 0


# ---------------------------------------------------------------------------------------------------------- views

cdef extern from "memory/shared.h":
    ctypedef char dg_shared_lock
    void dg_hold(dg_shared_lock *lock) noexcept
    void dg_release(dg_shared_lock *lock) noexcept

cdef dg_shared_lock VIEWS_LOCK      # held while a list of views is read or changed
# view -> a new tensor of its elements; view -> its layout; views -> layouts without the root: ops/index/_views.py
cdef object TAKE = None, LAYOUT = None, ALONE = None


# A write makes a new value of the whole array. Locks belong to sources, so that views of one array share its lock.
cdef list WRITE_LOCKS = [threading.RLock() for _ in range(64)]


def renew_locks():
    """Make new locks in a forked process: no thread is left to release the old ones."""
    WRITE_LOCKS[:] = [threading.RLock() for _ in WRITE_LOCKS]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew_locks)


def one_step(TensorBase t not None):
    """The lock to hold while a tensor is read and gets a new value, so that no write of another thread is lost."""
    cdef TensorBase source = t if t.alias is None or t.alias.source is None else t.alias.source
    return WRITE_LOCKS[<size_t><PyObject *>source // 64 % 64]


@cython.no_gc_clear                 # a source lists its views, so a view's alias keeps its source until it is freed
cdef class Alias:

    def __dealloc__(self):
        cdef Alias other = self.listing
        if other is not None:
            dg_hold(&VIEWS_LOCK)
            other.n -= 1
            other.views[self.place] = other.views[other.n]
            (<Alias>other.views[self.place]).place = self.place
            dg_release(&VIEWS_LOCK)
        PyMem_RawFree(self.views)

    @property
    def root(self):
        """The tensor whose elements a view shows; None for other tensors."""
        return self.source


ARRAY_ALIAS = Alias()
ARRAY_ALIAS.array = True


def use_views(take, layout, alone):
    """Set the functions that take the elements of a view and find its layout in memory. The third one finds layouts of
    views of a root that nothing else shows (None if they share elements)."""
    global TAKE, LAYOUT, ALONE
    TAKE = take
    LAYOUT = layout
    ALONE = alone


cpdef bint lies_in_rows(layout) except -1:
    """True for a layout in C order. The order of an int8 layout is known only if one axis is longer than 1."""
    flags = layout.flags
    return flags.c_contiguous and (layout.dtype == np.bool_ or flags.f_contiguous)


cdef object layout_in(TensorBase t):
    """The layout of a tensor; a view finds it in the layout of its root."""
    return LAYOUT(t)


cdef object layouts_alone(list views):
    """The layouts of views as arrays of their own, if nothing else shows their root; None if they share elements."""
    return ALONE(views)


cpdef object new_layout(tuple shape, tuple strides, kind):
    """A layout in memory of its own."""
    cdef Py_ssize_t n, step, first = 0, last = 0
    for n, step in zip(shape, strides):
        first += min(step * (n - 1), 0) if n else 0
        last += max(step * (n - 1), 0) if n else 0
    return np.ndarray(shape, kind, np.empty(last - first + 1, kind), -first, strides)


cpdef object as_array(TensorBase t):
    """Make a tensor an array, for which NumPy's rules hold, and return it."""
    if t.alias is None:
        t.alias = ARRAY_ALIAS
    elif not t.alias.array:
        t.alias.array = True
    return t


cpdef object refuse_writes(TensorBase t, object reason):
    """Make a tensor an array that refuses writes, and return it."""
    cdef Alias alias = Alias()
    alias.array = True
    alias.refused = reason
    t.alias = alias
    return t


cpdef object as_view(TensorBase t, TensorBase source, how, layout, refused):
    """Make a tensor of elements of `source` a view of it, and return it. The source is not a view itself."""
    cdef Alias alias = Alias(), other = own_alias(source)
    cdef Py_ssize_t room
    cdef void *grown
    dg_hold(&VIEWS_LOCK)
    if other.n == other.room:
        room = 2 * other.room + 4
        grown = PyMem_RawRealloc(other.views, room * sizeof(PyObject *))
        if grown is NULL:
            dg_release(&VIEWS_LOCK)
            raise MemoryError()
        other.views = <PyObject **>grown
        other.room = room
    alias.place = other.n
    other.views[other.n] = <PyObject *>alias
    other.n += 1
    alias.source = source
    alias.listing = other
    dg_release(&VIEWS_LOCK)
    alias.how, alias.layout, alias.refused, alias.array = how, layout, refused, True
    alias.handle = <PyObject *>t
    t.alias = alias
    return t


def layout_of(TensorBase t not None):
    """A bool NumPy array with the shape of a tensor, in the memory order of NumPy's array."""
    cdef Alias alias = own_alias(t)
    if alias.layout is None:
        alias.layout = np.empty(shape_of(value_in(t)), np.bool_)
    return alias.layout


cpdef set_layout(TensorBase t, layout):
    """Set the layout that NumPy's array would have in memory in place of a tensor."""
    own_alias(t).layout = layout


cdef Alias own_alias(TensorBase t):
    """The alias of a tensor; a new one if it has none, or shares it."""
    cdef Alias alias = t.alias
    if alias is None or alias is ARRAY_ALIAS:
        alias = Alias()
        alias.array = t.alias is not None
        t.alias = alias
    return alias


cdef object heir(TensorBase t, Value v):
    """A new tensor on a value that replaces a tensor: an array for an array."""
    cdef TensorBase new = wrap(v)
    if t.alias is not None and t.alias.array:
        new.alias = ARRAY_ALIAS
        if t.alias.refused is not None and t.alias.source is None:
            refuse_writes(new, t.alias.refused)
    return new


SHARED = ("it shares elements with another result of the function, in an array that is not returned: return this "
          "array too, or a copy (x.copy())")


cdef int relate(list before, list after) except -1:
    """Make new tensors views where they replace views: of the replacement of the source, or of a source outside. The
    order in memory stays."""
    cdef Py_ssize_t i
    cdef TensorBase t, source
    cdef dict places = None, hidden = {}        # id of a source that nothing replaces -> indices of its views
    for i in range(len(before)):
        t = <TensorBase>before[i]
        if t.alias is None or t is after[i]:
            continue
        if t.alias.source is None:
            keep_order(after[i], t.alias.layout)
            continue
        if places is None:
            places = {id(x): k for k, x in enumerate(before)}
        k = places.get(id(t.alias.source))
        source = <TensorBase>after[k] if k is not None else t.alias.source
        if k is not None or dg_value_in(source) is not None and dg_value_in(source).kind == ARRAY:
            as_view(after[i], source, t.alias.how, None, t.alias.refused)
        else:
            hidden.setdefault(id(source), []).append(i)
    for group in hidden.values():
        layouts = layouts_alone([before[i] for i in group])
        for k, i in enumerate(group):
            t = <TensorBase>before[i]
            refused = SHARED if layouts is None else t.alias.refused or t.alias.source.alias.refused
            if refused is not None:
                refuse_writes(after[i], refused)
            if layouts is not None:
                keep_order(after[i], layouts[k])
    return 0


cdef int keep_order(TensorBase t, layout) except -1:
    """Give a new array the order in memory of another one."""
    if layout is not None and not lies_in_rows(layout):
        set_layout(t, new_layout(layout.shape, layout.strides, layout.dtype))
    return 0


cdef Value renewed_view(TensorBase t):
    """The value of a view after a change of its source; None for a handle that has no value yet."""
    cdef Value v, before, now
    cdef TensorBase found, source = t.alias.source
    cdef ClosedCall closed = current_closed_call(), former
    if source is None:
        return None
    before = dg_value_in(source)
    while closed is not None and t.birth < closed.level.serial:
        closed = closed.outer
    former = swap_closed_call(closed)
    try:
        found = <TensorBase>TAKE(t)
        v = dg_value_in(found)
        if closed is not None and closed is former:
            put_mark(t, closed, found.mark)
    finally:
        swap_closed_call(former)
    if not tracing() or v.kind != ARRAY:            # a value computed by a recording belongs to it
        dg_hold(&VIEWS_LOCK)
        now = dg_value_in(source)
        if now is before and t.value is None:       # else another thread has changed the source, or was faster
            dg_put_value(t, v)
        dg_release(&VIEWS_LOCK)
    return v


cdef int outdate_views(TensorBase t) except -1:
    """Remove the values of the views of a tensor, because it has another value now."""
    cdef Alias alias = t.alias
    cdef TensorBase view
    cdef Py_ssize_t i = 0
    cdef PyObject *handle
    cdef bint ended
    cdef ClosedCall closed
    cdef TensorBase found
    if alias.n == 0:
        return 0
    closed = current_closed_call()
    while True:
        dg_hold(&VIEWS_LOCK)
        handle = (<Alias>alias.views[i]).handle if i < alias.n else NULL
        ended = i >= alias.n
        view = None if handle is NULL else <TensorBase>handle
        dg_release(&VIEWS_LOCK)
        if ended:
            return 0
        i += 1
        if view is None:
            continue
        if closed is not None and view.birth < closed.level.serial:     # its value is in the table of the call
            within(view, closed)
            found = <TensorBase>TAKE(view)
            closed.table[id(view)] = read(found)
            closed.effects[id(view)] = view
            put_mark(view, closed, found.mark)
        else:
            dg_put_value(view, None)
            if hooks_of(view) is not None:
                set_hooks(view, None)   # they belong to the value that is replaced
            if tracing():
                active_tracer().rebound(view)


cdef bint has_view_in(TensorBase t, dict handles) except -1:
    """True if a view of a tensor is among some handles, by id."""
    cdef Py_ssize_t i
    if t.alias is None:
        return False
    for i in range(t.alias.n):
        if <size_t>(<Alias>t.alias.views[i]).handle in handles:
            return True
    return False


cdef bint are_apart(list tensors) except -1:
    """True if no tensor shares elements with another one of these, or with a tensor that a recorded function can
    reach."""
    cdef TensorBase t, root
    cdef Py_ssize_t i
    cdef PyObject *handle
    cdef set roots = None
    for x in tensors:
        t = <TensorBase>x
        if t.alias is None or t.alias is ARRAY_ALIAS or t.alias.source is None and t.alias.n == 0:
            continue
        root = t if t.alias.source is None else t.alias.source
        roots = set() if roots is None else roots
        if id(root) in roots or root is not t and is_captured(root):
            return False
        roots.add(id(root))
        for i in range(root.alias.n):
            handle = (<Alias>root.alias.views[i]).handle
            if handle is not NULL and handle != <PyObject *>t and is_captured(<TensorBase>handle):
                return False
    return True


cdef object kind_of_alias(TensorBase t):
    """The properties on which a program made for a tensor depends: array or not, writable or not, layout in memory."""
    cdef Alias alias = t.alias
    if alias is None:
        return False
    layout = LAYOUT(t) if alias.layout is None and alias.source is not None else alias.layout
    if alias.source is None and (layout is None or lies_in_rows(layout)):
        return alias.array if alias.refused is None else alias.refused
    return alias.source is not None, alias.refused, layout.dtype.char, layout.strides


# ---------------------------------------------------------------------------------------------------------- hooks

cdef bint HOOKS_EXIST = False       # True once a tensor had hooks; most programs have none


cdef bint hooks_exist() noexcept:
    return dg_flag(&HOOKS_EXIST)


cdef int give_hooks(TensorBase t, object hooks) except -1:
    set_hooks(t, hooks)
    dg_set_flag(&HOOKS_EXIST)
    return 0


cdef Value after_hooks(TensorBase t, Value gradient):
    """The gradient by a tensor, changed by its hooks."""
    cdef object hooks = hooks_of(t)
    return gradient if hooks is None else read(<TensorBase>called_rule(hooks, (wrap(gradient),), NO_SETTINGS))


cdef int no_hooks(str name, TensorBase t) except -1:
    """Raise if an input of a forward derivative has hooks: they are for gradients."""
    if hooks_of(t):
        raise NotImplementedError(f"{name}: a tensor has a hook on its gradient, which a derivative in forward mode "
                                  f"never computes; take the derivative in reverse mode (grad, vjp, jacrev), or remove "
                                  f"the hook")
    return 0


# -------------------------------------------------------------------------------------------------------- handles

cdef int first_or_next(TensorBase t, Value v) except -1:
    """Give a handle its first value, or a new one."""
    if value_in(t) is not None:
        return rebound(t, v)
    put(t, v)
    give_mark(t)
    return 0


cdef object numbers_of(TensorBase t, bint shown):
    cdef Array a = number_of(base(t), "the numbers", shown)
    if tracing():
        active_tracer().frozen(t, a)
    return to_ndarray(a)


cdef class TensorBase:
    """A handle on a value; `dualgrad.Tensor` is its subclass."""

    def __cinit__(self):
        self.birth = last_serial()

    # ---- made from data, and read back

    def _from_ndarray(self, array, bint copy):
        """Hold the contents of a NumPy array."""
        cdef Value v = copy_of(array) if copy else from_ndarray(array)
        entering(array)
        first_or_next(self, v)

    def _hold(self, TensorBase other not None):
        """Hold another tensor's value, with its derivative. Numbers are copied: an array may share them."""
        cdef Value v = read(other)
        if v.kind == ARRAY and not tracing():
            v = copy_of(to_ndarray(<Array>v))
        note_operand(other)
        first_or_next(self, v)

    def _rebind(self, TensorBase other not None):
        """Point this handle at another tensor's value."""
        cdef Value v = read(other)
        note_operand(other)
        rebound(self, v)

    def _detached(self):
        """A plain Tensor of the current numbers, a constant of every level."""
        return stop(self)

    @property
    def _is_parameter(self):
        return self.parameter

    @_is_parameter.setter
    def _is_parameter(self, bint flag):
        self.parameter = flag

    @property
    def _hooks(self):
        """The function that is called with the gradient by this tensor; or None."""
        return hooks_of(self)

    @property
    def _alias(self):
        return self.alias

    @property
    def _is_array(self):
        """True if NumPy's rules hold: see `Alias`."""
        return self.alias is not None and self.alias.array

    @property
    def _birth(self):
        return self.birth

    @property
    def _level_serial(self):
        """The serial of the innermost transform whose level the value belongs to; 0 for plain arrays."""
        cdef Value v = held(self)
        if v.kind == NODE:
            return (<Node>v).level.serial
        if v.kind == BATCH:
            return (<Batch>v).level.serial
        return (<Dual>v).level.serial if v.kind == DUAL else 0

    def _numpy(self):
        """A read-only view of the numbers."""
        return numbers_of(self, False)

    def _shown(self):
        """The numbers, for printing."""
        return numbers_of(self, True)

    @property
    def shape(self):
        return shape_of(held(self))

    @property
    def dtype(self):
        return DTYPES[type_of(held(self))]

    @property
    def _typenum(self):
        return type_of(held(self))

    @property
    def ndim(self):
        return ndim_of(held(self))

    @property
    def size(self):
        return size_of(held(self))

    def __len__(self):
        if ndim_of(held(self)) == 0:
            raise TypeError("len() of a tensor without axes (shape ()); it is a single number")
        return shape_of(held(self))[0]

    def __bool__(self):
        cdef Array a = number_of(base(self), "the truth value", False)
        if tracing():
            active_tracer().frozen(self, a)
        if a.size != 1:
            raise ValueError(f"bool(): a tensor of shape {shape_tuple(a)} has no single truth value; use .any() or "
                             ".all()")
        return bool(to_ndarray(a).item())
