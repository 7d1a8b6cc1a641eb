"""The properties of a model that follow from its kind."""

import pytest

from multihead.recipe import model_kinds, tasks


@pytest.mark.parametrize(
    ("kind", "what"),
    [("transformer", "tokens"), ("gpt", "tokens"), ("vit", "images"), ("dalle", "images")],
)
def test_speed_is_reported_in_the_tasks_unit(kind: str, what: str) -> None:
    assert tasks.get_task(model_kinds.task(kind)).speed_unit == what
