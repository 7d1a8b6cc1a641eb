"""Evaluation on perturbed sources."""

import json
from pathlib import Path

import pytest

from multihead.cli import main

Captured = pytest.CaptureFixture[str]


def test_each_test_set_is_evaluated_as_it_is_and_perturbed(trained: Path, capfd: Captured) -> None:
    assert main(["evaluate", str(trained), "--perturb", "trim", "--rate", "0.5"]) == 0
    out = capfd.readouterr().out
    assert f"{trained} on held_out: 216 pairs" in out
    assert f"{trained} on held_out, trim 0.5: 216 pairs" in out
    assert f"{trained} on held_out, trim 0.5: BLEU " in out
    assert main(["evaluate", str(trained), "--perturb", "omit", "--json"]) == 0
    results = json.loads(capfd.readouterr().out)
    assert list(results) == ["held_out", "held_out, omit 0.2"]


def test_a_rate_beyond_one_is_refused(trained: Path, capfd: Captured) -> None:
    assert main(["evaluate", str(trained), "--perturb", "permute", "--rate", "1.5"]) == 2
    assert "--rate 1.5. Give a number from 0 to 1." in capfd.readouterr().err
