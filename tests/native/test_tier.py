"""The switch, the thread that compiles, forks, and memory."""

import ctypes
import gc
import os
import re
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops

pytest.importorskip("llvmlite")

from machine_code import bits, forced, recorded_program

from dualgrad import native
from dualgrad.native import _cache, _machine, _tier

pytestmark = pytest.mark.eager("records by itself")

HEAD = """
import os, sys, threading, time
import numpy as np
import dualgrad as dg
from dualgrad import Tensor, ops

def chain(k, length=300):
    def fn(x, y):
        for _ in range(length):
            x, y = x - (0.01 + 0.001 * k) * y * x, y + 0.01 * x
        return x, y
    return dg.jit(fn)

def args(seed=0):
    return Tensor(0.5 + seed), Tensor(-0.25)
"""


def run(body, **environment):
    """What a Python process of its own prints, without machine code at first; it has to end by itself, and well."""
    text = HEAD + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "DUALGRAD_NATIVE": "", **environment}, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.split()


# --------------------------------------------------------------------------------------------------------- the switch


def test_nothing_is_imported_unless_it_is_switched_on():
    body = "print([name for name in sys.modules if 'llvmlite' in name or name.startswith('dualgrad.native')])"
    assert run(body) == ["[]"]


@pytest.mark.parametrize("value", ["1", "force"])
def test_the_environment_switches_it_on(value):
    assert run("print(dg.get_context('native'))", DUALGRAD_NATIVE=value) == ["force" if value == "force" else "True"]


@pytest.mark.parametrize("value", ["", "0"])
def test_the_environment_leaves_it_off(value):
    assert run("print(dg.get_context('native'), 'llvmlite' in sys.modules)", DUALGRAD_NATIVE=value) == [
        "False",
        "False",
    ]


def test_without_llvmlite_the_error_says_what_to_install():
    body = """
    sys.modules["llvmlite"] = None
    try:
        dg.set_context(native=True, pynative_synchronize=True)
    except ImportError as error:
        assert "pip install 'dualgrad[native]'" in str(error), error
        print(dg.get_context("native"), dg.get_context("pynative_synchronize"))
    """
    assert run(body) == ["False", "False"]


@pytest.mark.parametrize("value", [1, None, "on", 0.0])
def test_other_values_are_refused(value):
    with pytest.raises(ValueError, match=re.escape(f"set_context: got native={value!r}. Expected True, False or")):
        dg.set_context(native=value)
    assert dg.get_context("native") is False


# ------------------------------------------------------------------------------------------------------ the background


def test_a_program_becomes_machine_code_while_it_runs(monkeypatch):
    monkeypatch.setattr(_tier, "PATIENCE", 1e-5)
    fn, args = recorded_program(0.125), (Tensor(np.linspace(0.1, 1.0, 3000)), Tensor(0.5))
    for _ in range(4):
        expected = bits(fn(*args))
    before = native.status()
    dg.set_context(native=True)
    for _ in range(50):
        assert bits(fn(*args)) == expected
    assert native.join()
    after = native.status()
    assert after["made"] == before["made"] + 1
    assert after["failed"] == before["failed"], after["last_error"]
    assert bits(fn(*args)) == expected


def test_what_runs_seldom_is_left_alone():
    fn, args = recorded_program(0.25), (Tensor(0.5), Tensor(0.25))
    before = native.status()
    dg.set_context(native=True)
    for _ in range(6):
        fn(*args)
    assert native.status()["asked"] == before["asked"]


def test_threads_may_call_while_programs_are_compiled(monkeypatch):
    monkeypatch.setattr(_tier, "PATIENCE", 1e-6)
    functions = [recorded_program(k / 16) for k in range(8)]
    operands = [(Tensor(np.linspace(0.1, 1.0, n)), Tensor(0.5)) for n in (1, 100, 3000)]
    expected = {}
    for fn in functions:
        for args in operands:
            for _ in range(4):
                expected[fn, args] = bits(fn(*args))
    wrong = []

    def work():
        for _ in range(15):
            wrong.extend(key for key, value in expected.items() if bits(key[0](*key[1])) != value)

    dg.set_context(native=True)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert native.join()
    assert not wrong
    assert native.status()["made"] >= len(expected)


@pytest.mark.parametrize("what", ["_compile", "_link"])
def test_a_failure_leaves_the_interpreter(what, monkeypatch):
    def broken(*args):
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(_machine.machine(), "cache", _cache.Cache(None, ""))
    monkeypatch.setattr(_machine.Machine, what, broken)
    fn, args = recorded_program(0.375), (Tensor(0.5), Tensor(0.25))
    for _ in range(4):
        expected = bits(fn(*args))
    before = native.status()
    dg.set_context(native="force")
    for _ in range(3):
        assert bits(fn(*args)) == expected
    after = native.status()
    assert after["failed"] == before["failed"] + 1  # it is not tried again
    assert after["last_error"] == "RuntimeError: no such instruction"


# --------------------------------------------------------------------------------------------------------------- forks

FORK = """
def child_is_well(expected, fn):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            for k in range(30):
                found = chain(100 + k)
                for _ in range(4):
                    found(*args())
            same = [v.asnumpy().tobytes() for v in fn(*args())] == expected
            off = dg.get_context("native") is False and dg.native.join(1.0)
            try:
                dg.set_context(native=True)
            except RuntimeError as error:
                status = 0 if same and off and "forked" in str(error) else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

fn = chain(0)
for _ in range(4):
    expected = [v.asnumpy().tobytes() for v in fn(*args())]
"""

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@forks
def test_a_child_is_well_when_a_compilation_runs():
    body = """
    from dualgrad.native import _tier
    _tier.PATIENCE = 0.0
    dg.set_context(native=True)
    several = [chain(k) for k in range(12)]
    for other in several:
        for _ in range(4):
            other(*args())
    while dg.native.status()["compiled"] + dg.native.status()["loaded"] == 0:
        time.sleep(0.001)
    well = []
    while dg.native.status()["pending"] and len(well) < 5:
        well.append(child_is_well(expected, fn))
    print(len(well) > 0 and all(well), dg.native.join(), dg.native.status()["failed"])
    """
    assert run(FORK + textwrap.dedent(body), DUALGRAD_NATIVE_CACHE="0") == ["True", "True", "0"]


@forks
def test_a_child_runs_the_machine_code_that_there_is():
    body = """
    dg.set_context(native="force")
    fn(*args())
    made = dg.native.status()["made"]
    print(made, child_is_well(expected, fn), [v.asnumpy().tobytes() for v in fn(*args())] == expected)
    """
    assert run(FORK + textwrap.dedent(body)) == ["1", "True", "True"]


@forks
def test_a_child_of_a_process_without_it_may_switch_it_on():
    body = """
    pid = os.fork()
    if pid == 0:
        dg.set_context(native="force")
        fn(*args())
        os._exit(0 if dg.native.status()["made"] == 1 else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    assert run(FORK + textwrap.dedent(body)) == ["0"]


def test_a_process_ends_while_a_compilation_runs():
    body = """
    from dualgrad.native import _tier
    _tier.PATIENCE = 0.0
    dg.set_context(native=True)
    several = [chain(k, 900) for k in range(20)]
    for other in several:
        for _ in range(4):
            other(*args())
    print(dg.native.status()["pending"] > 0)
    """
    assert run(body, DUALGRAD_NATIVE_CACHE="0") == ["True"]


# -------------------------------------------------------------------------------------------------------------- memory


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow():
    body = """
    import gc
    from dualgrad._engine.trace.cache import forget_programs
    from dualgrad.native import _machine

    def resident():
        gc.collect()
        return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    dg.set_context(native="force")
    sizes = []
    for k in range(330):
        fn = chain(k, 4)
        for _ in range(4):
            fn(*args())
        del fn
        forget_programs()
        if k in (79, 329):
            sizes.append(resident())
    print(dg.native.status()["compiled"], len(_machine._living), (sizes[1] - sizes[0]) // 250)
    """
    compiled, living, grown = run(body, DUALGRAD_NATIVE_CACHE="0")
    assert int(compiled) == 330
    assert int(living) <= 8
    assert int(grown) < 800, "bytes of each function"


@pytest.mark.parametrize("held", [1, 7, 8, 9])
def test_functions_outlive_those_of_the_same_linker(held):
    """A linker serves eight, and is given up."""
    machine = _machine.Machine()
    text = "define double @run(double %x) {{ %y = fmul double %x, {}.0 ret double %y }}"
    kept = []
    for k in range(20):
        code = _machine.Code()
        machine.add(code, "run", text.format(k))
        if k % held == 0:
            kept.append((k, code))
    del code
    gc.collect()
    last = _machine.Code()
    machine.add(last, "run", text.format(20))  # frees what nobody holds
    assert not _machine._buried
    called = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    assert [called(code.addresses["run"])(0.5) for _, code in kept] == [k / 2 for k, _ in kept]


def test_machine_code_that_runs_is_not_freed():
    """Threads call programs that others forget meanwhile."""
    wrong, end = [], threading.Event()

    def work(k):
        x, y = Tensor(np.linspace(0.1, 1.0, 3000)), Tensor(0.5)
        while not end.is_set():
            fn = recorded_program(k / 16)  # forgets all others
            for _ in range(6):
                found = bits(fn(x, y))
                if found != expected[k]:
                    wrong.append(k)

    expected = [None] * 3
    for k in range(3):
        fn = recorded_program(k / 16)
        for _ in range(4):
            expected[k] = bits(fn(Tensor(np.linspace(0.1, 1.0, 3000)), Tensor(0.5)))
    with forced():
        threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        end.wait(1.0)
        end.set()
        for thread in threads:
            thread.join()
    assert not wrong


def test_programs_of_nothing_else_stay_as_they_are():
    """Regions without three operations in a row, or of integers, get no machine code and are not asked about again."""
    fn = dg.jit(lambda x: ops.sum(x) + 1)
    args = (Tensor(np.arange(10)),)
    for _ in range(4):
        expected = bits(fn(*args))
    with forced() as counted:
        for _ in range(3):
            assert bits(fn(*args)) == expected
    assert counted["compiled"] == counted["loaded"] == 0
    assert counted["asked"] == 1
