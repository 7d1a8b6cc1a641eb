"""The command ``multihead recipes``."""

from command_line import Captured, run

from multihead.recipe import built_in as recipes


def test_every_recipe_is_listed_once_under_the_heading_of_its_model(capfdbinary: Captured) -> None:
    lines = run(capfdbinary, "recipes")[0].split("\n")
    headings = [line for line in lines if line.startswith(("Translation", "Text", "Image"))]
    assert len(headings) == 6
    files = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    rows = [line.split()[0] for line in lines if line.startswith("    ") and line[4] != " "]
    assert sorted([*files, *rows]) == recipes.names()
    assert "table3" in files
    assert {"table3-a-h1", "gpt3-13b"} <= {*rows}
    of_gpt = lines[lines.index("Text generation: GPT") :]
    assert of_gpt[1].split()[0] == "gpt2"


def test_a_recipe_is_printed_as_toml(capfdbinary: Captured) -> None:
    assert "[model]" in run(capfdbinary, "recipes", "table3-a-h4")[0]


def test_a_recipe_that_leaves_settings_to_the_corpus_is_printed_without_them(capfdbinary: Captured) -> None:
    text = run(capfdbinary, "recipes", "small-bert-tags")[0]
    assert 'kind = "bert_tagger"' in text
    assert "steps" not in text
