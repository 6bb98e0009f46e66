"""Errors for numbers that leave a derivative, caught by the function that is differentiated: they still count.

Programs that take plain numbers, in the hands of code that catches whatever is raised. Such a program gets the value
that it has outside of the transform, or the transform raises when the function has returned.
"""

import asyncio
import concurrent.futures
import contextlib
import ctypes
import inspect
import math
import threading

import numpy as np
import pytest
from engine import open_levels
from leaving_programs import INSIDE, POINT, RAISES, ROWS, TRANSFORMS, WAYS, V, X, assert_same, recorded

import dualgrad as dg
from dualgrad import LeavesDerivativeError, Tensor, ops

pytestmark = pytest.mark.filterwarnings("ignore:.*runs eagerly", "ignore::pytest.PytestUnraisableExceptionWarning")


# ------------------------------------------------------------------------------------------------ what catches errors


def bare(take):
    try:
        take()
    except:  # noqa: E722
        pass


def exception(take):
    try:
        take()
    except Exception:
        pass


def type_error(take):
    try:
        take()
    except TypeError:
        pass


def group(take):
    try:
        take()
    except* TypeError:
        pass


def suppress(take):
    with contextlib.suppress(Exception):
        take()


def returns_in_finally(take):
    try:
        take()
    finally:
        return  # noqa: B012


def another_error(take):
    try:
        try:
            take()
        except TypeError as error:
            raise OverflowError from error
    except OverflowError:
        pass


def has_attribute(take):
    class Lazy:
        @property
        def number(self):
            try:
                return take()
            except TypeError as error:
                raise AttributeError from error

    hasattr(Lazy(), "number")
    getattr(Lazy(), "number", None)


def generator(take):
    def yields():
        try:
            yield take()
        except TypeError:
            yield 0

    list(yields())


def thrown_into(take):
    def catches():
        with contextlib.suppress(TypeError):
            yield

    step = catches()
    next(step)
    try:
        take()
    except TypeError as error:
        with contextlib.suppress(StopIteration):
            step.throw(error)


def gathered(take):
    async def work():
        take()

    async def main():
        await asyncio.gather(work(), return_exceptions=True)

    asyncio.run(main())


def another_thread(take):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(take).exception()


def thread_that_dies(take):
    former, threading.excepthook = threading.excepthook, lambda _: None
    try:
        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
    finally:
        threading.excepthook = former


def finalizer(take):
    class Dies:
        def __del__(self):
            take()

    Dies()


def callback_of_c(take):
    ctypes.CFUNCTYPE(ctypes.c_int)(lambda: take() or 0)()


CATCHERS = {
    f.__name__: f
    for f in (
        bare, exception, type_error, group, suppress, returns_in_finally, another_error, has_attribute, generator,
        thrown_into, gathered, another_thread, thread_that_dies, finalizer, callback_of_c,
    )
}  # fmt: skip


def caught(program, catcher=exception):
    """The sum of squares after a program whose errors are caught."""

    def f(x):
        catcher(lambda: program(x))
        return (x * x).sum()

    return f


def refused(run):
    with pytest.raises(LeavesDerivativeError, match="the error was caught") as error:
        run()
    assert not open_levels()
    assert "dualgrad.allow_leaving()" in str(error.value)
    return str(error.value)


def fails(program):
    """Whether a program raises at plain tensors."""
    try:
        program(X)
    except Exception:
        return True
    return False


# --------------------------------------------------------------------------------------- every catcher, exit, transform


@pytest.mark.parametrize("name", CATCHERS)
def test_an_error_that_is_caught_still_counts(name):
    for derived in TRANSFORMS.values():
        refused(lambda: derived(caught(lambda x: float(x[0]), CATCHERS[name])))  # noqa: B023


@pytest.mark.rotated("catcher", "way")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("catcher", CATCHERS)
@pytest.mark.parametrize("name", RAISES)
def test_whatever_takes_the_numbers(name, catcher, way):
    """A value comes where the program fails outside of derivatives as well: it goes the same way there."""
    program, _ = RAISES[name]
    f = caught(program, CATCHERS[catcher])
    for transform in ("grad", "jvp", "vmap"):
        run = lambda f: WAYS[way](lambda: TRANSFORMS[transform](f))  # noqa: B023
        try:
            found = run(f)
        except Exception:
            assert fails(f) or not fails(program) or "thread" in catcher  # a thread may not use the tensor at all
        else:
            assert fails(program)
            assert_same(found, run(lambda x: (x * x).sum()), name)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_each_call_of_a_recorded_function_raises(transform):
    call = dg.jit(lambda: TRANSFORMS[transform](caught(lambda x: float(x[0]))))
    for _ in range(4):
        refused(call)
    outside = dg.jit(caught(lambda x: float(x[0])))
    for _ in range(4):
        outside(X)
        refused(lambda: TRANSFORMS[transform](outside))


def test_the_message_names_the_line_and_the_way_out():
    def f(x):
        try:
            scale = math.exp(x[0])
        except TypeError:
            scale = 1.0
        return (x * scale).sum()

    message = refused(lambda: dg.grad(f)(X))
    line = f.__code__.co_firstlineno + 2
    for word in ("grad: float()", "Float64", "shape ()", f"test_caught.py, line {line})", "dualgrad.ops"):
        assert word in message


# ----------------------------------------------------------------------------------------------- inside of other calls


def quiet(x):
    """A number where it can be had, else another one."""
    try:
        return float(x)
    except TypeError:
        return 11.0


@pytest.mark.parametrize("name", INSIDE)
def test_inside_of_other_calls(name):
    for transform in ("grad", "grad of grad", "jvp", "jet", "hvp", "vmap of grad", "grad of vmap"):
        refused(lambda: TRANSFORMS[transform](lambda x: INSIDE[name](x, quiet).sum()))  # noqa: B023
        if name not in ("while_loop",):
            refused(lambda: recorded(lambda: TRANSFORMS[transform](lambda x: INSIDE[name](x, quiet).sum())))  # noqa: B023


class Ruled(dg.nn.Cell):
    """A function with a rule of its own, which reads a number."""

    def __init__(self, take):
        super().__init__()
        self.take = take

    def construct(self, x):
        return x**3

    def bprop(self, x, out, dout):
        return (dout * 3 * x * self.take(x[0]) * x / x[0],)


def hooked(x, take):
    y = x**3
    y.register_hook(lambda gradient: gradient * take(gradient[0]))
    return y


CUBES = {
    take: dg.extend.primitive(
        f"cube_{take.__name__}",
        lambda x: x**3,
        vjp=(lambda ct, out, x, take=take: ct * 3 * x * take(x[0]) * x / x[0],),
        arity=1,
        types="together",
    )
    for take in (quiet, float)
}


@pytest.mark.parametrize(
    "call",
    [lambda x, take: Ruled(take)(x), hooked, lambda x, take: CUBES[take](x)],
    ids=["bprop", "hook", "primitive"],
)
def test_rules_of_the_user(call):
    """The derivative of a rule is taken in sweeps, after the levels have closed."""
    loss = lambda take: lambda x: (call(x, take) ** 2).sum()
    dg.grad(loss(quiet))(X)  # numbers of plain values
    for transform in ("grad of grad", "hessian") if call is not hooked else ("grad of grad",):
        refused(lambda: TRANSFORMS[transform](loss(quiet)))  # noqa: B023


P = Tensor(np.float64(0.3))

SOLVERS = {
    "root": lambda take: lambda p: dg.root(lambda x, p: x * x * x + x - p * take(p), Tensor(np.float64(1.0)), p),
    "fixed_point": lambda take: lambda p: dg.fixed_point(lambda x, p: ops.cos(x * p) * take(p), p * 0 + 0.5, p),
    "argmin": lambda take: lambda p: dg.argmin(lambda x, p: (x - p * take(p)) ** 2, Tensor(np.float64(0.2)), p),
    "odeint": lambda take: (
        lambda p: dg.ode.odeint(
            lambda y, t, p: -y * p * take(p), Tensor(np.float64(1.0)), Tensor(np.array([0.0, 1.0])), p
        )[-1]
    ),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_functions_of_solvers(name):
    refused(lambda: dg.grad(SOLVERS[name](quiet))(P))
    found = dg.grad(SOLVERS[name](lambda p: ops.stop_gradient(p)))(P)
    assert dg.grad(SOLVERS[name](lambda p: p.item()))(P).item() == pytest.approx(found.item(), rel=1e-6)
    with dg.allow_leaving():
        assert dg.grad(SOLVERS[name](quiet))(P).item() == pytest.approx(found.item(), rel=1e-6)


# --------------------------------------------------------------------------------------------------------- whose level


def test_an_inner_error_that_the_outer_function_catches_is_its_own_business():
    """Without the outer derivative the inner one raises as well."""

    def outer(x):
        try:
            inner = dg.grad(lambda y: (y * y).sum() * float(y[0]))(x)
        except LeavesDerivativeError:
            inner = x**2
        return (inner * x).sum()

    np.testing.assert_allclose(dg.grad(outer)(X).asnumpy(), 3 * POINT**2)
    np.testing.assert_allclose(dg.jvp(outer, X, V)[1].asnumpy(), 3 * POINT**2 @ V.asnumpy())


def test_the_level_of_the_value_is_marked():
    """An outer value inside of an inner transform."""
    plain = lambda x: (dg.grad(lambda y: (y * y * quiet(x[0])).sum())(X)).sum()
    assert "grad: float()" in refused(lambda: dg.grad(plain)(X))
    assert "jvp: float()" in refused(lambda: dg.jvp(plain, X, V))
    assert "vmap: float()" in refused(lambda: dg.vmap(plain)(ROWS))
    plain(X)  # a plain value inside of the inner transform


def test_other_errors_go_their_way():
    def f(x):
        quiet(x[0])
        raise KeyError("mine")

    for derived in TRANSFORMS.values():
        with pytest.raises(KeyError, match="mine"):
            derived(f)


def test_the_next_call_is_not_to_blame():
    f = caught(lambda x: float(x[0]))
    refused(lambda: dg.grad(f)(X))
    assert dg.grad(lambda x: (x * x).sum())(X).tolist() == (2 * POINT).tolist()
    assert f(X).item() == pytest.approx((POINT**2).sum())


@pytest.mark.parametrize("take", [bool, int, lambda t: t.item(), lambda t: t.asnumpy(), lambda t: t.tolist()])
def test_numbers_of_all_samples(take):
    """What asks for a number of all samples is refused by another error, and counts as well."""

    def f(x):
        try:
            return x * (2.0 if take(x[0]) else 3.0)
        except ValueError:
            return x

    message = refused(lambda: dg.vmap(f)(ROWS))
    assert message.startswith("vmap: Python asked for the ")
    assert "test_caught.py, line" in message
    refused(lambda: dg.vmap(dg.grad(lambda x: f(x).sum()))(ROWS))
    refused(lambda: dg.grad(lambda x: dg.vmap(f)(x).sum())(ROWS))

    def meant(x):
        with dg.allow_leaving():
            return f(x)

    assert dg.vmap(meant)(ROWS).tolist() == ROWS.tolist()


def test_printing_marks_nothing():
    def f(x):
        for show in (str, repr, "{:.2f}".format):
            with contextlib.suppress(ValueError):
                show(x[0])
        return (x * x).sum()

    for derived in TRANSFORMS.values():
        derived(f)


# ------------------------------------------------------------------------------------------------------ the way out


@pytest.mark.parametrize("name", [name for name, (_, error) in RAISES.items() if error is LeavesDerivativeError])
def test_a_constant_that_is_meant(name):
    """Inside the block a program takes the numbers that it takes outside of derivatives, and is a constant."""
    program, _ = RAISES[name]

    def f(x):
        with dg.allow_leaving():
            program(x)
        return (x * x).sum()

    for transform, derived in TRANSFORMS.items():
        if "vmap" not in transform:
            assert_same(derived(f), derived(lambda x: (x * x).sum()), transform)


@pytest.mark.parametrize("way", WAYS)
def test_the_constant_has_the_value_of_the_number(way):
    def f(x):
        with dg.allow_leaving():
            scale = math.exp(x[0])
        return (x * x).sum() * scale

    found = WAYS[way](lambda: dg.grad(f)(X))
    np.testing.assert_allclose(found.asnumpy(), 2 * POINT * math.exp(POINT[0]))
    with pytest.raises(LeavesDerivativeError):
        dg.grad(lambda x: f(x) * float(x[0]))(X)  # the block has ended


def test_the_block_belongs_to_its_thread():
    with dg.allow_leaving(), concurrent.futures.ThreadPoolExecutor(1) as pool:
        with pytest.raises(LeavesDerivativeError):
            pool.submit(lambda: dg.grad(lambda x: x.sum() * float(x[0]))(X)).result()
        dg.grad(lambda x: x.sum() * float(x[0]))(X)


def test_errors_inside_the_block_end_it():
    with contextlib.suppress(KeyError), dg.allow_leaving():
        raise KeyError
    refused(lambda: dg.grad(caught(lambda x: float(x[0])))(X))


def test_it_is_documented_where_the_message_points():
    assert "allow_leaving" in (inspect.getdoc(LeavesDerivativeError) or "")
