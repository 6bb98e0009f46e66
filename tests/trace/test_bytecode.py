"""Names that code reaches things by, read in its bytecode."""

import pytest
from support import f64

import dualgrad as dg

#: constants that have no `format`, called as if they had
NO_TEXTS = {"int": "(3)", "float": "(0.5)", "bytes": "b'{0.scale}'", "tuple": "(1, 2)", "None": "None"}


@pytest.mark.filterwarnings("ignore:.* runs eagerly")
@pytest.mark.parametrize("constant", NO_TEXTS)
def test_format_of_what_is_no_text_is_the_users_error(constant):
    space = {}
    source = (
        f"def f(x):\n    try:\n        {NO_TEXTS[constant]}.format(x)\n    except AttributeError:\n        return x * 2"
    )
    exec(source, space)
    recorded = dg.jit(space["f"])
    for _ in range(4):
        assert recorded(f64([1.0, 2.0])).tolist() == [2.0, 4.0]
