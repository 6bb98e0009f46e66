"""Build of the compiled engine; everything else about the package is in pyproject.toml.

The folders under ``ext`` mirror the import path, so the path of a ``.pyx`` is the name of its module. Before
Cython runs, ``src/dualgrad/_table/generate.py`` writes the sources that follow from the table of primitives.

Each build writes to a folder under ``build`` named after everything that determines the result: interpreter,
Cython, NumPy, directives, macros, flags. So time stamps are compared only between files of one configuration.
A debug build, another NumPy or other CFLAGS never reuse wrong objects, and going back to an earlier
configuration costs nothing.

Environment
    DUALGRAD_DEBUG=1    debug build: checks of bounds, None and engine invariants, live-object counters, line
                        tracing for coverage, annotated HTML beside the sources
    DUALGRAD_SYMBOLS=1  names of C functions stay in the modules, for profilers
    DUALGRAD_JOBS=n     number of compilers that run at a time; default: one for each processor
"""

import filecmp
import hashlib
import importlib.util
import os
import re
import sys
import sysconfig
from pathlib import Path

import Cython
import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext, customize_compiler, new_compiler
from setuptools.errors import PlatformError

ROOT = Path(__file__).resolve().parent
EXT = Path("ext")
DEBUG = os.environ.get("DUALGRAD_DEBUG", "0") not in ("", "0")
SYMBOLS = os.environ.get("DUALGRAD_SYMBOLS", "0") not in ("", "0")
JOBS = int(os.environ.get("DUALGRAD_JOBS", os.cpu_count() or 1))


def load_toolchain():
    """The module ``ext/toolchain.py``, by its path: it belongs to no package."""
    spec = importlib.util.spec_from_file_location("toolchain", ROOT / EXT / "toolchain.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


toolchain = load_toolchain()

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "nonecheck": DEBUG,
    "initializedcheck": DEBUG,
    "linetrace": DEBUG,
    "wraparound": False,  # in debug builds too: they report a negative index
    "cdivision": True,
    "auto_pickle": False,
    "binding": True,
    "embedsignature": True,
    "embedsignature.format": "clinic",
    "freethreading_compatible": False,  # an interpreter without GIL switches it on: docs/installation.md
}

MACROS = [
    ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
    ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION"),
    ("DG_DEBUG", "1" if DEBUG else "0"),
]
if DEBUG:
    # Coverage reads the lines through sys.settrace, even if sys.monitoring exists.
    MACROS += [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]

# What determines the compiler and its flags
ENVIRONMENT = {name: os.environ.get(name) for name in ("ARCHFLAGS", "CC", "CPPFLAGS", "CFLAGS", "LDFLAGS", "LDSHARED")}
# (the suffix tells a free-threaded interpreter from another one)
FLAGS = (toolchain.COMPILE, toolchain.LINK, SYMBOLS, *map(sysconfig.get_config_var, ("CC", "EXT_SUFFIX")))
CONFIGURATION = repr((Cython.__version__, numpy.__version__, DIRECTIVES, MACROS, FLAGS, ENVIRONMENT))
BUILD = "build/{}-{}-{}".format(
    sys.implementation.cache_tag,
    "debug" if DEBUG else "release",
    hashlib.sha256(CONFIGURATION.encode()).hexdigest()[:8],
)


def generate_sources():
    """Write the sources that follow from the table of primitives.

    A file whose content stays the same keeps its time stamp, so nothing is compiled again because of it.
    """
    package = ROOT / "src" / "dualgrad"
    # Imported as a top-level package, since `import dualgrad` needs the engine, which is not built yet.
    sys.path.append(str(package))  # last, so that its modules shadow no others
    try:
        importlib.import_module("_table.generate").write(root=ROOT)
    finally:
        sys.path.remove(str(package))


def headers_of(source):
    """Headers of this project that a C file includes, directly or not."""
    found = set()
    todo = [source]
    while todo:
        path = todo.pop()
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE):
            for folder in (path.parent, EXT / "include"):
                header = folder / name
                if header.is_file() and header.as_posix() not in found:
                    found.add(header.as_posix())
                    todo.append(header)
    return found


def mend(path):
    """Repair three helpers of Cython 3.3 in a C file that it has written.

    If a list comprehension cannot append an object for lack of memory, the helper and its caller both release
    the object, which other references still use. If line tracing finds no memory, the function runs untraced, but
    with the error set. In an interpreter without GIL `dict.get` would borrow an object that another thread may free.
    """
    text = path.read_text()
    mended = re.sub(
        r"(int result = PyList_Append\(list, x\);\s*)Py_DECREF\(x\);", r"\1if (likely(result == 0)) Py_DECREF(x);", text
    )
    mended = re.sub(r"(if \(\*(?:code|frame) == NULL\)) return 0;", r"\1 return PyErr_Clear(), 0;", mended)
    mended = mended.replace(
        """    value = PyDict_GetItemWithError(d, key);
    if (unlikely(!value)) {
        if (unlikely(PyErr_Occurred()))
            return NULL;
        value = default_value;
    }
    Py_INCREF(value);
    if ((1));
""",
        """#if CYTHON_COMPILING_IN_CPYTHON_FREETHREADING
    if (unlikely(PyDict_GetItemRef(d, key, &value) < 0)) return NULL;
    if (!value) value = Py_NewRef(default_value);
#else
    value = PyDict_GetItemWithError(d, key);
    if (unlikely(!value)) {
        if (unlikely(PyErr_Occurred()))
            return NULL;
        value = default_value;
    }
    Py_INCREF(value);
#endif
    if ((1));
""",
    )
    if mended != text:
        path.write_text(mended)


def find_toolchain(compiler):
    """The C compiler and its flags; an error of one line if the engine cannot be built."""
    try:
        return toolchain.Toolchain(compiler)
    except toolchain.Unusable as error:
        raise PlatformError(str(error)) from None


class Build(build):
    def initialize_options(self):
        super().initialize_options()
        self.build_base = BUILD
        self.build_platlib, self.build_temp = f"{BUILD}/lib", f"{BUILD}/temp"

    def run(self):
        # Before anything is copied, so that no list of files hides the error.
        compiler = new_compiler(compiler=self.compiler)
        customize_compiler(compiler)
        find_toolchain(compiler)
        # Before Python files are copied: stubs are among what is generated.
        generate_sources()
        super().run()


class BuildExt(build_ext):
    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or JOBS
        if self.editable_mode:
            # An editable install would compile in a temporary folder, and the next build compile all again.
            self.build_lib, self.build_temp = f"{BUILD}/lib", f"{BUILD}/temp"

    def build_extensions(self):
        # Not at import, so that reading metadata or packing an sdist compiles nothing.
        found = find_toolchain(self.compiler)
        generate_sources()
        compiled = cythonize(
            self.extensions,
            include_path=[EXT.as_posix()],
            # Coverage needs the C file beside its .pyx. All debug configurations share that file, so it is
            # always written again.
            build_dir=None if DEBUG else f"{BUILD}/cython",
            force=DEBUG,
            annotate=DEBUG,
            nthreads=JOBS,
            compiler_directives=DIRECTIVES,
        )
        # cythonize returns new objects; copy them to the ones that this command has prepared.
        by_name = {extension.name: extension for extension in compiled}
        link_flags = found.link_flags(DEBUG, SYMBOLS)
        for extension in self.extensions:
            vars(extension).update(vars(by_name[extension.name]))
            mend(Path(extension.sources[0]))
            extension.depends = sorted(headers_of(Path(extension.sources[0])))
            extension.extra_compile_args = found.compile_flags(DEBUG)
            extension.extra_link_args = link_flags
        super().build_extensions()

    def copy_file(self, infile, outfile, **options):
        # Compared by content, not by age: the module in the source tree may be a newer one of another
        # configuration. An equal one is not written, since a running program may have loaded it.
        if os.path.exists(outfile):
            if filecmp.cmp(infile, outfile):
                return outfile, False
            os.unlink(outfile)
        return super().copy_file(infile, outfile, **options)


def find_extensions():
    return [
        Extension(
            ".".join(path.relative_to(EXT).with_suffix("").parts),
            [path.as_posix()],
            include_dirs=[numpy.get_include(), (EXT / "include").as_posix()],
            define_macros=MACROS,
        )
        for path in sorted(EXT.rglob("*.pyx"))
    ]


if __name__ == "__main__":  # worker processes of cythonize import this file
    setup(ext_modules=find_extensions(), cmdclass={"build": Build, "build_ext": BuildExt})
