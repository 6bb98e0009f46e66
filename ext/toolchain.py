"""The C compiler that builds the engine, and its flags. ``setup.py`` uses this module.

A compiler belongs to a family, which has one way to write flags. The compiler's predefined macros reveal its family and
the file format of its modules. Every family gets flags for three things: optimise; allow vector code (no errno, no
floating-point traps); never fuse a product and a sum. A chain of operations then gives the same numbers one by one and
as one loop, on every machine. Flags like ``-ffast-math`` are refused: in a shared library they change the arithmetic of
the whole process.
"""

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

# family: flags of a release, flags of a debug build, flags of both
COMPILE = {
    "gcc": (
        ["-O3", "-g0"],
        ["-O1", "-g", "-UNDEBUG"],
        ["-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"],
    ),
    "msvc": (["/O2"], ["/Od", "/Z7"], ["/std:c11", "/fp:precise"]),
}
# Newer compilers treat these as errors.
COMPILE["gcc"][2].extend(f"-Werror={name}" for name in ("implicit-function-declaration", "incompatible-pointer-types"))
# The warnings: Clang reports loops that call C library functions, because it cannot vectorise them. It also reports
# unused functions of a C file; GCC takes such a file for a header. Jump tables: processors predict them badly. A
# program on numbers, which branches at every step, takes nearly twice as long with them as with comparisons.
CLANG = ["-Wno-pass-failed", "-Wno-unused-function", "-fno-jump-tables"]
COMPILE["clang"] = (*COMPILE["gcc"][:2], [*COMPILE["gcc"][2], *CLANG])
# The driver passes options on only behind the prefix /clang:.
COMPILE["clang-cl"] = (*COMPILE["msvc"][:2], ["/std:c11", *(f"/clang:{flag}" for flag in COMPILE["clang"][2])])

# file format: flags that strip symbol names (a tenth of the size); other flags of a release
LINK = {
    "elf": (["-Wl,-s"], ["-Wl,-z,noseparate-code"]),  # the second: no gap between code and constants
    "macho": (["-Wl,-x"], ["-Wl,-dead_strip"]),
    "pe": (["-Wl,-s"], []),
    "unknown": ([], []),
}

INSTALL = (
    "install one (Debian, Ubuntu: apt install gcc libc6-dev; Fedora: dnf install gcc; Alpine: apk add gcc musl-dev; "
    "macOS: xcode-select --install; Windows: the Build Tools for Visual Studio with C++), "
    "or name one by the environment variable CC"
)


class Unusable(Exception):
    """No usable C compiler. The message is one line that says what to do."""


def run(command, source=None):
    """Run a command and return its result. Its output is text, with both streams as one."""
    # Compilers translate their messages.
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        command, input=source, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )


def for_one_processor(command):
    """The command without ``-arch x``: the compiler reports macros for one processor only."""
    return [word for word, before in zip(command, [None, *command], strict=False) if "-arch" not in (word, before)]


def macros_of(command):
    """The macros that a compiler with GCC's options defines, by name."""
    if shutil.which(command[0]) is None:
        raise Unusable(f"dualgrad is built from C, and there is no C compiler {command[0]!r}: {INSTALL}")
    answer = run([*for_one_processor(command), "-dM", "-E", "-x", "c", "-"], source="")
    if answer.returncode:
        raise Unusable(f"the C compiler {command[0]!r} does not work ({last_line(answer)}): {INSTALL}")
    return dict(re.findall(r"^#define (\w+)[ ]?(.*)$", answer.stdout, re.MULTILINE))


def last_line(answer):
    """The error message of a failed command, in one line."""
    lines = [line.strip() for line in answer.stdout.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or [f"it ended with {answer.returncode}"])[0]


def family_of(macros):
    """The family of a compiler that defines these macros."""
    if "__FAST_MATH__" in macros:
        raise Unusable("dualgrad cannot be built with -ffast-math or -Ofast, which change the numbers: leave them out")
    if "__clang__" in macros:
        return "clang"
    if "__GNUC__" in macros:
        return "gcc"
    raise Unusable(f"dualgrad can be built by GCC, Clang or Microsoft's compiler, and this is none of them: {INSTALL}")


def format_of(macros):
    """The format of the modules that a compiler with these macros makes."""
    formats = {"__ELF__": "elf", "__APPLE__": "macho", "_WIN32": "pe"}
    return next((name for macro, name in formats.items() if macro in macros), "unknown")


def compile_flags(family, debug=False):
    """The flags of a family."""
    release, debugging, both = COMPILE[family]
    return (debugging if debug else release) + both


def wanted_link_flags(file_format, debug=False, symbols=False):
    """The flags for the linker that make a release of this format small."""
    strip, others = LINK[file_format]
    return [] if debug else others if symbols else strip + others


def flags_of_processor(macros):
    """Flags that suit only one processor type."""
    if "__clang__" not in macros:
        return []
    # Clang uses 32-byte vectors even where the processor has longer ones. This changes only loops compiled for those.
    flag = "-mprefer-vector-width=512"
    if "__APPLE__" in macros:  # modules may be made for several processors at once
        return ["-Xarch_x86_64", flag]
    return [flag] if "__x86_64__" in macros else []


class Toolchain:
    """The compiler and the linker that setuptools has found.

    Parameters
    ----------
    compiler
        the compiler object of a ``build_ext`` command

    Raises
    ------
    Unusable
        if it is missing, does not compile a program that includes ``Python.h``, or changes arithmetic
    """

    def __init__(self, compiler):
        self.compiler = compiler
        self.file_format = "pe"
        self.of_processor = []
        if compiler.compiler_type == "msvc":
            self.family = self.microsoft_family()
            if self.family == "clang-cl" and sysconfig.get_platform() == "win-amd64":
                macros = {"__clang__": "1", "__x86_64__": "1"}
                self.of_processor = [f"/clang:{flag}" for flag in flags_of_processor(macros)]
        else:
            macros = macros_of(compiler.compiler_so)
            self.family = family_of(macros)
            self.file_format = format_of(macros)
            self.of_processor = flags_of_processor(macros)
            self.compile_trial()

    def microsoft_family(self):
        try:
            self.compiler.initialize()
        except Exception as error:  # setuptools has moved its class more than once
            reason = " ".join(str(error).split())
            raise Unusable(
                f"dualgrad is built from C sources, and no C compiler is there ({reason}): {INSTALL}"
            ) from None
        # setuptools finds only Microsoft's compiler. Only clang-cl vectorises all loops.
        wanted = os.environ.get("CC", "")
        if Path(wanted).stem.lower() == "clang-cl":
            self.compiler.cc = shutil.which(wanted)
            if self.compiler.cc is None:
                raise Unusable(f"the environment variable CC names {wanted}, and there is no such program: {INSTALL}")
        return "clang-cl" if Path(self.compiler.cc).stem.lower() == "clang-cl" else "msvc"

    def compile_trial(self):
        """Compile a program that includes ``Python.h``, to report missing parts in one line."""
        include = [f"-I{path}" for path in {sysconfig.get_path(name) for name in ("include", "platinclude")}]
        with tempfile.TemporaryDirectory() as folder:
            for header in ("math.h", "Python.h"):
                command = [*self.compiler.compiler_so, *include, "-x", "c", "-c", "-", "-o", f"{folder}/trial.o"]
                answer = run(command, source=f"#include <{header}>\nint main(void) {{ return 0; }}\n")
                if not answer.returncode:
                    continue
                if header == "Python.h":
                    version = sysconfig.get_python_version()
                    raise Unusable(
                        f"dualgrad is built from C, which needs the headers of Python {version} "
                        f"({last_line(answer)}): install them "
                        f"(Debian, Ubuntu: apt install python{version}-dev; Fedora: dnf install python{version}-devel)"
                    )
                raise Unusable(f"the C compiler does not work ({last_line(answer)}): {INSTALL}")

    def compile_flags(self, debug=False):
        return compile_flags(self.family, debug) + self.of_processor

    def link_flags(self, debug=False, symbols=False):
        """The wanted flags that the linker accepts without a message."""
        if self.compiler.compiler_type == "msvc":
            return []
        return [flag for flag in wanted_link_flags(self.file_format, debug, symbols) if self.links_with(flag)]

    def links_with(self, flag):
        """True if the linker makes a shared library with this flag and prints nothing about it."""
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, "trial.o")
            compiled = run(
                [*self.compiler.compiler_so, "-x", "c", "-c", "-", "-o", str(made)], source="int dg_trial;\n"
            )
            linked = run([*self.compiler.linker_so, str(made), "-o", str(made.with_suffix(".so")), flag])
        return compiled.returncode == 0 == linked.returncode and flag.rpartition(",")[2] not in linked.stdout
