"""What notebooks show: HTML that is well formed, escaped, without colours and scripts, and that changes nothing."""

import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest
from support import f64

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn, ops

NASTY = "<script>alert(1)</script>&\"'"


class Checked(HTMLParser):
    """Checks that each element is closed in its turn, and keeps texts and rows."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.rows = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        assert tag != "script"
        assert not {name for name, _ in attributes if name.startswith("on")}
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data

    @property
    def text(self):
        return "".join(self.texts)


def checked(thing):
    return Checked(thing._repr_html_())


VALUES = {
    "number": 2.5, "vector": [1.0, 2.0], "bools": [True, False], "integers": [[1, 2], [3, 4]], "complex": [1 + 2j],
    "empty": np.zeros((0, 3)), "nan": [np.nan, np.inf], "many axes": np.zeros((2, 3, 4, 1)),
}  # fmt: skip


@pytest.mark.parametrize("case", VALUES)
def test_a_tensor_shows_its_elements_shape_and_type(case):
    x = Tensor(VALUES[case])
    text = checked(x).text
    for part in str(x), str(tuple(x.shape)), str(x.dtype):
        assert part in text
    assert "color" not in x._repr_html_()


def test_long_arrays_are_summarised():
    for shape in (1_000_000,), (1000, 1000), (50, 50, 50):
        text = checked(Tensor(np.zeros(shape))).text
        assert "..." in text
        assert len(text) < 4000


def test_a_parameter_shows_its_name():
    p = Parameter([1.0], name=NASTY, requires_grad=False)
    text = checked(p).text
    assert NASTY in text
    assert "not trainable" in text


TRANSFORMS = {
    "grad": (lambda f: dg.grad(f)(f64([1.0, 2.0])), "carries a derivative of grad"),
    "grad of grad": (lambda f: dg.grad(dg.grad(f))(f64([1.0, 2.0])), "carries a derivative of grad"),
    "jvp": (lambda f: dg.jvp(f, f64([1.0, 2.0]), f64([1.0, 0.0])), "carries a derivative of jvp"),
    "vmap": (lambda f: dg.vmap(f)(f64([1.0, 2.0])), "sample of vmap"),
    "vmap of grad": (lambda f: dg.vmap(dg.grad(f))(f64([1.0, 2.0])), "all samples"),
    "grad of vmap": (lambda f: dg.grad(dg.vmap(f))(f64([1.0, 2.0])), "sample"),
    "hessian": (lambda f: dg.hessian(f)(f64([1.0, 2.0])), ""),
    "jit": (lambda f: dg.jit(f)(f64([1.0, 2.0])), "recorded"),
    "jit of grad": (lambda f: dg.jit(dg.grad(f))(f64([1.0, 2.0])), "recorded"),
    "scan": (lambda f: dg.scan(lambda c, x: (f(c), x), f64([1.0, 2.0]), f64([3.0, 4.0])), ""),
    "grad of scan": (
        lambda f: dg.grad(lambda a: dg.scan(lambda c, x: (f(c), x), a, f64([3.0, 4.0]))[0])(f64([1.0, 2.0])),
        "",
    ),
}


def flattened(x):
    return [y for part in x for y in flattened(part)] if isinstance(x, tuple) else [x.asnumpy()]


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("case", TRANSFORMS)
def test_inside_of_transforms_it_says_what_it_is_and_changes_nothing(case):
    transformed, words = TRANSFORMS[case]
    shown = []

    def looked_at(x):
        y = ops.sin(x)
        shown.extend([checked(x).text, checked(y).text])
        return y * x

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as where a recorded function begins to run eagerly
        found = transformed(looked_at)
    for a, b in zip(flattened(found), flattened(transformed(lambda x: ops.sin(x) * x)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert all(words in text or "recorded" in text for text in shown)


class Named(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.SequentialCell(nn.Dense(2, 8), nn.Tanh(), nn.Dense(8, 1))
        self.again = self.body
        self.scale = Parameter(np.ones(3), name=NASTY, requires_grad=False)

    def extend_repr(self):
        return NASTY


CELLS = {
    "nothing": nn.Cell,
    "layer": lambda: nn.Dense(2, 3),
    "activation": nn.Tanh,
    "named": Named,
    "recurrent": lambda: nn.LSTM(2, 3, 2),
    "optimiser": lambda: nn.Adam(nn.Dense(2, 3).trainable_params()),
    "long": lambda: nn.SequentialCell([nn.Dense(2, 2) for _ in range(200)]),
}


@pytest.mark.parametrize("case", CELLS)
def test_a_cell_is_a_table_of_its_parameters(case):
    net = CELLS[case]()
    rows = checked(net).rows
    parameters = list(net.parameters_and_names())
    assert {len(row) for row in rows} == {6}
    assert len(rows) < 100
    assert rows[-1][-1] == f"{sum(p.size for _, p in parameters):,}"
    assert rows[-1][-2] == f"{sum(p.size for _, p in parameters if p.requires_grad):,}"
    by_name = {row[0]: row for row in rows[1:-1] if row[2]}
    if case == "long":
        assert any("left out" in row[1] for row in rows)
        parameters = parameters[:5] + parameters[-5:]
    else:
        assert len(by_name) == len(parameters)
    for name, p in parameters:
        yes = "yes" if p.requires_grad else "no"
        assert by_name[name][1:] == [type(p).__name__, str(tuple(p.shape)), str(p.dtype), yes, f"{p.size:,}"]


def test_programs_are_pictures_or_texts():
    def named(x):
        return ops.exp(ops.sin(x)).sum()

    named.__name__ = named.__qualname__ = NASTY
    x = f64([1.0, 2.0])
    explained, profiled = dg.explain(dg.grad(named))(x), dg.profile(named)(x)
    stages = dg.programs.passes(named)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager = dg.explain(lambda x: x * float(x.sum()))(x)
    for thing in explained, profiled, eager, *stages.values():
        assert re.sub(r"\s", "", str(thing)) in re.sub(r"\s", "", checked(thing).text)
