"""Decorators for compilers: they return what they decorate, and what they decorate is recorded."""

import inspect

import pytest

import dualgrad as dg
from dualgrad import nn
from dualgrad.ops import language

IDENTITIES = {"jit_class": nn.Cell, "ms_class": nn.Cell, "lazy_inline": nn.Cell.__init__, "no_inline": nn.Cell.__init__}


@pytest.mark.parametrize("name", IDENTITIES)
def test_what_is_decorated_stays_what_it_is(name):
    decorator, thing = getattr(dg, name), IDENTITIES[name]
    assert decorator(thing) is thing
    with pytest.raises(TypeError, match=f"^{name}: expected a "):
        decorator(3)


def test_lazy_inline_with_settings():
    assert dg.lazy_inline(attrs="phase", policy="front")(len) is len


@pytest.mark.eager("counts calls of the function")
@pytest.mark.parametrize("decorated", [dg.ms_function, dg.ms_function(input_signature=None), dg.jit])
def test_functions_for_graphs_are_recorded(decorated):
    calls = []

    def counted(x):
        calls.append(1)
        return x * x

    function = decorated(counted) if decorated is not dg.jit else dg.jit(counted, jit_config=dg.JitConfig())
    with pytest.warns(UserWarning, match="counted"):  # the list that it changes
        values = [function(dg.Tensor(float(k))).item() for k in range(4)]
    assert values == [0.0, 1.0, 4.0, 9.0]
    assert inspect.unwrap(function) is counted


def test_options_are_remembered():
    config = dg.JitConfig("O1", debug_level="DEBUG", colour=3).jit_config_dict
    assert (config["jit_level"], config["debug_level"], config["colour"]) == ("O1", "DEBUG", 3)


EXPRESSIONS = {
    ("tuple_setitem", "list_setitem"): ([((1, 2), 0, 7)], lambda x, k, v: (7, 2)),
    ("dict_setitem",): ([({"a": 1}, "b", 2)], lambda x, k, v: {"a": 1, "b": 2}),
    ("tuple_reversed",): ([((1, 2, 3),)], lambda x: (3, 2, 1)),
    ("make_range",): ([(3,), (1, 7, 2)], lambda *b: tuple(range(*b))),
    ("make_tuple",): ([(1, "a"), ()], lambda *x: x),
    ("make_list",): ([(1, "a"), ()], lambda *x: list(x)),
    ("make_dict",): ([(("a", "b"), (1, 2))], lambda k, v: {"a": 1, "b": 2}),
    ("make_slice",): ([(1, 5, 2)], lambda *b: slice(*b)),
}


def test_functions_of_python_values_are_what_they_say():
    assert {name for names in EXPRESSIONS for name in names} == set(language._FUNCTIONS)
    for names, (cases, expected) in EXPRESSIONS.items():
        for name in names:
            for arguments in cases:
                found = getattr(language, name)(*arguments)
                assert found == expected(*arguments)
                assert type(found) is type(expected(*arguments))
