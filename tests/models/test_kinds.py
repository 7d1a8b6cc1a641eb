"""What is known of a model by its name alone."""

import pytest

from multihead import models


@pytest.mark.parametrize(
    ("kind", "what"),
    [("transformer", "tokens"), ("gpt", "tokens"), ("vit", "pictures"), ("dalle", "pictures")],
)
def test_speed_is_told_in_what_there_is_to_learn_from(kind: str, what: str) -> None:
    assert models.speed_unit(kind) == what
