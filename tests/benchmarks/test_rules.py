"""The benchmark of rules replaces attributes that exist."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "rules.py"
spec = importlib.util.spec_from_file_location("rules", FILE)
assert spec is not None
assert spec.loader is not None
rules: Any = importlib.util.module_from_spec(spec)
sys.modules["rules"] = rules
spec.loader.exec_module(rules)


@pytest.mark.parametrize("rule", rules.RULES)
def test_every_rule_names_attributes_that_exist(rule: str) -> None:
    for place, name, _ in rules.RULES[rule]:
        if place == "run":
            place = rules.texts.TextTranslator(None, "de", "en")
        assert hasattr(place, name)
