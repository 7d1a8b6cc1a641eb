"""Parquet and Arrow files, flat and nested."""

import json
from pathlib import Path
from typing import Any

import pytest

from multihead.data.pairs import read_pairs
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings

PAIRS = [("ja", "yes"), ("ne in", "no")]
FLAT = {"id": [1, 2], "de": ["ja", "ne\nin"], "en": ["yes", "no"]}
NESTED = {"translation": [{"de": "ja", "en": "yes"}, {"de": "ne\r\nin", "en": "no"}]}


def pairs(folder: Path, name: str, **data: str) -> list[tuple[str, str]]:
    return list(read_pairs(DataSettings.model_validate({"dir": str(folder), **data}), [name], []))


def write(path: Path, columns: dict[str, Any]) -> None:
    table = pytest.importorskip("pyarrow").table(columns)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    elif path.suffix == ".feather":
        pytest.importorskip("pyarrow.feather").write_feather(table, path)
    else:
        with pytest.importorskip("pyarrow.ipc").new_stream(path, table.schema) as writer:
            writer.write_table(table)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
@pytest.mark.parametrize("columns", [FLAT, NESTED])
def test_columns_of_languages_are_read(tmp_path: Path, ending: str, columns: dict[str, Any]) -> None:
    write(tmp_path / f"a.{ending}", columns)
    assert pairs(tmp_path, f"a.{ending}") == PAIRS
    swapped = pairs(tmp_path, f"a.{ending}", source_language="en", target_language="de")
    assert swapped == [(target, source) for source, target in PAIRS]


def test_a_folder_saved_by_datasets_is_read(tmp_path: Path) -> None:
    for number in (0, 1):
        write(tmp_path / "train" / f"data-0000{number}-of-00002.arrow", NESTED)
    write(tmp_path / "test" / "data-00000-of-00001.arrow", FLAT)
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    assert pairs(tmp_path.parent, tmp_path.name) == [*PAIRS, *PAIRS]


@pytest.mark.parametrize(
    ("columns", "fact"),
    [
        (
            {"translation": [{"de": "ja", "en": "yes", "fr": "oui"}]},
            "two sides are not clear .*translation.fr",
        ),
        ({"de": [["ja"]], "en": ["yes"]}, r"two sides are not clear among its columns \(en\)"),
        ({"de": [None], "en": ["yes"]}, r"two sides are not clear among its columns \(en\)"),
        ({"de": [""], "en": ["yes"]}, ""),
        ({"de": [], "en": []}, "two sides are not clear"),
    ],
)
def test_columns_that_are_not_clear_are_refused(tmp_path: Path, columns: dict[str, Any], fact: str) -> None:
    write(tmp_path / "a.parquet", columns)
    if not fact:
        assert pairs(tmp_path, "a.parquet") == [("", "yes")]
        return
    with pytest.raises(UserError, match=fact):
        pairs(tmp_path, "a.parquet")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_damaged_file_is_refused(tmp_path: Path, ending: str) -> None:
    write(tmp_path / f"a.{ending}", FLAT)
    content = (tmp_path / f"a.{ending}").read_bytes()
    (tmp_path / f"a.{ending}").write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match="cannot be read"):
        pairs(tmp_path, f"a.{ending}")


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(module: str) -> None:
        raise ModuleNotFoundError(module)

    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr("importlib.import_module", fail)
    with pytest.raises(UserError, match=r"pyarrow is not installed. pip install 'multihead\[arrow\]'"):
        pairs(tmp_path, "a.parquet")
