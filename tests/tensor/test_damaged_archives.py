"""Archives that are damaged, or whole and wrong; arguments that are refused."""

import io
import json
import os
import re
import subprocess
import sys
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from archives import names_in, numbers, small
from support import assert_raises

import dualgrad as dg
from dualgrad import Parameter, Tensor, nn


@pytest.fixture
def path(tmp_path):
    return tmp_path / "net.ckpt"


def refused(path, data):
    """Loading these bytes is a ValueError that names the file."""
    path.write_bytes(data)
    assert_raises(ValueError, lambda: dg.load_checkpoint(path), "load_checkpoint", str(path))


def loads_or_is_refused(path, data, whole):
    """Loading these bytes gives what was saved, or is a ValueError; say which."""
    path.write_bytes(data)
    try:
        found = numbers(path)
    except ValueError as error:
        assert str(path) in str(error)  # noqa: PT017
        return False
    assert found == whole
    return True


@pytest.fixture
def saved(path):
    dg.save_checkpoint(small(), path)
    return path.read_bytes()


#: places in a file, in several tests
PARTS = 5


@pytest.mark.rotated("part")
@pytest.mark.parametrize("part", range(PARTS))
def test_every_truncation(path, saved, part):
    for length in range(part, len(saved), PARTS):
        refused(path, saved[:length])


@pytest.mark.rotated("how")
@pytest.mark.parametrize("how", [lambda b: b ^ 0xFF, lambda b: b ^ 1, lambda b: 0], ids=range(3))
def test_every_byte(path, saved, how):
    whole, survived = numbers(path), 0
    for place, byte in enumerate(saved):
        if how(byte) != byte:
            data = saved[:place] + bytes([how(byte)]) + saved[place + 1 :]
            survived += loads_or_is_refused(path, data, whole)
    # Times, versions and attributes of members are no part of the numbers; hardly anything else survives.
    assert survived < len(saved) / 4


@pytest.mark.rotated("part")
@pytest.mark.parametrize("part", range(PARTS))
def test_bytes_taken_out_and_put_in(path, saved, part):
    whole = numbers(path)
    for place in range(part, len(saved), PARTS):
        loads_or_is_refused(path, saved[:place] + saved[place + 1 :], whole)
        loads_or_is_refused(path, saved[:place] + b"\0" + saved[place:], whole)


def test_random_damage_in_many_places(path, saved):
    whole, rng = numbers(path), np.random.default_rng(0)
    for _ in range(1000):
        data = np.frombuffer(saved, np.uint8).copy()
        places = rng.integers(0, len(data), rng.integers(2, 20))
        data[places] = rng.integers(0, 256, len(places))
        loads_or_is_refused(path, data.tobytes(), whole)


OTHER_FILES = {
    "empty": b"",
    "text": b"this is text\n" * 100,
    "zeros": bytes(1000),
    "pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00]\x94K\x01a.",
    "npy": b"\x93NUMPY\x01\x00v\x00" + b" " * 117 + b"\n",
    "an archive of nothing": b"PK\x05\x06" + bytes(18),
    "a comment that is not there": b"PK\x05\x06" + bytes(16) + b"\xff\xff",
}


@pytest.mark.parametrize("kind", OTHER_FILES)
def test_other_files(path, kind):
    refused(path, OTHER_FILES[kind])


def npy(array, **header):
    """An .npy file, with a header that may say something else."""
    stream = io.BytesIO()
    if not header:
        np.save(stream, array, allow_pickle=True)
        return stream.getvalue()
    fields = np.lib.format.header_data_from_array_1_0(np.ascontiguousarray(array)) | header
    np.lib.format.write_array_header_1_0(stream, fields)
    return stream.getvalue() + array.tobytes()


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(pairs, compression=zipfile.ZIP_STORED):
    """An archive of pairs of name and bytes; names may be repeated."""
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", compression) as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, data in pairs:
            archive.writestr(name, data)
    return stream.getvalue()


def header_of(found):
    return json.loads(np.load(io.BytesIO(found["header.npy"])).tobytes())


def with_header(found, change):
    """The members with a header that was changed by a function."""
    text = header_of(found)
    text = change(text) or text
    data = text if isinstance(text, bytes) else json.dumps(text).encode()
    return {**found, "header.npy": npy(np.frombuffer(data, np.uint8))}


def test_swapped_members(path, saved):
    found = members(path)
    refused(path, zipped([*({**found, "0.npy": found["1.npy"], "1.npy": found["0.npy"]}).items()]))


def test_members_of_one_type_and_shape_that_are_swapped(path):
    dg.save_checkpoint({"a": Parameter([1.0, 2.0]), "b": Parameter([3.0, 4.0])}, path)
    found = members(path)
    refused(path, zipped([*({**found, "0.npy": found["1.npy"], "1.npy": found["0.npy"]}).items()]))
    refused(path, zipped([*({**found, "0.npy": npy(np.array([1.0, 2.5], np.float32))}).items()]))


def test_the_order_of_members_has_no_meaning(path, saved):
    whole, found = numbers(path), members(path)
    assert loads_or_is_refused(path, zipped([*reversed(found.items())]), whole)


W = np.array([[1.5, -2.0]], np.float32)


WRONG_MEMBERS = {
    "another type": npy(W.astype(np.float64)),
    "another type of that size": npy(W.view(np.int32)),
    "another shape": npy(W.T),
    "another shape of that size": npy(W, shape=(2,)),
    "a shape that is too large": npy(W, shape=(2, 2)),
    "a shape that is too small": npy(W, shape=(1, 1)),
    "a huge shape": npy(W, shape=(10**6, 10**6)),
    "an impossible shape": npy(W, shape=(2**62, 2**62)),
    "a huge shape of nothing": npy(W[:0], shape=(0, 10**30)),
    "a negative shape": npy(W, shape=(-1, -2)),
    "a shape of bools": npy(W, shape=(True, 2)),
    "no shape": npy(W, shape="(1, 2)"),
    "objects": npy(np.array([None, {}], dtype=object)),
    "a type of objects": npy(np.zeros(2), descr="|O"),
    "a structure": npy(np.zeros(1, [("a", "f4"), ("b", "f4")])),
    "text": npy(np.array(["ab"])),
    "times": npy(np.zeros(2, "M8[s]")),
    "no type": npy(W, descr="zz"),
    "wider than the library knows": npy(np.zeros(2, np.longdouble)),
    "nothing": b"",
    "no magic": b"\0" * 140,
    "another version": b"\x93NUMPY\x09\x00" + npy(W)[8:],
    "an endless header": b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 64,
    "a header of brackets": b"\x93NUMPY\x01\x00\x00\x20" + b"[" * 8192,
    "a header that is no dict": b"\x93NUMPY\x01\x00\x10\x00" + b"1 + 1".ljust(15) + b"\n",
    "bytes behind the array": npy(W) + b"\0",
    "a byte too few": npy(W)[:-1],
}


@pytest.mark.parametrize("kind", WRONG_MEMBERS)
def test_a_member_that_is_another_array(path, saved, kind):
    refused(path, zipped([*({**members(path), "0.npy": WRONG_MEMBERS[kind]}).items()]))


@pytest.mark.parametrize("kind", WRONG_MEMBERS)
def test_a_header_that_is_another_array(path, saved, kind):
    refused(path, zipped([*({**members(path), "header.npy": WRONG_MEMBERS[kind]}).items()]))


def _entry(**fields):
    def change(header):
        header["entries"][0].update(fields)

    return change


def _without(key):
    def change(header):
        del header["entries"][0][key]

    return change


def _names_alike(header):
    header["entries"][1]["name"] = header["entries"][0]["name"]


WRONG_HEADERS = {
    "no text": lambda h: b"\xff\xfe\xff",
    "no json": lambda h: b"{",
    "nothing": lambda h: b" ",
    "brackets": lambda h: b"[" * 100_000,
    "a list": lambda h: [1],
    "a number": lambda h: b"3",
    "null": lambda h: b"null",
    "another format": lambda h: {**h, "format": "other"},
    "no format": lambda h: {"entries": h["entries"]},
    "another version": lambda h: {**h, "version": 2},
    "no version": lambda h: {**h, "version": None},
    "no entries": lambda h: {**h, "entries": None},
    "too few entries": lambda h: {**h, "entries": h["entries"][:1]},
    "too many entries": lambda h: {**h, "entries": h["entries"] * 2},
    "entries that are no dicts": lambda h: {**h, "entries": [1, 2]},
    "entries by name": lambda h: {**h, "entries": {"0": h["entries"][0], "1": h["entries"][1]}},
    "two of one name": _names_alike,
    "an empty name": _entry(name=""),
    "no name": _without("name"),
    "a name that is a number": _entry(name=3),
    "a name that is a list": _entry(name=["w"]),
    "another type": _entry(dtype="float64"),
    "a type that is none": _entry(dtype=None),
    "no type": _without("dtype"),
    "another shape": _entry(shape=[2, 1]),
    "a shape that is none": _entry(shape="x"),
    "another checksum": _entry(crc32=0),
    "no requires_grad": _without("requires_grad"),
    "a requires_grad that is none": _entry(requires_grad="yes"),
}


@pytest.mark.parametrize("kind", WRONG_HEADERS)
def test_a_header_that_is_wrong(path, saved, kind):
    refused(path, zipped([*with_header(members(path), WRONG_HEADERS[kind]).items()]))


def test_files_of_versions_without_checksums_are_read(path, saved):
    whole = numbers(path)

    def older(header):
        for entry in header["entries"]:
            del entry["crc32"], entry["shape"]

    assert loads_or_is_refused(path, zipped([*with_header(members(path), older).items()]), whole)


@pytest.mark.parametrize("name", ["header.npy", "0.npy", "1.npy"])
def test_a_member_that_is_missing_or_there_twice(path, saved, name):
    found = members(path)
    refused(path, zipped([(other, data) for other, data in found.items() if other != name]))
    refused(path, zipped([*found.items(), (name, found[name])]))
    refused(path, zipped([*found.items(), (name.removesuffix(".npy"), found[name])]))
    refused(path, zipped([*found.items(), ("more.npy", found[name])]))


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressed_members_are_not_unpacked(path, saved, compression):
    refused(path, zipped([*members(path).items()], compression))


# A member of 512 MiB of zeros in half a MiB; unpacked it would not fit below the limit of memory.
LIMITED = """
import resource, sys, dualgrad as dg
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (256 << 20)
resource.setrlimit(resource.RLIMIT_AS, (size, size))
try:
    dg.load_checkpoint(sys.argv[1])
except ValueError as error:
    print("refused:", error)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs the limits of Linux")
def test_what_unpacks_to_more_than_there_is_memory(path, saved):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    chunk, count = bytes(1 << 24), 32
    start = npy(np.zeros(0, np.uint8), shape=(count << 24,))
    checksum, packed = zlib.crc32(start), packer.compress(start)
    for _ in range(count):
        checksum, packed = zlib.crc32(chunk, checksum), packed + packer.compress(chunk)
    packed += packer.flush()
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("0.npy")
        archive.writestr(info, packed)
        info.compress_type, info.file_size, info.CRC = zipfile.ZIP_DEFLATED, len(start) + (count << 24), checksum
    environment = {**os.environ, "PYTHONPATH": str(Path(dg.__file__).parent.parent), "OPENBLAS_NUM_THREADS": "1"}
    result = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, env=environment, check=False
    )
    assert result.stdout.startswith("refused:"), result.stderr


def test_members_that_lie_over_each_other(path, saved):
    """One stretch of the file named by many members would be read many times."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("0.npy", npy(np.zeros(10_000, np.uint8)))
        first = archive.infolist()[0]
        for k in range(1, 1000):
            twin = zipfile.ZipInfo(f"{k}.npy")
            twin.header_offset, twin.file_size, twin.compress_size = 0, first.file_size, first.compress_size
            twin.CRC = first.CRC
            archive.filelist.append(twin)
    assert_raises(ValueError, lambda: dg.load_checkpoint(path), "larger than the file")


def test_an_encrypted_member(path, saved):
    data = bytearray(saved)
    for place in [match.start() + 8 for match in re.finditer(b"PK\x01\x02", saved)]:
        data[place] |= 1
    refused(path, bytes(data))


@pytest.mark.parametrize("dtype", ["float16", "float64", "complex128", "int64", "uint64", "bool"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 3)], ids=str)
def test_arrays_in_any_byte_order_and_layout(path, dtype, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    for k, layout in enumerate([array, array.astype(array.dtype.newbyteorder(">")), array.copy("F"), array.T]):
        dg.save_checkpoint([{"name": "a", "data": layout}], path)
        found = dg.load_checkpoint(path)["a"].asnumpy()
        assert found.dtype == array.dtype
        assert np.array_equal(found, array.T if k == 3 else array)


@pytest.mark.parametrize(
    "arguments",
    [
        (3, "f"),
        (None, "f"),
        ({"a": Parameter([1.0])}, None),
        ({"a": Parameter([1.0])}, 5),
        ({"a": "text"}, "f"),
        ({"a": np.array([None])}, "f"),
        ({"a": np.zeros(2, np.longdouble)}, "f"),
        ({1: Parameter([1.0])}, "f"),
        ({"": Parameter([1.0])}, "f"),
        ([3], "f"),
        ({}, "f", True, False, 3),
        ({}, "f", True, False, None, 3),
    ],
    ids=str,
)
def test_arguments_of_other_kinds(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError):
        dg.save_checkpoint(*arguments)
    assert not names_in(tmp_path)


@pytest.mark.parametrize("prefix", [3, [1], {"a": 1, 2: 3}, b"w"], ids=str)
def test_a_prefix_that_is_no_text(path, saved, prefix):
    assert_raises(TypeError, lambda: dg.load_checkpoint(path, filter_prefix=prefix), "filter_prefix")


def test_names_with_null_and_names_that_are_none(tmp_path):
    for name in ("a\0b", ""):
        with pytest.raises((ValueError, OSError)):
            dg.load_checkpoint(name)
        with pytest.raises((ValueError, OSError)):
            dg.save_checkpoint({"a": Tensor([1.0])}, name)


def test_a_whole_network(path):
    net = nn.SequentialCell(nn.Dense(4, 3), nn.BatchNorm1d(3))
    dg.save_checkpoint(net, path)
    for name, parameter in dg.load_checkpoint(path).items():
        assert np.array_equal(parameter.asnumpy(), net.parameters_dict()[name].asnumpy())
