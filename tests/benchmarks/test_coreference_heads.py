"""The benchmark of coreference: attention between words, and the rules it is compared with."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multihead.data.coreference import ANIMALS, PLACES, sentence

FILE = Path(__file__).parents[2] / "benchmarks" / "coreference.py"
spec = importlib.util.spec_from_file_location("coreference_benchmark", FILE)
assert spec is not None
assert spec.loader is not None
benchmark: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(benchmark)


def test_a_head_prefers_the_noun_with_more_attention_over_all_its_tokens() -> None:
    words = ["cat", "cat", "road", "it"]
    weights_LHQK = np.zeros((1, 2, 4, 4), dtype=np.float32)
    weights_LHQK[0, 0, 3] = [0.3, 0.3, 0.4, 0]
    weights_LHQK[0, 1, 3] = [0.2, 0.1, 0.6, 0.1]
    assert benchmark.prefers(weights_LHQK, words, "it", ("cat", "road")).tolist() == [[True, False]]
    with pytest.raises(ValueError, match="'dog' is not a word"):
        benchmark.prefers(weights_LHQK, words, "it", ("dog", "road"))


def test_baselines_and_genders_of_known_sentences() -> None:
    animal, street = ANIMALS[0], PLACES[6]
    tired, wide, passive = (
        sentence(animal, street, adjective, pattern=pattern)
        for adjective, pattern in (("tired", 0), ("wide", 0), ("wide", 2))
    )
    assert benchmark.baselines([tired]) == {"first noun": 1.0, "nearer noun": 0.0}
    assert benchmark.baselines([tired, wide, passive]) == {"first noun": 0.6667, "nearer noun": 0.3333}
    assert benchmark.right_gender(tired, tired.target)
    assert not benchmark.right_gender(wide, tired.target)
    assert benchmark.differing([tired, sentence(animal, PLACES[0], "tired")]) == [tired]
