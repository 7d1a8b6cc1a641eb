"""The tables of README and docs/measured say what the files in results/ say."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from multihead.recipe import load, model_kinds

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
assert spec is not None
assert spec.loader is not None
tables: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tables)


@pytest.mark.parametrize("page", tables.PAGES)
def test_a_page_says_what_its_figures_say(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert tables.filled(text) == text, "run python docs/tables.py"


def test_every_table_has_its_place() -> None:
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in tables.PAGES]
    named = [name for text in texts for _, name, _ in tables.BLOCK.findall(text)]
    assert sorted(named) == sorted(tables.TABLES)


def test_readme_has_four_rows_of_the_seven() -> None:
    assert len(tables.readme().split("\n")) == 2 + 4
    assert len(tables.headlines().split("\n")) == 2 + 7


def test_each_kind_of_model_has_a_whole_training_or_a_reason() -> None:
    whole = tables.whole()
    trained = {load(row["recipe"]).kind for row in whole["training"]}
    without = [kind for row in whole["without"] for kind in row["kinds"]]
    assert trained.isdisjoint(without)
    assert trained.union(without) == set(model_kinds.built_in())


def test_a_changed_figure_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    figures = tables.figures("bench-translation.json")
    figures["measured"]["beam 1"]["multihead"]["sentences_per_second"] *= 1.01
    found = tables.figures
    monkeypatch.setattr(
        tables, "figures", lambda name: figures if name == "bench-translation.json" else found(name)
    )
    assert tables.filled(text) != text


def test_both_columns_of_the_peers_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def row(speed: float, gain: float) -> dict[str, Any]:
        ratio = {"seconds": [gain - 0.1, gain, gain + 0.1]}
        ratios = {f"{own}: times as fast": ratio for own in ("multihead", "without native kernels")}
        return {"tokens_per_second": [speed, speed, speed], "peak_mib": 701.0, **ratios}

    names = [f"{peer} bf16{end}" for peer in tables.PEERS for end in ("", ", memory kept")]
    rows = {name: row(1009 + place, 2.3 + place) for place, name in enumerate(names)}
    rows |= {"multihead": row(13_009, 1), "without native kernels": row(7_001, 1.9)}
    both = {"measured": {"small": {"1": rows, "2": rows}}}
    found = tables.figures
    monkeypatch.setattr(tables, "figures", lambda name: both if name == tables.BOTH else found(name))
    strict, loose = "3.3 (3.2 to 3.4)", "2.3 (2.2 to 2.4)"
    assert f"| Hugging Face, bf16, 2 threads | 1,009 | 1,010 | {loose} | {strict} |" in tables.peers()
    assert f"in bf16: Hugging Face {strict} and {strict}" in tables.peers_conclusion()
    assert f"as it comes: Hugging Face {loose} and {loose}" in tables.peers_conclusion()
    assert f"Hugging Face 1,010: {strict} times" in tables.readme()
