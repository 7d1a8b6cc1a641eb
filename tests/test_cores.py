"""How many cores may be used; the limits are files of Linux' control groups, made up here."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from multihead.cores import usable_cores, wanted_threads

ALL = 64


@pytest.fixture(autouse=True)
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(ALL)), raising=False)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        pytest.param({}, ALL, id="no control groups"),
        pytest.param({"proc/self/cgroup": "0::/\n"}, ALL, id="no limit"),
        pytest.param({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, ALL, id="max"),
        pytest.param({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2, id="two"),
        pytest.param(
            {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "5000 100000\n"}, 1, id="little"
        ),
        pytest.param(
            {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "250000 100000\n"},
            3,
            id="a part of a core",
        ),
        pytest.param(
            {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "9900000 100000\n"},
            ALL,
            id="more than all",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "0::/a/b/c\n",
                "sys/fs/cgroup/a/cpu.max": "700000 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "300000 100000\n",
                "sys/fs/cgroup/a/b/c/cpu.max": "max 100000\n",
            },
            3,
            id="the least of the groups above",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "7:memory:/x\n3:cpu,cpuacct:/x\n",
                "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "500000\n",
                "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
            },
            5,
            id="version 1",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "3:cpu,cpuacct:/docker/1f\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            ALL,
            id="version 1, no limit",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "3:cpu,cpuacct:/docker/1f\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "400000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            4,
            id="version 1, seen from within a container",
        ),
        pytest.param(
            {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "100000 0\n"}, ALL, id="no period"
        ),
        pytest.param({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "?\n"}, ALL, id="unreadable"),
    ],
)
def test_a_container_s_share_of_the_cores_counts(
    files: Mapping[str, str], cores: int, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path) == cores


@pytest.mark.parametrize(
    ("said", "threads"), [("", 5), ("3", 3), ("977", 5), ("0", 5), ("many", 5), ("4,2", 5)]
)
def test_the_variable_of_openmp_is_heeded(said: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(5)), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert wanted_threads() == threads
