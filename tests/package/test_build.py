"""The build asks every compiler for the same arithmetic, by flags that it takes, and says in a line what is missing."""

import ctypes
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dualgrad

ROOT = Path(__file__).parents[2]


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


toolchain = load(ROOT / "ext" / "toolchain.py")

# compiler: the macros by which it is known
KNOWN = {
    "gcc": {"__GNUC__": "12", "__ELF__": "1"},
    "clang": {"__GNUC__": "4", "__clang__": "1", "__ELF__": "1"},
    "Apple's clang": {"__GNUC__": "4", "__clang__": "1", "__APPLE__": "1"},
    "mingw": {"__GNUC__": "12", "_WIN32": "1"},
}
THERE = [name for name in ("gcc", "clang", "x86_64-w64-mingw32-gcc", "aarch64-linux-gnu-gcc") if shutil.which(name)]


def unix(command):
    """What setuptools makes of a command with GCC's options."""
    return SimpleNamespace(
        compiler_type="unix", compiler_so=[command, "-fPIC"], linker_so=[command, "-shared"], initialize=None
    )


def microsoft(cc):
    return SimpleNamespace(compiler_type="msvc", cc=cc, initialize=lambda: None)


def test_families_follow_from_macros():
    found = {name: (toolchain.family_of(macros), toolchain.format_of(macros)) for name, macros in KNOWN.items()}
    assert found == {
        "gcc": ("gcc", "elf"),
        "clang": ("clang", "elf"),
        "Apple's clang": ("clang", "macho"),
        "mingw": ("gcc", "pe"),
    }


@pytest.mark.parametrize(("cc", "family"), [("C:/VC/bin/cl.exe", "msvc"), ("C:/LLVM/bin/clang-cl.exe", "clang-cl")])
def test_microsofts_driver_gets_its_own_options(cc, family, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    found = toolchain.Toolchain(microsoft(cc))
    assert found.family == family
    assert found.link_flags() == []
    for debug in (False, True):
        assert all(flag.startswith("/") for flag in found.compile_flags(debug))
        assert "/std:c11" in found.compile_flags(debug)


def test_clang_is_asked_for_the_longest_vectors_where_there_are_such():
    asked = {name: toolchain.flags_of_processor({**macros, "__x86_64__": "1"}) for name, macros in KNOWN.items()}
    assert asked["clang"] == asked["Apple's clang"][1:] != []
    assert asked["gcc"] == asked["mingw"] == []
    assert toolchain.flags_of_processor(KNOWN["clang"]) == []  # another processor


def test_clang_takes_the_place_of_microsofts_compiler_where_the_user_says_so(monkeypatch, tmp_path):
    clang = tmp_path / "clang-cl.exe"
    clang.write_text("")
    clang.chmod(0o755)
    monkeypatch.setenv("CC", str(clang))
    compiler = microsoft("C:/VC/bin/cl.exe")
    assert toolchain.Toolchain(compiler).family == "clang-cl"
    assert compiler.cc == str(clang)
    monkeypatch.setenv("CC", str(tmp_path / "nowhere" / "clang-cl.exe"))
    with pytest.raises(toolchain.Unusable, match="nowhere"):
        toolchain.Toolchain(microsoft("C:/VC/bin/cl.exe"))


@pytest.mark.parametrize("family", toolchain.COMPILE)
@pytest.mark.parametrize("debug", [False, True])
def test_every_family_is_told_to_keep_the_arithmetic(family, debug):
    flags = toolchain.compile_flags(family, debug)
    told = {flag.removeprefix("/clang:") for flag in flags}
    assert told & {"-ffp-contract=off", "/fp:precise"}
    assert not any("fast" in flag or "march" in flag or "arch:" in flag for flag in flags)
    assert any(flag in told for flag in ("-O3", "/O2")) != debug


@pytest.mark.parametrize("file_format", toolchain.LINK)
def test_names_of_functions_stay_where_they_are_asked_for(file_format):
    smallest = toolchain.wanted_link_flags(file_format)
    named = toolchain.wanted_link_flags(file_format, symbols=True)
    assert set(named) <= set(smallest)
    assert not set(named) & {"-Wl,-s", "-Wl,-x"}
    assert toolchain.wanted_link_flags(file_format, debug=True) == []


@pytest.mark.parametrize("command", THERE)
def test_a_compiler_takes_its_flags(command, tmp_path):
    macros = toolchain.macros_of([command])
    source = tmp_path / "trial.c"
    source.write_text("int dg_trial(int x) { return x + 1; }\n")
    for debug in (False, True):
        flags = toolchain.compile_flags(toolchain.family_of(macros), debug)
        subprocess.run([command, "-Werror", *flags, "-c", source, "-o", tmp_path / "trial.o"], check=True)


@pytest.mark.parametrize("command", [name for name in THERE if "-" not in name])
def test_the_linker_is_asked_for_what_it_takes(command):
    found = toolchain.Toolchain(unix(command))
    assert not found.links_with("-Wl,--no-such-option")
    assert found.links_with("-Wl,-s") == ("-Wl,-s" in found.link_flags())


@pytest.mark.parametrize("command", [name for name in THERE if "-" not in name])
def test_products_are_rounded_before_they_are_added(command, tmp_path):
    source = tmp_path / "trial.c"
    source.write_text(
        '#if defined(__x86_64__)\n__attribute__((target("fma")))\n#endif\n'
        "void chain(const double *x, double *y) { for (int i = 0; i < 8; ++i) y[i] = x[i] * x[i] - 1; }\n"
    )
    flags = toolchain.compile_flags(toolchain.family_of(toolchain.macros_of([command])))
    subprocess.run([command, *flags, "-fPIC", "-shared", source, "-o", tmp_path / "trial.so"], check=True)
    x = 1 + np.arange(1, 9) * 2.0**-30
    y = np.empty(8)
    pointer = ctypes.POINTER(ctypes.c_double)
    ctypes.CDLL(str(tmp_path / "trial.so")).chain(x.ctypes.data_as(pointer), y.ctypes.data_as(pointer))
    np.testing.assert_array_equal(y, x * x - 1)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["/nonexistent"], "no C compiler '/nonexistent'"),
        (["gcc", "-include", "/nonexistent.h"], "does not work"),
        (["gcc", "-Ofast"], "-ffast-math"),
    ],
)
def test_what_is_missing_is_said_in_one_line(command, says):
    if command[0] == "gcc" and "gcc" not in THERE:
        pytest.skip("there is no gcc")
    compiler = unix(command[0])
    compiler.compiler_so += command[1:]
    with pytest.raises(toolchain.Unusable, match=says) as caught:
        toolchain.Toolchain(compiler)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not THERE, reason="needs a compiler")
def test_missing_headers_of_python_are_said_in_one_line(monkeypatch):
    monkeypatch.setattr(toolchain.sysconfig, "get_path", lambda name: "/nonexistent")
    with pytest.raises(toolchain.Unusable, match=r"Python\.h.*-dev") as caught:
        toolchain.Toolchain(unix(THERE[0]))
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(sys.platform == "win32", reason="setuptools asks the registry for the compiler")
def test_a_build_without_compiler_says_so():
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    result = subprocess.run(
        [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"],
        cwd=ROOT,
        env={**os.environ, "CC": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert "no C compiler '/nonexistent': install one" in lines[0]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_modules_run_with_old_versions_of_glibc():
    """Whatever version they were linked with: wheels of any system get the tag manylinux_2_17."""
    asked = {
        (int(major), int(minor)): module.name
        for module in Path(dualgrad.__file__).parent.rglob("*.so")
        for major, minor in re.findall(rb"\0GLIBC_(\d+)\.(\d+)", module.read_bytes())
    }
    newest = max(asked)
    assert newest <= (2, 17), f"{asked[newest]} asks for glibc {newest}"
