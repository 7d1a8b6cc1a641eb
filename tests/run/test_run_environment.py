"""The recorded environment of a run, without names of people, machines and folders."""

import getpass
import hashlib
import json
import platform
from pathlib import Path

import torch

from multihead.run.environment import environment, file_hashes
from multihead.system import native


def test_versions_machine_and_data_are_there() -> None:
    found = environment({"fingerprint": "abc"})
    # Some builds name their platform ("+cu130") in one place and not in the other.
    assert found["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert found["versions"]["python"] == platform.python_version()
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["threads"] == torch.get_num_threads()
    assert found["machine"]["native"] in ("none", *native.LEVELS)
    assert "products" not in found["machine"]
    assert environment(products="int8")["machine"]["products"] == "int8"
    assert found["data"] == {"fingerprint": "abc"}
    json.dumps(found, allow_nan=False)


def test_nobody_and_no_place_is_named() -> None:
    told = json.dumps(environment())
    assert platform.node() not in told
    assert str(Path.home()) not in told
    assert str(Path.cwd()) not in told
    assert f'"{getpass.getuser()}"' not in told


def test_files_are_known_by_name_size_and_hash(tmp_path: Path) -> None:
    (tmp_path / "train.de").write_bytes(b"ein Hund\n")
    expected = {"name": "train.de", "bytes": 9, "sha256": hashlib.sha256(b"ein Hund\n").hexdigest()}
    assert file_hashes([tmp_path / "train.de"]) == [expected]
