"""Tasks: the task of a model determines the sections of its recipes."""

import subprocess
import sys

import pytest

from multihead import cli
from multihead.errors import UserError
from multihead.recipe import SECTION_NAMES, from_toml, load, model_kinds, section_types, tasks, to_toml
from multihead.recipe import built_in as recipes
from multihead.recipe.settings import OptimisationSettings, ValidationSchedule

PARTS = ("setup", "load", "inspect", "evaluate")


@pytest.mark.parametrize("name", tasks.names())
def test_a_task_is_a_folder_that_registers_itself_with_all_its_parts(name: str) -> None:
    task = tasks.get_task(name)
    assert task.name == name
    assert {"data", "training", "validation"} <= task.sections.keys() <= set(SECTION_NAMES)
    assert issubclass(task.sections["training"], OptimisationSettings)
    assert issubclass(task.sections["validation"], ValidationSchedule)
    assert [part for part in PARTS if getattr(task, part) and not callable(task.part(part))] == []
    assert (task.evaluate is None) == (name in (model_kinds.DEFAULT_TASK, "drawing"))
    assert "{run}" in (task.use or "")
    assert (task.use or "").split()[0] in cli.commands()


def test_tasks_are_known_without_importing_torch() -> None:
    code = (
        "import sys; from multihead.recipe import tasks; "
        "[(task.work, task.sections) for task in tasks.tasks()]; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_part_that_a_task_lacks_is_named() -> None:
    task = tasks.Task(name="mine", work="mine", settings={}, setup=print)
    with pytest.raises(UserError, match=r"the task mine has no part `load`\. .*load=\.\.\."):
        task.part("load")


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
    with pytest.raises(UserError, match=r'Did you mean "--data\.files"'):
        load("shakespeare-char", {"data.filse": "a.txt"})
