"""What is known of a model by its name alone."""

import pytest

from multihead import models
from multihead.settings import tasks


@pytest.mark.parametrize(
    ("kind", "what"),
    [("transformer", "tokens"), ("gpt", "tokens"), ("vit", "images"), ("dalle", "images")],
)
def test_speed_is_told_in_what_there_is_to_learn_from(kind: str, what: str) -> None:
    assert tasks.speed_unit(models.task(kind)) == what
