"""No two test files share a name, whatever their folders."""

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_two_test_files_have_the_same_name() -> None:
    folders = (ROOT / "tests", ROOT / "packages" / "documents" / "tests")
    names = Counter(file.name for folder in folders for file in folder.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
