"""Calls of every public name with junk, in child processes: what crashes, hangs or fails from within.

Each call follows from its number alone, so ``python tests/fuzz.py 4711`` repeats call 4711 and shows what it does.
``python tests/fuzz.py --spoiled 0 3000`` takes a call of each name that works, and replaces one argument after the
other by each piece of junk; ``--spoiled 17`` does so with name 17.
"""

import ast
import contextlib
import dataclasses
import doctest
import faulthandler
import functools
import importlib
import inspect
import io
import itertools
import json
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import types
import warnings
import zlib
from pathlib import Path

import junk
import numpy as np

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops

MODULES = (
    "dualgrad dualgrad.ops dualgrad.ops.linalg dualgrad.nn dualgrad.numpy dualgrad.numpy.linalg dualgrad.numpy.fft "
    "dualgrad.scipy dualgrad.operators dualgrad.programs dualgrad.extend dualgrad.testing dualgrad.common "
    "dualgrad.common.initializer dualgrad.dataset dualgrad.amp dualgrad.random dualgrad.sparse dualgrad.implicit"
).split()
# Of these every argument is spoiled, too.
MORE = (
    "dualgrad.mint dualgrad.mint.nn dualgrad.mint.nn.functional dualgrad.stats dualgrad.ode dualgrad.curvature "
    "dualgrad.scipy.linalg dualgrad.scipy.special dualgrad.scipy.interpolate dualgrad.scipy.optimize "
    "dualgrad.scipy.fft dualgrad.scipy.ndimage dualgrad.nn.probability.distribution dualgrad.experimental.optim "
    "dualgrad.train dualgrad.train.metrics dualgrad.dtype"
).split()
EXCLUDED = {
    "save_checkpoint": "writes files under any name; test_serialization.py damages them",
    "load_checkpoint": "reads files under any name, which may be devices",
    "run_check": "runs the tests of the installation, which take long",
    "__init_subclass__": "belongs to classes",
    "__subclasshook__": "belongs to classes",
    "__class__": "is no method",
}
# What walks through nests of arguments without end: these get none.
NESTS = frozenset(
    "grad value_and_grad vjp jvp jacfwd jacrev hessian hvp jet linearize vmap jit recompute GradOperation check "
    "laplacian divergence curl biharmonic mixed_partial linear_operator derivatives derivative root fixed_point argmin "
    "linear_solve while_loop fori_loop scan cond sparsity sparse_jacobian sparse_hessian get_grad verified explain "
    "profile objective residuals rhs system verify interpreted HyperMap custom_vjp custom_jvp".split()
)
# Where other programs take the processor, a call that is right lasts long: the time of the processor is limited.
TIME = 2  # seconds of the processor for a call
STUCK = 30  # seconds of the processor after which a child that does not react is ended
WAIT = 60  # seconds for a call that waits; a child has ten times as many
MEMORY = 6 << 30
INTERNAL = (AttributeError, NameError, KeyError, IndexError, SystemError, AssertionError, ZeroDivisionError)
# What Python, Cython and NumPy say of an object that nobody has checked.
UNCHECKED = re.compile(
    r"unhashable type|object is not (iterable|subscriptable|callable)|has no len|cannot unpack|values to unpack|"
    r"not supported between|unsupported operand|bad operand|must be real number|iteration over a 0-d|argument of type|"
    r"truth value of a|array is too big|allowed (size|dimension) exceeded|cannot be interpreted as|^ufunc '|"
    r"too large to convert|cannot fit 'int'|inhomogeneous|argument after \*"
)
PACKAGE = Path(dg.__file__).parent
ROOT = PACKAGE.parent.parent


class TimeLimit(BaseException):
    """A call took longer than it may."""


# ------------------------------------------------------------------------------------------------ what is called


def _public(module):
    return [name for name in getattr(module, "__all__", dir(module)) if not name.startswith("_")]


@functools.cache
def targets():
    """Return all that can be called, as pairs of path and object, sorted by path."""
    found = {}
    for path in MODULES:
        module = importlib.import_module(path)
        for name in _public(module):
            value = getattr(module, name)
            if callable(value) and name not in EXCLUDED and getattr(value, "__module__", "") != "_operator":
                found[f"{path}.{name}"] = value  # Python's operators have the errors of the object that they are given
    return sorted(found.items())


@functools.cache
def methods(cls):
    """Return the names of methods of a class, its special ones included."""
    return sorted(
        name
        for name in dir(cls)
        if (not name.startswith("_") or name.startswith("__"))
        and name not in EXCLUDED
        and callable(inspect.getattr_static(cls, name, None)) | isinstance(inspect.getattr_static(cls, name), property)
    )


RECEIVERS = [
    junk._tensor,
    junk.fitting_tensor,
    junk._parameter,
    lambda rng: nn.Dense(3, 2),
    lambda rng: nn.SequentialCell(nn.Dense(3, 2), nn.Tanh()),
    lambda rng: nn.CellList([nn.Tanh(), nn.ReLU()]),
    lambda rng: nn.CellDict({"a": nn.Tanh(), "b": nn.ReLU()}),
    lambda rng: dg.ParameterTuple([Parameter([1.0], name="a")]),
    lambda rng: nn.Adam([Parameter([1.0], name="a")]),
]


@functools.lru_cache(4096)
def _parameters_of(function):
    with contextlib.suppress(TypeError, ValueError):
        return tuple(inspect.signature(function).parameters.values())
    return None


def parameters_of(function):
    """Return the parameters of a callable, or None where it does not say."""
    try:
        return _parameters_of(function)
    except TypeError:  # it has no hash
        return None


def _replayed(function, places):
    """Call a recorded function until it is replayed."""
    recorded = dg.jit(function)
    for _ in range(3):
        result = recorded(*places)
    return result


def _in_graph_mode(function, places):
    class Net(nn.Cell):
        def construct(self, *operands):
            return function(*operands)

    dg.set_context(mode=dg.GRAPH_MODE)
    net = Net()
    return [net(*places) for _ in range(3)][-1]


TRANSFORMS = {
    "grad": lambda function, places: dg.grad(function)(*places),
    "grad of grad": lambda function, places: dg.grad(lambda *x: dg.grad(function)(*x))(*places),
    "value_and_grad": lambda function, places: dg.value_and_grad(function, 0)(*places),
    "jvp": lambda function, places: dg.jvp(function, tuple(places), tuple(places)),
    "vjp": lambda function, places: dg.vjp(function, *places),
    "jacfwd": lambda function, places: dg.jacfwd(function)(*places),
    "jacrev": lambda function, places: dg.jacrev(function)(*places),
    "hessian": lambda function, places: dg.hessian(function)(*places),
    "vmap": lambda function, places: dg.vmap(function)(*places),
    "vmap of grad": lambda function, places: dg.vmap(dg.grad(function))(*places),
    "recompute": lambda function, places: dg.grad(dg.recompute(function))(*places),
    "jit": _replayed,
    "graph mode": _in_graph_mode,
}


class Call:
    """One call, and what is done with its result; everything follows from the number of the call."""

    def __init__(self, number):
        self.number, self.rng, self.story, self.nests, self.endless = number, random.Random(number), [], False, False
        # How often an argument is one that fits its name.
        self.fit = self.rng.choice([0.0, 0.5, 0.8, 0.95])

    def one_argument(self, name):
        if self.rng.random() < 0.01 and not self.nests:
            self.endless = True
            return junk.endless(self.rng)
        return junk.fitting(name, self.rng) if self.rng.random() < self.fit else junk.junk(self.rng)

    def arguments(self, function):
        """Choose arguments by signature, by place or by keyword, sometimes too few or too many."""
        rng, known = self.rng, parameters_of(function)
        if known is None:
            return [self.one_argument("x") for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))], {}
        places, keywords = [], {}
        for one in known:
            if one.kind == one.VAR_POSITIONAL:
                places += [self.one_argument("x") for _ in range(rng.choice([0, 1, 1, 2, 3]))] if not keywords else []
            elif one.kind == one.VAR_KEYWORD:
                if rng.random() < 0.1:
                    keywords[rng.choice(["dim", "keepdim", "dtype", "unknown"])] = self.one_argument("dim")
            elif one.default is not one.empty and rng.random() < 0.5:
                continue
            elif one.kind == one.KEYWORD_ONLY or keywords or len(places) < known.index(one) or rng.random() < 0.15:
                keywords[one.name] = self.one_argument(one.name)
            else:
                places.append(self.one_argument(one.name))
        if rng.random() < 0.03:
            places = [*places, self.one_argument("x")] if rng.random() < 0.5 else places[:-1]
        return places, keywords

    def call(self, what, function):
        if self.endless and what.rpartition(".")[2] in NESTS:
            return None
        through = self.rng.choice(list(TRANSFORMS)) if self.rng.random() < 0.15 and not self.endless else None
        self.nests = self.nests or through is not None or what.rpartition(".")[2] in NESTS
        places, keywords = self.arguments(function)
        self.story.append((f"{through} of {what}" if through else what, places, keywords))
        if through is None:
            return function(*places, **keywords)
        return TRANSFORMS[through](lambda *operands: function(*operands, **keywords), places)

    def method(self, thing):
        """Call a method of an object, or read a property."""
        names = methods(type(thing))
        if type(thing).__name__ in EXCLUDED:
            names = [name for name in names if name != "__init__"]
        name = self.rng.choice(names) if names else "__repr__"
        if self.rng.random() < 0.5:
            named = [one for one in names if not one.startswith("_")]
            name = self.rng.choice(named) if named else name
        self.story.append((f"<{type(thing).__name__}>.{name}", [thing], {}))
        found = getattr(thing, name)
        return self.call(f"<{type(thing).__name__}>.{name}", found) if callable(found) else found

    def run(self):
        rng = self.rng
        if rng.random() < 0.25:
            result = self.method(rng.choice(RECEIVERS)(rng))
        else:
            path, function = rng.choice(targets())
            result = self.call(path, function)
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            result = self.further(result)

    def further(self, result):
        """Do something with a result: call it, call a method of it, look into it."""
        if isinstance(result, tuple | list) and result:
            result = self.rng.choice(result)
        elif isinstance(result, dict) and result:
            result = self.rng.choice(list(result.values()))
        if isinstance(result, types.GeneratorType | map | filter | zip):
            return list(itertools.islice(result, 5))
        ours = type(result).__module__.split(".")[0] == "dualgrad"
        if callable(result) and (not ours or self.rng.random() < 0.7):
            return self.call("<result>", result)
        if (
            ours
            and self.rng.random() < 0.1
            and type(result).__name__ not in EXCLUDED
            and type(result).__name__[0] != "_"
        ):
            return self.call(f"type of <{type(result).__name__}>", type(result))
        if ours and not isinstance(result, types.ModuleType):
            return self.method(result)
        return result


# ---------------------------------------------------------------------------------------------- what went wrong


@functools.cache
def _raise_lines(path):
    """Return the lines of a file that belong to raise statements."""
    source = Path(path).read_text()
    if path.endswith(".py"):
        statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Raise)]
        return {line for node in statements for line in range(node.lineno, node.end_lineno + 1)}
    lines, depth, inside = set(), 0, False
    for number, line in enumerate(source.splitlines(), 1):
        inside = (inside and depth > 0) or line.lstrip().startswith("raise ") or ": raise " in line
        depth = depth + sum(map(line.count, "([{")) - sum(map(line.count, ")]}")) if inside else 0
        if inside:
            lines.add(number)
    return lines


def _source(filename):
    """Return the path of a frame's file."""
    return filename if os.path.isabs(filename) else str(ROOT / filename)


def is_internal(error, strict=False):
    """Whether an error is a defect: of a kind that nobody meant, and not raised by a statement of ours.

    `strict` counts errors of other kinds, too, whose text speaks of an object that nobody has checked.
    """
    if isinstance(error, SystemError):
        return True
    unchecked = strict and isinstance(error, OverflowError | TypeError | ValueError) and UNCHECKED.search(str(error))
    if not (unchecked or isinstance(error, INTERNAL)) or isinstance(error, dataclasses.FrozenInstanceError):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    path = _source(frames[-1].filename)
    if path in (__file__, junk.__file__):
        return False
    ours = str(PACKAGE) in path or str(ROOT / "ext") in path
    return not (ours and os.path.exists(path) and frames[-1].lineno in _raise_lines(path))


def _describe(error):
    frames = traceback.extract_tb(error.__traceback__)
    place = next((f for f in reversed(frames) if "dualgrad" in f.filename), frames[-1])
    return f"{type(error).__name__}: {str(error)[:200]} @ {place.filename.split('dualgrad/')[-1]}:{place.lineno}"


def _canary():
    """Say whether the library still works after a call."""
    with contextlib.suppress(Exception):
        if float(dg.grad(lambda x: x * x)(Tensor(3.0))) == 6.0:
            return
    raise SystemError("the library does not work any more after this call")


def _state():
    return dg.get_context("mode"), dg.get_num_threads(), np.get_printoptions()


def _restore(state):
    dg.set_context(mode=state[0])
    dg.set_num_threads(state[1])
    np.set_printoptions(**state[2])  # junk that NumPy has taken would fail in later messages


def one(number, show=False):
    """Run a call; return what is wrong, or None."""
    unraisable, state, hook = [], _state(), sys.unraisablehook
    sys.unraisablehook = lambda args: unraisable.append(args.exc_value)
    found, call = None, Call(number)
    try:
        try:
            _limit(TIME, WAIT)
            call.run()
        finally:
            _limit(0, 0)  # a signal may still come just before this, and is caught below
        outcome = "returned"
    except TimeLimit:
        outcome = found = "time"
    except BaseException as error:
        outcome = type(error).__name__
        if show:
            traceback.print_exc()
        if is_internal(error):
            found = _describe(error)
    finally:
        sys.unraisablehook = hook
    try:
        _restore(state)
        _canary()
    except BaseException as error:
        found = found or _describe(error)
    for error in unraisable:
        if not isinstance(error, junk.Mischief | MemoryError | TimeLimit):
            found = found or f"unraisable {_describe(error)}"
    story = "; ".join(what for what, *_ in call.story)
    if show:
        for what, places, keywords in call.story:
            print(what, [_text(x) for x in places], {k: _text(v) for k, v in keywords.items()})
    return outcome, found, story


# ------------------------------------------------------------------------------------------- spoiled arguments


@functools.cache
def spoiled_targets():
    """Return what can be called in all modules, once each, as pairs of path and object, sorted by path."""
    found = {}
    for path in (*MODULES, *MORE):
        module = importlib.import_module(path)
        for name in _public(module):
            value = getattr(module, name)
            others = str(getattr(value, "__module__", "")).split(".")[0] in ("_operator", "builtins", "math", "numpy")
            if callable(value) and name not in EXCLUDED and not others and parameters_of(value) is not None:
                found.setdefault(id(value), (f"{path}.{name}", value))
    return sorted(found.values(), key=lambda pair: pair[0])


def working(known, function, rng):
    """Return arguments that fit the names of parameters, and what a call with them returns; None if none works."""
    for _ in range(25):
        places, keywords = [], {}
        for one in known:
            if one.kind == one.VAR_POSITIONAL and not keywords:
                places += [junk.fitting("x", rng) for _ in range(rng.choice([1, 1, 2]))]
            elif one.default is one.empty and one.kind == one.KEYWORD_ONLY:
                keywords[one.name] = junk.fitting(one.name, rng)
            elif one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                places.append(junk.fitting(one.name, rng))
        with contextlib.suppress(Exception, TimeLimit):
            return places, keywords, _within_limits(function, *places, **keywords)
    return None


class _Marked(ast.NodeTransformer):
    """Has each call of a name, in the code of an example, go through ``marked``."""

    def __init__(self, name):
        self.name = name

    def visit_Call(self, node):
        self.generic_visit(node)
        if self.name in (getattr(node.func, "id", ""), getattr(node.func, "attr", "")):
            return ast.Call(ast.Name("marked", ast.Load()), [node.func, *node.args], node.keywords)
        return node


def documented(path, function):
    """Return the arguments of the first call in the example of a docstring, and what it returns; None if none works."""
    found = []

    def marked(called, *places, **keywords):
        result = called(*places, **keywords)
        if called is function:
            found.append((list(places), keywords, result))
        return result

    names = {"dg": dg, "np": np, "ops": ops, "nn": nn, "Tensor": Tensor, "marked": marked}
    with contextlib.suppress(Exception, TimeLimit), contextlib.redirect_stdout(io.StringIO()):
        for example in doctest.DocTestParser().get_examples(inspect.getdoc(function) or ""):
            code = _Marked(path.rpartition(".")[2]).visit(ast.parse(example.source))
            _within_limits(exec, compile(ast.fix_missing_locations(code), __file__, "exec"), names)
            if found:
                return found[0]
    return None


def _within_limits(function, *places, **keywords):
    try:
        _limit(TIME, WAIT)
        return function(*places, **keywords)
    finally:
        _limit(0, 0)


def spoilings(known, places, keywords):
    """Yield (what was replaced, arguments) for each argument and each piece of junk."""
    by_place = [one.name for one in known if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    later = [one.name for one in known if one.kind == one.KEYWORD_ONLY] + by_place[len(places) :]
    for make in junk.SPOILS:
        for k in range(len(places)):
            thing = make()
            yield (k, thing), [*places[:k], thing, *places[k + 1 :]], keywords
        for name in later:
            thing = make()
            yield (name, thing), places, {**keywords, name: thing}


def spoiled(number, show=False):
    """Call a target with one argument after the other spoiled; a Cell that is made of one, or given one, is called."""
    path, function = spoiled_targets()[number]
    known, rng, found, calls = parameters_of(function), random.Random(zlib.crc32(path.encode())), {}, 0
    state, first = _state(), working(known, function, rng) or documented(path, function)
    if first is None:
        return "no call works", None, path
    places, keywords, result = first
    inner = parameters_of(result.construct) if isinstance(result, nn.Cell) else None
    inputs = working(inner, result, rng) if inner is not None else None

    def attempt(function, places, keywords, story):
        nonlocal calls
        calls += 1
        try:
            return _within_limits(function, *places, **keywords)
        except TimeLimit:
            return None
        except Exception as error:
            if is_internal(error, strict=True):
                found.setdefault(_describe(error), f"{path}, {story[0]}: {_text(story[1])}")

    for story, *arguments in spoilings(known, places, keywords):
        made = attempt(function, *arguments, story)
        if inputs is not None and isinstance(made, nn.Cell):
            attempt(made, *inputs[:2], story)
    for story, *arguments in spoilings(inner, *inputs[:2]) if inputs is not None else ():
        attempt(result, *arguments, story)
    with contextlib.suppress(Exception):
        _restore(state)
    if show:
        print(calls, *found.items(), sep="\n")
    return str(calls), "; ".join([f"{what} ({where})" for what, where in found.items()]) or None, path


def _limit(processor, wait):
    """Have signals after these times of the processor and of the clock; 0 is never."""
    signal.setitimer(signal.ITIMER_PROF, processor)
    signal.setitimer(signal.ITIMER_REAL, wait)


def _text(x):
    try:
        return f"{type(x).__name__}:{x!r}"[:200]
    except BaseException:
        return f"<{type(x).__name__}>"


# ------------------------------------------------------------------------------------------------- child, parent


def _expired(*_):
    raise TimeLimit


def heed_limits():
    """Let the signals of both clocks end a call."""
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, _expired)


def _begin(number, report):
    """Say that a call begins, from which the time of the processor counts after which the kernel ends the child."""
    used = math.ceil(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + STUCK, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    print("begin", number, file=report)


def child(numbers, run):
    """Run calls; write a line for each one begun and each one done."""
    report = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    heed_limits()
    warnings.simplefilter("ignore")
    for number in numbers:
        _begin(number, report)
        outcome, found, story = run(number)
        print("end", json.dumps([number, outcome, found, story]), file=report)
        if outcome == "time":
            break  # whatever was interrupted may be in any state


def fuzz(first, count, program=__file__, show=False, kind="--child"):
    """Run calls in child processes; return how many outcomes there were of each kind, and what is wrong."""
    outcomes, wrong, slow, number = {}, [], [], first
    while number < first + count:
        with tempfile.TemporaryDirectory() as folder:
            lines, last_words = _watch([program, kind, str(number), str(first + count)], folder)
        begun = number
        for what, _, rest in (line.partition(" ") for line in lines):
            if what == "begin":
                begun = int(rest)
                continue
            done, outcome, found, story = json.loads(rest)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            if outcome == "time":
                slow.append((done, story))
            elif found:
                wrong.append((done, found, story))
        if not lines or lines[-1].startswith("begin"):
            wrong.append((begun, "crash: " + last_words, ""))
            outcomes["crash"] = outcomes.get("crash", 0) + 1
        number = begun + 1
    if show:
        print("slow", *slow, sep="\n")
    return outcomes, wrong


def _watch(command, folder):
    """Run one child until it ends or waits for ever; return its lines and how it ended."""
    paths = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
    with open(f"{folder}/errors", "w+") as errors, open(f"{folder}/report", "w+") as report:
        process = subprocess.Popen(
            [sys.executable, *command], stdout=report, stderr=errors, cwd=folder, env=environment
        )
        size = -1
        while True:
            try:
                process.wait(10 * WAIT)
                break
            except subprocess.TimeoutExpired:
                if os.fstat(report.fileno()).st_size == size:
                    process.kill()
                size = os.fstat(report.fileno()).st_size
        for file in (errors, report):
            file.seek(0)
        return report.read().splitlines(), f"{process.returncode} {errors.read()[:3000]}"


CHILDREN = {"--child": one, "--spoiled-child": spoiled}


def main(arguments):
    if arguments[0] in CHILDREN:
        child(range(int(arguments[1]), int(arguments[2])), CHILDREN[arguments[0]])
    elif arguments[0] == "--spoiled" and len(arguments) == 2:
        heed_limits()
        warnings.simplefilter("ignore")
        print(spoiled(int(arguments[1]), show=True))
    elif arguments[0] == "--spoiled":
        count = min(int(arguments[2]), len(spoiled_targets()) - int(arguments[1]))
        outcomes, wrong = fuzz(int(arguments[1]), count, show=True, kind="--spoiled-child")
        calls = sum(int(calls) * names for calls, names in outcomes.items() if calls.isdigit())
        print(f"{count} names, {calls} calls, {outcomes.get('no call works', 0)} names without a call that works")
        for number, found, story in wrong:
            print(number, story, "\n    ", found)
    elif len(arguments) == 1:
        heed_limits()
        warnings.simplefilter("ignore")
        faulthandler.enable()
        print(one(int(arguments[0]), show=True))
    else:
        outcomes, wrong = fuzz(int(arguments[0]), int(arguments[1]), show=True)
        print(outcomes)
        for number, found, story in wrong:
            print(number, story, "\n    ", found)


if __name__ == "__main__":
    main(sys.argv[1:])
