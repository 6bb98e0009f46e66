"""Naming: where an object is found by its own name, so that it can be pickled as that name.

A decorated function is pickled by its name in its module. Of the main program, and of modules that cloudpickle was told
to send along, other processes know nothing: their functions go by value.
"""
import importlib
import sys


def found_at(str module, str qualname):
    """What a module has under a name, which may have dots."""
    found = importlib.import_module(module)
    for name in qualname.split("."):
        found = getattr(found, name)
    return found


def place_of(x, named):
    """(module, qualified name) where `x` is found under the name of `named`, its own or that of what it replaces; None
    if it is not there, or if it has to be pickled by value."""
    module, name = getattr(named, "__module__", None), getattr(named, "__qualname__", None)
    if type(module) is not str or type(name) is not str or module not in sys.modules or sent_along(module):
        return None
    try:
        return (module, name) if found_at(module, name) is x else None
    except Exception:                   # there is no such name, or looking at it raises
        return None


cdef bint sent_along(str module) except -1:
    """Whether the functions of a module are pickled by value now: by cloudpickle, whose own function is calling."""
    around = sys._getframe().f_globals
    name = around.get("__name__")
    if type(name) is not str or not (<str>name).endswith("cloudpickle.cloudpickle"):
        return False
    by_value = around["list_registry_pickle_by_value"]()
    return module == "__main__" or any([module == m or module.startswith(m + ".") for m in by_value])
