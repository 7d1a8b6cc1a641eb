"""Tasks: the task of a model determines the sections of its recipes."""

from pathlib import Path

import pytest

import multihead
from multihead.errors import UserError
from multihead.recipe import SECTION_NAMES, from_toml, load, model_kinds, section_types, tasks, to_toml
from multihead.recipe import built_in as recipes
from multihead.recipe.settings import OptimisationSettings, ValidationSchedule


@pytest.mark.parametrize("task", tasks.names())
def test_a_task_is_a_file_of_settings_and_a_folder_of_data_validation_and_inspection(task: str) -> None:
    assert {"data", "training", "validation"} <= tasks.get_task(task).sections.keys() <= set(SECTION_NAMES)
    assert issubclass(tasks.get_task(task).sections["training"], OptimisationSettings)
    assert issubclass(tasks.get_task(task).sections["validation"], ValidationSchedule)
    use = tasks.get_task(task).use or ""
    assert "{run}" in use
    command = use.split()[0]
    assert (Path(multihead.__file__).parent / "cli" / f"{command}.py").is_file()
    folder = Path(multihead.__file__).parent / "workflows" / "tasks" / task
    assert {"data.py", "validation.py", "inspection.py"} <= {file.name for file in folder.iterdir()}


def test_every_model_has_an_existing_task() -> None:
    assert {model_kinds.task(kind) for kind in model_kinds.names()} == set(tasks.names())
    assert model_kinds.task("transformer") == "translation"


def test_a_recipe_has_and_writes_the_sections_of_its_task_alone() -> None:
    for name in recipes.names():
        recipe = load(name)
        for section, wanted in section_types(recipe.kind).items():
            assert type(recipe.section(section)) is wanted
    assert "[search]" not in to_toml(load("bert-base"))
    assert from_toml(to_toml(load("shakespeare-char"))) == load("shakespeare-char")


def test_a_section_or_key_of_another_task_is_refused() -> None:
    with pytest.raises(UserError, match=r'--search\.beam_size: .*"bert" has no section "search"'):
        load("bert-base", {"search.beam_size": 3})
    with pytest.raises(UserError, match=r'"data\.source"'):
        load("shakespeare-char", {"data.source": "a.txt"})
    with pytest.raises(UserError, match=r'Did you mean "data\.files"'):
        load("shakespeare-char", {"data.filse": "a.txt"})
