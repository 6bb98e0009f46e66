"""Naming: the place of an object under its own name, so that it can be pickled as that name.

A decorated function is pickled by its name in its module. Other processes do not know the main program, nor modules
that cloudpickle was told to send along: their functions are pickled by value.
"""
import importlib
import sys


def found_at(str module, str qualname):
    """The object that a module has under a name, which may have dots."""
    found = importlib.import_module(module)
    for name in qualname.split("."):
        found = getattr(found, name)
    return found


def place_of(x, named):
    """(module, qualified name) under which `x` is found. `named`, which has the name, is `x` or the object it replaces.
    None if `x` is not there, or has to be pickled by value."""
    module, name = getattr(named, "__module__", None), getattr(named, "__qualname__", None)
    if type(module) is not str or type(name) is not str or module not in sys.modules or sent_along(module):
        return None
    try:
        return (module, name) if found_at(module, name) is x else None
    except Exception:                   # no such name, or an error on the way
        return None


cdef bint sent_along(str module) except -1:
    """True if functions of a module are pickled by value now: cloudpickle's own function is calling."""
    around = sys._getframe().f_globals
    name = around.get("__name__")
    if type(name) is not str or not (<str>name).endswith("cloudpickle.cloudpickle"):
        return False
    by_value = around["list_registry_pickle_by_value"]()
    return module == "__main__" or any([module == m or module.startswith(m + ".") for m in by_value])
