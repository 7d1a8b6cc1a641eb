"""`multihead translate --part` and `--join`."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from command_line import Captured, fail, run

from multihead.apps.documents import translating_parts
from multihead.cli import _ray, translate

SHORT = ("--max-length", "5", "--precision", "fp32")


@pytest.fixture
def source(corpus: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lines in blocks of 15, translated 5 at a time."""
    monkeypatch.setattr(translate, "CHUNK", 5)
    monkeypatch.setattr(translating_parts.SharedTranslation.__init__, "__kwdefaults__", {"block": 15})
    lines = corpus[0].read_text(encoding="utf-8").split("\n")
    path = tmp_path / "source.txt"
    path.write_text("".join(f"{line}\n" for line in (4 * lines)[:47]), encoding="utf-8")
    return path


def test_the_parts_joined_are_the_plain_output(
    trained: Path, source: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    for extra in ((), ("--scores",), ("--n-best", "2"), ("--method", "sample"), ("--prefix", "a")):
        out = tmp_path / f"parts{len(extra)}{extra[:1]}"
        given = ["translate", trained, "-i", source, *SHORT, *extra]
        whole, _ = run(capfdbinary, *given)
        for part in ("2/3", "1/3", "3/3"):
            _, printed = run(capfdbinary, *given, "-o", out, "--part", part)
            assert "block" in printed
        joined, _ = run(capfdbinary, *given, "-o", out, "--join", "-")
        assert joined == whole
        run(capfdbinary, *given, "-o", out, "--join", tmp_path / "joined.txt.gz")


@pytest.mark.parametrize(
    ("extra", "fact"),
    [
        (["--part", "4/3"], "--part 4/3: there is no such part"),
        (["--part", "1/3", "--join", "x"], "--part and --join at once"),
        (["--join", "-"], "4 of 4 blocks are missing (0, 1, 2, 3)"),
        (["--part", "1/3", "-i", "-"], "--part needs an input file"),
        (["--part", "1/3", "-o", "-"], "--part needs a folder for the blocks"),
        (["--part", "1/3", "--prefixes", "x"], "--prefixes: it has no effect with --part"),
    ],
)
def test_bad_options_are_refused(
    trained: Path, source: Path, tmp_path: Path, capfdbinary: Captured, extra: list[str], fact: str
) -> None:
    error = fail(capfdbinary, "translate", trained, "-i", source, "-o", tmp_path / "out", *extra)
    assert fact in error


def test_other_search_settings_are_refused(
    trained: Path, source: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    given = ["translate", trained, "-i", source, "-o", tmp_path / "out", *SHORT, "--part", "1/3"]
    run(capfdbinary, *given)
    assert "this translation began with another search" in fail(capfdbinary, *given, "--beam-size", "2")


class FakeRay(ModuleType):
    """The few functions of Ray that a translation needs, in this process; tasks end in any order."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.data = self
        self.DataContext = self
        self.started = False

    def is_initialized(self) -> bool:
        return self.started

    def init(self, **_: object) -> None:
        self.started = True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}

    def get_current(self) -> "FakeRay":
        return self

    def range(self, count: int, **_: object) -> "FakeRay":
        self.rows = [{"id": number} for number in reversed(range(count))]
        return self

    def map(self, function: Callable[[dict[str, int]], object], **_: object) -> "FakeRay":
        self.results = list(map(function, self.rows))
        return self

    def take_all(self) -> list[object]:
        return self.results


def test_tasks_of_ray_give_the_plain_output(
    trained: Path, source: Path, tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.data", ray)
    monkeypatch.setattr(_ray, "TASKS_PER_CPU", 3)
    given = ["translate", trained, "-i", source, *SHORT]
    whole, _ = run(capfdbinary, *given)
    joined, _ = run(capfdbinary, *given, "-o", tmp_path / "out", "--engine", "ray", "--join", "-")
    assert joined == whole
    assert len(ray.results) == 3
    again = ["translate", trained, "-i", source, "-o", tmp_path / "out", "--engine=ray", *SHORT]
    assert "began with another search" in fail(capfdbinary, *again, "--beam-size", "2")


def test_without_ray_its_engine_names_the_extra(
    trained: Path, source: Path, tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    given = ["translate", trained, "-i", source, "-o", tmp_path / "out", "--engine", "ray"]
    assert "pip install 'multihead[ray]'" in fail(capfdbinary, *given)
