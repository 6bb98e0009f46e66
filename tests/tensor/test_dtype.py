"""The types: identity, names, conversion, and what a mix of types gives."""

import copy
import itertools
import pickle

import numpy as np
import pytest

import dualgrad as dg
from dualgrad import dtype as mstype
from dualgrad.dtype import DType, as_dtype, from_num, promote, promotion_table, scalar_result

# name, text, bytes, kind
TYPES = [
    ("float16", "Float16", 2, "is_float"),
    ("float32", "Float32", 4, "is_float"),
    ("float64", "Float64", 8, "is_float"),
    ("int8", "Int8", 1, "is_int"),
    ("int16", "Int16", 2, "is_int"),
    ("int32", "Int32", 4, "is_int"),
    ("int64", "Int64", 8, "is_int"),
    ("uint8", "UInt8", 1, "is_int"),
    ("uint16", "UInt16", 2, "is_int"),
    ("uint32", "UInt32", 4, "is_int"),
    ("uint64", "UInt64", 8, "is_int"),
    ("bool", "Bool", 1, "is_bool"),
    ("complex64", "Complex64", 8, "is_complex"),
    ("complex128", "Complex128", 16, "is_complex"),
]
KINDS = ["is_float", "is_int", "is_complex", "is_bool"]
ALL = mstype.all_types

each_type = pytest.mark.parametrize("dtype", ALL, ids=str)


def python_name(name):
    return "bool_" if name == "bool" else name


# ------------------------------------------------------------ the objects


@pytest.mark.parametrize(("name", "text", "itemsize", "kind"), TYPES)
def test_a_type_knows_itself(name, text, itemsize, kind):
    dtype = getattr(dg, python_name(name))
    assert dtype is getattr(mstype, python_name(name))
    assert dtype.name == name
    assert str(dtype) == f"{dtype}" == text
    assert repr(dtype) == f"dualgrad.{name}"
    assert dtype.itemsize == itemsize
    assert [k for k in KINDS if getattr(dtype, k)] == [kind]
    assert dtype.numpy == np.dtype(name)
    assert dtype.numpy.isnative
    assert dtype.num == np.dtype(name).num


def test_there_are_fourteen_types():
    assert len(ALL) == len(set(ALL)) == len(TYPES) == 14


def test_aliases():
    assert dg.half is mstype.half is dg.float16
    assert dg.double is mstype.double is dg.float64


def test_the_module_has_a_second_place():
    from dualgrad.common import dtype

    assert dtype is mstype


@each_type
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_keeps_identity(dtype, protocol):
    assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype


@each_type
def test_copies_keep_identity(dtype):
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy(dtype) is dtype
    assert copy.deepcopy({"a": [dtype]})["a"][0] is dtype


@each_type
def test_the_constructor_finds_and_never_makes(dtype):
    assert DType(dtype) is DType(dtype.name) is DType(dtype.numpy) is dtype


def test_the_set_is_closed():
    with pytest.raises(TypeError, match="subclassed"):
        type("Other", (DType,), {})
    with pytest.raises(TypeError, match="DType: 'float31'"):
        DType("float31")
    with pytest.raises(TypeError):
        DType()


@pytest.mark.parametrize("name", ["name", "num", "numpy", "new"])
def test_types_cannot_be_changed(name):
    before = dg.float32.name, dg.float32.num, dg.float32.numpy
    with pytest.raises(AttributeError, match=name):
        setattr(dg.float32, name, "x")
    with pytest.raises(AttributeError, match=name):
        delattr(dg.float32, name)
    assert (dg.float32.name, dg.float32.num, dg.float32.numpy) == before


# ------------------------------------------------------------ equality and hashes


@pytest.mark.parametrize(("a", "b"), list(itertools.product(ALL, ALL)), ids=str)
def test_equality_is_identity(a, b):
    assert (a == b) is (a is b)
    assert (a != b) is (a is not b)
    assert (a == b.numpy) is (b.numpy == a) is (a is b)
    assert (a == b.numpy.type) is (b.numpy.type == a) is (a is b)
    assert (a == b.name) is (b.name == a) is (a is b)
    assert (a == str(b)) is (a is b)


@pytest.mark.parametrize(
    ("python", "dtype"), [(bool, dg.bool_), (int, dg.int64), (float, dg.float32), (complex, dg.complex128)]
)
def test_equality_with_python_types_is_that_of_as_dtype(python, dtype):
    assert [t for t in ALL if t == python] == [dtype]
    assert as_dtype(python) is dtype


@pytest.mark.parametrize("other", [None, 11, 1.0, "float30", "float31", object, str, np.str_, [], np.ones(1)], ids=repr)
def test_a_type_differs_from_what_is_no_type(other):
    assert not np.any(dg.float32 == other)
    assert np.all(dg.float32 != other)


def test_byte_order_counts_for_equality_and_not_for_conversion():
    foreign = dg.float32.numpy.newbyteorder("S")
    assert dg.float32 != foreign
    assert as_dtype(foreign) is dg.float32


@each_type
def test_types_and_numpy_dtypes_find_each_other_in_dictionaries(dtype):
    assert hash(dtype) == hash(dtype.numpy)
    assert {dtype: 1}[dtype.numpy] == {dtype.numpy: 1}[dtype] == 1
    assert len({*ALL, *(t.numpy for t in ALL)}) == 14


@each_type
def test_numpy_takes_a_type_for_a_dtype(dtype):
    assert np.zeros(2, dtype=dtype).dtype == dtype.numpy
    assert np.arange(2).astype(dtype).dtype == dtype.numpy
    assert np.dtype(dtype) is np.dtype(dtype.name)


# ------------------------------------------------------------ conversion


@each_type
def test_as_dtype_takes_every_spelling(dtype):
    codes = dtype.numpy.str, dtype.numpy.str[1:], dtype.numpy.char
    for spec in (dtype, dtype.numpy, dtype.numpy.type, dtype.name, str(dtype), *codes):
        assert as_dtype(spec) is dtype
        assert dtype == spec


@pytest.mark.parametrize("name", [name for name in np.sctypeDict if isinstance(name, str) and name != "float"])
def test_as_dtype_knows_the_names_of_numpy(name):
    scalar = np.sctypeDict[name]
    if np.dtype(scalar) in [t.numpy for t in ALL]:
        assert as_dtype(name).numpy == np.dtype(scalar)
    else:
        with pytest.raises(TypeError, match="is not a type of tensor elements"):
            as_dtype(name)


@pytest.mark.parametrize("python", [bool, int, float, complex])
def test_names_of_python_types_are_those_types(python):
    assert as_dtype(python.__name__) is as_dtype(python)


@each_type
def test_a_type_makes_tensors(dtype):
    for data in (1, [0, 1], np.array([0, 1], np.uint8), dg.Tensor([0.0, 1.0])):
        found, expected = dtype(data), dg.Tensor(data, dtype)
        assert found.dtype is dtype
        assert np.array_equal(found.asnumpy(), expected.asnumpy())
    assert dtype() == dtype(0)
    assert (dtype.type, dtype.kind, dtype.char) == (dtype.numpy.type, dtype.numpy.kind, dtype.numpy.char)


@pytest.mark.parametrize("dtype", dg.dtype.float_type, ids=str)
def test_derivatives_pass_through_types(dtype):
    """In reverse, forward and nested: the type is a cast."""
    x = dg.Tensor([0.5, 2.0], dtype)
    cube = lambda x: dg.float64(x) ** 3
    assert np.array_equal(dg.grad(cube)(x).asnumpy(), 3 * x.asnumpy() ** 2)
    assert np.array_equal(dg.grad(dg.grad(cube))(x).asnumpy(), 6 * x.asnumpy())
    assert np.array_equal(dg.jvp(cube, x, dg.ops.ones_like(x))[1].asnumpy(), 3.0 * x.asnumpy().astype(float) ** 2)


@pytest.mark.parametrize(
    ("spec", "dtype"),
    [("half", dg.float16), ("double", dg.float64), ("bool_", dg.bool_), (np.bool_, dg.bool_)],
)
def test_as_dtype_takes_other_names(spec, dtype):
    assert as_dtype(spec) is dtype


@pytest.mark.parametrize("code", "bBhHiIlLqQ")
def test_every_integer_type_of_c_has_its_width(code):
    numpy = np.dtype(code)
    expected = f"{'int' if numpy.kind == 'i' else 'uint'}{8 * numpy.itemsize}"
    for found in (as_dtype(numpy), as_dtype(numpy.type), from_num(numpy.num)):
        assert found.name == expected
        assert found == numpy
        assert hash(found) == hash(numpy)


@pytest.mark.parametrize(
    "spec",
    [
        None,
        3,
        1.5,
        "",
        "f5",
        "Float",
        "longdouble",
        "object",
        "float31",
        str,
        object,
        np.generic,
        np.floating,
        np.longdouble,
        np.clongdouble,
        np.dtype("S3"),
        np.dtype("M8[s]"),
        np.dtype([("x", "f4")]),
        np.dtype(object),
        np.ones(3, np.float32),
        [dg.float32],
        {},
    ],
    ids=repr,
)
def test_as_dtype_refuses_the_rest(spec):
    with pytest.raises(TypeError, match=r"^Tensor: .* Expected a type such as dualgrad\.float32"):
        as_dtype(spec, where="Tensor")


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("flaot32", "Did you mean 'float32'"),
        ("FLOAT64", "Did you mean 'float64'"),
        (np.longdouble, r"Convert the data with \.astype\(np\.float64\)"),
        (np.dtype(np.clongdouble), r"Convert the data with \.astype\(np\.complex128\)"),
        (np.ones(3), r"pass its \.dtype"),
    ],
    ids=repr,
)
def test_as_dtype_says_what_to_do(spec, hint):
    with pytest.raises(TypeError, match=hint):
        as_dtype(spec)


def test_the_error_for_a_large_array_is_short():
    with pytest.raises(TypeError) as caught:
        as_dtype(np.ones((6, 300)))
    assert len(str(caught.value)) < 600


@each_type
def test_from_num_inverts_num(dtype):
    assert from_num(dtype.num) is dtype


@pytest.mark.parametrize("num", [-1, 10_000, np.dtype(object).num, np.dtype("S1").num])
def test_from_num_refuses_other_numbers(num):
    with pytest.raises(TypeError, match=f"number {num}\\. Convert"):
        from_num(num)


# ------------------------------------------------------------ promotion

ORDER = [dg.float64, dg.float32, dg.float16, dg.int64, dg.int32, dg.uint8, dg.bool_]  # the wider first


@pytest.mark.parametrize(("wide", "narrow"), list(itertools.combinations_with_replacement(ORDER, 2)), ids=str)
def test_the_wider_wins(wide, narrow):
    assert promote(wide, narrow) is promote(narrow, wide) is wide


@pytest.mark.parametrize("integer", mstype.int_type + mstype.uint_type + (dg.bool_,), ids=str)
@pytest.mark.parametrize("number", mstype.float_type + mstype.complex_type, ids=str)
def test_any_float_beats_any_integer(number, integer):
    assert promote(number, integer) is promote(integer, number) is number


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("int8", "uint8", "int16"),
        ("int16", "uint8", "int16"),
        ("int16", "uint16", "int32"),
        ("int8", "uint32", "int64"),
        ("int32", "uint32", "int64"),
        ("int64", "uint32", "int64"),
        ("uint16", "uint64", "uint64"),
        ("int8", "int64", "int64"),
        ("bool", "int8", "int8"),
        ("bool", "uint64", "uint64"),
        ("uint64", "int8", "float64"),
        ("uint64", "int64", "float64"),
    ],
)
def test_integers(a, b, expected):
    assert promote(as_dtype(a), as_dtype(b)) is promote(as_dtype(b), as_dtype(a)) is as_dtype(expected)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("complex64", "float16", "complex64"),
        ("complex64", "float32", "complex64"),
        ("complex64", "float64", "complex128"),
        ("complex64", "int64", "complex64"),
        ("complex64", "bool", "complex64"),
        ("complex64", "complex128", "complex128"),
        ("complex128", "float16", "complex128"),
        ("complex128", "float64", "complex128"),
        ("complex128", "uint64", "complex128"),
    ],
)
def test_complex(a, b, expected):
    assert promote(as_dtype(a), as_dtype(b)) is promote(as_dtype(b), as_dtype(a)) is as_dtype(expected)


def test_promotion_does_not_depend_on_order_or_grouping():
    for a, b, c in itertools.product(ALL, repeat=3):
        assert promote(a, b) is promote(b, a)
        if not (dg.uint64 in (a, b, c) and any(t in mstype.int_type for t in (a, b, c))):
            assert promote(promote(a, b), c) is promote(a, promote(b, c)), (a, b, c)
    assert all(promote(a, a) is a for a in ALL)


def test_promotion_never_loses_a_kind():
    kinds = [bool, int, float, complex]
    rank = {t: kinds.index(mstype.dtype_to_pytype(t)) for t in ALL}
    for a, b in itertools.product(ALL, ALL):
        in_common = (a is dg.uint64 and b in mstype.int_type) or (b is dg.uint64 and a in mstype.int_type)
        assert rank[promote(a, b)] == (rank[dg.float64] if in_common else max(rank[a], rank[b]))


def test_the_table_is_the_rule():
    table = promotion_table()
    for a, b in itertools.product(ALL, ALL):
        assert table[a.num, b.num] == promote(a, b).num
    assert set(table.values()) == {t.num for t in ALL}
    assert all(type(x) is int for pair, num in table.items() for x in (*pair, num))


def test_the_table_knows_every_number_that_an_array_can_carry():
    table = promotion_table()
    nums = [np.dtype(code).num for code in "?bBhHiIlLqQefdFD"]
    for m, n in itertools.product(nums, nums):
        assert table[m, n] == promote(from_num(m), from_num(n)).num


# ------------------------------------------------------------ tensors with Python numbers


@each_type
def test_a_number_of_its_own_kind_or_below_keeps_the_type(dtype):
    kinds = [bool, int, float, complex]
    own = kinds.index(mstype.dtype_to_pytype(dtype))
    assert all(scalar_result(dtype, kind) is dtype for kind in kinds[: own + 1])


@pytest.mark.parametrize("dtype", mstype.int_type + mstype.uint_type, ids=str)
def test_numbers_beside_integers(dtype):
    assert scalar_result(dtype, float) is dg.float32
    assert scalar_result(dtype, complex) is dg.complex64


def test_numbers_beside_bools():
    assert scalar_result(dg.bool_, bool) is dg.bool_
    assert scalar_result(dg.bool_, int) is dg.int64
    assert scalar_result(dg.bool_, float) is dg.float32
    assert scalar_result(dg.bool_, complex) is dg.complex64


def test_complex_beside_floats():
    assert scalar_result(dg.float16, complex) is dg.complex64
    assert scalar_result(dg.float32, complex) is dg.complex64
    assert scalar_result(dg.float64, complex) is dg.complex128


@each_type
@pytest.mark.parametrize(
    ("scalar", "python"),
    [
        (np.bool_, bool),
        (np.uint8, int),
        (np.int64, int),
        (np.float16, float),
        (np.float64, float),
        (np.complex64, complex),
        (np.complex128, complex),
    ],
)
def test_numpy_scalars_count_as_python_numbers(dtype, scalar, python):
    assert scalar_result(dtype, scalar) is scalar_result(dtype, python)


@pytest.mark.parametrize("pytype", [str, list, np.str_, type(None)])
def test_other_types_are_no_numbers(pytype):
    with pytest.raises(TypeError, match="not a type of numbers"):
        scalar_result(dg.float32, pytype)


# ------------------------------------------------------------ under MindSpore's names


@each_type
def test_dtype_to_nptype(dtype):
    assert mstype.dtype_to_nptype(dtype) is np.dtype(dtype.name).type


@pytest.mark.parametrize(
    ("dtype", "python"),
    [(dg.bool_, bool), (dg.int8, int), (dg.uint64, int), (dg.float16, float), (dg.complex64, complex)],
)
def test_dtype_to_pytype(dtype, python):
    assert mstype.dtype_to_pytype(dtype) is python


def test_pytype_to_dtype():
    assert mstype.pytype_to_dtype(int) is dg.int64
    assert mstype.pytype_to_dtype(float) is dg.float32
    assert mstype.pytype_to_dtype(np.float64) is dg.float64
    assert mstype.pytype_to_dtype(np.dtype("u1")) is dg.uint8


@each_type
def test_type_size_in_bytes(dtype):
    assert mstype.type_size_in_bytes(dtype) == np.ones(1, dtype.name).nbytes


@pytest.mark.parametrize(
    "function",
    [mstype.dtype_to_nptype, mstype.dtype_to_pytype, mstype.pytype_to_dtype, mstype.type_size_in_bytes],
)
def test_helpers_name_themselves_in_errors(function):
    with pytest.raises(TypeError, match=f"^{function.__name__}: <class 'str'> is not"):
        function(str)


def test_groups_of_types():
    assert mstype.float_type == (dg.float16, dg.float32, dg.float64)
    assert mstype.int_type == (dg.int8, dg.int16, dg.int32, dg.int64)
    assert mstype.uint_type == (dg.uint8, dg.uint16, dg.uint32, dg.uint64)
    assert mstype.complex_type == (dg.complex64, dg.complex128)
    assert set(mstype.number_type) == set(ALL) - {dg.bool_}
