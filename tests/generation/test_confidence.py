import json
import math
import random

import pytest

from multihead.errors import UserError
from multihead.tasks.translation.texts.calibration import calibration_error, fit
from multihead.tasks.translation.texts.confidence import NAME, Calibration
from multihead.tasks.translation.texts.repetition import loops, repeats


def test_a_calibration_recovers_a_monotone_relation_and_reports_a_small_error() -> None:
    chance = random.Random(3)
    scores = [-chance.random() * 3 for _ in range(2003)]
    quality = [min(1.0, max(0.0, math.exp(score) ** 2 + chance.gauss(0, 0.1))) for score in scores]
    found = fit(scores, quality)
    assert found.error is not None
    assert found.error < 0.03
    raw = calibration_error([(math.exp(score), one) for score, one in zip(scores, quality, strict=True)])
    assert found.error < raw / 3
    values = [found(x / 10) for x in range(-50, 5)]
    assert values == sorted(values)
    assert 0 <= values[0] < 0.05
    assert found(-10) < found(-3)


def test_isotonic_regression_is_the_least_squares_fit() -> None:
    found = fit([-4.0, -3.0, -2.0, -1.0], [0.1, 0.5, 0.3, 0.9])
    assert [x for x, _ in found.points] == [-4.0, -2.5, -1.0]
    assert [y for _, y in found.points] == pytest.approx([0.1, 0.4, 0.9])


def test_calibration_error_is_the_mean_gap_of_bins() -> None:
    assert calibration_error([(0.2, 0.0), (0.2, 0.2), (0.8, 0.4), (0.8, 0.8)], bins=2) == pytest.approx(0.15)
    assert calibration_error([]) == 0


def test_a_calibration_survives_its_file_and_damage_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert Calibration.load(tmp_path)(-0.5) == pytest.approx(math.exp(-0.5))
    found = fit([-3.0, -2.0, -1.0], [0.1, 0.2, 0.7])
    (tmp_path / NAME).write_text(found.to_json())
    assert Calibration.load(tmp_path) == found
    earlier = found.to_json().replace('"pairs"', '"piece_rate": 0.5, "pairs"')
    (tmp_path / NAME).write_text(earlier)
    assert Calibration.load(tmp_path) == found
    for spoilt in (
        "",
        "[]",
        '{"format": 9, "points": [], "error": 0, "pairs": 1}',
        found.to_json().replace("0.7", "7"),
    ):
        (tmp_path / NAME).write_text(spoilt)
        with pytest.raises(UserError, match="damaged"):
            Calibration.load(tmp_path)


def test_an_output_is_too_long_beyond_what_references_are() -> None:
    sentences = [("x" * (20 + n), "y" * (30 + n)) for n in range(100)]
    found = fit([-1.0, -2.0], [0.5, 0.4], [*sentences, ("x", "y" * 997)])
    assert found.longest == pytest.approx(1.25 * 40 / 30, abs=0.02)
    assert not found.too_long("Danke", "y" * 14)
    assert found.too_long("Danke", "y" * 16)
    assert not fit([-1.0], [0.5]).too_long("Danke", "y" * 997), "not measured"
    assert Calibration._of(json.loads(found.to_json())) == found


def test_repeated_ngrams_are_counted() -> None:
    assert repeats([]) == 1
    assert repeats([1, 2, 3]) == 1
    assert repeats([5, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1]) == 3


def test_a_loop_repeats_more_than_its_source() -> None:
    assert not loops([7, 7, 7])
    assert loops([7, 7, 7, 7])
    assert loops([1, 2, 3] * 3)
    assert not loops([1, 2, 3, 4] * 2)
    assert not loops([9] * 5, [4] * 5)
    assert loops([9] * 50, [4] * 5)
