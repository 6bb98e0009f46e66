"""Assemble the engine: fill in the hooks through which lower layers call higher ones.

The first recording imports the recording modules, which then fill in their own hooks (trace/cache.pyx). The Python face
fills in the rest with `install` (array.pyx). `check` runs last when the package is imported.
"""
from cpython.object cimport PyObject

from importlib import import_module

from .arrays.array cimport HOOKS, Array, N_HOOKS, Value
from .arrays.array import HOOK_NAMES, install
from .tape.nodes cimport node_rule
from .values.algebra cimport algebra_rule
from .values.batch cimport batched
from .values.levels cimport Algebra, BatchLevel, Level
from .values.rules cimport dual_rule


cdef Value on_batches(int op, object params, PyObject **args, int n, object level):
    return batched(op, params, args, n, <BatchLevel>level)


cdef Value on_elements(int op, object params, PyObject **args, int n, object level, object algebra):
    return algebra_rule(op, params, args, n, <Level>level, <Algebra>algebra)


cdef Array defer(Array a):
    """The first large array of an eager call."""
    import_module("dualgrad._engine.trace.lazy")
    return HOOKS.defer(a)


def cell_called(*call):
    """The first call of a Cell that is recorded."""
    from .trace import cache        # slow to import, and not every program records
    return cache.cell_called(*call)


def transform_called(*call):
    """The first call of a transform that is recorded."""
    from .trace import cache
    return cache.transform_called(*call)


HOOKS.defer = defer
HOOKS.dual = dual_rule
HOOKS.node = node_rule
HOOKS.batch = on_batches
HOOKS.algebra = on_elements
install(cell_called=cell_called, transform_called=transform_called)


def check():
    """Raise ImportError with the names of the missing hooks, if any."""
    cdef int k
    cdef list missing = [HOOK_NAMES[k] for k in range(N_HOOKS) if HOOKS.objects[k] is NULL]
    missing += [name for name, found in (
        ("dual", HOOKS.dual is not NULL), ("node", HOOKS.node is not NULL), ("batch", HOOKS.batch is not NULL),
        ("algebra", HOOKS.algebra is not NULL)) if not found]
    if missing:
        raise ImportError(f"dualgrad: the engine is not complete, it misses {', '.join(missing)}")
