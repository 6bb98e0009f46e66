"""Junk given to every public name: no crash, no error from within, and a library that works afterwards."""

import ast
import copy
import inspect
import linecache
import signal
import time
from pathlib import Path

import fuzz
import junk
import pytest

import dualgrad as dg
from dualgrad import Tensor, ops

FIRST, COUNT = 20_000, 3_000
LONG = 100_000


def report(wrong):
    return "\n".join(f"python tests/fuzz.py {number}  # {story}\n    {found}" for number, found, story in wrong)


@pytest.mark.eager("it starts processes of its own")
def test_junk_is_refused():
    outcomes, wrong = fuzz.fuzz(FIRST, COUNT)
    assert not wrong, report(wrong)
    assert sum(outcomes.values()) == COUNT
    # If all calls failed at the first argument, they would test little.
    assert outcomes["returned"] > COUNT / 10
    assert outcomes["TypeError"] + outcomes["ValueError"] > COUNT / 3


@pytest.mark.exhaustive
@pytest.mark.eager("it starts processes of its own")
def test_much_junk_is_refused():
    outcomes, wrong = fuzz.fuzz(FIRST + COUNT, LONG)
    assert not wrong, report(wrong)
    assert sum(outcomes.values()) == LONG


FEW = 12  # names by default


@pytest.mark.eager("it starts processes of its own")
def test_spoiled_arguments_are_refused():
    """Arguments of calls that work, replaced one after the other."""
    names = len(fuzz.spoiled_targets())
    assert names > 1_500
    wrong = []
    for first in range(0, names, names // FEW):
        _, found, story = fuzz.spoiled(first)
        wrong += [(first, found, story)] if found else []
    assert not wrong, report(wrong)


@pytest.mark.exhaustive
@pytest.mark.eager("it starts processes of its own")
def test_all_spoiled_arguments_are_refused():
    outcomes, wrong = fuzz.fuzz(0, len(fuzz.spoiled_targets()), kind="--spoiled-child")
    assert not wrong, report(wrong)
    assert sum(int(calls) * names for calls, names in outcomes.items() if calls.isdigit()) > 100_000


# ---------------------------------------------------------------------------------- defects that the fuzzer finds


def raised(function):
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def at_line(line, source):
    """The error of a statement at this line of a file of the package."""
    path = str(Path(dg.__file__).parent / "random.py")
    return raised(lambda: exec(compile("\n" * (line - 1) + source, path, "exec")))


def line_of(kind):
    """A line of that file with such a statement."""
    path = Path(dg.__file__).parent / "random.py"
    return next(node.lineno for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kind))


@pytest.mark.parametrize("source", ["None.absent", "absent", "{}[1]", "[][0]", "1 / 0", "assert False"])
def test_an_error_that_nobody_raised_is_internal(source):
    assert fuzz.is_internal(at_line(line_of(ast.Return), source))
    assert not fuzz.is_internal(at_line(line_of(ast.Raise), source))


def test_system_errors_are_always_internal():
    assert fuzz.is_internal(at_line(line_of(ast.Raise), "raise SystemError"))
    assert fuzz.is_internal(raised(lambda: exec("raise SystemError")))


def test_errors_of_arguments_are_not_internal():
    assert not fuzz.is_internal(raised(lambda: ops.sin("text")))
    assert not fuzz.is_internal(raised(lambda: Tensor([1.0])[3]))
    assert not fuzz.is_internal(raised(lambda: dg.grad(junk.FUNCTIONS[0])()))
    assert not fuzz.is_internal(raised(lambda: dg.grad(junk._raises)(1.0)))


def test_raise_statements_of_compiled_files_are_known():
    source = fuzz.ROOT / "ext/dualgrad/_engine/transforms/tensor.pyx"
    if not source.exists():
        pytest.skip("the sources of the engine are not beside the package")
    path = str(source)
    lines = fuzz._raise_lines(path)
    words = [linecache.getline(path, line).strip() for line in lines]
    assert sum("raise " in text for text in words) > 10
    assert all(text and not text.startswith(("return", "def", "cdef")) for text in words)


CHILDREN = {
    "a crash": "os.kill(os.getpid(), signal.SIGSEGV)",
    "an exit": "os._exit(0)",
    "out of memory": "os.kill(os.getpid(), signal.SIGKILL)",
}


@pytest.mark.parametrize("kind", CHILDREN)
def test_a_child_that_ends_is_reported_and_the_next_goes_on(tmp_path, kind):
    program = tmp_path / "child.py"
    program.write_text(
        "import json, os, signal, sys\n"
        "for k in range(int(sys.argv[2]), int(sys.argv[3])):\n"
        "    print('begin', k, flush=True)\n"
        f"    if k == 7: {CHILDREN[kind]}\n"
        "    print('end', json.dumps([k, 'returned', 'wrong' if k == 8 else None, 'story']), flush=True)\n"
    )
    outcomes, wrong = fuzz.fuzz(5, 6, str(program))
    assert outcomes == {"returned": 5, "crash": 1}
    assert [number for number, *_ in wrong] == [7, 8]
    assert wrong[0][1].startswith("crash")


@pytest.fixture
def limits(monkeypatch):
    """Short limits, and the signals of this process as they were."""
    monkeypatch.setattr(fuzz, "TIME", 0.2)
    monkeypatch.setattr(fuzz, "WAIT", 2)
    before = {number: signal.getsignal(number) for number in (signal.SIGPROF, signal.SIGALRM)}
    fuzz.heed_limits()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def spin():
    while True:
        pass


# what a call does: how it ends
ENDS = {
    "it computes": (lambda self: spin(), "time"),
    "it waits": (lambda self: time.sleep(10), "time"),
    "it waits for the processor": (lambda self: time.sleep(0.5), "returned"),
}


@pytest.mark.parametrize("kind", ENDS)
def test_a_call_that_does_not_end_is_ended(monkeypatch, limits, kind):
    run, outcome = ENDS[kind]
    monkeypatch.setattr(fuzz.Call, "run", run)
    assert fuzz.one(1)[0] == outcome


def test_a_child_that_does_not_react_is_ended(tmp_path):
    program = tmp_path / "child.py"
    program.write_text(
        "import signal, sys\n"
        f"sys.path.insert(0, {str(Path(fuzz.__file__).parent)!r})\n"
        "import fuzz\n"
        "fuzz.STUCK = 1\n"
        "fuzz._begin(int(sys.argv[2]), sys.stdout)\n"
        "sys.stdout.flush()\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPROF, signal.SIGALRM])\n"
        "while True: pass\n"
    )
    outcomes, wrong = fuzz.fuzz(5, 1, str(program))
    assert outcomes == {"crash": 1}
    assert wrong[0][1].startswith(f"crash: {-signal.SIGXCPU} ")


def test_a_level_that_stays_open_is_found(monkeypatch):
    monkeypatch.setattr(fuzz.Call, "run", lambda self: None)
    assert fuzz.one(1) == ("returned", None, "")
    monkeypatch.setattr(dg, "grad", lambda function: lambda x: Tensor(5.0))
    assert "does not work any more" in fuzz.one(1)[1]


def test_a_call_follows_from_its_number():
    first, second = fuzz.Call(11), fuzz.Call(11)
    for call in (first, second):
        call.rng.random()
        call.drawn = [type(x) for _ in range(20) for x in call.arguments(ops.where)[0]]
    assert len(first.drawn) > 20
    assert first.drawn == second.drawn


def test_every_public_name_is_called():
    paths = {path for path, _ in fuzz.targets()}
    assert len(paths) > 900
    for path in ("dualgrad.grad", "dualgrad.ops.conv2d", "dualgrad.nn.Dense", "dualgrad.numpy.einsum"):
        assert path in paths
    assert {path.rpartition(".")[2] for path in paths}.isdisjoint(fuzz.EXCLUDED)


def test_what_is_excluded_has_a_reason():
    assert all(len(reason) > 10 for reason in fuzz.EXCLUDED.values())


# ------------------------------------------------------------------------------------- classes made by functions

FILLED = {
    dg.programs.Explanation: "is made by dualgrad.explain",
    dg.programs.Profile: "is made by dualgrad.profile",
    dg.scipy.Objective: "is made by dualgrad.scipy.objective",
}


@pytest.mark.parametrize("cls", FILLED, ids=lambda cls: cls.__name__)
def test_a_class_that_a_function_fills_says_so(cls):
    """For all arguments."""
    count = len(inspect.signature(cls).parameters)
    for junk_of_all in (None, "text", 3, [None], Tensor([1.0])):
        with pytest.raises(TypeError, match=FILLED[cls]):
            cls(*[junk_of_all] * count)


@pytest.mark.parametrize("make", [dg.explain, dg.profile])
def test_what_a_program_is_told_by_is_for_reading(make):
    found = make(lambda x: x * 2)(Tensor([1.0]))
    for name in vars(found):
        with pytest.raises(AttributeError, match="for reading"):
            setattr(found, name, None)
        with pytest.raises(AttributeError, match="for reading"):
            delattr(found, name)
    assert found.svg().startswith("<svg")
    assert str(copy.copy(found)) == str(found)
