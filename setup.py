"""Build of the compiled engine; everything else about the package is in pyproject.toml.

The folders under ``ext`` mirror the import path, so a module's name is read off the path of its ``.pyx``.
Before Cython runs, ``src/dualgrad/_table/generate.py`` writes the sources that follow from the table of
primitives.

Everything a build makes goes to a folder of its own under ``build``, named after all that decides the result:
interpreter, Cython, NumPy, directives, macros, flags. So time stamps are only ever compared between files of
one configuration: a debug build, another NumPy or other CFLAGS never reuse the wrong objects, and going back
to a configuration built before costs nothing.

Environment
    DUALGRAD_DEBUG=1    debug build: checks of bounds, None and engine invariants, live-object counters, line
                        tracing for coverage, annotated HTML beside the sources
    DUALGRAD_JOBS=n     number of compilers at work at a time; default: one for each processor
"""

import filecmp
import hashlib
import importlib
import os
import re
import sys
from pathlib import Path

import Cython
import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
EXT = Path("ext")
DEBUG = os.environ.get("DUALGRAD_DEBUG", "0") not in ("", "0")
JOBS = int(os.environ.get("DUALGRAD_JOBS", os.cpu_count() or 1))

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "nonecheck": DEBUG,
    "initializedcheck": DEBUG,
    "linetrace": DEBUG,
    "wraparound": False,  # in debug builds too: there a negative index is caught, not wrapped
    "cdivision": True,
    "auto_pickle": False,
    "binding": True,
    "embedsignature": True,
    "embedsignature.format": "clinic",
    "freethreading_compatible": True,
}

MACROS = [
    ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
    ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION"),
    ("DG_DEBUG", "1" if DEBUG else "0"),
]
if DEBUG:
    # Coverage reads the lines through sys.settrace, also where sys.monitoring exists.
    MACROS += [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]

if sys.platform == "win32":
    CFLAGS = ["/Od", "/Z7"] if DEBUG else ["/O2"]
else:
    # Without math errno and floating-point traps the compiler can vectorise; results stay those of IEEE 754.
    # Without contraction they are the same whether a chain runs operation by operation or as one loop. Never
    # -ffast-math: linked into a shared library it changes the arithmetic of the whole process.
    CFLAGS = ["-O1", "-g", "-UNDEBUG"] if DEBUG else ["-O3", "-g0"]
    CFLAGS += ["-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
    # Errors in newer compilers anyway.
    CFLAGS += [f"-Werror={name}" for name in ("implicit-function-declaration", "incompatible-pointer-types")]

# A release carries no symbols but those that other modules look up: a tenth of its size.
LDFLAGS = ["-Wl,-s"] if sys.platform == "linux" and not DEBUG else []

ENVIRONMENT = {name: os.environ.get(name) for name in ("CC", "CPPFLAGS", "CFLAGS", "LDFLAGS")}
CONFIGURATION = repr((Cython.__version__, numpy.__version__, DIRECTIVES, MACROS, CFLAGS, LDFLAGS, ENVIRONMENT))
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
    # Imported as a package of its own, since `import dualgrad` needs the engine that is about to be built.
    sys.path.append(str(package))  # last, so that its modules shadow nobody else's
    try:
        importlib.import_module("_table.generate").write(root=ROOT)
    finally:
        sys.path.remove(str(package))


def headers_of(source):
    """Our own headers that a C file includes, and those that they include."""
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
    """Repair a helper of Cython 3.3 in a C file that it has written.

    What a list comprehension cannot append, for want of memory, is released by the helper and once more by its
    caller: the object is damaged that somebody else still has.
    """
    text = path.read_text()
    mended = re.sub(
        r"(int result = PyList_Append\(list, x\);\s*)Py_DECREF\(x\);", r"\1if (likely(result == 0)) Py_DECREF(x);", text
    )
    if mended != text:
        path.write_text(mended)


class Build(build):
    def initialize_options(self):
        super().initialize_options()
        self.build_base = BUILD

    def run(self):
        generate_sources()  # before Python files are copied: stubs are among what is generated
        super().run()


class BuildExt(build_ext):
    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or JOBS

    def run(self):
        # Here rather than at import, so that asking for metadata or packing an sdist compiles nothing.
        generate_sources()
        compiled = cythonize(
            self.extensions,
            include_path=[EXT.as_posix()],
            # Coverage looks for the C file beside its .pyx. There all debug configurations share it, so it is
            # never taken as up to date.
            build_dir=None if DEBUG else f"{BUILD}/cython",
            force=DEBUG,
            annotate=DEBUG,
            nthreads=JOBS,
            compiler_directives=DIRECTIVES,
        )
        # cythonize returns new objects; keep the ones that this command has prepared.
        by_name = {extension.name: extension for extension in compiled}
        for extension in self.extensions:
            vars(extension).update(vars(by_name[extension.name]))
            mend(Path(extension.sources[0]))
            extension.depends = sorted(headers_of(Path(extension.sources[0])))
        super().run()

    def copy_file(self, infile, outfile, **options):
        # Into the source tree by content, not by age: there the module of another configuration may be newer.
        # One that stays the same is left alone, since a running program may have it loaded.
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
            extra_compile_args=CFLAGS,
            extra_link_args=LDFLAGS,
        )
        for path in sorted(EXT.rglob("*.pyx"))
    ]


if __name__ == "__main__":  # cythonize's worker processes import this file
    setup(ext_modules=find_extensions(), cmdclass={"build": Build, "build_ext": BuildExt})
