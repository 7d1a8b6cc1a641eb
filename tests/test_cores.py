"""Available cores, read from simulated Linux control groups."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from multihead.cli import main
from multihead.system.cores import default_threads, usable_cores, use_one_blas_thread, wait_briefly

ALL = 64


@pytest.fixture(autouse=True)
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(ALL)), raising=False)


def version_2(limit: str, group: str = "") -> dict[str, str]:
    """One hierarchy; a limit is a quota and a period in microseconds."""
    return {"proc/self/cgroup": "0::/\n", f"sys/fs/cgroup{group}/cpu.max": f"{limit}\n"}


def version_1(quota: int, *, group: str, seen: str) -> dict[str, str]:
    """One hierarchy per controller, one file per number."""
    folder = f"sys/fs/cgroup/cpu{seen}"
    return {
        "proc/self/cgroup": f"7:memory:{group}\n3:cpu,cpuacct:{group}\n",
        f"{folder}/cpu.cfs_quota_us": f"{quota}\n",
        f"{folder}/cpu.cfs_period_us": "100000\n",
    }


NESTED = {
    **version_2("700000 100000", "/a"),
    **version_2("300000 100000", "/a/b"),
    **version_2("max 100000", "/a/b/c"),
    "proc/self/cgroup": "0::/a/b/c\n",
}


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        pytest.param({}, ALL, id="no control groups"),
        pytest.param({"proc/self/cgroup": "0::/\n"}, ALL, id="no limit"),
        pytest.param(version_2("max 100000"), ALL, id="max"),
        pytest.param(version_2("200000 100000"), 2, id="two"),
        pytest.param(version_2("5000 100000"), 1, id="little"),
        pytest.param(version_2("250000 100000"), 3, id="a part of a core"),
        pytest.param(version_2("9900000 100000"), ALL, id="more than there are"),
        pytest.param(version_2("100000 0"), ALL, id="no period"),
        pytest.param(version_2("?"), ALL, id="unreadable"),
        pytest.param(NESTED, 3, id="the lowest limit of the groups above"),
        pytest.param(version_1(500_000, group="/x", seen="/x"), 5, id="version 1"),
        pytest.param(version_1(-1, group="/docker/1f", seen=""), ALL, id="version 1, no limit"),
        pytest.param(version_1(400_000, group="/docker/1f", seen=""), 4, id="version 1, within a container"),
    ],
)
def test_a_containers_cpu_limit_bounds_the_usable_cores(
    files: Mapping[str, str], cores: int, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path) == cores


@pytest.mark.parametrize(
    ("variable", "threads"), [("", 5), ("3", 3), ("977", 5), ("0", 5), ("many", 5), ("4,2", 5)]
)
def test_omp_num_threads_sets_the_default(
    variable: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(5)), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    assert default_threads() == threads


def test_every_command_that_computes_respects_omp_num_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "classify",
        "draw",
        "evaluate",
        "fill",
        "generate",
        "inspect",
        "score",
        "serve",
        "translate",
    ):
        set_to: list[int] = []
        monkeypatch.setattr(torch, "set_num_threads", set_to.append)
        monkeypatch.setenv("OMP_NUM_THREADS", "7")
        with pytest.raises(SystemExit):
            main([name, "--help"])
        assert set_to == [7], name


@pytest.mark.parametrize(
    ("machine", "given", "threads"),
    [("x86_64", None, "1"), ("x86_64", "3", "3"), ("aarch64", None, None)],
)
def test_numpy_multiplies_in_one_thread_where_pytorch_does_not_use_its_library(
    monkeypatch: pytest.MonkeyPatch, machine: str, given: str | None, threads: str | None
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=machine))
    if given:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", given)
    use_one_blas_thread()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == threads


@pytest.mark.parametrize(
    ("given", "set_to"),
    [({}, "5000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)],
)
def test_threads_wait_briefly_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], set_to: str | None
) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    wait_briefly()
    assert os.environ.get("GOMP_SPINCOUNT") == set_to
