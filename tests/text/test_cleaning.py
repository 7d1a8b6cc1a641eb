"""Rules that drop pairs, and the report of what they dropped."""

import json
import subprocess
import sys

import pytest

from multihead.recipe.settings import DataSettings
from multihead.text.cleaning import CleaningReport, Reason, pair_hash, rejection_reason


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("Ja.", "Of course I will, my dear.", None),
        ("", "one", "empty"),
        ("eins", " \t\u2028\u3000", "empty"),
        ("x" * 53, "y" * 53, None),
        ("x" * 54, "y" * 53, "too long"),
        ("x" * 3, "y" * 29, None),
        ("x" * 3, "y" * 30, "length ratio"),
        ("y" * 30, "x" * 3, "length ratio"),
        ("eins", "eins", None),
        ("x" * 1_000_003, "y", "too long"),
    ],
)
def test_a_pair_is_judged_by_itself(source: str, target: str, reason: Reason | None) -> None:
    assert (
        rejection_reason(
            source, target, DataSettings.model_validate({"max_chars": 53, "max_length_ratio": 3})
        )
        == reason
    )


def test_identical_sides_are_dropped_only_if_asked_for() -> None:
    data = DataSettings.model_validate({"drop_identical": True})
    assert rejection_reason("eins", "eins", data) == "identical"
    assert rejection_reason("eins", "Eins", data) is None


def test_the_hash_of_a_pair_is_64_bits_that_depend_on_both_sides() -> None:
    pairs = [("a", "b"), ("b", "a"), ("ab", ""), ("", "ab"), ("a", "B"), ("한", "😀")]
    hashes = {pair_hash(*pair) for pair in pairs}
    assert len(hashes) == len(pairs)
    assert all(0 <= value < 1 << 64 for value in hashes)


def test_the_hash_of_a_pair_is_the_same_in_every_process() -> None:
    code = "from multihead.text.cleaning import pair_hash; print(pair_hash('eins', '한'))"
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    ]
    assert printed == [f"{pair_hash('eins', '한')}\n"] * 2
    assert pair_hash("eins", "one") == 9343036570242328609


def test_the_report_says_what_was_dropped_and_why() -> None:
    report = CleaningReport()
    reasons: list[Reason | None] = [None, "too long", None, "empty", "too long", None, None]
    for reason in reasons:
        report.record(reason)
    report.drop("duplicate", 7)
    report.drop("duplicate", 3)
    assert (report.read, report.kept) == (7, 2)
    assert str(report) == (
        "7 pairs read, 2 kept\n"
        "  1 dropped: one side is empty (first: pair 4)\n"
        "  2 dropped: longer than data.max_chars characters (first: pair 2)\n"
        "  2 dropped: duplicate (first: pair 3)"
    )


def test_the_report_survives_json() -> None:
    report = CleaningReport(5, {"empty": 2, "duplicate": 1}, {"empty": 3, "duplicate": 5})
    assert CleaningReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report
