"""Counts over the package's own code may fall, not rise."""

import house_counts
from house_counts import class_names_in_two_modules

CONTRACTS = {
    "DataSettings",
    "Options",
    "SearchSettings",
    "Settings",
    "TokenizerSettings",
    "TrainingSettings",
    "ValidationSettings",
    "Validator",
}
"""Names by which a command, a model or a task is found in its module."""


def test_few_classes_share_a_name() -> None:
    shared = class_names_in_two_modules()
    assert shared.keys() >= CONTRACTS
    assert len(shared) <= 23, {name: files for name, files in shared.items() if name not in CONTRACTS}


def test_the_house_is_seen_at_a_glance() -> None:
    assert len(house_counts.entries()) <= 22
    assert house_counts.pairs_of_rooms() == []


def test_a_task_lies_in_its_folder_its_model_its_recipe_and_its_command() -> None:
    assert house_counts.rooms_of_a_task("spans") == ["cli", "models", "recipe", "tasks"]


def test_a_document_format_is_an_entry_of_one_table() -> None:
    named = house_counts.files_that_name_a_format(".resx")
    assert named == ["packages/documents/src/multihead_documents/formats.py"]


def test_the_rows_of_a_table_are_one_recipe() -> None:
    assert house_counts.recipes_of_a_table() == ["gpt3.toml", "table3.toml"]
