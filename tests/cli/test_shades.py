"""Text heat maps of attention."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from multihead.cli._shades import shades
from multihead.inspect.maps import Alignment, TokenLabel


def alignment(matrix: list[list[float]], target: list[str], source: list[str]) -> Alignment:
    tokens = [tuple(TokenLabel(text, word) for word, text in enumerate(side)) for side in (target, source)]
    return Alignment(np.array(matrix, dtype=np.float32), tokens[0], tokens[1], "")


def test_rows_are_outputs_and_columns_are_sources() -> None:
    drawn = shades(
        alignment([[0, 1], [0.5, 0.5], [0.9, 0.1]], ["forty", "-", "two"], ["zwei", "vierzig"]), 80
    )
    assert drawn.split("\n") == [
        "      zwei vierzig",
        "forty      ███████",
        "    - ▒▒▒▒ ▒▒▒▒▒▒▒",
        "  two ████",
    ]


def test_wide_letters_take_two_columns() -> None:
    drawn = shades(alignment([[0, 1]], ["forty"], ["사십", "이"]), 80)
    assert drawn.split("\n") == ["      사십 이", "forty      ██"]


@given(
    st.lists(st.text("abcdefgh사십이", min_size=1, max_size=20), min_size=1, max_size=30),
    st.sampled_from([80, 120]),
)
def test_a_heat_map_is_never_wider_than_the_terminal(source: list[str], width: int) -> None:
    matrix = [[1.0] * len(source)] * 2
    drawn = shades(alignment(matrix, ["a" * 50, "b"], source), width)
    assert max(map(cell_len, drawn.split("\n"))) <= width


@pytest.mark.parametrize(("weight", "shade"), [(0.0, ""), (0.21, "░░"), (0.99, "██"), (1.0, "██")])
def test_larger_weights_are_darker(weight: float, shade: str) -> None:
    assert shades(alignment([[weight]], ["a"], ["b"]), 80).split("\n")[1] == f"a {shade}".rstrip()
