"""Weak numbers: the step number of a rolled-up loop, and numbers that Python computes from it.

Design
------
The body of a counted loop is given a Python int. In a rolled-up loop all steps run as one program, so the int differs
from step to step. A weak number stands for it. Sums, differences, products and quotients with Python numbers are weak
numbers again, and the program computes them as Python does. Beside a tensor, a weak number takes the tensor's type, as
any Python number does. All other uses need the int of this one step, and then the loop is not rolled up.
"""
cimport numpy as cnp

from numbers import Number

from ..arrays.array import np
from ..arrays.array cimport Value, scalar
from ..primitives.execute import unrepeatable
from ..primitives.opcodes cimport OP_ADD, OP_CAST, OP_DIV, OP_MUL, OP_NEG, OP_SUB
from ..values.levels cimport bind1, bind2
from .handles cimport wrap

cdef enum:
    EXACT = 53                      # bits of an int that a float64 holds


cdef WeakNumber weak_number(object number, Value value, double most):
    cdef WeakNumber w = WeakNumber()
    w.number = number
    w.value = value
    w.most = most
    return w


cdef Value as_float(object x):
    """A number as a value of type float64."""
    if isinstance(x, WeakNumber):
        if type((<WeakNumber>x).number) is float:
            return (<WeakNumber>x).value
        return bind1(OP_CAST, <int>cnp.NPY_DOUBLE, (<WeakNumber>x).value)
    return scalar(cnp.NPY_DOUBLE, <double>x)


cdef Value as_int(object x):
    return (<WeakNumber>x).value if isinstance(x, WeakNumber) else scalar(cnp.NPY_INT64, <double>x)


cdef object plain(object x):
    return (<WeakNumber>x).number if isinstance(x, WeakNumber) else x


cdef double bound(object x):
    return (<WeakNumber>x).most if isinstance(x, WeakNumber) else abs(<double>x)


cdef bint held(object x):
    """True for a weak number, a float, or an int that a float64 holds exactly."""
    if isinstance(x, WeakNumber) or type(x) is float:
        return True
    return type(x) is int and abs(x) < <long long>1 << EXACT


cdef object asked(object x):
    """A number for Python; reads a weak number."""
    return (<WeakNumber>x).read() if isinstance(x, WeakNumber) else x


cdef object python_says(int op, object x, object y):
    """The result of Python's own operation on numbers; NotImplemented for other operands."""
    if not isinstance(plain(x), Number) or not isinstance(plain(y), Number):
        return NotImplemented
    a, b = asked(x), asked(y)
    return a + b if op == OP_ADD else a - b if op == OP_SUB else a * b if op == OP_MUL else a / b


cdef object combined(int op, object x, object y):
    """A sum, difference or product; NotImplemented for operands that are not numbers."""
    cdef double most
    if not held(x) or not held(y):
        return python_says(op, x, y)
    a, b = plain(x), plain(y)
    number = a + b if op == OP_ADD else a - b if op == OP_SUB else a * b
    if type(number) is float:
        return weak_number(number, bind2(op, None, as_float(x), as_float(y)), 0.0)
    most = bound(x) * bound(y) if op == OP_MUL else bound(x) + bound(y)
    if most >= <double>(<long long>1 << EXACT):
        unrepeatable("a number that is computed from the number of a step of a loop becomes too large")
        return number
    return weak_number(number, bind2(op, None, as_int(x), as_int(y)), most)


cdef class WeakNumber:

    cdef object read(self):
        """The number at this step, for Python."""
        unrepeatable("Python was given the number of a step of a loop")
        return self.number

    def tensor(self):
        """The number as a tensor of one int64 or float64, for indices."""
        return wrap(self.value)

    @property
    def __class__(self):
        return type(self.number)

    def __add__(x, y):
        return combined(OP_ADD, x, y)

    def __radd__(y, x):
        return combined(OP_ADD, x, y)

    def __sub__(x, y):
        return combined(OP_SUB, x, y)

    def __rsub__(y, x):
        return combined(OP_SUB, x, y)

    def __mul__(x, y):
        return combined(OP_MUL, x, y)

    def __rmul__(y, x):
        return combined(OP_MUL, x, y)

    def __truediv__(x, y):
        if not isinstance(y, WeakNumber) and held(y) and y != 0:
            return weak_number((<WeakNumber>x).number / y, bind2(OP_DIV, None, as_float(x), as_float(y)), 0.0)
        return python_says(OP_DIV, x, y)

    def __rtruediv__(y, x):
        return python_says(OP_DIV, x, y)

    def __neg__(self):
        if type(self.number) is int:
            return weak_number(-self.number, bind1(OP_NEG, None, self.value), self.most)
        return weak_number(-self.number, bind1(OP_NEG, None, self.value), 0.0)

    def __pos__(self):
        return self

    def __floordiv__(x, y):
        return (<WeakNumber>x).read() // plain(y)

    def __rfloordiv__(y, x):
        return x // (<WeakNumber>y).read()

    def __mod__(x, y):
        return (<WeakNumber>x).read() % plain(y)

    def __rmod__(y, x):
        return x % (<WeakNumber>y).read()

    def __divmod__(x, y):
        return divmod((<WeakNumber>x).read(), plain(y))

    def __rdivmod__(y, x):
        return divmod(x, (<WeakNumber>y).read())

    def __pow__(x, y, modulo):
        return pow((<WeakNumber>x).read(), plain(y), modulo)

    def __rpow__(y, x, modulo):
        return pow(x, (<WeakNumber>y).read(), modulo)

    def __and__(x, y):
        return (<WeakNumber>x).read() & plain(y)

    def __rand__(y, x):
        return x & (<WeakNumber>y).read()

    def __or__(x, y):
        return (<WeakNumber>x).read() | plain(y)

    def __ror__(y, x):
        return x | (<WeakNumber>y).read()

    def __xor__(x, y):
        return (<WeakNumber>x).read() ^ plain(y)

    def __rxor__(y, x):
        return x ^ (<WeakNumber>y).read()

    def __lshift__(x, y):
        return (<WeakNumber>x).read() << plain(y)

    def __rlshift__(y, x):
        return x << (<WeakNumber>y).read()

    def __rshift__(x, y):
        return (<WeakNumber>x).read() >> plain(y)

    def __rrshift__(y, x):
        return x >> (<WeakNumber>y).read()

    def __richcmp__(x, y, int how):
        a, b = plain(x), plain(y)
        if not (isinstance(b, (int, float, complex)) or isinstance(b, np.generic)):
            return NotImplemented
        (<WeakNumber>x).read()
        return (a < b, a <= b, a == b, a != b, a > b, a >= b)[how]

    def __hash__(self):
        return hash(self.read())

    def __bool__(self):
        return bool(self.read())

    def __int__(self):
        return int(self.read())

    def __index__(self):
        return self.read().__index__()

    def __float__(self):
        return float(self.read())

    def __complex__(self):
        return complex(self.read())

    def __abs__(self):
        return abs(self.read())

    def __invert__(self):
        return ~self.read()

    def __round__(self, *digits):
        return round(self.read(), *digits)

    def __repr__(self):
        return repr(self.read())

    def __str__(self):
        return str(self.read())

    def __format__(self, how):
        return format(self.read(), how)

    def __reduce__(self):
        return type(self.number), (self.read(),)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.read(), dtype)

    def __getattr__(self, name):
        """Other attributes of the number (`bit_length`, `is_integer`, `real`)."""
        return getattr(self.read(), name)
