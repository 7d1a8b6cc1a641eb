"""The short form of every row of ``make torture``, and a proof that the harness sees a loss."""

import json
from pathlib import Path

import pytest
from torture import ROWS, Row, run_row

from multihead.run import manifest, seal

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("row", [row for row in ROWS if row.short], ids=lambda row: row.name)
def test_a_fault_loses_nothing(row: Row, tmp_path: Path) -> None:
    assert run_row(row, tmp_path, row.short) == [""] * row.short


def test_the_harness_sees_a_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without checksums, flipped bits go unnoticed."""
    (row,) = [row for row in ROWS if row.name == "flipped bit in another file of a run"]
    monkeypatch.setattr(manifest.Manifest, "fault", lambda self, folder, name: "")
    monkeypatch.setattr(seal, "hashing", _unchecked)
    assert any(run_row(row, tmp_path, 9))


class _unchecked:  # noqa: N801
    def __init__(self, file: object, seal: str) -> None:
        self.seal = seal

    def __enter__(self) -> object:
        return lambda: self.seal

    def __exit__(self, *_: object) -> None:
        pass


def test_the_recorded_table_has_every_row_and_nothing_lost() -> None:
    found = json.loads((ROOT / "results" / "torture.json").read_text(encoding="utf-8"))["rows"]
    assert list(found) == [row.name for row in ROWS]
    assert {name: row["lost"] for name, row in found.items()} == dict.fromkeys(found, 0)
