"""No two test files share a name, whatever their folders."""

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_no_two_test_files_have_the_same_name() -> None:
    names = Counter(file.name for file in TESTS.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
