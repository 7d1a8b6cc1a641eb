"""The list of built-in recipes."""

from command_line import Captured, run

from multihead import recipes


def test_every_recipe_is_listed_once_under_what_it_is_for(capfdbinary: Captured) -> None:
    lines = run(capfdbinary, "recipes")[0].split("\n")
    headings = [line for line in lines if line.startswith(("Translation", "Text", "Pictures"))]
    assert len(headings) == 6
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    assert sorted(listed) == recipes.names()
    of_gpt = lines[lines.index("Text that is written on: GPT") :]
    assert of_gpt[1].split()[0] == "gpt2"


def test_a_recipe_is_shown_ready_to_be_changed(capfdbinary: Captured) -> None:
    assert "[model]" in run(capfdbinary, "recipes", "table3-a-h4")[0]
