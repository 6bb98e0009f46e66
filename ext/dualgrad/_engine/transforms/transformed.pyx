"""Transformed functions: the results of `grad`, `hessian`, `vmap` and their like.

Design
------
The result of a transform is a closure, and Python copies and pickles functions by their names alone. A `Transformed` is
called like the closure, but copied and pickled as the call of the transform. So it can be pickled wherever the original
function can. In the copy of an object it belongs to the copy.

A function in a module is pickled as a name, but parameters are pickled as numbers. After that, the parameters would not
be the function's own, and gradients by them would be zero. So this is refused.
"""
import functools
import inspect
import types

from .naming import found_at, place_of
from .handles cimport TensorBase


cdef class Transformed:
    """A function that a transform has made."""

    def __init__(self, fn, str module, str maker, tuple args, dict kwargs):
        self.fn = fn
        self.module = module
        self.maker = maker
        self.args = args
        self.kwargs = kwargs
        for name in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(fn, name):
                setattr(self, name, getattr(fn, name))
        vars(self).update(getattr(fn, "__dict__", {}))
        self.made = dict(vars(self))

    def __call__(self, *args, **kwargs):
        return self.fn(*args, **kwargs) if kwargs else self.fn(*args)

    def __get__(self, instance, owner):
        return self if instance is None else types.MethodType(self, instance)

    @property
    def of(self):
        """The function that was transformed."""
        return self.args[0] if self.args else next(iter(self.kwargs.values()))

    @property
    def __signature__(self):
        return inspect.signature(self.fn)

    def __repr__(self):
        return f"<{self.maker} of {getattr(self.of, '__qualname__', type(self.of).__name__)}>"

    def __reduce__(self):
        place = place_of(self, self) or place_of(self, self.of)
        if place is not None:
            return found_at, place
        check_weights(self.maker, self.of, [*self.args[1:], *self.kwargs.values()])
        return made_again, (self.module, self.maker, self.args, self.kwargs), self.own() or None

    def __copy__(self):
        again = made_again(self.module, self.maker, self.args, self.kwargs)
        vars(again).update(self.own())
        return again

    cdef dict own(self):
        """The attributes that were set since it was made."""
        return {name: value for name, value in vars(self).items()
                if name not in self.made or self.made[name] is not value}


def made_again(str module, str maker, tuple args, dict kwargs):
    """Call the transform again, for a function that was copied or pickled."""
    return found_at(module, maker)(*args, **kwargs)


def check_weights(str name, fn, values):
    """Raise if parameters are copied beside a function that is copied as a name."""
    cdef list weights = [p for x in values for p in (x if isinstance(x, (list, tuple)) else (x,))]
    if place_of(fn, fn) is None or not any([
            isinstance(p, TensorBase) and (<TensorBase>p).parameter for p in weights]):
        return
    raise TypeError(
        f"{name}: {fn.__qualname__} is pickled as the name of a function in {fn.__module__}, and the parameters by "
        f"which it is differentiated as copies, which it would not use; make the gradient function where it is used, "
        f"or differentiate a Cell or a method of one")
