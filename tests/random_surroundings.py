"""Random programs that read what lies around them: variables, attributes, containers, arrays, tensors, functions.

Some lines of a program are put into an expression that reads a place outside (a `Kind` of them). A place holds one
number, written in whatever way it keeps it; so the surroundings of a program are a list of numbers, and are changed
between two calls by other numbers. They stay around one, so that derivatives stay as large as they are.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from random_lines import Line, Program

from dualgrad import Parameter, Tensor, nn

NUMBERS = (1.0, 0.5, -1.0, 1.5, 0.75)
#: more expressions than these are not put into one program
MOST = 6


class Scaled(nn.Cell):
    """A Cell with a factor."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def construct(self, x: Tensor) -> Tensor:
        return x * self.factor


class Around(nn.Cell):
    """A Cell whose child is replaced."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.inner = Scaled(factor)

    def construct(self, x: Tensor) -> Tensor:
        return self.inner(x)


class Slotted:
    """An object without a dict, with a property."""

    __slots__ = ("_factor",)

    def __init__(self, factor: float) -> None:
        self._factor = factor

    @property
    def factor(self) -> float:
        return self._factor


def scaling(factor: float) -> Callable[[Any], Any]:
    """A function of its own for each factor."""
    return lambda x: x * factor


def place(kind: str) -> Callable[..., None]:
    """A function that sets the number of a place of some kind."""

    def put(space: dict, name: str, number: float, dtype: Any) -> None:
        held = space[name]
        if kind == "attribute":
            held.factor = number
        elif kind == "attribute of a class":
            type(held).factor = number
        elif kind == "slot":
            held._factor = number
        elif kind in ("list", "dict", "array"):
            held[0] = number
        elif kind == "length":
            held[:] = [0.25] * round(4 * number + 6)
        elif kind == "keys":
            held.clear()
            held.update(dict.fromkeys(range(round(4 * number + 6)), 0.25))
        elif kind in ("tensor", "parameter"):
            held.set_data(Tensor(dtype(number)))
        elif kind == "child":
            held.inner = Scaled(number)
        elif kind == "default":
            held.__kwdefaults__ = {"factor": number}
        elif kind == "code":
            held.__code__ = (CODES[0] if number > 0 else CODES[1]).__code__

    return put


CODES = (lambda x: x * 1.25, lambda x: x * -0.75)


@dataclass(frozen=True)
class Kind:
    """A way to keep a number: what is there at first, how an expression reads it, and how it is set."""

    make: Callable[[float, Any], Any]
    read: str
    put: Callable[[dict, str, float, Any], None]


def anew(make: Callable[[float, Any], Any]) -> Callable[[dict, str, float, Any], None]:
    """Setting a place by another object under its name."""

    def put(space: dict, name: str, number: float, dtype: Any) -> None:
        space[name] = make(number, dtype)

    return put


def in_place(what: str, make: Callable[[float, Any], Any], read: str) -> Kind:
    return Kind(make, read, place(what))


def by_name(make: Callable[[float, Any], Any], read: str) -> Kind:
    return Kind(make, read, anew(make))


def with_default(x: Any, *, factor: float = 1.0) -> Any:
    return x * factor


def own_function(f: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a function, to be changed."""
    made = type(f)(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    made.__kwdefaults__ = f.__kwdefaults__ and dict(f.__kwdefaults__)
    return made


def object_of_own_class(number: float, dtype: Any) -> Any:
    return type("Holder", (), {"factor": number})()


KINDS = {
    "global": by_name(lambda n, t: n, "({e}) * {s}"),
    "branch": by_name(lambda n, t: n > 0, "({e}) if {s} else 0.5 - ({e})"),
    "function replaced": by_name(lambda n, t: scaling(n), "{s}({e})"),
    "tuple": by_name(lambda n, t: (n, 2.0), "({e}) * {s}[0]"),
    "object replaced": by_name(lambda n, t: SimpleNamespace(factor=n), "({e}) * {s}.factor"),
    "tensor replaced": by_name(lambda n, t: Tensor(t(n)), "({e}) * {s}"),
    "array replaced": by_name(lambda n, t: np.array([n]), "({e}) * float({s}[0])"),
    "attribute": in_place("attribute", lambda n, t: SimpleNamespace(factor=n), "({e}) * {s}.factor"),
    "attribute of a class": in_place("attribute of a class", object_of_own_class, "({e}) * {s}.factor"),
    "slot": in_place("slot", lambda n, t: Slotted(n), "({e}) * {s}.factor"),
    "list": in_place("list", lambda n, t: [n], "({e}) * {s}[0]"),
    "dict": in_place("dict", lambda n, t: {0: n}, "({e}) * {s}[0]"),
    "array": in_place("array", lambda n, t: np.array([n]), "({e}) * float({s}[0])"),
    "array as a tensor": in_place("array", lambda n, t: np.array([n], t), "({e}) * constant({s}, {e})[0]"),
    "length": in_place("length", lambda n, t: [0.25] * round(4 * n + 6), "({e}) * (sum({s}) - 1.5)"),
    "keys": in_place(
        "keys", lambda n, t: dict.fromkeys(range(round(4 * n + 6)), 0.25), "({e}) * (0.25 * len({s}) - 1.5)"
    ),
    "tensor": in_place("tensor", lambda n, t: Parameter(Tensor(t(n)), "a", requires_grad=False), "({e}) * {s}"),
    "parameter": in_place("parameter", lambda n, t: Parameter(Tensor(t(n)), "p"), "({e}) * {s}"),
    "Cell": in_place("attribute", lambda n, t: Scaled(n), "{s}({e})"),
    "child": in_place("child", lambda n, t: Around(n), "{s}({e})"),
    "default": in_place("default", lambda n, t: own_function(with_default), "{s}({e})"),
    "code": in_place("code", lambda n, t: own_function(CODES[0]), "{s}({e})"),
}


@dataclass(frozen=True)
class Surrounded:
    """A program some of whose lines read places outside: their names, and kinds."""

    program: Program
    kinds: dict[str, str]

    def compiled(self, names: dict[str, Any], weights: dict[str, Any], dtype: Any) -> tuple[Callable, "Places"]:
        """The function, and its surroundings. Half of the places are variables of a function around it."""
        places = Places(self, dtype)
        outer = [s for k, s in enumerate(self.kinds) if k % 2]
        inside = "\n".join(f"    {line}" for line in self.program.text.splitlines())
        setter = f"    def put(name, value):\n        nonlocal {', '.join(outer)}\n" + "".join(
            f"        if name == {s!r}: {s} = value\n" for s in outer
        )
        text = f"def outside({', '.join(outer)}):\n{inside}\n{setter if outer else ''}"
        text += f"    return program, {'put' if outer else 'None'}"
        space = places.space
        space.update(names | weights)
        exec(compile(text, "<random program>", "exec"), space)
        function, places.put_variable = space["outside"](*[space.pop(s) for s in outer])
        return function, places


class Places:
    """The surroundings of one compiled program."""

    def __init__(self, surrounded: Surrounded, dtype: Any) -> None:
        self.dtype = dtype
        self.kinds = surrounded.kinds
        self.space: dict[str, Any] = {s: KINDS[k].make(NUMBERS[0], dtype) for s, k in self.kinds.items()}
        self.held = {s: self.space[s] for s in self.kinds}
        self.numbers = dict.fromkeys(self.kinds, NUMBERS[0])
        self.put_variable: Callable[[str, Any], None] | None = None

    def put(self, numbers: dict[str, float]) -> None:
        """Have the places hold these numbers; what holds the right one already is left alone."""
        for s, number in numbers.items():
            if self.numbers[s] == number:
                continue
            self.numbers[s] = number
            before = self.held[s]
            KINDS[self.kinds[s]].put(self.held, s, number, self.dtype)
            if self.held[s] is before:
                continue
            if s in self.space:
                self.space[s] = self.held[s]
            else:
                self.put_variable(s, self.held[s])


def surrounded(program: Program, rng: np.random.Generator) -> Surrounded:
    """A program with places around it, of random kinds, read by random lines."""
    kinds: dict[str, str] = {}

    def some(lines: tuple[Line, ...]) -> tuple[Line, ...]:
        return tuple(changed(line) for line in lines)

    def changed(line: Line) -> Line:
        if line.body:
            return replace(line, body=some(line.body))
        if len(line.results) != 1 or line.results[0][0] != "v" or len(kinds) == MOST or rng.random() < 0.5:
            return line
        name = f"s{len(kinds)}"
        kinds[name] = list(KINDS)[rng.integers(len(KINDS))]
        return replace(line, code=KINDS[kinds[name]].read.format(e=line.code, s=name))

    return Surrounded(replace(program, lines=some(program.lines)), kinds)


def other_numbers(numbers: dict[str, float], rng: np.random.Generator) -> dict[str, float]:
    """What the places hold next: one or two of them something else."""
    some = rng.choice(list(numbers), size=min(len(numbers), int(rng.integers(1, 3))), replace=False)
    return numbers | {str(s): NUMBERS[rng.integers(len(NUMBERS))] for s in some}
