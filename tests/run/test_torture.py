"""The short form of every row of ``make torture``, and a proof that the harness sees a loss."""

import json
from pathlib import Path

import pytest
from torture import ROWS, Case, Row, run_row

from multihead.run import embedded_checksum as seal
from multihead.run import manifest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("torture"))


@pytest.mark.parametrize("row", [row for row in ROWS if row.short], ids=lambda row: row.name)
def test_a_fault_loses_nothing(row: Row, case: Case) -> None:
    assert run_row(row, case, row.short) == [""] * row.short


def test_the_harness_sees_a_loss(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checksums, flipped bits go unnoticed."""
    (row,) = [row for row in ROWS if row.name == "flipped bit in another file of a run"]
    monkeypatch.setattr(manifest.Manifest, "fault", lambda self, folder, name: "")
    monkeypatch.setattr(seal, "hashing", _unchecked)
    assert any(run_row(row, case, 15, seed=2))


class _unchecked:  # noqa: N801
    def __init__(self, file: object, seal: str) -> None:
        self.seal = seal

    def __enter__(self) -> object:
        return lambda: self.seal

    def __exit__(self, *_: object) -> None:
        pass


def test_the_recorded_table_has_every_row_and_nothing_lost() -> None:
    text = (ROOT / "results" / "torture.json").read_text(encoding="utf-8")
    found = json.loads(text)["rows"]
    assert list(found) == [row.name for row in ROWS]
    assert {name: row["lost"] for name, row in found.items()} == dict.fromkeys(found, 0)
