"""Lines of CSV files, valid and broken."""

import pytest

from multihead.data.pictures.table import cells
from multihead.errors import UserError


def test_cells_may_be_quoted() -> None:
    assert cells('a,"b, ""c""",', ",", "x") == ["a", 'b, "c"', ""]
    assert cells("", ",", "x") == []


@pytest.mark.parametrize("line", ["a\rb,c", "a," + "b" * 200_003])
def test_a_malformed_line_is_refused_with_its_place(line: str) -> None:
    with pytest.raises(UserError, match=r"list\.csv:3: not a line of CSV"):
        cells(line, ",", "list.csv:3")
