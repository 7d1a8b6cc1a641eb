"""Build of the optional native part (native/): compiled if a compiler is found, else omitted silently.

The kernels are compiled once per processor level; the level is chosen at run time. With MULTIHEAD_LEVELS=here
only this processor's best level is compiled, in a seventh of the time. The library uses no Python headers, so
a wheel serves every Python, and one without the library every machine. All else is in pyproject.toml.
"""

import ctypes
import os
import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

COMMON = ["-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-fno-exceptions", "-fno-math-errno", "-w"]
COMMON += ["-fwrapv"]  # integers converted from NaN overflow on the way to int8
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma", "-mprefer-vector-width=512"]
AVX512VNNI = [*AVX512, "-mavx512vnni"]
AVX512BF16 = [*AVX512VNNI, "-mavx512bf16"]
AVX2 = ["-mavx2", "-mfma"]
X86_LEVELS = {
    "amx": [*AVX512BF16, "-mamx-tile", "-mamx-bf16", "-mamx-int8"],
    "avx512bf16": AVX512BF16,
    "avx512vnni": AVX512VNNI,
    "avx512": AVX512,
    "avxvnni": [*AVX2, "-mavxvnni"],
    "avx2": AVX2,
}


class BuildNative(build_ext):
    """Compiles kernels.cpp for each level, with OpenMP if the compiler supports it."""

    def run(self) -> None:
        """Build; an older library named after one Python would be loaded first, so it is removed."""
        super().run()
        if self.inplace:
            for older in Path("src/multihead").glob("_native.*.so"):
                older.unlink()

    def get_ext_filename(self, fullname: str) -> str:
        """Return a name that every Python on Linux and macOS loads."""
        return str(Path(*fullname.split("."))) + ".so"

    def build_extension(self, ext: Extension) -> None:
        """Compile and link unless up to date; a failure only omits the native part (``optional=True``)."""
        is_asked = self.force or "MULTIHEAD_LEVELS" in os.environ  # the library may have other levels
        if not is_asked and not newer_group([*ext.sources, *ext.depends], self.get_ext_fullpath(ext.name)):
            return None
        last: Exception | None = None
        for openmp in (["-fopenmp"], []):
            try:
                return self._build(ext, openmp)
            except Exception as error:
                last = error
        raise last

    def _build(self, ext: Extension, openmp: list[str]) -> None:
        levels = {"baseline": []}
        if platform.machine().lower() in ("x86_64", "amd64"):
            levels |= X86_LEVELS
        processor, kernels = ext.sources
        made = self.compiler.compile([processor], self.build_temp, extra_postargs=COMMON)
        best = self._best_level(made) if os.environ.get("MULTIHEAD_LEVELS") == "here" else ""

        def compiled(level: str) -> list[str]:
            folder, flags = str(Path(self.build_temp) / level), levels[level]
            try:
                return self.compiler.compile([kernels], folder, extra_postargs=[*COMMON, *flags, *openmp])
            except Exception:
                if flags:  # a compiler that does not support a level omits it
                    return []
                raise

        kernels_here = compiled(best) if best else []
        if not kernels_here:
            with ThreadPoolExecutor(os.cpu_count()) as cores:
                kernels_here = [file for files in cores.map(compiled, levels) for file in files]
        made += kernels_here
        file = self.get_ext_fullpath(ext.name)
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        self.compiler.link_shared_object(made, file, extra_postargs=openmp, target_lang="c")

    def _best_level(self, made: list[str]) -> str:
        """Return the best level that this processor supports; "": unknown, compiled for another machine."""
        file = Path(self.build_temp, "processor.so").resolve()
        self.compiler.link_shared_object(made, str(file), target_lang="c")
        try:
            levels = ctypes.CDLL(str(file)).processor_levels
        except OSError:
            return ""
        levels.restype = ctypes.c_char_p
        return levels().decode().split()[0]

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """Return no symbols: the library is loaded by ctypes and has no ``PyInit``."""
        return []


class Wheel(bdist_wheel):
    """A wheel for every Python, and for every machine if it has no native part."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tags of interpreter, ABI and platform."""
        built = self.get_finalized_command("build_ext").get_ext_fullpath("multihead._native")
        self.root_is_pure = not Path(built).is_file()
        return "py3", "none", super().get_tag()[2]


setup(
    ext_modules=[
        Extension(
            "multihead._native",
            sources=["native/processor.cpp", "native/kernels.cpp"],
            depends=["setup.py", *map(str, sorted(Path("native").glob("*.h")))],
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildNative, "bdist_wheel": Wheel},
)
